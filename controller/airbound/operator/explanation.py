# SPDX-License-Identifier: Apache-2.0
"""Everything about one terminal, one cell or one station: what it has, and what that follows from."""

from collections.abc import Iterable

from airbound.operator.printable import printable
from airbound.operator.values import (
    CAPACITY_SOURCES,
    bold,
    bounds_text,
    class_word,
    mbps,
    mode_name,
    ms,
    own_settings,
    queue_text,
    reason,
    seconds,
    settings_sources,
    table,
    terminal_state,
    unlimited_for,
)
from airbound.v1 import access_point_pb2, operations_pb2, terminal_pb2

Explained = (
    operations_pb2.ExplainTerminalResponse | operations_pb2.ExplainCellResponse | operations_pb2.ExplainStationResponse
)


def explanation(answer: Explained) -> str:
    """Everything about one terminal, one cell or one station."""
    if isinstance(answer, operations_pb2.ExplainCellResponse):
        return _cell_explanation(answer.cell)
    if isinstance(answer, operations_pb2.ExplainStationResponse):
        return _station_explanation(answer)
    return _terminal_explanation(answer)


def _cell_explanation(cell: operations_pb2.Cell) -> str:
    exempt = ", exempt" if cell.exempt else ""
    access_point = printable(cell.access_point) or "not connected"
    if cell.agent_version:
        access_point += f", agent version {printable(cell.agent_version)}"
    refused = f"{cell.refused_total} refused here, {cell.malformed_inputs_total} by its agent"
    ssid = printable(cell.ssid.decode(errors="replace"))
    lines = [
        f"{bold('cell')} {cell.bssid} {ssid}{exempt}: access point {access_point}",
        f"last report {seconds(cell.report_age_ms)} ago; {refused}",
        f"n={cell.active_senders} of {cell.stations} stations send, {cell.terminals} terminals; {_capacity(cell)}",
        *([f"the driver's survey is refused: {printable(cell.survey_refusal)}"] if cell.survey_refusal else []),
        *([f"mode {mode_name(cell.mode)}, policy {cell.policy}{own_settings(cell)}"] if settings_sources(cell) else []),
    ]
    if cell.datapath_id:
        lines.append(f"port of the OpenFlow switch {cell.datapath_id:016x}")
    return "\n".join(
        [
            *lines,
            *_edca_explanation(cell),
            *_windows_explanation(cell),
            *_live_explanation(cell),
            *_station_flows_explanation(cell),
        ]
    )


def _edca_explanation(cell: operations_pb2.Cell) -> list[str]:
    if not cell.HasField("edca"):
        return ["EDCA parameters: its agent reports none"]
    edca, state = cell.edca, cell.edca.state
    lines = ["", _edca(edca)]
    if edca.HasField("traffic") and edca.traffic.code != edca.reason.code:
        lines.append(f"  traffic: {reason(edca.traffic)}")
    if edca.HasField("uplink_share"):
        lines.append(
            f"  uplink {mbps(edca.uplink_bps)}, downlink {mbps(edca.downlink_bps)} without the ACKs of uploads:"
            f" uplink's share {edca.uplink_share:.0%}"
        )
    is_sent = list(edca.wanted) == list(edca.sent) and list(edca.wanted_stations) == list(edca.sent_stations)
    computed = "" if is_sent else f"; computed, not sent: {_set(edca.wanted, edca.wanted_stations)}"
    lines.append(f"  {printable(edca.formula)}{computed}")
    sent, in_force = edca.generation_sent or "none", state.generation or "none"
    lease = (
        f", lease ends in {seconds(edca.lease_remaining_ms)} unless renewed" if edca.sent or edca.sent_stations else ""
    )
    lines += [
        f"  generation sent {sent}, in force {in_force}{lease}; {state.refused_total} commands refused by its agent",
        f"  its own: {_queues(state.own)}",
        f"  stations: {_queues(state.stations)}{'' if state.wmm else ' (no WMM)'}",
    ]
    if edca.failures_total:
        lines.append(f"  {edca.failures_total} decisions ended in an error of the controller")
    return lines


def _windows_explanation(cell: operations_pb2.Cell) -> list[str]:
    """What the access point does with the windows of stations without a working agent."""
    if not cell.HasField("windows"):
        return []
    windows, state = cell.windows, cell.windows.state
    sent, in_force = windows.generation_sent or "none", state.generation or "none"
    lease = f", lease ends in {seconds(windows.lease_remaining_ms)} unless renewed" if windows.sent else ""
    lines = [
        "",
        f"{bold('windows')} of stations without a working agent: {_why_windows(windows)}",
        (
            f"  {windows.stations_limited} of {windows.stations_without_agent} stations that send are limited,"
            f" {len(windows.sent)} limits"
        ),
        f"  generation sent {sent}, in force {in_force}{lease}; {state.refused_total} commands refused by its agent",
        (
            f"  {state.connections} connections known of {state.connections_max} at most,"
            f" {state.connections_evicted_total} forgotten for others; {state.limited_segments_total} segments limited"
        ),
    ]
    if windows.omitted:
        lines.append(f"  {windows.omitted} limits left out: the access point takes at most {state.limits_max}")
    if windows.failures_total:
        lines.append(f"  {windows.failures_total} decisions ended in an error of the controller")
    return lines


def _why_windows(windows: operations_pb2.CellWindows) -> str:
    return reason(windows.reason) if windows.HasField("reason") else "not decided yet"


def _edca(edca: operations_pb2.CellEdca) -> str:
    """What was sent and why, in one line."""
    what = _set(edca.sent, edca.sent_stations)
    why = reason(edca.reason) if edca.HasField("reason") else "not decided yet"
    return f"{bold('EDCA parameters')} of the access point: {what}: {why}"


def _set(own: Iterable[access_point_pb2.Edca], stations: Iterable[access_point_pb2.Edca]) -> str:
    return "; ".join([*map(queue_text, own), *(f"stations' {queue_text(queue)}" for queue in stations)]) or "its own"


def _queues(queues: Iterable[access_point_pb2.Edca]) -> str:
    return "; ".join(map(queue_text, queues)) or "its own"


def _capacity(cell: operations_pb2.Cell) -> str:
    return (
        f"uplink {mbps(cell.uplink_bps)},"
        f" capacity {mbps(cell.capacity_bps)} (from {CAPACITY_SOURCES.get(cell.capacity_source, '?')})"
    )


def _terminal_explanation(answer: operations_pb2.ExplainTerminalResponse) -> str:
    terminal = answer.terminal
    refused = f"{terminal.refused_total} refused here, {terminal.malformed_inputs_total} by its agent"
    agent = f"back end {printable(terminal.back_end) or 'unknown'}, version {printable(terminal.agent_version) or '?'}"
    sent, in_force = terminal.bounds_generation_sent or "none", terminal.bounds_generation_in_force or "none"
    state = terminal_state(terminal)
    lines = [
        f"{bold('terminal')} {printable(terminal.name)}, MAC {terminal.mac}: {state}; agent: {agent}",
        f"last report {seconds(terminal.report_age_ms)} ago ({_trigger(answer.last_trigger)}); {refused}",
        f"generation sent {sent}, in force {in_force}",
    ]
    if terminal.failures_total:
        lines.append(f"{terminal.failures_total} decisions ended in an error of the controller")
    if answer.HasField("cell"):
        cell = answer.cell
        lines.append(f"cell {cell.bssid}: n={cell.active_senders} of {cell.stations} stations send, {_capacity(cell)}")
        if cell.HasField("edca"):
            lines.append(_edca(cell.edca))
    if terminal.HasField("no_bounds"):
        lines.append(f"{bold('no bounds')}: {reason(terminal.no_bounds)}")
    if terminal.bounds_sent and any(not _was_sent(decision, terminal) for decision in terminal.decisions):
        lines.append(f"sent, as its back end can take it: {bounds_text(terminal.bounds_sent)}")
    for decision in terminal.decisions:
        lines += ["", *_decision(decision, terminal)]
    if terminal.classes_chosen:
        lines += ["", f"{bold('classes')} that an operator chose: {', '.join(map(_choice, terminal.classes_chosen))}"]
    if terminal.live_flows:
        lines += ["", *_live_flows(terminal)]
    if answer.destinations:
        lines += ["", _destinations(answer.destinations)]
    return "\n".join(lines)


def _station_explanation(answer: operations_pb2.ExplainStationResponse) -> str:
    station, cell = answer.station, answer.cell
    words = ["sending" if station.active_sender else "idle", *(["exempt"] if station.exempt else [])]
    agent = f"terminal {printable(station.terminal)}" if station.terminal else "no agent"
    lines = [
        (
            f"{bold('station')} {station.mac} ({' '.join(station.ip_addresses) or 'no address known'}):"
            f" {', '.join(words)}; {agent}; uplink {mbps(station.uplink_bps)}"
        ),
        f"cell {cell.bssid}: n={cell.active_senders} of {cell.stations} stations send, {_capacity(cell)}",
    ]
    if cell.HasField("windows"):
        windows = cell.windows
        sent, in_force = windows.generation_sent or "none", windows.state.generation or "none"
        lines.append(f"{bold('windows')}: {_why_windows(windows)}; generation sent {sent}, in force {in_force}")
    else:
        lines.append("windows: the access point's agent does not look at its stations' connections")
    lines += _station_limits(station)
    if station.destinations:
        lines += ["", _station_destinations(station.destinations)]
    return "\n".join(lines)


def limits_instead(answer: operations_pb2.ExplainStationResponse) -> str:
    """How the access point limits the station of a terminal whose agent does not; empty if it is not to."""
    station, windows = answer.station, answer.cell.windows
    if not station.HasField("lack"):
        return ""
    sent, in_force = windows.generation_sent or "none", windows.state.generation or "none"
    head = f"{bold('windows')}, limited by its access point instead: generation sent {sent}, in force {in_force}"
    return "\n".join([head, *_station_limits(station)])


def _station_limits(station: operations_pb2.StationView) -> list[str]:
    """Why its access point is to limit a station, and each limit with what it follows from, or why there is none."""
    lines = []
    if station.HasField("lack"):
        lines.append(f"the access point is to limit it: {reason(station.lack)}")
    if station.HasField("no_limit"):
        lines.append(f"{bold('no limit')}{unlimited_for(station)}: {reason(station.no_limit)}")
    limits = {limit.destination: limit.max_bytes for limit in station.limits}
    for decision in station.decisions:
        max_bytes = limits.get(decision.destination)
        what = f"{max_bytes} bytes a connection" if max_bytes is not None else "computed, not sent"
        lines += ["", *_decision_lines(decision, f"{decision.destination} {decision.max_segs}", what)]
    return lines


def _station_destinations(views: Iterable[operations_pb2.StationDestinationView]) -> str:
    rows = [
        (
            view.address,
            f"{view.connections_sending}/{view.connections}",
            str(view.connections_unscaled),
            f"{ms(view.srtt_us)} ({ms(view.min_rtt_us)})",
            f"{view.mss_bytes or '?'}",
            f"{view.sent_bytes / 1e6:.1f} MB",
            f"{view.received_bytes / 1e6:.1f} MB",
        )
        for view in views
    ]
    heads = ("DESTINATION", "SENDING", "NOT LIMITABLE", "RTT (MIN)", "MSS", "SENT", "RECEIVED")
    return table(heads, rows)


def _decision(decision: operations_pb2.Decision, terminal: operations_pb2.Terminal) -> list[str]:
    computed_only = "" if _was_sent(decision, terminal) else "computed, not sent"
    return _decision_lines(decision, f"{decision.destination} {decision.min_segs}..{decision.max_segs}", computed_only)


def _decision_lines(decision: operations_pb2.Decision, head: str, what: str) -> list[str]:
    return [
        f"{bold(head)} segments, policy {decision.policy}, n={decision.active_senders}{f', {what}' if what else ''}",
        f"  RTT {ms(decision.srtt_us)}, {decision.rtt_ratio:.1f} x min RTT {ms(decision.min_rtt_us)}",
        f"  smallest RTT that it saw itself {ms(decision.own_min_rtt_us)}",
        f"  {decision.formula}",
        *(f"  {reason(note)}" for note in decision.notes),
    ]


def _live_flows(terminal: operations_pb2.Terminal) -> list[str]:
    """What its live applications need and get, and why not more."""
    sent, in_force = terminal.flows_generation_sent or "none", terminal.flows_generation_in_force or "none"
    lines = [f"{bold('live flows')}: generation sent {sent}, in force {in_force}"]
    if terminal.flows_failure:
        lines.append(f"  its agent could not apply them: {printable(terminal.flows_failure)}")
    for flow in terminal.live_flows:
        uids = ",".join(map(str, flow.uids))
        lines.append(
            f"  {flow.destination} uid {uids}: sends {mbps(flow.used_bps)}, needs {mbps(flow.need_bps)},"
            f" {flow.air:.1%} of the air"
        )
        if flow.granted:
            admitted = f", {flow.admitted_us_per_s / 1e4:.1f} % of the air admitted" if flow.admitted_us_per_s else ""
            lines.append(f"    has the category for video{admitted}")
        else:
            lines.append(f"    {bold('no grant')}: {reason(flow.refused)}")
    return lines


def _choice(choice: operations_pb2.ClassChoice) -> str:
    application = f"uid {choice.uid}" if choice.HasField("uid") else "all applications"
    return f"{application} {class_word(choice.application_class)}"


def _station_flows_explanation(cell: operations_pb2.Cell) -> list[str]:
    """What the access point does with packets to live flows."""
    if not cell.HasField("station_flows"):
        return []
    flows, state = cell.station_flows, cell.station_flows.state
    head = f"{bold('packets to stations')} as video:"
    refused = f"{state.refused_total} commands refused by its agent"
    if not state.can_set:
        return ["", f"{head} its agent cannot change them: {printable(state.refusal) or 'no reason given'}; {refused}"]
    sent, in_force = flows.generation_sent or "none", state.generation or "none"
    why = f": {reason(flows.reason)}" if flows.HasField("reason") else ", none was needed yet"
    lease = f", lease ends in {seconds(flows.lease_remaining_ms)} unless renewed" if flows.sent else ""
    return [
        "",
        f"{head} {flows.sent} of at most {state.flows_max} flows{why}",
        f"  generation sent {sent}, in force {in_force}{lease}; {refused}; {state.marked_packets_total} packets so far",
    ]


def _live_explanation(cell: operations_pb2.Cell) -> list[str]:
    """How many live flows the cell has, and what they need."""
    if not cell.HasField("live"):
        return []
    live = cell.live
    lines = [
        "",
        (
            f"{bold('live flows')}: {live.granted} of {live.flows} have the category for video, and need"
            f" {live.air:.1%} of the air"
        ),
    ]
    if live.closed_by:
        lines.append(f"  {live.closed_by} uses it without a grant, so it has no advantage for anybody")
    if live.failures_total:
        lines.append(f"  {live.failures_total} decisions ended in an error of the controller")
    return lines


def _destinations(views: Iterable[operations_pb2.DestinationView]) -> str:
    rows = [
        (
            view.address,
            f"{view.connections_sending}/{view.connections}",
            str(view.cwnd_segs),
            f"{view.queued_bytes / 1000:.0f} kB",
            f"{view.delivered_bytes / 1e6:.1f} MB",
            _events(view.events),
            ",".join(map(str, view.uids)) or "-",
            _classes(view.classes),
        )
        for view in views
    ]
    return table(("DESTINATION", "SENDING", "CWND", "QUEUED", "DELIVERED", "EVENTS", "UIDS", "CLASSES"), rows)


def _classes(parts: Iterable[terminal_pb2.ClassPart]) -> str:
    """Of each class its connections that send, of how many; the rest is of the default class."""
    found = [f"{class_word(part.application_class)} {part.connections_sending}/{part.connections}" for part in parts]
    return ", ".join(found) or "-"


def _events(events: terminal_pb2.EventCounts) -> str:
    counts = [f"{field.name} {value}" for field, value in events.ListFields()]
    return ", ".join(counts).replace("_", " ") or "none"


def _was_sent(decision: operations_pb2.Decision, terminal: operations_pb2.Terminal) -> bool:
    wanted = (decision.destination, decision.min_segs, decision.max_segs)
    return any(
        (sent.destination, sent.min_segs, sent.max_segs) == wanted
        for sent in terminal.bounds_sent
        if not sent.HasField("uid")
    )


def _trigger(trigger: int) -> str:
    known = trigger in terminal_pb2.TerminalReportTrigger.values()
    name = terminal_pb2.TerminalReportTrigger.Name(trigger) if known else "?"
    return name.removeprefix("TERMINAL_REPORT_TRIGGER_").lower().replace("_", " ")
