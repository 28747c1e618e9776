# SPDX-License-Identifier: Apache-2.0
"""Phones that sleep when they are idle (legacy power save), in cells of User Mode Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.medium import attempts
from airbound_lab.settings.scenario import Action, Scenario
from airbound_lab.settings.values import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Cell

pytestmark = pytest.mark.uml

LINES: dict[str, dict[str, Any]] = {"6.1": {}, "6.12": {"kernel_line": "6.12", "ap": "openwrt", "phy": "11n-20"}}
PAYLOAD_BYTES = 1470
BEACON_INTERVAL_MS, SOON_MS = 102.4, 3.0
NULL_DATA_BYTES_MAX = 36
"""Of a frame without data, by which a phone says that it sleeps; as a PSDU of an A-MPDU with delimiter."""


def now_and_then(boot_cell: Callable[..., Cell], line: str, *, power_save: bool) -> Cell:
    """A download of a datagram every 688 ms: the phone falls asleep after each."""
    action = Action(1, "start-traffic", phone=1, direction="down", protocol="udp", rate_mbps=0.0171)
    return boot_cell(
        "cubic",
        scenario=Scenario("now and then", (action,)),
        terminals=1,
        seconds=15,
        warmup_seconds=1,
        power_save=power_save,
        medium_trace=Window(0, 15),
        **LINES[line],
    )


def sent_ms(cell: Cell, *, data: bool) -> list[float]:
    """When the access point sent datagrams, or beacons and other short frames."""
    found = attempts.load(cell.logs / "medium.csv")
    return [a.start_ns / 1e6 for a in found if a.station == 0 and (a.bytes > PAYLOAD_BYTES) == data]


@pytest.mark.parametrize("line", LINES)
def test_what_comes_for_a_phone_that_sleeps_waits_for_a_beacon(boot_cell: Callable[..., Cell], line: str) -> None:
    awake, asleep = (now_and_then(boot_cell, line, power_save=power_save) for power_save in (False, True))
    arrived_ms, beacons_ms = sent_ms(asleep, data=True), sent_ms(asleep, data=False)
    waited_ms = [late - at for at, late in zip(sent_ms(awake, data=True), arrived_ms, strict=True)]
    print([round(ms) for ms in waited_ms])  # noqa: T201  (with -s: for the docs)
    assert len(waited_ms) == 20
    assert min(waited_ms) > 0
    assert BEACON_INTERVAL_MS / 2 < max(waited_ms) < BEACON_INTERVAL_MS + SOON_MS
    for at_ms in arrived_ms:
        assert 0 < at_ms - max(beacon_ms for beacon_ms in beacons_ms if beacon_ms < at_ms) < SOON_MS
    assert asleep.run.phones[0].download is not None
    assert asleep.run.phones[0].download.goodput_mbps > 0


@pytest.mark.parametrize("line", LINES)
def test_uploads_and_downloads_are_as_fast(boot_cell: Callable[..., Cell], line: str) -> None:
    actions = (Action(0, "start-traffic", phone=1), Action(0, "start-traffic", phone=2, direction="down"))
    without, with_it = (
        boot_cell(
            "cubic",
            scenario=Scenario("x", actions),
            terminals=2,
            seconds=8,
            warmup_seconds=2,
            power_save=power_save,
            **LINES[line],
        ).run
        for power_save in (False, True)
    )
    assert with_it.total_goodput_mbps == pytest.approx(without.total_goodput_mbps, rel=0.05)


@pytest.mark.parametrize("line", LINES)
def test_a_phone_that_sleeps_stays_and_counts_as_soon_as_it_sends(boot_cell: Callable[..., Cell], line: str) -> None:
    """Idle it wakes for its agent's report every 10 s, and for nothing else."""
    begins_s = 32
    actions = (Action(begins_s - 6, "start-traffic", phone=1), Action(begins_s, "start-traffic", phone=2))
    cell = boot_cell(
        "bdp",
        scenario=Scenario("x", actions),
        terminals=2,
        seconds=begins_s + 4,
        power_save=True,
        medium_trace=Window(1, begins_s - 1),
        **LINES[line],
    )
    lines = (cell.logs / "log" / "controller.log").read_text(encoding="utf-8").splitlines()
    assert not [text for text in lines if " disconnected " in text]
    counted = [cell.seconds_of(text.split()[0]) for text in lines if " info senders " in text and "1 -> 2" in text]
    assert len(counted) == 1
    assert begins_s <= counted[0] < begins_s + 0.3
    found = attempts.load(cell.logs / "medium.csv")
    slept = [a for a in found if a.station == 2 and a.bytes <= NULL_DATA_BYTES_MAX and a.outcome == "delivered"]
    assert 1 <= len(slept) <= 5
