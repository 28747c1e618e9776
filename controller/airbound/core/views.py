# SPDX-License-Identifier: Apache-2.0
"""What operators are shown: copies, so that nobody holds on to the engine's state."""

from dataclasses import dataclass

from airbound.core.decisions import Decision


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
    decisions: tuple[Decision, ...]
    no_bounds_reason: str
    report_age_us: int
    refused_total: int
