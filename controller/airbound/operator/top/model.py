# SPDX-License-Identifier: Apache-2.0
"""What the live view shows, as it was fetched last. Threads write it, the screens read it, each under the lock;
messages are replaced and never changed.
"""

import threading
from collections import deque
from dataclasses import dataclass, field

from airbound.operator.top.airtime import AirtimeShares
from airbound.operator.top.graphs import Series
from airbound.v1 import events_pb2, live_pb2, operations_pb2

EVENTS_MAX = 500
SILENT_S = 3.5  # as in fields.py


class CellSeries:
    """The last minutes of one cell."""

    __slots__ = ("busy", "mean_ratio", "uplink_bps")

    def __init__(self) -> None:
        self.uplink_bps, self.mean_ratio, self.busy = Series(), Series(), Series()


@dataclass(slots=True)
class SeenCell:
    """A cell as it was sent last, and when."""

    cell: operations_pb2.Cell
    at_s: float
    series: CellSeries = field(default_factory=CellSeries)


@dataclass(slots=True)
class EventList:
    """The newest events of a cell, or of all, the newest first."""

    bssid: str = ""
    events: deque[events_pb2.Event] = field(default_factory=lambda: deque(maxlen=EVENTS_MAX))
    position: events_pb2.EventPosition = field(default_factory=events_pb2.EventPosition)
    others: list[events_pb2.EventPosition] = field(default_factory=list)  # in the histories of other replicas

    def take(self, page: events_pb2.ListEventsResponse) -> None:
        """Take in what came after the position."""
        if page.position.history != self.position.history:
            self.events.clear()
        self.position, self.others = page.position, list(page.others)
        self.events.extendleft(page.events)


@dataclass(slots=True)
class OpenCell:
    """The cell that is open."""

    bssid: str
    stations: list[operations_pb2.StationView] = field(default_factory=list)
    terminals: list[operations_pb2.Terminal] = field(default_factory=list)
    destinations: dict[str, live_pb2.TerminalDestinations] = field(default_factory=dict)
    airtime: AirtimeShares = field(default_factory=AirtimeShares)
    order: dict[str, list[str]] = field(default_factory=dict)  # of the rows of each table, as they were drawn last
    complaint: str = ""  # why nothing can be shown of it


class Model:
    """All of it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.controller = operations_pb2.GetControllerResponse()
        self.cells: dict[str, SeenCell] = {}
        self.ratios: dict[str, live_pb2.CellRttRatio] = {}
        self.open: OpenCell | None = None
        self.events: EventList | None = None  # of the screen that shows some
        self.history = 0  # which run of the controller; 0 before the first answer
        self.lost = ""  # why no controller answers; empty while one does
        self.lost_at_s = 0.0
        self.restarts = 0  # seen

    def take_cell(self, cell: operations_pb2.Cell, now_s: float) -> None:
        """A cell changed."""
        with self.lock:
            seen = self.cells.get(cell.bssid)
            if seen is None:
                self.cells[cell.bssid] = SeenCell(cell, now_s)
            else:
                seen.cell, seen.at_s = cell, now_s

    def take_cells(self, cells: list[operations_pb2.Cell], now_s: float) -> None:
        """All that there are: others are gone."""
        with self.lock:
            for cell in cells:
                self.take_cell(cell, now_s)
            for bssid in self.cells.keys() - {cell.bssid for cell in cells}:
                del self.cells[bssid]

    def take_ratios(self, ratios: dict[str, live_pb2.CellRttRatio]) -> None:
        """RTT ratios of all cells that have some."""
        with self.lock:
            self.ratios = ratios

    def second(self, now_s: float) -> None:
        """Another second is over: each series takes a value, none from a cell that is silent."""
        with self.lock:
            for bssid, seen in self.cells.items():
                ratio, cell, series = self.ratios.get(bssid), seen.cell, seen.series
                if now_s - seen.at_s + cell.report_age_ms / 1000 > SILENT_S or self.lost:
                    series.uplink_bps.add(None)
                    series.mean_ratio.add(None)
                    series.busy.add(None)
                    continue
                series.uplink_bps.add(cell.uplink_bps)
                series.mean_ratio.add(ratio.mean if ratio else None)
                series.busy.add(cell.busy_ratio if cell.HasField("busy_ratio") else None)

    def answered(self, history: int) -> None:
        """A controller answers."""
        with self.lock:
            self.lost = ""
            self.restarts += self.history not in {0, history}
            self.history = history

    def lose(self, why: str, now_s: float) -> None:
        """No controller answers."""
        with self.lock:
            if not self.lost:
                self.lost_at_s = now_s
            self.lost = why
