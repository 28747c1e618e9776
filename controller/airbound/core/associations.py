# SPDX-License-Identifier: Apache-2.0
"""Which cell a terminal is joined to: the access points' word counts, the phone's does not."""

from airbound.core.cell import Cell


class Associations:
    """All cells, and which of them report a station."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self._bssids: dict[str, set[str]] = {}

    def cell_of(self, mac: str) -> Cell | None:
        """The cell a station is in. While it roams two may report it: the later association is the true one."""
        cells = [self.cells[bssid] for bssid in self._bssids.get(mac, ())]
        return max(cells, key=lambda cell: (cell.stations[mac].associated_at_us, cell.bssid), default=None)

    def update(self, cell: Cell, stations_before: set[str]) -> None:
        """Take note of a cell's stations after a report."""
        self.cells[cell.bssid] = cell
        for mac in stations_before - cell.stations.keys():
            self._leave(mac, cell.bssid)
        for mac in cell.stations:
            self._bssids.setdefault(mac, set()).add(cell.bssid)

    def forget(self, bssid: str) -> None:
        """Drop a cell."""
        for mac in self.cells.pop(bssid).stations:
            self._leave(mac, bssid)

    def _leave(self, mac: str, bssid: str) -> None:
        self._bssids[mac].discard(bssid)
        if not self._bssids[mac]:
            del self._bssids[mac]
