# SPDX-License-Identifier: Apache-2.0
"""A phone that walks away from its access point and comes back, in cells of User Mode Linux."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.medium import attempts
from airbound_lab.settings.scenario import Action, Scenario
from airbound_lab.settings.values import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import PhoneResult

    from .conftest import Cell

pytestmark = pytest.mark.uml

NEAR_M, FAR_M, OUT_OF_RANGE_M = 2.0, 120.0, 600.0
OUT = Action(6, "walk", phone=1, from_m=NEAR_M, to_m=FAR_M, over_s=6.0)
BACK = Action(24, "walk", phone=1, from_m=FAR_M, to_m=NEAR_M, over_s=6.0)
NEAR_S, FAR_S, BACK_S = (2, 6), (22, 24), (38, 42)
"""When the phone is near, far and near again: ten seconds later, since the controller's estimate of what the cell can
carry grows with what it carries, and bounds with that estimate."""
SECONDS = 42
CELL: dict[str, Any] = {
    "phy": "11n-20", "terminals": 2, "wired_delays_ms": (16.0,), "seconds": SECONDS, "warmup_seconds": 1,
}  # fmt: skip
AS_BEFORE = 0.1

END_S = 48
"""The phone is found again by 25 s at the latest, and was out of range since 6 s: its timer ends by 44 s."""
GONE = Action(4, "walk", phone=1, from_m=NEAR_M, to_m=OUT_OF_RANGE_M, over_s=4.0)
FOUND = Action(14, "walk", phone=1, from_m=OUT_OF_RANGE_M, to_m=NEAR_M, over_s=4.0)
GONE_CELL: dict[str, Any] = {
    **CELL,
    "scenario": Scenario("gone", (Action(0, "start-traffic"), GONE, FOUND)),
    "seconds": END_S,
    "medium_trace": Window(14, 20),
}
IN_RANGE_S = 18
SCANS_S = 5.1
"""wpa_supplicant's, from one to the next. A probe request is broadcast and sent once: in a full cell it may collide."""
AUTHENTICATION_BYTES = 24 + 6 + 4
LINES: dict[str, dict[str, Any]] = {"6.1": {}, "6.12": {"kernel_line": "6.12", "ap": "openwrt"}}


def walking(boot_cell: Callable[..., Cell]) -> Cell:
    """Phone 1 goes from 72 Mb/s to where it has a fifth of that, stays there for 12 s, and comes back."""
    chosen = Scenario("out and back", (Action(0, "start-traffic"), OUT, BACK))
    return boot_cell("bdp", scenario=chosen, medium_trace=Window(1, SECONDS - 1), **CELL)


def goodput_mbps(phone: PhoneResult, when_s: tuple[int, int]) -> float:
    return statistics.fmean(phone.series.goodput_mbps[slice(*when_s)])


def rate_mbps(cell: Cell, station: int, when_s: tuple[int, int]) -> float:
    """Median rate of a station's PPDUs."""
    from_ns, to_ns = (round(s * 1e9) for s in when_s)
    found = attempts.load(cell.logs / "medium.csv")
    rates = [a.rate_100kbps for a in found if a.station == station and from_ns <= a.start_ns < to_ns]
    return statistics.median(rates) / 10


def test_rate_and_goodput_fall_with_the_distance_and_come_back(boot_cell: Callable[..., Cell]) -> None:
    cell = walking(boot_cell)
    walks = cell.run.phones[0]
    rates, goodputs = (
        [figure(when_s) for when_s in (NEAR_S, FAR_S, BACK_S)]
        for figure in (lambda when_s: rate_mbps(cell, 1, when_s), lambda when_s: goodput_mbps(walks, when_s))
    )
    print(rates, goodputs)  # noqa: T201  (with -s: for the docs)
    assert rates[1] < rates[0] / 4
    assert goodputs[1] < goodputs[0] / 2
    assert rates[2] == rates[0]
    assert goodputs[2] == pytest.approx(goodputs[0], rel=AS_BEFORE)


def test_who_stays_keeps_the_rate(boot_cell: Callable[..., Cell]) -> None:
    cell = walking(boot_cell)
    assert len({rate_mbps(cell, 2, when_s) for when_s in (NEAR_S, FAR_S, BACK_S)}) == 1


def test_bounds_follow_the_walk(boot_cell: Callable[..., Cell]) -> None:
    """Both phones': they share the cell's capacity, and it is smaller while one of them is far away."""
    for phone in walking(boot_cell).run.phones:
        near, far, back = (phone.series.bound_max_segs[when_s[1] - 1] for when_s in (NEAR_S, FAR_S, BACK_S))
        print(near, far, back)  # noqa: T201
        assert near is not None
        assert far is not None
        assert back is not None
        assert far < 0.7 * near
        assert back == pytest.approx(near, rel=AS_BEFORE)


def test_same_seed_same_result_to_the_digit(boot_cell: Callable[..., Cell]) -> None:
    cell = {**CELL, "seconds": 12}
    first, again = (
        boot_cell("bdp", scenario=Scenario(name, (Action(0, "start-traffic"), OUT)), fresh=fresh, **cell).run
        for name, fresh in (("out", False), ("a name that is longer than that", True))
    )
    assert first.comparable() == again.comparable()


@pytest.mark.parametrize("line", LINES)
def test_out_of_range_the_association_is_lost_and_found_again(boot_cell: Callable[..., Cell], line: str) -> None:
    """Out of range beacons are missing as well. TCP goes on when its retransmission timer ends, up to as long after the
    return as the phone was away.
    """
    cell = boot_cell("bdp", **GONE_CELL, **LINES[line])
    events = (cell.logs / "log" / "wpa_supplicant-sta1.log").read_text(encoding="utf-8")
    told = [word for word in events.split() if word.startswith("CTRL-EVENT-")]
    told = [event for event in told if event != "CTRL-EVENT-SUBNET-STATUS-UPDATE"]
    assert told == [f"CTRL-EVENT-{event}" for event in ("CONNECTED", "BEACON-LOSS", "DISCONNECTED", "CONNECTED")]
    assert "BEACON-LOSS" not in (cell.logs / "log" / "wpa_supplicant-sta2.log").read_text(encoding="utf-8")
    assert goodput_mbps(cell.run.phones[0], (8, 14)) == 0
    before_mbps, after_mbps = (goodput_mbps(cell.run.phones[0], when_s) for when_s in ((2, 4), (END_S - 2, END_S)))
    print(before_mbps, after_mbps)  # noqa: T201
    assert after_mbps > before_mbps / 2


@pytest.mark.parametrize("line", LINES)
def test_who_stays_has_the_bounds_of_who_is_there(boot_cell: Callable[..., Cell], line: str) -> None:
    cell = boot_cell("bdp", **GONE_CELL, **LINES[line])
    together, alone, again = (cell.run.phones[1].series.bound_max_segs[second - 1] for second in (4, 12, END_S))
    assert together is not None
    assert alone is not None
    assert again is not None
    assert alone > 2 * together
    assert again < 0.7 * alone


@pytest.mark.parametrize("line", LINES)
def test_the_agent_is_back_with_the_association(boot_cell: Callable[..., Cell], line: str) -> None:
    """Away its lease ends, and with it the phone's bounds; back it has new ones at once."""
    cell = boot_cell("bdp", **GONE_CELL, **LINES[line])
    log = (cell.logs / "log" / "phone1.log").read_text(encoding="utf-8").splitlines()

    def at_s(words: str, after_s: float) -> float:
        times_s = [cell.seconds_of(text.split()[0].removeprefix("time=")) for text in log if words in text]
        return min(at_s for at_s in times_s if at_s > after_s)

    ended_s = at_s("the lease ended, restoring the kernel's defaults", 4)
    assert ended_s < 14
    back_s = at_s("another access point", ended_s)
    found = attempts.load(cell.logs / "medium.csv")
    heard_s = [a.start_ns / 1e9 for a in found if a.station == 1 and a.bytes == AUTHENTICATION_BYTES]
    assert min(heard_s) < IN_RANGE_S + 2 * SCANS_S
    assert min(heard_s) < back_s < min(heard_s) + 0.2
    assert at_s("connected to the controller", back_s) < back_s + 0.2
    assert at_s("new bounds", back_s) < back_s + 0.5
