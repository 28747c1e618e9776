# SPDX-License-Identifier: Apache-2.0
"""Carries a check out: sets the cell's mode turn by turn, for little longer than the turn, and samples it each second.

Each mode is for a time and ends at the controller, so that the mode before is in force again also if this is killed.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple, Protocol

from airbound.operator.check.figures import Sample, Turn, plan, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound.v1 import operations_pb2

TURN_S, SETTLED_S = 50, 20  # after a release a window grows for half a minute, most of it in the first 20 s
SAMPLED_EACH_S = 1.0
LEFT_OVER_MS = 15_000  # a mode is set for so much longer than its turn: the next one replaces it
END_MS = 1


class Source(Protocol):
    """What is needed of a client."""

    def set_mode(self, mode: str, bssid: str = "", *, for_ms: int = 0) -> object:
        """Set a cell's mode for a time."""

    def cells(self, bssid: str = "") -> operations_pb2.ListCellsResponse:
        """One cell."""

    def stations(self, bssid: str) -> operations_pb2.ListStationsResponse:
        """Its stations."""

    def terminals(self, bssid: str = "") -> operations_pb2.ListTerminalsResponse:
        """Its terminals."""


class Clock(NamedTuple):
    """Seconds that only go on, and a way to wait."""

    now_s: Callable[[], float]
    wait_s: Callable[[float], None]


def turns(source: Source, bssid: str, minutes: float, clock: Clock, said: Callable[[str], None]) -> list[Turn | None]:
    """Make as many turns as there are pairs in so many minutes; `said` takes a line for each. Interrupted or not, the
    mode before is in force again afterwards.

    Raises:
        UnreachableError, RefusedError: as the client's.
    """
    count = turns_in(minutes)
    found: list[Turn | None] = []
    try:
        for number, controlled in enumerate(plan(count), start=1):
            mode = "control" if controlled else "observe"
            source.set_mode(mode, bssid, for_ms=TURN_S * 1000 + LEFT_OVER_MS)
            made = turn(_samples(source, bssid, clock), controlled=controlled)
            found.append(made)
            said(f"turn {number} of {count}, {mode}: {_text(made)}")
    finally:
        source.set_mode("observe", bssid, for_ms=END_MS)  # applies nothing, whatever stands below it
    return found


def turns_in(minutes: float) -> int:
    """An even number of turns."""
    return max(2, int(minutes * 60 / TURN_S) // 2 * 2)


def _samples(source: Source, bssid: str, clock: Clock) -> list[Sample]:
    """Those of a turn after its beginning, one a second."""
    start_s, found = clock.now_s(), list[Sample]()
    clock.wait_s(SETTLED_S)
    while (left_s := start_s + TURN_S - clock.now_s()) > 0:
        sample = _sample(source, bssid)
        if sample is not None:
            found.append(sample)
        clock.wait_s(min(SAMPLED_EACH_S, left_s))
    return found


def _sample(source: Source, bssid: str) -> Sample | None:
    """How the cell is now; none if nobody sends."""
    cells = source.cells(bssid).cells
    if not cells or not cells[0].active_senders:
        return None
    cell = cells[0]
    down_bps = cell.edca.downlink_bps if cell.HasField("edca") else 0
    rtts_us = [*_rtts_of_terminals(source.terminals(bssid).terminals)]
    rtts_us += _rtts_of_stations(source.stations(bssid).stations)
    return Sample(cell.uplink_bps + down_bps, statistics.fmean(rtts_us) if rtts_us else 0.0, cell.active_senders)


def _rtts_of_terminals(terminals: Iterable[operations_pb2.Terminal]) -> Iterable[int]:
    for terminal in terminals:
        known = [decision.srtt_us for decision in terminal.decisions if decision.srtt_us]
        if known and terminal.active_sender:
            yield min(known)


def _rtts_of_stations(stations: Iterable[operations_pb2.StationView]) -> Iterable[int]:
    """Of those without an agent, as their access point sees them."""
    for station in stations:
        known = [view.srtt_us for view in station.destinations if view.srtt_us and view.connections_sending]
        if known and station.active_sender and not station.terminal:
            yield min(known)


def _text(made: Turn | None) -> str:
    if made is None:
        return "nobody sent"
    rtt = f", RTT {made.rtt_us / 1000:.0f} ms" if made.rtt_us else ""
    return f"{made.carried_bps / 1e6:.1f} Mb/s{rtt}, {made.senders:.1f} senders"
