# SPDX-License-Identifier: Apache-2.0
"""An access point's agent, and what it was sent."""

from dataclasses import dataclass, field

from airbound.core.addresses import Mac
from airbound.core.cell.reporter import Reporter
from airbound.core.edca import Edca
from airbound.core.effects import StationFlow, WindowLimit
from airbound.core.leases import Lease
from airbound.core.reports import AccessPointReport, EdcaState, StationFlowState, WindowState


@dataclass(slots=True, eq=False)
class AccessPoint(Reporter):
    """An access point's agent on one stream, for one cell. The states are as they were reported last."""

    bssid: Mac = b""  # of the cell that it reports; empty before its first report is taken, and after its cell
    edca: EdcaState | None = None
    edca_lease: Lease[Edca] = field(default_factory=Lease)
    windows: WindowState | None = None
    windows_lease: Lease[WindowLimit] = field(default_factory=Lease)
    station_flows: StationFlowState | None = None
    station_flows_lease: Lease[StationFlow] = field(default_factory=Lease)

    def accept(self, report: AccessPointReport, octets: bytes) -> None:
        """Take in what a report whose order was accepted says of the agent itself."""
        self.last_report = octets
        self.agent_version, self.malformed_inputs_total = report.agent_version, report.malformed_inputs_total
        self.edca, self.windows, self.station_flows = report.edca, report.windows, report.station_flows
        self.edca_lease.in_force = report.edca.generation if report.edca else 0
        self.windows_lease.in_force = report.windows.generation if report.windows else 0
        self.station_flows_lease.in_force = report.station_flows.generation if report.station_flows else 0
