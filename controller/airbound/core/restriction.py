# SPDX-License-Identifier: Apache-2.0
"""Why nothing may be set, whatever is known: the mode, exemptions, and what an agent can do."""

from airbound.core.addresses import Mac, address_text, mac_text
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.reasons import Code, Reason
from airbound.core.settings import Settings


def restriction(terminal: Terminal, settings: Settings) -> Reason | None:
    """Why a terminal must have no bounds."""
    if settings.mode == "observe":
        return Reason(Code.OBSERVE_MODE)
    if is_exempt(terminal, settings):
        return Reason(Code.EXEMPT)
    if not terminal.back_end.can_set_max:
        return Reason(Code.BACK_END_CANNOT_BOUND, terminal.back_end.name)
    if not terminal.sends:
        return Reason(Code.NOT_SENDING)
    return None


def why_bounds_ended(cell: CellState) -> Reason | None:
    """Why a cell has neither bounds nor limits: its access point keeps a TXOP limit, or nothing limits a sender or
    other cells.
    """
    if cell.kept_txop.ended:
        return kept_txop(cell)
    if cell.unlimited.ended:
        return Reason(Code.UNLIMITED_SENDER, mac_text(cell.unlimited.mac))
    return neighbours(cell) if cell.neighbours.ended else None


def kept_txop(cell: CellState) -> Reason:
    """That a cell's access point keeps a TXOP limit beside which there are no bounds."""
    return Reason(Code.KEPT_TXOP, cell.kept_txop.refusal, limit=cell.kept_txop.limit_us)


def cell_restriction(cell: CellState) -> Reason | None:
    """Why neither a cell's access point nor its switch may change anything."""
    if cell.settings.mode == "observe":
        return Reason(Code.OBSERVE_MODE)
    if cell.settings.is_cell_exempt(cell.bssid):
        return Reason(Code.EXEMPT)
    return None


def widens(cell: CellState) -> bool:
    """Whether maxima may be larger than computed, beside others that nothing limits."""
    return cell.settings.policy.widens and cell_restriction(cell) is None and not cell.kept_txop.limit_us


def neighbours(cell: CellState) -> Reason | None:
    """That other cells take more of the channel, and the access point is to have its own parameters for that."""
    air = cell.neighbours.air
    return Reason(Code.NEIGHBOURS, "", air.own, air.others) if air is not None else None


def is_exempt(terminal: Terminal, settings: Settings) -> bool:
    """Whether an operator exempted a terminal, by its name or its MAC, or the cell that it is joined to."""
    if not settings.exempt and settings.match is None:
        return False
    names, bssid = (terminal.name, mac_text(terminal.mac)), terminal.bssid
    return any(map(settings.is_terminal_exempt, names)) or (bool(bssid) and settings.is_cell_exempt(bssid))


def is_station_exempt(mac: Mac, cell: CellState) -> bool:
    """Whether an operator exempted a station: by its MAC, an IP address of its or the name of its terminal, or with its
    cell.
    """
    settings = cell.settings
    if not settings.exempt and settings.match is None:
        return False
    if settings.is_cell_exempt(cell.bssid):
        return True
    station, terminal = cell.stations.by_mac.get(mac), cell.terminals.get(mac)
    names = [mac_text(mac), *([terminal.name] if terminal is not None else [])]
    names += map(address_text, station.latest.ip_addresses if station is not None else ())
    return any(map(settings.is_terminal_exempt, names))
