# SPDX-License-Identifier: Apache-2.0
"""What live flows have that others do not: the category for video, up by what their terminals are sent, down by what
the access point is; and that nobody else has it meanwhile, by what the access point announces to all stations.

Cost and limits of it are those of cell/live.py. All of it is under leases, renewed with the reports of whom it is sent
to. An error frees all live flows of the cell, and concerns nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from airbound.core.addresses import mac_text
from airbound.core.cell.live import FlowKey, LiveFlow, carried_bps
from airbound.core.cell.pacing import LEAST_BPS
from airbound.core.commands import flows_command, flows_renewal, set_command
from airbound.core.decisions import min_rtt_used_us
from airbound.core.edca import Category, Edca
from airbound.core.effects import Effect, Flow, Note, SetStationFlows, StationFlow
from airbound.core.failure import failed, internal_error
from airbound.core.leases import Step
from airbound.core.reasons import Code, Reason
from airbound.core.restriction import cell_restriction, is_exempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound.core.addresses import Address, Mac
    from airbound.core.cell.state import CellState
    from airbound.core.cell.terminal import Terminal
    from airbound.core.reports import EdcaState

_NONE: frozenset[int] = frozenset()
_KEPT = 65_536  # entries of sets: they are the same in nearly every decision


def observe_live(cell: CellState, terminal: Terminal, now_us: int) -> bool:
    """Take in what a joined terminal's report says of live flows; whether they must be decided again."""

    def path_us(address: Address) -> int:
        destination = sending.get(address)
        return min_rtt_used_us(destination, cell) if destination is not None else 0

    sending = terminal.sending
    return cell.live.observe(terminal.mac, terminal.apps, path_us, now_us)


def decide_live(cell: CellState, now_us: int) -> tuple[list[Effect], list[Mac]]:
    """Commands for the cell's terminals about their live flows, and what of them its access point is to do; and the
    terminals whose windows follow from what changed.
    """
    live, effects, error = cell.live, list[Effect](), None
    live.forget(cell.terminals, cell.settings.parameters.safety.sending_keep_ms * 1000, now_us)
    try:
        _choose(cell, now_us)
    except Exception as raised:  # noqa: BLE001  # whatever it is, the others' leases go on
        error = internal_error(raised)
        live.failures_total += 1
        live.clear()
        effects.append(failed(cell, error, live.failures_total))
    waiting = _without_grant(live.flows.items())
    short = any(flow.is_short for flow in waiting)
    cell.stations_window.observe(cell.stations.active_senders, now_us, ungranted=bool(waiting), short=short)
    for key, refused in live.newly_refused():
        name = cell.terminals[key.mac].name
        effects.append(Note("info", "flows", name, (refused,), terminal=name, cell=cell.bssid))
    effects += _decide_all_flows(cell, now_us, error)
    effects += decide_station_flows(cell, now_us)
    rewindowed = sorted(live.rewindowed & cell.terminals.keys())
    live.rewindowed.clear()
    return effects, rewindowed


def _decide_all_flows(cell: CellState, now_us: int, error: Reason | None) -> list[Effect]:
    """Commands for all of the cell's terminals. What nothing changed for is not decided again."""
    terminals, effects = cell.terminals, list[Effect]()
    for mac in cell.live.outdated & terminals.keys():
        terminals[mac].flows_decided = None
    cell.live.outdated.clear()
    can_keep, holds_back = error is None and cell.unavailable(now_us) is None, _holds_back(cell)
    fresh_us = now_us - cell.settings.parameters.safety.terminal_stale_ms * 1000
    live: dict[Mac, list[tuple[FlowKey, LiveFlow]]] | None = None
    for mac, terminal in terminals.items():
        if can_keep and terminal.flows_decided is not None and terminal.reported_at_us >= fresh_us:
            kept = _keep_decided(cell, terminal, _held_back(cell, terminal, holds_back=holds_back), now_us)
            if kept is not None:
                effects += kept
                continue
        if live is None:
            live = {}
            for entry in cell.live.flows.items():
                live.setdefault(entry[0].mac, []).append(entry)
        effects += decide_flows(cell, terminal, live.get(mac, ()), now_us, error)
    return effects


def _keep_decided(cell: CellState, terminal: Terminal, held_back: frozenset[int], now_us: int) -> list[Effect] | None:
    """Another lease for a terminal's flows, if that is due; none if they are to be decided again."""
    if terminal.flows_decided != (_udp_bps(cell, terminal) if cell.pacing.paces else 0, held_back):
        return None
    lease = terminal.flows_lease
    if lease.is_settled(now_us):
        return []  # nearly always
    step = lease.step(lease.sent.entries if lease.sent is not None else (), terminal.reported_at_us, now_us)
    if step is Step.NOTHING:
        return []
    return flows_renewal(terminal, cell.settings, now_us) if step is Step.RENEW else None


def _without_grant(flows: Iterable[tuple[FlowKey, LiveFlow]]) -> list[LiveFlow]:
    """Live flows that have no grant, but for those that were none."""
    return [flow for _, flow in flows if flow.refused is not None and flow.refused.code is not Code.TAKES_ALL]


def announced_window(
    cell: CellState, state: EdcaState, queues: tuple[Edca, ...]
) -> tuple[tuple[Edca, ...], Reason | None]:
    """What is to be announced of best effort for live flows without a grant, and why they have none; nothing beside
    what an operator has announced.
    """
    is_able = state.can_set_stations and state.wmm and cell.settings.parameters.live.enabled
    if not cell.stations_window.cw_min or not is_able or cell_restriction(cell) is not None:
        return (), None
    if any(queue.announced and queue.category is Category.BEST_EFFORT for queue in queues):
        return (), None
    cw_min = cell.stations_window.cw_min
    reasons = [flow.refused for flow in _without_grant(sorted(cell.live.flows.items()))]
    return tuple(
        queue._replace(announced=True, cw_min=max(cw_min, queue.cw_min), cw_max=max(cw_min, queue.cw_max))
        for queue in state.stations
        if queue.category is Category.BEST_EFFORT
    ), next(iter(reasons), None)


def _choose(cell: CellState, now_us: int) -> None:
    restricted = live_restriction(cell)

    terminals, stations = cell.terminals, cell.stations.by_mac

    def restriction(key: FlowKey) -> Reason | None:
        return restricted or flow_restriction(cell, terminals[key.mac])

    def carries_bps(mac: Mac) -> float:
        station = stations.get(mac)
        return carried_bps(station.latest.rx_bitrate_kbps) if station is not None else 0.0

    claimants = cell.stations.active_senders + cell.stations.active_receivers
    cell.live.choose(cell.settings.parameters.live, restriction, carries_bps, claimants, now_us)


def observe_priorities(cell: CellState, now_us: int) -> None:
    """Take in what stations send as video and voice, by the access point's report."""
    priorities = cell.priorities
    granted = {key.mac for key, flow in cell.live.flows.items() if flow.granted}
    priorities.observe(cell.stations.by_mac, granted, cell.stations.busy_ratio, now_us)
    sent = cell.access_point.edca_lease.sent if cell.access_point is not None else None
    if sent is None or not any(queue.admission for queue in sent.entries):
        priorities.announced_at_us = 0
    elif not priorities.announced_at_us:
        priorities.announced_at_us = now_us


def live_restriction(cell: CellState) -> Reason | None:
    """Why all flows of a cell must stay as they are."""
    if not cell.settings.parameters.live.enabled:
        return Reason(Code.LIVE_OFF)
    restricted, access_point = cell_restriction(cell), cell.access_point
    if restricted is None and access_point is not None and access_point.edca is not None and not access_point.edca.wmm:
        return Reason(Code.NO_WMM)
    return restricted


def flow_restriction(cell: CellState, terminal: Terminal) -> Reason | None:
    """Why a terminal's flows must stay as they are, whatever they are."""
    if is_exempt(terminal, cell.settings):
        return Reason(Code.EXEMPT)
    abilities = terminal.flow_abilities
    if not abilities.can_mark or not abilities.flows_max:
        return Reason(Code.CANNOT_MARK, abilities.refusal)
    return None


def keep_flows(cell: CellState, terminal: Terminal, now_us: int) -> list[Effect]:
    """Commands for one terminal that is joined and has just reported, if nothing was decided since the last ones:
    another lease, or what was sent again. What time itself brings is decided with the access point's reports.
    """
    if cell.unavailable(now_us) is None:
        held_back, lease = _held_back(cell, terminal, holds_back=_holds_back(cell)), terminal.flows_lease
        kept = _keep_decided(cell, terminal, held_back, now_us)
        if kept is not None:
            return kept
        entries = lease.sent.entries if lease.sent is not None else ()
        is_settled = lease.step(entries, terminal.reported_at_us, now_us) is Step.NOTHING
        if is_settled and terminal.paced_uids == held_back:
            return []
    live = [(key, flow) for key, flow in cell.live.flows.items() if key.mac == terminal.mac]
    return decide_flows(cell, terminal, live, now_us)


def decide_flows(
    cell: CellState,
    terminal: Terminal,
    live: Sequence[tuple[FlowKey, LiveFlow]],
    now_us: int,
    error: Reason | None = None,
) -> list[Effect]:
    """Commands for one terminal that is joined: for those of its live flows that were granted, or another lease. `live`
    are its flows.
    """
    unavailable = error or cell.unavailable_for(terminal, now_us)
    if unavailable is not None and unavailable.waits:
        return []
    paced, granted, terminal.flows_decided = tuple[Flow, ...](), tuple[Flow, ...](), None
    if unavailable is None:
        udp_bps, held_back = _udp_bps(cell, terminal), _held_back(cell, terminal, holds_back=_holds_back(cell))
        terminal.flows_decided = udp_bps, held_back
        paced = udp_rates(terminal, udp_bps, held_back)
        granted = granted_flows(terminal, live, len(paced)) if live else ()
    flows = (*granted, *paced)
    if terminal.flows_lease.step(flows, terminal.reported_at_us, now_us) is Step.NOTHING:
        return []  # nearly always
    reason = unavailable or Reason(Code.LIVE_FLOWS, after=len(granted))
    if paced and not granted:
        reason = Reason(Code.PACED, after=paced[0].udp_bps)
    if not flows and unavailable is None:
        refused = [flow.refused for _, flow in live if flow.refused is not None]
        reason = refused[0] if refused else Reason(Code.NO_LIVE_FLOW)
    return flows_command(terminal, flows, reason, cell.settings, now_us)


def granted_flows(terminal: Terminal, live: Sequence[tuple[FlowKey, LiveFlow]], others: int = 0) -> tuple[Flow, ...]:
    """What a terminal is to do with its live flows: an entry for each application of one. What is admitted is for the
    flow as a whole, so the first of its applications has it. There are so many other entries.
    """
    flows, abilities = list[Flow](), terminal.flow_abilities
    for key, flow in sorted(live):
        if flow.granted:
            flows += _entries(key.address, flow.uids, flow.admitted_us_per_s if abilities.can_admit else 0)
    return tuple(flows[: abilities.flows_max - others])


def udp_rates(terminal: Terminal, udp_bps: int, held_back: frozenset[int]) -> tuple[Flow, ...]:
    """Rates of a terminal's UDP: of the whole, if there is one, and of applications of class background what is left,
    as of their TCP (app_bounds.py). Which those are is known by their TCP, so one that has none counts with the whole.
    """
    rates = _least_rates(held_back)
    if udp_bps:
        rates = (Flow(None, b"", udp_bps=udp_bps), *rates)
    return rates[: terminal.flow_abilities.flows_max]


def _udp_bps(cell: CellState, terminal: Terminal) -> int:
    """The rate of all of a terminal's UDP; 0 if it has none."""
    pace = cell.pacing.paces.get(terminal.mac)
    return round(pace.bps) if pace is not None else 0


@lru_cache(_KEPT)
def _entries(address: Address, uids: tuple[int, ...], admitted_us: int) -> tuple[Flow, ...]:
    return tuple(Flow(uid, address, Category.VIDEO, 0 if number else admitted_us) for number, uid in enumerate(uids))


@lru_cache(_KEPT)
def _least_rates(uids: frozenset[int]) -> tuple[Flow, ...]:
    return tuple(Flow(uid, b"", udp_bps=round(LEAST_BPS)) for uid in sorted(uids))


def _held_back(cell: CellState, terminal: Terminal, *, holds_back: bool) -> frozenset[int]:
    """User ids of background applications that have what is left; `holds_back` as of _holds_back."""
    uids = terminal.background_uids
    if not uids or not holds_back or not terminal.flow_abilities.can_pace or is_exempt(terminal, cell.settings):
        return _NONE
    return uids


def _holds_back(cell: CellState) -> bool:
    """Whether background applications of the cell's terminals have what is left: while others in it send."""
    others_send = cell.stations.active_senders > 1
    return others_send and cell.settings.parameters.pacing.enabled and cell_restriction(cell) is None


def decide_station_flows(cell: CellState, now_us: int) -> list[Effect]:
    """Commands for the access point about what goes down to live flows, such as their ACKs."""
    access_point = cell.access_point
    if access_point is None or access_point.closed or access_point.station_flows is None:
        return []
    unavailable, state = cell.unavailable(now_us), access_point.station_flows
    if unavailable is not None and unavailable.waits:
        return []
    flows = tuple(map(_station_flow, sorted([key for key, flow in cell.live.flows.items() if flow.granted])))
    if unavailable is not None or not state.can_set or cell_restriction(cell) is not None:
        flows = ()
    reason = unavailable or Reason(Code.LIVE_FLOWS if flows else Code.NO_LIVE_FLOW, after=len(flows) or None)
    lease, flows = access_point.station_flows_lease, flows[: state.flows_max]
    return set_command(SetStationFlows, access_point, lease, flows, (reason,), settings=cell.settings, now_us=now_us)


@lru_cache(_KEPT)
def _station_flow(key: FlowKey) -> StationFlow:
    return StationFlow(key.mac, key.address, Category.VIDEO)


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
    crowded, granted = priorities.is_crowded(now_us), cell.live.granted
    if not is_able or not (granted or crowded) or cell_restriction(cell) is not None:
        return (), None
    known = {queue.category: queue for queue in state.stations}
    misused_by, admits = priorities.closed_by(now_us), announces_admission(cell)
    if misused_by or (crowded and granted and not admits):
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
    if crowded and not granted:
        return found, Reason(Code.PRIORITY_NOT_GRANTED, mac_text(priorities.station))
    return found, Reason(Code.LIVE_FLOWS, after=granted)
