# SPDX-License-Identifier: Apache-2.0
"""Carries a check out by the controller's services: sets the cell's mode turn by turn, and samples it each second."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from airbound.core.check.course import MODE_S, Look, Made, SetMode, Wait, course, turns_in
from airbound.grpc.check_samples import sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound.core.check.figures import Sample, Turn
    from airbound.v1 import operations_pb2

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
    steps, seen = course(count, clock.now_s), None
    try:
        while True:
            step = steps.send(seen)
            seen = None
            match step:
                case SetMode():
                    source.set_mode(step.mode, bssid, for_ms=MODE_S * 1000)
                case Wait():
                    clock.wait_s(step.seconds)
                case Look():
                    seen = _sample(source, bssid)
                case Made():
                    said(f"turn {step.number} of {count}, {step.mode}: {_text(step.turn)}")
    except StopIteration as ended:
        made: list[Turn | None] = ended.value
        return made
    finally:
        source.set_mode("observe", bssid, for_ms=END_MS)  # applies nothing, whatever stands below it


def _sample(source: Source, bssid: str) -> Sample | None:
    """How the cell is now; none if nobody sends."""
    cells = source.cells(bssid).cells
    if not cells or not cells[0].active_senders:
        return None
    return sample(cells[0], source.terminals(bssid).terminals, source.stations(bssid).stations)


def _text(made: Turn | None) -> str:
    if made is None:
        return "nobody sent"
    rtt = f", RTT {made.rtt_us / 1000:.0f} ms" if made.rtt_us else ""
    return f"{made.carried_bps / 1e6:.1f} Mb/s{rtt}, {made.senders:.1f} senders"
