# SPDX-License-Identifier: Apache-2.0
"""What one controller has of cells, streams and settings, for the modules that route events."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from airbound.core.addresses import Mac
from airbound.core.associations import Associations
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.claims import Claims
from airbound.core.class_choices import ClassChoices
from airbound.core.deadlines import Deadlines
from airbound.core.effects import Effect, Note
from airbound.core.modes import Modes
from airbound.core.overrides import CellOverride, Match, Overrides
from airbound.core.parameters import Mode, Parameters
from airbound.core.settings import Settings

if TYPE_CHECKING:
    from airbound.core.cell.access_point import AccessPoint


class Registry:
    """Who reports, which cells there are, what they go by, and what is due."""

    def __init__(
        self, parameters: Parameters, mode: Mode, exempt: Iterable[str], overrides: Sequence[CellOverride]
    ) -> None:
        self.settings = Settings(parameters, mode, set(exempt))  # of cells that have none of their own
        self.modes = Modes(mode)
        self.overrides = Overrides(overrides)
        self.class_choices = ClassChoices()
        self.reporters: dict[int, AccessPoint | Terminal] = {}  # by the number of their stream
        self.cells: dict[Mac, CellState] = {}
        self.associations = Associations()
        self.datapaths: dict[int, Mac] = {}  # which cell a switch is of, as access points report it
        self.claims = Claims()
        self.deadlines = Deadlines()

    def terminals(self) -> list[Terminal]:
        """Every terminal that has reported on its stream, unless the stream is being closed."""
        return [
            reporter
            for reporter in self.reporters.values()
            if isinstance(reporter, Terminal) and reporter.mac and not reporter.closed
        ]

    def new_cell(self, bssid: Mac, ssid: bytes, now_us: int) -> CellState:
        """A cell that was not known."""
        cell = self.cells[bssid] = CellState(bssid, self.settings_of(bssid, ssid), ssid=ssid)
        self.deadlines.at(cell, now_us + cell.settings.parameters.safety.forget_ms * 1000 + 1)
        return cell

    def settings_of(self, bssid: Mac, ssid: bytes) -> Settings:
        """What a cell goes by: the controller's settings, unless an override or an operator's choice concerns it."""
        match = self.overrides.match(bssid, ssid)
        chosen = bssid in self.modes.of_cells
        return self.settings.of_cell(match, self.modes.of_cell(bssid, match), by_operator=chosen)

    def settings_for(self, terminal: Terminal) -> Settings:
        """What a terminal goes by: its cell's settings, or the controller's while it is joined to none."""
        cell = self.cell_joined(terminal)
        return self.settings if cell is None else cell.settings

    def cell_joined(self, terminal: Terminal) -> CellState | None:
        """The cell that a terminal is joined to."""
        return self.cells.get(terminal.bssid)

    def renamed(self, cell: CellState, ssid: bytes) -> list[Effect]:
        """Find a cell's settings under another SSID; a note if they are others."""
        before = cell.settings.match
        if self.overrides.match(cell.bssid, ssid) == before:
            return []
        cell.reconfigure(self.settings_of(cell.bssid, ssid))
        return settings_note(cell, before)


def settings_note(cell: CellState, before: Match | None) -> list[Effect]:
    """Which override concerns a cell from now on, unless it is the one of before."""
    match = cell.settings.match
    if (match and (match.override.name, match.by)) == (before and (before.override.name, before.by)):
        return []
    now = f"{match.override.name} ({match.by})" if match else "none"
    return [Note("info", "override", f"{cell.name} {now}", cell=cell.bssid)]
