# SPDX-License-Identifier: Apache-2.0
"""An access point's agent, and what it was sent."""

from dataclasses import dataclass

from airbound.core.addresses import Mac
from airbound.core.cell.reporter import Reporter
from airbound.core.edca import Edca
from airbound.core.effects import StationFlow, WindowLimit
from airbound.core.leases import SentSet, Step, next_step
from airbound.core.reports import EdcaState, StationFlowState, WindowState


@dataclass(slots=True, eq=False)
class AccessPoint(Reporter):
    """An access point's agent on one stream, for one cell."""

    bssid: Mac = b""  # of the cell that it reports; empty before its first report is taken, and after its cell
    edca: EdcaState | None = None  # as it was reported last
    edca_sent: SentSet[Edca] | None = None
    windows: WindowState | None = None  # as it was reported last
    windows_sent: SentSet[WindowLimit] | None = None
    station_flows: StationFlowState | None = None  # as it was reported last
    station_flows_sent: SentSet[StationFlow] | None = None

    @property
    def windows_generation(self) -> int:
        """Generation of the limits of windows in force; 0 while there are none."""
        return self.windows.generation if self.windows else 0

    @property
    def edca_generation(self) -> int:
        """Generation of the EDCA parameters in force; 0 while the access point's own are."""
        return self.edca.generation if self.edca else 0

    def edca_step(self, queues: tuple[Edca, ...], now_us: int) -> Step:
        """What to send if these are to be the parameters in force."""
        return next_step(self.edca_sent, queues, self.edca_generation, self.reported_at_us, now_us)

    def windows_step(self, limits: tuple[WindowLimit, ...], now_us: int) -> Step:
        """What to send if these are to be the limits in force."""
        return next_step(self.windows_sent, limits, self.windows_generation, self.reported_at_us, now_us)

    def station_flows_step(self, flows: tuple[StationFlow, ...], now_us: int) -> Step:
        """What to send if these are to be the flows in force."""
        in_force = self.station_flows.generation if self.station_flows else 0
        return next_step(self.station_flows_sent, flows, in_force, self.reported_at_us, now_us)
