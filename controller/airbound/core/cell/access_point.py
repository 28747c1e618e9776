# SPDX-License-Identifier: Apache-2.0
"""An access point's agent, and what it was sent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound.core.cell.streams import Reporter
from airbound.core.edca import Edca
from airbound.core.effects import WindowLimit
from airbound.core.leased_sets import SentSet
from airbound.core.reports import EdcaState, WindowState

if TYPE_CHECKING:
    from airbound.core.cell.state import CellState


@dataclass(slots=True, eq=False)
class AccessPoint(Reporter):
    """An access point's agent on one stream, for one cell."""

    cell: "CellState | None" = None
    edca: EdcaState | None = None  # as it was reported last
    edca_sent: SentSet[Edca] | None = None
    windows: WindowState | None = None  # as it was reported last
    windows_sent: SentSet[WindowLimit] | None = None

    @property
    def windows_generation(self) -> int:
        """Generation of the limits of windows in force; 0 while there are none."""
        return self.windows.generation if self.windows else 0

    @property
    def edca_generation(self) -> int:
        """Generation of the EDCA parameters in force; 0 while the access point's own are."""
        return self.edca.generation if self.edca else 0
