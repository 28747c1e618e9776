# SPDX-License-Identifier: Apache-2.0
"""For how long an upload and a download are silent after roams, by the time that the phone was out of range.

Phone 1 goes from one access point to the other and back, while it and phone 2 upload or download. What is printed (-s)
is the table of docs/studies/2026-11-26-roams.md; ROAM_SEEDS has its seeds. Without it the case alone that no other test
has is run: a download.
"""

from __future__ import annotations

import os
from math import inf
from typing import TYPE_CHECKING, Literal

import pytest

from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cell, ProgramsBeside

pytestmark = pytest.mark.uml

BSSIDS = ("02:00:00:00:00:00", "02:00:00:00:01:00")
PHONE = "02:00:00:00:02:00"
OUTAGES_S = (0, 0.5, 1, 2, 3, 5, 10)
BETWEEN_S, FIRST_ROAM_S = 6, 5
"""From the end of an outage to the next one are six seconds and the length of the former: a server's timer is doubled
as often as to wait for that long again."""
ROAM_SEEDS = os.environ.get("ROAM_SEEDS")
SEEDS = [int(seed) for seed in (ROAM_SEEDS or "1").split(",")]
MODES = {"bounds, retransmits on arrival": "bdp", "bounds, TCP alone": "bdp+stock", "neither": "bdp@agents=0"}
STUDY: list[tuple[Literal["up", "down"], str]] = [
    *(("up", name) for name in MODES),
    *(("down", name) for name in MODES if name != "bounds, TCP alone"),
]
CASES = STUDY if ROAM_SEEDS else STUDY[-1:]


def roams() -> tuple[list[Action], float]:
    """Phone 1's ways, and when the last one's time after it is over."""
    actions, at_s = list[Action](), float(FIRST_ROAM_S)
    for number, outage_s in enumerate(OUTAGES_S):
        deaf_ms = round(1000 * outage_s) or None
        actions.append(Action(at_s, "roam", phone=1, access_point=(2, 1)[number % 2], deaf_ms=deaf_ms))
        at_s += outage_s + BETWEEN_S + outage_s
    return actions, at_s


def silences_ms(logs: Path, direction: Literal["up", "down"]) -> list[float]:
    """Of each roam: from the association in hostapd until the next segment with data leaves the phone, or comes there.
    A segment that came at the same time, by either's clock, is one of after it. Infinite if none came at all."""
    rows = [line.split() for path in logs.glob("arrival-associations-*") for line in path.read_text().splitlines()]
    associated_us = sorted(int(row[0]) for row in rows)[-len(OUTAGES_S) :]
    name = {"up": "arrival-sent", "down": "arrival-received"}[direction]
    lines = (logs / name).read_text(encoding="ascii").splitlines()
    seen_us = [int(line.split()[0]) for line in lines]
    return [
        max(0.0, (min((at_us for at_us in seen_us if at_us >= roam_us - SAME_US), default=inf) - roam_us) / 1e3)
        for roam_us in associated_us
    ]


SAME_US = 2000
"""Phone and hostapd learn of an association at the same time, in either order."""


@pytest.fixture
def boot(
    boot_cell: Callable[..., Cell],
    programs_beside: type[ProgramsBeside],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Literal["up", "down"], str, int], list[float]]:
    def boot(direction: Literal["up", "down"], mode: str, seed: int) -> list[float]:
        beside = programs_beside(tmp_path, monkeypatch)
        observer = beside.add(host.REPOSITORY / "lab" / "tests" / "arrival_guest.py")
        first, second = BSSIDS
        words = f"sta1 {PHONE} server1 10.0.4.1 0 {first}/wlan0/ {second}/wlan1/ap2"
        beside.start(f"""case "$*" in *"--interface wlan0 "*)
	{beside.AT_CONTROLLER} {observer} $$ {words} >/run/result/log/observer.log 2>&1 &
esac""")
        actions, seconds = roams()
        cell = boot_cell(
            mode,
            seed=seed,
            scenario=Scenario(f"roams {direction}", (Action(0, "start-traffic", direction=direction), *actions)),
            terminals=2,
            access_points=2,
            kernel_line="6.12",
            seconds=round(seconds),
            warmup_seconds=2,
        )
        assert (cell.logs / "log" / "observer.log").read_text(encoding="utf-8") == ""
        return silences_ms(cell.logs, direction)

    return boot


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("direction", "name"), CASES, ids=[f"{direction}, {name}" for direction, name in CASES])
def test_silence_after_roams(
    boot: Callable[[Literal["up", "down"], str, int], list[float]],
    direction: Literal["up", "down"],
    name: str,
    seed: int,
) -> None:
    """With requests an upload goes on at once; without, and each download, after 10 s by a timer of seconds."""
    found = boot(direction, MODES[name], seed)
    shown = ", ".join(f"{outage_s} s: {silent_ms:.0f}" for outage_s, silent_ms in zip(OUTAGES_S, found, strict=True))
    print(f"\n{direction}, {name}, seed {seed}: {shown} ms")  # noqa: T201  (with -s: for the docs)
    by_outage = dict(zip(OUTAGES_S, found, strict=True))
    if direction == "up" and name == "bounds, retransmits on arrival":
        assert max(by_outage[outage_s] for outage_s in OUTAGES_S if outage_s >= 1) <= 20
    else:
        assert by_outage[10] > 500
