# SPDX-License-Identifier: Apache-2.0
"""Answers of a controller as text for people, or as JSON in the wire's own field names."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf import json_format
from grpc_health.v1 import health_pb2

from airbound import reason_text
from airbound.core.bands import BAND_NAMES
from airbound.core.edca import Category, category_text
from airbound.core.reasons import Code, Reason
from airbound.operator.table import lines as table_lines
from airbound.operator.table import width_of_terminal
from airbound.v1 import access_point_pb2, operations_pb2, reason_pb2, terminal_pb2

_CATEGORIES = {category.value: category_text(category) for category in Category}
_CODES = frozenset(code.value for code in Code)
_MODES = {operations_pb2.MODE_OBSERVE: "observe", operations_pb2.MODE_CONTROL: "control"}
_SOURCES = {
    operations_pb2.CAPACITY_SOURCE_DEFAULT: "default",
    operations_pb2.CAPACITY_SOURCE_BITRATE: "PHY rate",
    operations_pb2.CAPACITY_SOURCE_BUSY_TIME: "busy time",
    operations_pb2.CAPACITY_SOURCE_THROUGHPUT: "throughput",
}


def as_json(answer: Any) -> str:
    """A message as JSON."""
    return json_format.MessageToJson(
        answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def as_json_line(answer: Any) -> str:
    """A message as one line of JSON."""
    return json_format.MessageToJson(
        answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True, indent=None
    )


def controller(answer: operations_pb2.GetControllerResponse) -> str:
    """Mode, sizes, and everything that was counted."""
    lines = [
        f"airbound {answer.version}, mode {_mode(answer.mode)}, policy {answer.policy}",
        f"{answer.cells} cells, {answer.terminals} terminals; exempt: {_printable(', '.join(answer.exempt)) or 'none'}",
    ]
    rows = [(counter.name, _code(counter.code), str(counter.value)) for counter in answer.counters]
    return "\n".join([*lines, table(("COUNTER", "CODE", "VALUE"), rows)])


def mode(answer: operations_pb2.GetControllerResponse) -> str:
    """One line."""
    return f"mode {_mode(answer.mode)}, policy {answer.policy}"


def cell_mode(answer: operations_pb2.ExplainCellResponse) -> str:
    """One line."""
    cell = answer.cell
    return f"mode {_mode(cell.mode)}, policy {cell.policy}{_own_settings(cell)}"


def _own_settings(cell: operations_pb2.Cell) -> str:
    """Where a cell's settings come from if they are not the controller's."""
    return f" ({', '.join(_sources(cell))})" if _sources(cell) else ""


def _sources(cell: operations_pb2.Cell) -> list[str]:
    override = [f"{cell.override.name}, {_printable(cell.override.matched)}"] if cell.HasField("override") else []
    return [*override, *(["mode by an operator"] if cell.mode_by_operator else [])]


def mode_set(answer: operations_pb2.SetModeResponse) -> str:
    """One line."""
    return f"was {_mode(answer.previous_mode)}"


_ORIGINS = {
    operations_pb2.CONFIGURATION_SOURCE_DEFAULT: "default",
    operations_pb2.CONFIGURATION_SOURCE_OPERATOR: "operator at ",
}


def configuration(answer: operations_pb2.GetConfigurationResponse) -> str:
    """A table of values, what operators chose for single cells and terminals, and the hash."""
    rows = []
    for value in answer.values:
        waits = f"; {value.at_next_start} at the next start" if value.at_next_start else ""
        rows.append((value.key, value.value or "not set", _ORIGINS.get(value.source, "") + value.origin + waits))
    lines = [table(("KEY", "VALUE", "FROM"), rows), ""]
    for choice in answer.choices:
        of = f" of {_printable(choice.name)}" if choice.name else ""
        lines.append(f"operator at {choice.at}: {choice.key}{of} {choice.value}")
    if answer.error:
        lines.append(f"not in force, for an error: {_printable(answer.error)}")
    return "\n".join([*lines, f"file {_printable(answer.file) or 'none'}; SHA-256 {answer.sha256}"])


def exempted(answer: operations_pb2.ExemptTerminalResponse) -> str:
    """One line."""
    return f"was {'exempt' if answer.previously_exempt else 'under control'}"


def health(answer: health_pb2.HealthCheckResponse) -> str:
    """One word."""
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


_CELL_HEADS = (
    "CELL", "SSID", "BAND", "STATIONS", "SENDING", "TERMINALS", "UPLINK", "CAPACITY", "FROM", "BUSY", "EDCA", "AGE",
    "REFUSED",
)  # fmt: skip


def cells(answer: operations_pb2.ListCellsResponse) -> str:
    """A table of cells."""
    if not answer.cells:
        return "No access point has reported."
    heads: tuple[str, ...] = _CELL_HEADS
    rows = [_cell_row(cell) for cell in answer.cells]
    if any(cell.HasField("windows") for cell in answer.cells):
        heads = (*heads, "LIMITED")
        rows = [(*row, _limited(cell)) for row, cell in zip(rows, answer.cells, strict=True)]
    if any(map(_sources, answer.cells)):  # otherwise all cells go by the controller's
        heads = (*heads, "SETTINGS")
        rows = [(*row, _settings_in_short(cell)) for row, cell in zip(rows, answer.cells, strict=True)]
    return table(heads, rows)


def _limited(cell: operations_pb2.Cell) -> str:
    """Of the stations that send and have no working agent, those that their access point limits."""
    of = cell.windows
    return f"{of.stations_limited}/{of.stations_without_agent}" if cell.HasField("windows") else "-"


def _settings_in_short(cell: operations_pb2.Cell) -> str:
    return f"{_mode(cell.mode)}, {cell.policy}{_own_settings(cell)}" if _sources(cell) else "-"


def cell_line(cell: operations_pb2.Cell, *, with_age: bool = True) -> str:
    """One cell in one line, for watching; without its age it changes only when the cell does."""
    return "  ".join(
        f"{head.lower()} {value}"
        for head, value in zip(_CELL_HEADS, map(_printable, _cell_row(cell)), strict=True)
        if with_age or head != "AGE"
    )


def _cell_row(cell: operations_pb2.Cell) -> tuple[str, ...]:
    return (
        cell.bssid,
        cell.ssid.decode(errors="replace"),
        _band(cell),
        str(cell.stations),
        str(cell.active_senders),
        str(cell.terminals),
        _mbps(cell.uplink_bps),
        _mbps(cell.capacity_bps),
        _SOURCES.get(cell.capacity_source, "?"),
        _busy(cell),
        _edca_in_short(cell),
        _seconds(cell.report_age_ms),
        str(cell.refused_total),
    )


def _band(cell: operations_pb2.Cell) -> str:
    """GHz; of several links their number."""
    return f"{cell.links} links" if cell.links > 1 else BAND_NAMES.get(cell.band, "-")


def _busy(cell: operations_pb2.Cell) -> str:
    """Share of the time; that the driver's survey is refused, or that there is none."""
    if cell.HasField("busy_ratio") and not cell.survey_refusal:
        return f"{cell.busy_ratio:.0%}"
    return "refused" if cell.survey_refusal else "-"


def _edca_in_short(cell: operations_pb2.Cell) -> str:
    """AIFSN and contention window that the access point's best effort queue was sent, or that it has its own."""
    if not cell.HasField("edca"):
        return "-"
    return ", ".join(f"{of.aifsn} {of.cw_min}-{of.cw_max}" for of in cell.edca.sent) or "own"


def stations(answer: operations_pb2.ListStationsResponse) -> str:
    """A table of a cell's stations."""
    rows: list[tuple[str, ...]] = [
        (
            station.mac,
            " ".join(station.ip_addresses) or "-",
            station.terminal or ("bridge" if station.four_address else "no agent"),
            "sending" if station.active_sender else "idle",
            _mbps(station.uplink_bps),
            f"{station.signal_dbm} dBm" if station.HasField("signal_dbm") else "-",
            f"{station.rx_bitrate_kbps / 1000:g}/{station.tx_bitrate_kbps / 1000:g} Mb/s",
            _airtime(station),
            f"{station.tx_retries}/{station.tx_failed}",
        )
        for station in answer.stations
    ]
    heads: tuple[str, ...] = (
        "STATION",
        "ADDRESSES",
        "TERMINAL",
        "STATE",
        "UPLINK",
        "SIGNAL",
        "RATE UP/DOWN",
        "AIRTIME",
        "RETRIES/FAILED",
    )
    limits = [_limits_in_short(station) for station in answer.stations]
    if any(limits):
        heads, rows = (*heads, "WINDOWS"), [(*row, limit or "-") for row, limit in zip(rows, limits, strict=True)]
    notes = [_station_notes(station) for station in answer.stations]
    if any(notes):
        heads, rows = (*heads, "NOTES"), [(*row, note or "-") for row, note in zip(rows, notes, strict=True)]
    return table(heads, rows) if rows else "No station is associated."


def _station_notes(station: operations_pb2.StationView) -> str:
    """What is not as with most stations."""
    notes = []
    if station.four_address:
        notes.append("WDS peer")
    if station.vlan_interface:
        notes.append(f"on {station.vlan_interface}")
    if station.multi_link:
        links = " ".join(str(link) for link in range(station.links.bit_length()) if station.links >> link & 1)
        notes.append(f"multi-link {links}".rstrip())
    return ", ".join(notes)


def _airtime(station: operations_pb2.StationView) -> str:
    if station.airtime_source == access_point_pb2.AIRTIME_SOURCE_UNSPECIFIED:
        return "-"
    estimated = " est." if station.airtime_source == access_point_pb2.AIRTIME_SOURCE_ESTIMATED else ""
    return f"{station.rx_airtime_us / 1e6:.1f}+{station.tx_airtime_us / 1e6:.1f} s{estimated}"


def terminals(answer: operations_pb2.ListTerminalsResponse) -> str:
    """A table of terminals."""
    rows = [
        (
            terminal.name,
            terminal.mac,
            terminal.bssid or "not joined",
            _state(terminal),
            _sent_or_computed(terminal),
            f"{terminal.bounds_generation_in_force}/{terminal.bounds_generation_sent}",
            _seconds(terminal.report_age_ms),
            str(terminal.refused_total),
        )
        for terminal in answer.terminals
    ]
    heads = ("TERMINAL", "MAC", "CELL", "STATE", "BOUNDS", "IN FORCE/SENT", "AGE", "REFUSED")
    return table(heads, rows) if rows else "No terminal is connected."


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
    access_point = _printable(cell.access_point) or "not connected"
    if cell.agent_version:
        access_point += f", agent version {_printable(cell.agent_version)}"
    refused = f"{cell.refused_total} refused here, {cell.malformed_inputs_total} by its agent"
    ssid = _printable(cell.ssid.decode(errors="replace"))
    lines = [
        f"{_bold('cell')} {cell.bssid} {ssid}{exempt}: access point {access_point}",
        f"last report {_seconds(cell.report_age_ms)} ago; {refused}",
        f"n={cell.active_senders} of {cell.stations} stations send, {cell.terminals} terminals; {_capacity(cell)}",
        *([f"the driver's survey is refused: {_printable(cell.survey_refusal)}"] if cell.survey_refusal else []),
        *([f"mode {_mode(cell.mode)}, policy {cell.policy}{_own_settings(cell)}"] if _sources(cell) else []),
    ]
    if cell.datapath_id:
        lines.append(f"port of the OpenFlow switch {cell.datapath_id:016x}")
    return "\n".join([*lines, *_edca_explanation(cell), *_windows_explanation(cell)])


def _edca_explanation(cell: operations_pb2.Cell) -> list[str]:
    if not cell.HasField("edca"):
        return ["EDCA parameters: its agent reports none"]
    of, state = cell.edca, cell.edca.state
    lines = ["", _edca(of)]
    if of.HasField("traffic") and of.traffic.code != of.reason.code:
        lines.append(f"  traffic: {_reason(of.traffic)}")
    if of.HasField("uplink_share"):
        lines.append(
            f"  uplink {_mbps(of.uplink_bps)}, downlink {_mbps(of.downlink_bps)} without the ACKs of uploads:"
            f" uplink's share {of.uplink_share:.0%}"
        )
    computed = "" if list(of.wanted) == list(of.sent) else f"; computed, not sent: {_queues(of.wanted)}"
    lines.append(f"  {_printable(of.formula)}{computed}")
    sent, in_force = of.generation_sent or "none", state.generation or "none"
    lease = f", lease ends in {_seconds(of.lease_remaining_ms)} unless renewed" if of.sent else ""
    lines += [
        f"  generation sent {sent}, in force {in_force}{lease}; {state.refused_total} commands refused by its agent",
        f"  its own: {_queues(state.own)}",
        f"  stations: {_queues(state.stations)}{'' if state.wmm else ' (no WMM)'}",
    ]
    if of.failures_total:
        lines.append(f"  {of.failures_total} decisions ended in an error of the controller")
    return lines


def _windows_explanation(cell: operations_pb2.Cell) -> list[str]:
    """What the access point does with the windows of stations without a working agent."""
    if not cell.HasField("windows"):
        return []
    of, state = cell.windows, cell.windows.state
    sent, in_force = of.generation_sent or "none", state.generation or "none"
    lease = f", lease ends in {_seconds(of.lease_remaining_ms)} unless renewed" if of.sent else ""
    lines = [
        "",
        f"{_bold('windows')} of stations without a working agent: {_why_windows(of)}",
        f"  {of.stations_limited} of {of.stations_without_agent} stations that send are limited, {len(of.sent)} limits",
        f"  generation sent {sent}, in force {in_force}{lease}; {state.refused_total} commands refused by its agent",
        (
            f"  {state.connections} connections known of {state.connections_max} at most,"
            f" {state.connections_evicted_total} forgotten for others; {state.limited_segments_total} segments limited"
        ),
    ]
    if of.omitted:
        lines.append(f"  {of.omitted} limits left out: the access point takes at most {state.limits_max}")
    if of.failures_total:
        lines.append(f"  {of.failures_total} decisions ended in an error of the controller")
    return lines


def _why_windows(of: operations_pb2.CellWindows) -> str:
    return _reason(of.reason) if of.HasField("reason") else "not decided yet"


def _edca(of: operations_pb2.CellEdca) -> str:
    """What was sent and why, in one line."""
    what = _queues(of.sent) if of.sent else "its own"
    why = _reason(of.reason) if of.HasField("reason") else "not decided yet"
    return f"{_bold('EDCA parameters')} of the access point: {what}: {why}"


def _queues(queues: Iterable[access_point_pb2.Edca]) -> str:
    return "; ".join(map(_queue, queues)) or "its own"


def _queue(of: access_point_pb2.Edca) -> str:
    name = _CATEGORIES.get(of.category, f"category {of.category}")
    txop = f", TXOP limit {of.txop_limit * 32} us" if of.txop_limit else ""
    return f"{name} AIFSN {of.aifsn}, CW {of.cw_min}..{of.cw_max}{txop}"


def _capacity(cell: operations_pb2.Cell) -> str:
    return (
        f"uplink {_mbps(cell.uplink_bps)},"
        f" capacity {_mbps(cell.capacity_bps)} (from {_SOURCES.get(cell.capacity_source, '?')})"
    )


def _terminal_explanation(answer: operations_pb2.ExplainTerminalResponse) -> str:
    terminal = answer.terminal
    refused = f"{terminal.refused_total} refused here, {terminal.malformed_inputs_total} by its agent"
    agent = (
        f"back end {_printable(terminal.back_end) or 'unknown'}, version {_printable(terminal.agent_version) or '?'}"
    )
    sent, in_force = terminal.bounds_generation_sent or "none", terminal.bounds_generation_in_force or "none"
    lines = [
        f"{_bold('terminal')} {_printable(terminal.name)}, MAC {terminal.mac}: {_state(terminal)}; agent: {agent}",
        f"last report {_seconds(terminal.report_age_ms)} ago ({_trigger(answer.last_trigger)}); {refused}",
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
        lines.append(f"{_bold('no bounds')}: {_reason(terminal.no_bounds)}")
    if terminal.bounds_sent and any(not _was_sent(decision, terminal) for decision in terminal.decisions):
        lines.append(f"sent, as its back end can take it: {_bounds(terminal.bounds_sent)}")
    for decision in terminal.decisions:
        lines += ["", *_decision(decision, terminal)]
    if answer.destinations:
        lines += ["", _destinations(answer.destinations)]
    return "\n".join(lines)


def _station_explanation(answer: operations_pb2.ExplainStationResponse) -> str:
    station, cell = answer.station, answer.cell
    words = ["sending" if station.active_sender else "idle", *(["exempt"] if station.exempt else [])]
    agent = f"terminal {_printable(station.terminal)}" if station.terminal else "no agent"
    lines = [
        (
            f"{_bold('station')} {station.mac} ({' '.join(station.ip_addresses) or 'no address known'}):"
            f" {', '.join(words)}; {agent}; uplink {_mbps(station.uplink_bps)}"
        ),
        f"cell {cell.bssid}: n={cell.active_senders} of {cell.stations} stations send, {_capacity(cell)}",
    ]
    if cell.HasField("windows"):
        of = cell.windows
        sent, in_force = of.generation_sent or "none", of.state.generation or "none"
        lines.append(f"{_bold('windows')}: {_why_windows(of)}; generation sent {sent}, in force {in_force}")
    else:
        lines.append("windows: the access point's agent does not look at its stations' connections")
    lines += _station_limits(station)
    if station.destinations:
        lines += ["", _station_destinations(station.destinations)]
    return "\n".join(lines)


def limits_instead(answer: operations_pb2.ExplainStationResponse) -> str:
    """How the access point limits the station of a terminal whose agent does not; empty if it is not to."""
    station, of = answer.station, answer.cell.windows
    if not station.HasField("lack"):
        return ""
    sent, in_force = of.generation_sent or "none", of.state.generation or "none"
    head = f"{_bold('windows')}, limited by its access point instead: generation sent {sent}, in force {in_force}"
    return "\n".join([head, *_station_limits(station)])


def _station_limits(station: operations_pb2.StationView) -> list[str]:
    """Why its access point is to limit a station, and each limit with what it follows from, or why there is none."""
    lines = []
    if station.HasField("lack"):
        lines.append(f"the access point is to limit it: {_reason(station.lack)}")
    if station.HasField("no_limit"):
        lines.append(f"{_bold('no limit')}: {_reason(station.no_limit)}")
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
            f"{_ms(view.srtt_us)} ({_ms(view.min_rtt_us)})",
            f"{view.mss_bytes or '?'}",
            f"{view.sent_bytes / 1e6:.1f} MB",
            f"{view.received_bytes / 1e6:.1f} MB",
        )
        for view in views
    ]
    heads = ("DESTINATION", "SENDING", "NOT LIMITABLE", "RTT (MIN)", "MSS", "SENT", "RECEIVED")
    return table(heads, rows)


def _limits_in_short(station: operations_pb2.StationView) -> str:
    """The limits of a station's windows, or why it has none; empty where there is nothing to say."""
    if station.limits:
        return ", ".join(f"{limit.destination or 'all'} {limit.max_bytes} B" for limit in station.limits)
    return f"no limit: {_reason(station.no_limit)}" if station.HasField("no_limit") else ""


def _decision(decision: operations_pb2.Decision, terminal: operations_pb2.Terminal) -> list[str]:
    computed_only = "" if _was_sent(decision, terminal) else "computed, not sent"
    return _decision_lines(decision, f"{decision.destination} {decision.min_segs}..{decision.max_segs}", computed_only)


def _decision_lines(decision: operations_pb2.Decision, head: str, what: str) -> list[str]:
    return [
        f"{_bold(head)} segments, policy {decision.policy}, n={decision.active_senders}{f', {what}' if what else ''}",
        f"  RTT {_ms(decision.srtt_us)}, {decision.rtt_ratio:.1f} x min RTT {_ms(decision.min_rtt_us)}",
        f"  smallest RTT that it saw itself {_ms(decision.own_min_rtt_us)}",
        f"  {decision.formula}",
        *(f"  {_reason(note)}" for note in decision.notes),
    ]


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
        )
        for view in views
    ]
    return table(("DESTINATION", "SENDING", "CWND", "QUEUED", "DELIVERED", "EVENTS", "UIDS"), rows)


def _events(events: terminal_pb2.EventCounts) -> str:
    counts = [f"{field.name} {value}" for field, value in events.ListFields()]
    return ", ".join(counts).replace("_", " ") or "none"


def _was_sent(decision: operations_pb2.Decision, terminal: operations_pb2.Terminal) -> bool:
    of = (decision.destination, decision.min_segs, decision.max_segs)
    return any((sent.destination, sent.min_segs, sent.max_segs) == of for sent in terminal.bounds_sent)


def _reason(message: reason_pb2.Reason) -> str:
    """A reason for a person, also one whose code this program does not know."""
    if message.code not in _CODES:
        return f"code {message.code}"
    values = {name: getattr(message, name) for name in ("before", "after", "limit") if message.HasField(name)}
    return _printable(reason_text.text(Reason(Code(message.code), message.subject, **values)))


def _code(code: int) -> str:
    if not code:
        return ""
    return Code(code).name.lower() if code in _CODES else str(code)


def _trigger(trigger: int) -> str:
    known = trigger in terminal_pb2.TerminalReportTrigger.values()
    name = terminal_pb2.TerminalReportTrigger.Name(trigger) if known else "?"
    return name.removeprefix("TERMINAL_REPORT_TRIGGER_").lower().replace("_", " ")


def _mode(value: int) -> str:
    return next((name for mode, name in _MODES.items() if mode == value), "?")


def _state(terminal: operations_pb2.Terminal) -> str:
    words = ["sending" if terminal.active_sender else "idle"]
    if terminal.exempt:
        words.append("exempt")
    return ", ".join(words)


def _sent_or_computed(terminal: operations_pb2.Terminal) -> str:
    if terminal.bounds_sent or not terminal.decisions:
        return _bounds(terminal.bounds_sent)
    return f"none (would be {_bounds(terminal.decisions)})"


def _bounds(bounds: Iterable[operations_pb2.BoundSent | operations_pb2.Decision]) -> str:
    return ", ".join(f"{of.destination or 'all'} {of.min_segs}..{of.max_segs}" for of in bounds) or "none"


def _mbps(bps: int) -> str:
    return f"{bps / 1e6:.1f} Mb/s"


def _ms(us: int) -> str:
    return f"{us / 1000:.1f} ms" if us else "none"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _printable(text: str) -> str:
    """What a peer sent may be anything; control sequences must not reach the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads, as wide as they must be."""
    rows = [[_printable(text) for text in row] for row in rows]
    head, *lines = table_lines(heads, rows, width_of_terminal())
    return "\n".join([_bold(head), *lines])


def _bold(text: str) -> str:
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\x1b[1m{text}\x1b[0m"
    return text


printable, mbps, seconds, reason = _printable, _mbps, _seconds, _reason
