# SPDX-License-Identifier: Apache-2.0
"""Which rules the switch of a cell is to have for its stations: every station is counted; where the configuration says
so, what goes to it is marked, and an active sender that nothing else bounds is limited to a little more than its fair
share.

A meter is the coarse means: it drops what is above a rate, where bounds and windows keep it from being sent. So it
lets more pass than a share, and is set anew for larger changes only.
"""

from collections.abc import Mapping

from airbound.core.addresses import Mac
from airbound.core.cell.state import CellState
from airbound.core.openflow_parameters import OpenflowParameters, mark_of_text
from airbound.core.switch_reports import KBPS_MAX, STATION_RULES_MAX, StationRule
from airbound.core.working_agent import why_no_working_agent

METER_MIN_KBPS = 500  # no meter lets pass less: a station that is taken for a sender by mistake can still work
METER_CHANGE_RATIO = 0.1  # a meter is set anew when its rate moved by more than this share


def is_unbounded(cell: CellState, mac: Mac, now_us: int) -> bool:
    """Whether nothing but a meter can bound a station: it has neither an agent that applies bounds nor, at the access
    point, limits of its receive windows in force.
    """
    sender = cell.windows.senders.get(mac)
    if sender is not None and sender.limited:
        return False
    return why_no_working_agent(cell, mac, now_us) is not None


def fair_share_bps(cell: CellState) -> float:
    """What a sender may have that wants all that it can get."""
    senders = cell.stations.active_senders + (cell.stations.active_receivers if cell.has_downloads else 0)
    return cell.decided_capacity_bps / (senders or 1) + cell.spare_bps


def station_rules(
    cell: CellState, before: Mapping[Mac, StationRule], now_us: int, *, applied: bool, meters_max: int
) -> tuple[StationRule, ...]:
    """The rules of a cell's stations, by their addresses; `before` are those that the switch has. Unless `applied`,
    they only count.
    """
    parameters, macs = cell.settings.parameters.openflow, sorted(cell.stations.addresses())[:STATION_RULES_MAX]
    if not applied:
        return tuple(map(StationRule, macs))
    marks = tuple(map(mark_of_text, parameters.marks))
    kbps, left = _share_kbps(cell, parameters), meters_max if parameters.meters == "on" else 0
    rules = []
    for mac in macs:
        uplink = downlink = 0
        if left and cell.stations.measured and not _is_exempt(cell, mac) and is_unbounded(cell, mac, now_us):
            old = before.get(mac, StationRule(mac))
            if cell.stations.is_active(mac):
                uplink = _steady(old.uplink_kbps, kbps)
                left -= 1
            if left and cell.has_downloads and cell.stations.by_mac[mac].receiving:
                downlink = _steady(old.downlink_kbps, kbps)
                left -= 1
        rules.append(StationRule(mac, uplink, downlink, marks))
    return tuple(rules)


def _is_exempt(cell: CellState, mac: Mac) -> bool:
    terminal = cell.terminals.get(mac)
    return terminal is not None and cell.settings.is_terminal_exempt(terminal.name)


def _share_kbps(cell: CellState, parameters: OpenflowParameters) -> int:
    wanted = round(fair_share_bps(cell) * parameters.headroom / 1000)
    return min(max(wanted, METER_MIN_KBPS), KBPS_MAX)


def _steady(before: int, kbps: int) -> int:
    """The rate of before unless it moved far enough."""
    return before if before and abs(kbps - before) <= METER_CHANGE_RATIO * before else kbps
