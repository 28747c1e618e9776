# SPDX-License-Identifier: Apache-2.0
"""What live flows have that others do not: the category for video, up by what their terminals are sent, down by what
the access point is; and that nobody else has it meanwhile, by what the access point announces to all stations.

Cost and limits of it are those of cell/live.py. All of it is under leases, renewed with the reports of whom it is sent
to. An error frees all live flows of the cell, and concerns nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core.addresses import mac_text
from airbound.core.cell.live import FlowKey, LiveFlow, carried_bps
from airbound.core.commands import flows_command, station_flows_command
from airbound.core.decisions import min_rtt_used_us
from airbound.core.edca import Category, Edca
from airbound.core.effects import Effect, Flow, StationFlow
from airbound.core.failure import failed, internal_error
from airbound.core.reasons import Code, Reason
from airbound.core.restriction import cell_restriction, is_exempt

if TYPE_CHECKING:
    from airbound.core.addresses import Address, Mac
    from airbound.core.cell.state import CellState
    from airbound.core.cell.terminal import Terminal
    from airbound.core.reports import EdcaState


def observe_live(cell: CellState, terminal: Terminal, now_us: int) -> bool:
    """Take in what a joined terminal's report says of live flows; whether they must be decided again."""

    def path_us(address: Address) -> int:
        destination = terminal.sending.get(address)
        return min_rtt_used_us(destination, cell) if destination is not None else 0

    return cell.live.observe(terminal.mac, terminal.apps, path_us, now_us)


def decide_live(cell: CellState, now_us: int) -> tuple[list[Effect], list[Mac]]:
    """Commands for the cell's terminals about their live flows, and what of them its access point is to do; and the
    terminals whose windows follow from what changed.
    """
    before = {key: flow.window_bps for key, flow in cell.live.flows.items()}
    keep_us = cell.settings.parameters.safety.sending_keep_ms * 1000
    cell.live.forget(lambda key, flow: key.mac not in cell.terminals or now_us - flow.seen_at_us > keep_us, now_us)
    effects, error = list[Effect](), None
    try:
        _choose(cell, now_us)
    except Exception as raised:  # noqa: BLE001  # whatever it is, the others' leases go on
        error = internal_error(raised)
        cell.live.failures_total += 1
        cell.live.flows.clear()
        effects.append(failed(cell, error, cell.live.failures_total))
    for terminal in cell.terminals.values():
        if terminal.has_flows or terminal.apps or terminal.mac in cell.pacing.paces:
            effects += decide_flows(cell, terminal, now_us, error)
    effects += decide_station_flows(cell, now_us)
    now = {key: flow.window_bps for key, flow in cell.live.flows.items()}
    changed = {key.mac for key in before.keys() | now.keys() if before.get(key, 0.0) != now.get(key, 0.0)}
    return effects, sorted(changed & cell.terminals.keys())


def _choose(cell: CellState, now_us: int) -> None:
    def restriction(key: FlowKey) -> Reason | None:
        return flow_restriction(cell, cell.terminals[key.mac])

    def carries_bps(mac: Mac) -> float:
        station = cell.stations.by_mac.get(mac)
        return carried_bps(station.latest.rx_bitrate_kbps) if station is not None else 0.0

    claimants = cell.stations.active_senders + cell.stations.active_receivers
    cell.live.choose(cell.settings.parameters.live, restriction, carries_bps, claimants, now_us)


def observe_priorities(cell: CellState, now_us: int) -> None:
    """Take in what stations send as video and voice, by the access point's report."""
    priorities = cell.priorities
    granted = {key.mac for key, flow in cell.live.flows.items() if flow.granted}
    priorities.observe(cell.stations.by_mac, granted, cell.stations.busy_ratio, now_us)
    sent = cell.access_point.edca_sent if cell.access_point is not None else None
    if sent is None or not any(queue.admission for queue in sent.entries):
        priorities.announced_at_us = 0
    elif not priorities.announced_at_us:
        priorities.announced_at_us = now_us


def flow_restriction(cell: CellState, terminal: Terminal) -> Reason | None:
    """Why a terminal's flows must stay as they are, whatever they are."""
    if not cell.settings.parameters.live.enabled:
        return Reason(Code.LIVE_OFF)
    restricted = cell_restriction(cell)
    if restricted is None and is_exempt(terminal, cell.settings):
        restricted = Reason(Code.EXEMPT)
    if restricted is not None:
        return restricted
    abilities, access_point = terminal.flow_abilities, cell.access_point
    if not abilities.can_mark or not abilities.flows_max:
        return Reason(Code.CANNOT_MARK, abilities.refusal)
    if access_point is not None and access_point.edca is not None and not access_point.edca.wmm:
        return Reason(Code.NO_WMM)
    return None


def decide_flows(cell: CellState, terminal: Terminal, now_us: int, error: Reason | None = None) -> list[Effect]:
    """Commands for one terminal that is joined: for the flows that were granted, or another lease for them."""
    unavailable = error or cell.unavailable_for(terminal, now_us)
    if unavailable is not None and unavailable.waits:
        return []
    live = {key: flow for key, flow in cell.live.flows.items() if key.mac == terminal.mac}
    pace = cell.pacing.paces.get(terminal.mac)
    paced = () if pace is None or unavailable is not None else (Flow(None, b"", udp_bps=round(pace.bps)),)
    granted = () if unavailable is not None else granted_flows(terminal, live, len(paced))
    flows = (*granted, *paced)
    reason = unavailable or Reason(Code.LIVE_FLOWS, after=len(granted))
    if paced and pace is not None and not granted:
        reason = Reason(Code.PACED, after=pace.bps)
    if not flows and unavailable is None:
        refused = [flow.refused for flow in live.values() if flow.refused is not None]
        reason = refused[0] if refused else Reason(Code.NO_LIVE_FLOW)
    return flows_command(terminal, flows, reason, cell.settings, now_us)


def granted_flows(terminal: Terminal, live: dict[FlowKey, LiveFlow], others: int = 0) -> tuple[Flow, ...]:
    """What a terminal is to do with its live flows: an entry for each application of one. What is admitted is for the
    flow as a whole, so the first of its applications has it. There are so many other entries.
    """
    flows, admits = list[Flow](), terminal.flow_abilities.can_admit
    for key, flow in sorted(live.items()):
        if flow.granted:
            admitted_us = flow.admitted_us_per_s if admits else 0
            for number, uid in enumerate(flow.uids):
                flows.append(Flow(uid, key.address, Category.VIDEO, 0 if number else admitted_us))
    return tuple(flows[: terminal.flow_abilities.flows_max - others])


def decide_station_flows(cell: CellState, now_us: int) -> list[Effect]:
    """Commands for the access point about what goes down to live flows, such as their ACKs."""
    access_point = cell.access_point
    if access_point is None or access_point.closed or access_point.station_flows is None:
        return []
    unavailable, state = cell.unavailable(now_us), access_point.station_flows
    if unavailable is not None and unavailable.waits:
        return []
    granted = [key for key, flow in sorted(cell.live.flows.items()) if flow.granted]
    flows = tuple(StationFlow(key.mac, key.address, Category.VIDEO) for key in granted)
    if unavailable is not None or not state.can_set or cell_restriction(cell) is not None:
        flows = ()
    reason = unavailable or Reason(Code.LIVE_FLOWS if flows else Code.NO_LIVE_FLOW, after=len(flows) or None)
    return station_flows_command(access_point, flows[: state.flows_max], reason, cell.settings, now_us)


def announces_admission(cell: CellState) -> bool:
    """Whether nobody without a grant is to send video: only where all that have one can be admitted."""
    granted = [key.mac for key, flow in cell.live.flows.items() if flow.granted]
    return bool(granted) and all(
        cell.terminals[mac].flow_abilities.can_admit for mac in granted if mac in cell.terminals
    )


def announced_priorities(
    cell: CellState, state: EdcaState, queues: tuple[Edca, ...], now_us: int
) -> tuple[tuple[Edca, ...], Reason | None]:
    """What is to be announced of video and voice beside these queues, and why: nothing while no flow is granted, unless
    what others send in these categories crowds out the rest.
    """
    parameters, priorities = cell.settings.parameters.live, cell.priorities
    is_able = state.can_set_stations and state.takes_priorities and state.wmm and parameters.enabled
    crowded = priorities.is_crowded(now_us)
    if not is_able or not (cell.live.granted or crowded) or cell_restriction(cell) is not None:
        return (), None
    known = {queue.category: queue for queue in state.stations}
    misused_by, admits = priorities.closed_by(now_us), announces_admission(cell)
    if misused_by or (crowded and cell.live.granted and not admits):
        best_effort = next(
            (queue for queue in queues if queue.announced and queue.category is Category.BEST_EFFORT),
            known.get(Category.BEST_EFFORT),
        )
        if best_effort is not None:
            same = best_effort._replace(announced=True)
            reason = Reason(Code.PRIORITY_NOT_GRANTED, mac_text(misused_by or priorities.station))
            return tuple(same._replace(category=category) for category in (Category.VIDEO, Category.VOICE)), reason
    closed = (Category.VIDEO, Category.VOICE) if crowded and priorities.voice else (Category.VIDEO,)
    found = tuple(known[category]._replace(announced=True, admission=True) for category in closed if category in known)
    if not found or not (crowded or admits):
        return (), None
    if crowded and not cell.live.granted:
        return found, Reason(Code.PRIORITY_NOT_GRANTED, mac_text(priorities.station))
    return found, Reason(Code.LIVE_FLOWS, after=cell.live.granted)
