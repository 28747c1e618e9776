# SPDX-License-Identifier: Apache-2.0
"""From the engine's state to what operators are shown, in one step: the messages are the copies."""

from airbound.core.addresses import Address, Mac, address_text, mac_text
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.channel_access import CannotSetError, announcement, stations_formula, wanted
from airbound.core.cell.channel_access import formula as edca_formula
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.commands import fit_to_back_end
from airbound.core.decisions import decide
from airbound.core.effects import Bound, WindowLimit
from airbound.core.parameters import Mode
from airbound.core.policy import UNBOUNDED, Decision, Policy, PolicyInput
from airbound.core.reasons import Code, Reason
from airbound.core.reports import EdcaState, StationFlowState, WindowState
from airbound.core.restriction import is_exempt, is_station_exempt
from airbound.core.settings import Settings
from airbound.grpc.command_convert import queue, queue_messages, reason_message
from airbound.v1 import access_point_pb2, operations_pb2, terminal_pb2

MODES: dict[Mode, operations_pb2.Mode] = {
    "observe": operations_pb2.MODE_OBSERVE,
    "control": operations_pb2.MODE_CONTROL,
}
_SOURCES = {
    "default": operations_pb2.CAPACITY_SOURCE_DEFAULT,
    "bitrate": operations_pb2.CAPACITY_SOURCE_BITRATE,
    "busy_time": operations_pb2.CAPACITY_SOURCE_BUSY_TIME,
    "throughput": operations_pb2.CAPACITY_SOURCE_THROUGHPUT,
}


def cell(state: CellState, now_us: int) -> operations_pb2.Cell:
    """A cell at one moment."""
    bps, source = state.capacity.estimate()
    access_point, settings, match = state.access_point, state.settings, state.settings.match
    message = operations_pb2.Cell(
        bssid=state.name,
        ssid=state.ssid,
        center_frequency_mhz=state.center_frequency_mhz,
        stations=len(state.stations.by_mac),
        active_senders=state.stations.active_senders,
        terminals=len(state.terminals),
        uplink_bps=round(state.stations.uplink_bps),
        capacity_bps=round(bps),
        capacity_source=_SOURCES[source],
        report_age_ms=(now_us - state.reported_at_us) // 1000,
        reassociations_total=state.stations.reassociations_total,
        exempt=settings.is_cell_exempt(state.bssid),
        mode=MODES[settings.mode],
        policy=settings.parameters.policy,
        mode_by_operator=settings.mode_by_operator,
        band=access_point_pb2.Band.Name(state.radio.band),
        links=state.radio.links,
        survey_refusal=state.radio.survey_refusal,
        surveys_refused_total=state.radio.surveys_refused_total,
        datapath_id=state.datapath_id,
    )
    if match is not None:
        message.override.name, message.override.matched = match.override.name, match.by
    if state.stations.busy_ratio is not None:
        message.busy_ratio = state.stations.busy_ratio
    if access_point is not None:
        message.access_point = access_point.stream.principal.name
        message.refused_total = access_point.refused_total
        message.malformed_inputs_total = access_point.malformed_inputs_total
        message.agent_version = access_point.agent_version
        if access_point.edca is not None:
            message.edca.CopyFrom(_cell_edca(state, access_point, access_point.edca, now_us))
        if access_point.windows is not None:
            message.windows.CopyFrom(_cell_windows(state, access_point, access_point.windows, now_us))
        if access_point.station_flows is not None:
            message.station_flows.CopyFrom(_cell_station_flows(access_point, access_point.station_flows, now_us))
    if state.live.flows or state.live.failures_total:
        message.live.CopyFrom(_cell_live(state, now_us))
    return message


def _cell_station_flows(
    access_point: AccessPoint, reported: StationFlowState, now_us: int
) -> operations_pb2.CellStationFlows:
    sent = access_point.station_flows_lease.sent
    message = operations_pb2.CellStationFlows(state=access_point_pb2.StationFlowState(**reported._asdict()))
    if sent is not None:
        message.sent, message.generation_sent = len(sent.entries), sent.generation
        message.lease_remaining_ms = max(0, sent.ends_at_us - now_us) // 1000 if sent.entries else 0
        message.reason.CopyFrom(reason_message(sent.reasons[0]))
    return message


def _cell_live(state: CellState, now_us: int) -> operations_pb2.CellLive:
    closed_by = state.priorities.closed_by(now_us) if state.live.granted else b""
    return operations_pb2.CellLive(
        flows=len(state.live.flows),
        granted=state.live.granted,
        air=state.live.granted_part,
        closed_by=mac_text(closed_by) if closed_by else "",
        failures_total=state.live.failures_total,
    )


def _live_flows(state: CellState, mac: Mac) -> list[operations_pb2.LiveFlow]:
    """A terminal's, by destination."""
    views = []
    for key, flow in sorted(state.live.flows.items()):
        if key.mac != mac:
            continue
        view = operations_pb2.LiveFlow(
            destination=address_text(key.address),
            uids=flow.uids,
            used_bps=round(flow.used_bps),
            need_bps=round(flow.need_bps),
            air=flow.part,
            granted=flow.granted,
            admitted_us_per_s=flow.admitted_us_per_s,
        )
        if flow.refused is not None:
            view.refused.CopyFrom(reason_message(flow.refused))
        views.append(view)
    return views


def _cell_edca(
    state: CellState, access_point: AccessPoint, reported: EdcaState, now_us: int
) -> operations_pb2.CellEdca:
    sent, access, parameters = access_point.edca_lease.sent, state.channel_access, state.settings.parameters.edca
    message = operations_pb2.CellEdca(
        state=access_point_pb2.EdcaState(
            can_set=reported.can_set,
            refusal=reported.refusal,
            generation=reported.generation,
            own=map(queue, reported.own),
            stations=map(queue, reported.stations),
            wmm=reported.wmm,
            refused_total=reported.refused_total,
            can_set_stations=reported.can_set_stations,
            stations_refusal=reported.stations_refusal,
            takes_priorities=reported.takes_priorities,
        ),
        uplink_bps=round(access.uplink_bps),
        downlink_bps=round(access.downlink_bps),
        failures_total=state.edca_failures_total,
    )
    try:
        to_be = wanted(reported, parameters)
        message.formula = edca_formula(reported, parameters)
        message.wanted.extend([] if to_be in reported.own else [queue(to_be)])
    except CannotSetError as error:
        message.formula = str(error)
    message.formula = "; ".join(filter(None, [message.formula, stations_formula(reported, parameters)]))
    try:
        announced = announcement(reported, parameters)
        message.wanted_stations.extend([] if announced is None else [queue(announced)])
    except CannotSetError:
        pass  # the formula says so
    if sent is not None:
        message.sent.extend(queue_messages(sent.entries, announced=False))
        message.sent_stations.extend(queue_messages(sent.entries, announced=True))
        message.generation_sent = sent.generation
        message.lease_remaining_ms = max(0, sent.ends_at_us - now_us) // 1000 if sent.entries else 0
    if state.edca_reason is not None:
        message.reason.CopyFrom(reason_message(state.edca_reason))
    if state.edca_traffic is not None:
        message.traffic.CopyFrom(reason_message(state.edca_traffic))
    if access.uplink_bps or access.downlink_bps:
        message.uplink_share = access.share
    return message


def _cell_windows(
    state: CellState, access_point: AccessPoint, reported: WindowState, now_us: int
) -> operations_pb2.CellWindows:
    sent, clamp = access_point.windows_lease.sent, state.windows
    lacking = [sender for sender in clamp.senders.values() if sender.no_agent]
    message = operations_pb2.CellWindows(
        state=access_point_pb2.WindowState(**reported._asdict()),
        stations_without_agent=len(lacking),
        stations_limited=sum(sender.limited for sender in clamp.senders.values()),
        omitted=clamp.omitted,
        failures_total=clamp.failures_total,
    )
    if sent is not None:
        message.sent.extend(map(window_limit_sent, sent.entries))
        message.generation_sent = sent.generation
        message.lease_remaining_ms = max(0, sent.ends_at_us - now_us) // 1000 if sent.entries else 0
    if clamp.reason is not None:
        message.reason.CopyFrom(reason_message(clamp.reason))
    return message


def window_limit_sent(entry: WindowLimit) -> operations_pb2.WindowLimitSent:
    """One limit of a station's windows."""
    destination = address_text(entry.address) if entry.address else ""
    return operations_pb2.WindowLimitSent(
        station=mac_text(entry.mac), destination=destination, max_bytes=entry.max_bytes
    )


def terminal(
    state: Terminal, cell_state: CellState | None, controller: Settings, now_us: int
) -> operations_pb2.Terminal:
    """A terminal at one moment; `controller` are the settings of those that are joined to no cell."""
    sent = state.sent
    settings = controller if cell_state is None else cell_state.settings
    decisions = decide(state, cell_state) if cell_state is not None else ()
    omitted = {reason.subject: reason for reason in fit_to_back_end(decisions, state.back_end)[1]}
    message = operations_pb2.Terminal(
        mac=mac_text(state.mac),
        name=state.name,
        bssid=cell_state.name if cell_state else "",
        active_sender=cell_state is not None and cell_state.stations.is_active(state.mac),
        exempt=is_exempt(state, settings),
        back_end=state.back_end.name,
        bounds_generation_in_force=state.generation_in_force,
        bounds_generation_sent=state.last_generation,
        bounds_sent=map(bound_sent, sent.entries if sent else ()),
        decisions=[_decision(decision, cell_state.policy) for decision in decisions] if cell_state is not None else [],
        report_age_ms=(now_us - state.reported_at_us) // 1000,
        refused_total=state.refused_total,
        failures_total=state.failures_total,
        malformed_inputs_total=state.malformed_inputs_total,
        agent_version=state.agent_version,
        uplink_bps=_uplink_bps(state, cell_state),
    )
    for decision in message.decisions:
        if decision.destination in omitted:
            decision.notes.append(reason_message(omitted[decision.destination]))
    if state.no_bounds is not None:
        message.no_bounds.CopyFrom(reason_message(state.no_bounds))
    for uid, number in sorted(state.classes_chosen.items(), key=lambda choice: (choice[0] is not None, choice[0])):
        message.classes_chosen.add(uid=uid, application_class=number)
    if cell_state is not None and cell_state.live.flows:
        message.live_flows.extend(_live_flows(cell_state, state.mac))
    if state.flow_state is not None:
        message.flows_generation_in_force = state.flow_state.generation
        message.flows_failure = state.flow_state.failure
    flows_sent = state.flows_lease.sent
    message.flows_generation_sent = flows_sent.generation if flows_sent is not None else 0
    return message


def _uplink_bps(state: Terminal, cell_state: CellState | None) -> int:
    """What the access point counts of a terminal's station."""
    station = cell_state.stations.by_mac.get(state.mac) if cell_state is not None else None
    return round(station.payload_bytes_per_s * 8) if station is not None else 0


def bound_sent(bound: Bound) -> operations_pb2.BoundSent:
    """One bound of a terminal."""
    return operations_pb2.BoundSent(
        destination=_address(bound.address), min_segs=bound.min_segs, max_segs=bound.max_segs, uid=bound.uid
    )


def _decision(decision: Decision, policy: Policy) -> operations_pb2.Decision:
    policy_input = decision.policy_input
    return operations_pb2.Decision(
        destination=address_text(decision.destination),
        min_segs=decision.range.min_segs,
        max_segs=decision.range.max_segs,
        policy=policy.name,
        active_senders=policy_input.active_senders,
        connections=policy_input.connections,
        srtt_us=policy_input.srtt_us,
        min_rtt_us=policy_input.min_rtt_us,
        own_min_rtt_us=decision.own_min_rtt_us,
        rtt_ratio=policy_input.rtt_ratio,
        capacity_bps=round(policy_input.capacity_bps) if policy.uses_capacity else 0,
        formula=policy.formula(policy_input) + _beside_others(policy_input) + _beside_udp(policy_input),
    )


def _beside_others(policy_input: PolicyInput) -> str:
    if policy_input.widened >= UNBOUNDED:
        return "; raised before bounds end"
    return (
        f"; maximum x {policy_input.widened:.2f}, beside a sender that nothing limits, downloads or other cells"
        if policy_input.widened != 1
        else ""
    )


def _beside_udp(policy_input: PolicyInput) -> str:
    part = policy_input.tcp_part
    return f"; maximum x {part:.2f}, beside the terminal's UDP" if part < 1 else ""


def station(
    state: CellState, mac: Mac, report: access_point_pb2.AccessPointReport, now_us: int
) -> operations_pb2.StationView | None:
    """One station of a cell; none if it is not there. `report` as of `stations`."""
    return next((view for view in stations(state, report, now_us) if view.mac == mac_text(mac)), None)


def _windows_of(
    view: operations_pb2.StationView, state: CellState, mac: Mac, reported: access_point_pb2.Station, now_us: int
) -> None:
    """What is known of a station's connections, and made of it."""
    view.destinations.extend(map(_station_destination, reported.destinations))
    view.exempt = is_station_exempt(mac, state)
    sender, access_point = state.windows.senders.get(mac), state.access_point
    if sender is None:
        return
    no_limit = state.windows.why_unlimited(mac)
    if sender.unlimited_since_us:
        view.unlimited_for_ms = (now_us - sender.unlimited_since_us) // 1000
    if sender.no_agent is not None:
        view.lack.CopyFrom(reason_message(sender.no_agent))
    if no_limit is not None:
        view.no_limit.CopyFrom(reason_message(no_limit))
    sent = access_point.windows_lease.sent if access_point is not None else None
    limits = [limit for limit in sent.entries if limit.mac == mac] if sent is not None else []
    view.limits.extend(map(window_limit_sent, limits))
    view.decisions.extend(_decision(decision, state.policy) for decision in sender.decisions)
    if limits and sent is not None:
        limited = {limit.destination for limit in view.limits}
        for decision in view.decisions:
            if decision.destination not in limited:
                omitted = Reason(Code.OMITTED_LIMITS_MAX, decision.destination, limit=len(sent.entries))
                decision.notes.append(reason_message(omitted))


def _station_destination(destination: access_point_pb2.StationDestination) -> operations_pb2.StationDestinationView:
    return operations_pb2.StationDestinationView(
        address=_reported_address(destination.address),
        connections=destination.connections,
        connections_sending=destination.connections_sending,
        srtt_us=destination.srtt_us,
        min_rtt_us=destination.min_rtt_us,
        mss_bytes=destination.mss_bytes,
        sent_bytes=destination.sent_bytes,
        received_bytes=destination.received_bytes,
        connections_unscaled=destination.connections_unscaled,
    )


def stations(
    state: CellState, report: access_point_pb2.AccessPointReport, now_us: int
) -> list[operations_pb2.StationView]:
    """A cell's stations; `report` is the access point's last one, which has what decisions do not need."""
    reported = {station.mac: station for station in report.stations}
    views = []
    for mac, station in sorted(state.stations.by_mac.items()):
        counted = reported.get(mac, access_point_pb2.Station())
        joined = state.terminals.get(mac)
        view = operations_pb2.StationView(
            mac=mac_text(mac),
            ip_addresses=[address_text(address) for address in station.latest.ip_addresses],
            active_sender=state.stations.is_active(mac),
            terminal=joined.name if joined else "",
            uplink_bps=round(station.payload_bytes_per_s * 8),
            retries_per_s=station.retries_per_s,
            rx_bitrate_kbps=counted.rx_bitrate_kbps,
            tx_bitrate_kbps=counted.tx_bitrate_kbps,
            rx_airtime_us=counted.rx_airtime_us,
            tx_airtime_us=counted.tx_airtime_us,
            airtime_source=counted.airtime_source,
            tx_retries=counted.tx_retries,
            tx_failed=counted.tx_failed,
            connected_time_ms=counted.connected_time_ms,
            vlan_interface=counted.vlan_interface,
            four_address=counted.four_address,
            multi_link=counted.multi_link,
            links=counted.links,
        )
        if counted.HasField("signal_dbm"):
            view.signal_dbm = counted.signal_dbm
        if counted.airtime_source != access_point_pb2.AIRTIME_SOURCE_UNSPECIFIED:
            view.air_ratio = station.air_ratio
        _windows_of(view, state, mac, counted, now_us)
        views.append(view)
    return views


def destinations(report: terminal_pb2.TerminalReport) -> list[operations_pb2.DestinationView]:
    """What a terminal reported last of its destinations."""
    return [
        operations_pb2.DestinationView(
            address=_reported_address(destination.address),
            connections=destination.connections,
            connections_sending=destination.connections_sending,
            srtt_us=destination.srtt_us,
            min_rtt_us=destination.min_rtt_us,
            cwnd_segs=destination.cwnd_segs,
            ssthresh_segs=destination.ssthresh_segs,
            delivered_bytes=destination.delivered_bytes,
            queued_bytes=destination.queued_bytes,
            events=destination.events,
            uids=destination.uids,
            classes=destination.classes,
        )
        for destination in report.destinations
    ]


def _address(address: Address) -> str:
    return address_text(address) if address else ""


def _reported_address(octets: bytes) -> str:
    """As reported, which may have been refused."""
    try:
        return address_text(octets)
    except ValueError:
        return octets.hex()
