# SPDX-License-Identifier: Apache-2.0
"""Which cell a station is in, by the access points' reports; what a phone reports of its cell does not count."""

from airbound.core.addresses import Mac
from airbound.core.cell.state import CellState


class Associations:
    """Every station that any access point reports, and the cells that do."""

    def __init__(self) -> None:
        self._cells: dict[Mac, CellState | list[CellState]] = {}

    def cell_of(self, mac: Mac) -> CellState | None:
        """The cell that a station is in. While it roams two may report it: it is in the one it joined later."""
        cells = self._cells.get(mac)
        if not isinstance(cells, list):
            return cells
        return max(cells, key=lambda cell: (cell.stations.by_mac[mac].associated_at_us, cell.bssid))

    def add(self, mac: Mac, cell: CellState) -> None:
        """A cell reports the station."""
        cells = self._cells.get(mac)
        if cells is None:
            self._cells[mac] = cell
        elif isinstance(cells, list):
            if cell not in cells:
                cells.append(cell)
        elif cells is not cell:
            self._cells[mac] = [cells, cell]

    def remove(self, mac: Mac, cell: CellState) -> None:
        """A cell no longer reports the station."""
        cells = self._cells.get(mac)
        if cells is cell:
            del self._cells[mac]
        elif isinstance(cells, list) and cell in cells:
            cells.remove(cell)
            if len(cells) == 1:
                self._cells[mac] = cells[0]

    def __len__(self) -> int:
        return len(self._cells)
