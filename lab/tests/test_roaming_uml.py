# SPDX-License-Identifier: Apache-2.0
"""Phones that roam between two access points of one controller, in a cell of User Mode Linux: how soon the controller
knows, which bounds a phone has where, and how soon its agent is back after it was at neither.

One cell is booted. Phones 1 and 3 begin at the first access point, 2 and 4 at the second; 2, 3 and 4 upload all the
time. Phone 1 goes to the second while it uploads, then back, out of range for 1.5 s, then to the second again, after it
took its leave, away for longer than its lease.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell, ProgramsBeside

pytestmark = pytest.mark.uml

FIRST, SECOND = "02:00:00:00:00:00", "02:00:00:00:01:00"
PHONE, STAYS_1, STAYS_2 = "02:00:00:00:02:00", "02:00:00:00:04:00", ("02:00:00:00:03:00", "02:00:00:00:05:00")
TERMINALS = 4
KNOWN_MS, BOUNDS_MS, STREAM_MS = 100, 300, 200
ROAMS_S, VANISHES_S, LEAVES_S = 3.0, 6.0, 10.0
VANISHED_MS, LEFT_MS = 1_500, 7_500
"""The second is longer than a lease, 6 s."""

SCENARIO = Scenario(
    "three roams",
    (
        Action(0, "start-traffic"),
        Action(ROAMS_S, "roam", phone=1, access_point=2, deaf_ms=0),
        Action(VANISHES_S, "stop-traffic", phone=1),
        Action(VANISHES_S, "roam", phone=1, access_point=1, deaf_ms=VANISHED_MS),
        Action(VANISHES_S + 2.5, "start-traffic", phone=1),
        Action(LEAVES_S, "stop-traffic", phone=1),
        Action(LEAVES_S, "roam", phone=1, access_point=2, deaf_ms=LEFT_MS, silent=False),
        Action(LEAVES_S + 8.5, "start-traffic", phone=1),
    ),
)


class Notes:
    """What roaming_guest.py noted, with times in ms from the beginning of the traffic."""

    def __init__(self, cell: Cell) -> None:
        zero_us = json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["time_zero_monotonic_us"]
        lines = (cell.logs / "roaming.jsonl").read_text(encoding="utf-8").splitlines()
        self.all: list[dict[str, Any]] = [
            note | {"at_ms": (note["at_us"] - zero_us) / 1e3} for note in map(json.loads, lines)
        ]

    def find(self, after_ms: float, **values: Any) -> dict[str, Any]:
        """The first note after a time that has these values."""
        for note in self.all:
            if note["at_ms"] >= after_ms and values.items() <= note.items():
                return note
        raise LookupError(f"no {values} after {after_ms:.0f} ms")

    def last(self, until_ms: float, **values: Any) -> dict[str, Any]:
        """The last one until a time."""
        return next(note for note in reversed(self.all) if note["at_ms"] <= until_ms and values.items() <= note.items())

    def joined_ms(self, roam: Roam) -> float:
        """When the phone that roams is associated."""
        at_ms: float = self.find(roam.after_s * 1e3, what="joined", bss=roam.to, mac=PHONE)["at_ms"]
        return at_ms


@pytest.fixture(scope="module")
def notes(
    boot_cell: Callable[..., Cell],
    programs_beside: type[ProgramsBeside],
    tmp_path_factory: pytest.TempPathFactory,
) -> Notes:
    with pytest.MonkeyPatch.context() as patch:
        beside = programs_beside(tmp_path_factory.mktemp("programs"), patch)
        observer = beside.add(host.REPOSITORY / "lab" / "tests" / "roaming_guest.py")
        beside.start(f"""case "$*" in *"--interface wlan0 "*)
	{beside.AT_CONTROLLER} {observer} $$ {TERMINALS} {FIRST}/wlan0/ {SECOND}/wlan1/ap2 \\
		>/run/result/log/observer.log 2>&1 &
esac""")
        cell = boot_cell("bdp", scenario=SCENARIO, terminals=TERMINALS, access_points=2, seconds=21, warmup_seconds=2)
    assert (cell.logs / "log" / "observer.log").read_text(encoding="utf-8") == ""
    return Notes(cell)


class Roam(NamedTuple):
    """Where the phone goes after a time, from where, and how many then send there."""

    after_s: float
    to: str
    left: str
    senders: int


ROAMS = pytest.mark.parametrize(
    "roam",
    [Roam(ROAMS_S, SECOND, FIRST, 3), Roam(VANISHES_S, FIRST, SECOND, 2), Roam(LEAVES_S, SECOND, FIRST, 3)],
    ids=["at once", "out of range", "with leave"],
)


@ROAMS
def test_the_controller_knows_at_once_and_has_the_phone_in_one_cell(notes: Notes, roam: Roam) -> None:
    known_ms = notes.joined_ms(roam) + KNOWN_MS
    assert notes.last(known_ms, mac=PHONE, what="in")["bss"] == roam.to
    left, was = (notes.last(known_ms, mac=PHONE, bss=roam.left, what=what) for what in ("not in", "in"))
    assert left["at_ms"] >= was["at_ms"]


def test_an_association_is_listed_soon(notes: Notes) -> None:
    """Also that of a phone which its new access point had listed from before, until it noticed."""
    for roam in (Roam(ROAMS_S, SECOND, FIRST, 3), Roam(VANISHES_S, FIRST, SECOND, 2)):
        joined_ms = notes.joined_ms(roam)
        listed_ms = notes.last(joined_ms + KNOWN_MS, what="listed", bss=roam.to, mac=PHONE)["at_ms"]
        assert listed_ms >= joined_ms


@ROAMS
def test_bounds_are_right_in_the_new_cell(notes: Notes, roam: Roam) -> None:
    joined_ms = notes.joined_ms(roam)
    heard_ms = notes.find(joined_ms, what="heard", bss=roam.to, mac=PHONE)["at_ms"]
    print(f"associated at {joined_ms:.0f} ms, first data at {heard_ms:.0f} ms")  # noqa: T201  (with -s: for the docs)
    for mac in (PHONE, *(STAYS_2 if roam.to == SECOND else (STAYS_1,))):
        decided = notes.last(heard_ms + BOUNDS_MS, what="decided", mac=mac)
        assert (decided["bss"], decided["senders"]) == (roam.to, roam.senders)
        assert notes.last(heard_ms + BOUNDS_MS, what="bounds", mac=mac)["rules"] == decided["rule"]


def test_a_terminal_is_listed_once(notes: Notes) -> None:
    """After it was away for longer than its agent waits for an answer, the end of the stream that the agent gave up
    comes first, as TCP retransmits it at once: for a moment the phone is not listed.
    """
    shown = [note for note in notes.all if note["what"] == "shown"]
    assert {note["times"] for note in shown if note["at_ms"] < LEAVES_S * 1e3} == {1}
    assert {note["times"] for note in shown} <= {0, 1}
    assert shown[-1]["times"] == 1


@ROAMS
def test_the_agent_is_back_as_soon_as_the_phone_is_associated(notes: Notes, roam: Roam) -> None:
    joined_ms = notes.joined_ms(roam)
    before = notes.last(joined_ms, what="stream", mac=PHONE)["ports"]
    connected_ms = min(
        note["at_ms"]
        for note in notes.all
        if note["at_ms"] >= joined_ms and (note["what"], note.get("mac")) == ("stream", PHONE)
        if set(note["ports"]) - set(before)
    )
    print(f"connected {connected_ms - joined_ms:.0f} ms after the association")  # noqa: T201
    assert connected_ms - joined_ms <= STREAM_MS


def test_a_phone_that_is_away_for_longer_than_its_lease_is_free(notes: Notes) -> None:
    free = notes.find(LEAVES_S * 1e3, what="bounds", mac=PHONE, rules="")
    assert free["at_ms"] < LEAVES_S * 1e3 + LEFT_MS
    # Before, and until it leaves, it is bounded.
    assert notes.last(LEAVES_S * 1e3, what="bounds", mac=PHONE)["rules"]


def test_a_phone_that_left_is_in_no_cell(notes: Notes) -> None:
    """The second access point lists it still, since it was out of range when it went from there to the first."""
    left_ms = notes.find(LEAVES_S * 1e3, what="left", bss=FIRST, mac=PHONE)["at_ms"]
    arrived_ms = notes.joined_ms(Roam(LEAVES_S, SECOND, FIRST, 3))
    assert notes.last(left_ms + KNOWN_MS, what="not in", mac=PHONE)["bss"] == FIRST
    entered = [
        note
        for note in notes.all
        if left_ms <= note["at_ms"] < arrived_ms and (note["what"], note.get("mac")) == ("in", PHONE)
    ]
    assert entered == []
