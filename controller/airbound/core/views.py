# SPDX-License-Identifier: Apache-2.0
"""What operators are shown: copies, so that nobody holds on to the engine's state."""

from dataclasses import dataclass

from airbound.core.cell import Cell
from airbound.core.decisions import Decision
from airbound.core.effects import Bound
from airbound.core.terminal import Terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """A cell at one moment."""

    bssid: str
    ssid: bytes
    center_frequency_mhz: int
    stations: int
    active_senders: int
    terminals: int
    uplink_bps: float
    capacity_bps: float
    busy_ratio: float | None
    report_age_us: int
    refused_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalView:
    """A terminal at one moment; `bssid` is empty while no access point reports it."""

    mac: str
    bssid: str
    connected: bool
    active_sender: bool
    exempt: bool
    back_end: str
    generation_in_force: int
    generation_sent: int
    bounds_sent: tuple[Bound, ...]  # on its present stream
    decisions: tuple[Decision, ...]
    no_bounds_reason: str
    report_age_us: int
    refused_total: int


def cell_view(cell: Cell, terminals: int, now_us: int) -> CellView:
    """A cell now; `terminals` counts its stations with a connected agent."""
    return CellView(
        bssid=cell.bssid,
        ssid=cell.ssid,
        center_frequency_mhz=cell.center_frequency_mhz,
        stations=len(cell.stations),
        active_senders=cell.active_senders,
        terminals=terminals,
        uplink_bps=cell.uplink_bps,
        capacity_bps=cell.capacity.bps(now_us),
        busy_ratio=cell.busy_ratio,
        report_age_us=now_us - cell.reported_at_us,
        refused_total=cell.refused_total,
    )


def terminal_view(terminal: Terminal, cell: Cell | None, *, exempt: bool, now_us: int) -> TerminalView:
    """A terminal now; `cell` is the one it is joined to."""
    report = terminal.report
    return TerminalView(
        mac=terminal.mac,
        bssid=cell.bssid if cell else "",
        connected=terminal.stream != 0,
        active_sender=cell.stations[terminal.mac].sending if cell else False,
        exempt=exempt,
        back_end=report.back_end.name if report else "",
        generation_in_force=report.bounds_generation if report else 0,
        generation_sent=terminal.last_generation,
        bounds_sent=terminal.held.bounds if terminal.held else (),
        decisions=terminal.decisions,
        no_bounds_reason=terminal.no_bounds_reason,
        report_age_us=now_us - terminal.reported_at_us,
        refused_total=terminal.refused_total,
    )
