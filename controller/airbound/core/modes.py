# SPDX-License-Identifier: Apache-2.0
"""Which mode a cell is in: the configuration's, its override's, or what an operator chose.

From the strongest on:

1. what an operator chose for the cell;
2. `observe`, if an operator chose that for the whole controller: that ends every choice of `control` for a cell;
3. the override's;
4. the controller's: what an operator chose, or the configured one.
"""

from airbound.core.addresses import Mac
from airbound.core.overrides import Match
from airbound.core.parameters import Mode


class Modes:
    """The modes of one controller."""

    def __init__(self, configured: Mode) -> None:
        self.configured = configured
        self.chosen: Mode | None = None  # by an operator, for the whole controller
        self.of_cells: dict[Mac, Mode] = {}  # by an operator

    @property
    def controller(self) -> Mode:
        """The mode wherever nothing else is said."""
        return self.chosen or self.configured

    def configure(self, mode: Mode) -> None:
        """The configuration has another mode: it replaces what an operator chose for the whole controller."""
        self.configured, self.chosen = mode, None

    def choose(self, mode: Mode | None) -> None:
        """An operator chose for the whole controller; none: as configured."""
        self.chosen = mode
        if mode == "observe":
            self.of_cells = {bssid: mode for bssid, mode in self.of_cells.items() if mode == "observe"}

    def choose_for_cell(self, bssid: Mac, mode: Mode | None) -> None:
        """An operator chose for one cell; none: as configured."""
        if mode is None:
            self.of_cells.pop(bssid, None)
        else:
            self.of_cells[bssid] = mode

    def of_cell(self, bssid: Mac, match: Match | None) -> Mode:
        """A cell's mode; `match` is its override."""
        chosen = self.of_cells.get(bssid)
        if chosen is not None:
            return chosen
        if self.chosen != "observe" and match is not None and match.override.mode is not None:
            return match.override.mode
        return self.controller
