# SPDX-License-Identifier: Apache-2.0
"""Which cell a station is in, by the access points' reports; what a phone reports of its cell does not count.

While a phone roams two cells may report it, and afterwards as well: an access point is not told that a phone left, and
lists it until it has been silent for minutes. A phone is in the cell that it joined last. When that no longer reports
it, the phone is in none: it left the others when it came.
"""

from airbound.core.addresses import Mac
from airbound.core.cell.state import CellState


class Associations:
    """Every station that any access point reports, and the cells that do."""

    def __init__(self) -> None:
        self._cells: dict[Mac, CellState | list[CellState]] = {}  # of several, the one that it joined last is the last

    def cell_of(self, mac: Mac) -> CellState | None:
        """The cell that a station is in."""
        cells = self._cells.get(mac)
        return cells[-1] if isinstance(cells, list) else cells

    def add(self, mac: Mac, cell: CellState) -> None:
        """A cell reports the station, for the first time or associated anew."""
        cells = self._cells.get(mac)
        if cells is None:
            self._cells[mac] = cell
            return
        known = [other for other in (cells if isinstance(cells, list) else [cells]) if other is not cell]
        if known:
            known.append(cell)
            known.sort(key=lambda each: (each.stations.by_mac[mac].associated_at_us, each.bssid))
            self._cells[mac] = known

    def remove(self, mac: Mac, cell: CellState) -> None:
        """A cell no longer reports the station. Those that it had left before it came to that are not asked again."""
        cells = self._cells.get(mac)
        if cells is cell:
            del self._cells[mac]
        elif isinstance(cells, list) and cell in cells:
            later = cells[cells.index(cell) + 1 :]
            if not later:
                del self._cells[mac]
            else:
                self._cells[mac] = later if len(later) > 1 else later[0]

    def __len__(self) -> int:
        return len(self._cells)
