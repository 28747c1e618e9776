# SPDX-License-Identifier: Apache-2.0
"""Answers of a controller as text for people, or as JSON in the wire's own field names."""

from typing import Any

from google.protobuf import json_format
from grpc_health.v1 import health_pb2

from airbound.core.bands import BAND_NAMES
from airbound.operator.printable import printable
from airbound.operator.values import (
    CAPACITY_SOURCES,
    NO_CELLS,
    bounds_text,
    class_word,
    code_name,
    mbps,
    mode_name,
    ms,
    number_of,
    own_settings,
    phy_rates,
    reason,
    seconds,
    settings_sources,
    table,
    terminal_state,
    unlimited_for,
)
from airbound.v1 import access_point_pb2, operations_pb2


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
    exempt = printable(", ".join(answer.exempt)) or "none"
    lines = [
        f"airbound {answer.version}, mode {mode_name(answer.mode)}, policy {answer.policy}",
        f"{number_of(answer.cells, 'cell')}, {number_of(answer.terminals, 'terminal')}; exempt: {exempt}",
    ]
    rows = [(counter.name, code_name(counter.code), str(counter.value)) for counter in answer.counters]
    return "\n".join([*lines, table(("COUNTER", "CODE", "VALUE"), rows)])


def mode(answer: operations_pb2.GetControllerResponse) -> str:
    """One line."""
    return f"mode {mode_name(answer.mode)}, policy {answer.policy}"


def cell_mode(answer: operations_pb2.ExplainCellResponse) -> str:
    """One line."""
    cell = answer.cell
    return f"mode {mode_name(cell.mode)}, policy {cell.policy}{own_settings(cell)}"


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
        whose = f" of {printable(choice.name)}" if choice.name else ""
        until = f", until {choice.until}" if choice.until else ""
        lines.append(f"operator at {choice.at}: {choice.key}{whose} {choice.value}{until}")
    if answer.error:
        lines.append(f"not in force, for an error: {printable(answer.error)}")
    return "\n".join([*lines, f"file {printable(answer.file) or 'none'}; SHA-256 {answer.sha256}"])


def class_set(answer: operations_pb2.SetClassResponse) -> str:
    """What was chosen before."""
    return f"was {class_word(answer.previous)}" if answer.HasField("previous") else "was its own"


def health(answer: health_pb2.HealthCheckResponse) -> str:
    """One word."""
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


# The most important first: a narrow terminal leaves out what is on the right.
_CELL_HEADS = (
    "CELL", "ACCESS POINT", "SSID", "SENDING", "UPLINK", "CAPACITY", "BUSY", "STATIONS", "TERMINALS", "BAND", "FROM",
    "EDCA", "AGE", "REFUSED",
)  # fmt: skip


def cells(answer: operations_pb2.ListCellsResponse) -> str:
    """A table of cells."""
    if not answer.cells:
        return NO_CELLS
    heads: tuple[str, ...] = _CELL_HEADS
    rows = [_cell_row(cell) for cell in answer.cells]
    if any(cell.HasField("windows") for cell in answer.cells):
        heads = (*heads, "LIMITED")
        rows = [(*row, _limited(cell)) for row, cell in zip(rows, answer.cells, strict=True)]
    if any(map(settings_sources, answer.cells)):  # otherwise all cells go by the controller's
        heads = (*heads, "SETTINGS")
        rows = [(*row, _settings_in_short(cell)) for row, cell in zip(rows, answer.cells, strict=True)]
    return table(heads, rows)


def _limited(cell: operations_pb2.Cell) -> str:
    """Of the stations that send and have no working agent, those that their access point limits."""
    windows = cell.windows
    return f"{windows.stations_limited}/{windows.stations_without_agent}" if cell.HasField("windows") else "-"


def _settings_in_short(cell: operations_pb2.Cell) -> str:
    return f"{mode_name(cell.mode)}, {cell.policy}{own_settings(cell)}" if settings_sources(cell) else "-"


def cell_line(cell: operations_pb2.Cell, *, with_age: bool = True) -> str:
    """One cell in one line, for watching; without its age it changes only when the cell does."""
    return "  ".join(
        f"{head.lower()} {value}"
        for head, value in zip(_CELL_HEADS, map(printable, _cell_row(cell)), strict=True)
        if with_age or head != "AGE"
    )


def _cell_row(cell: operations_pb2.Cell) -> tuple[str, ...]:
    return (
        cell.bssid,
        cell.access_point or "-",
        cell.ssid.decode(errors="replace"),
        str(cell.active_senders),
        mbps(cell.uplink_bps),
        mbps(cell.capacity_bps),
        _busy(cell),
        str(cell.stations),
        str(cell.terminals),
        _band(cell),
        CAPACITY_SOURCES.get(cell.capacity_source, "?"),
        _edca_in_short(cell),
        seconds(cell.report_age_ms),
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
    """AIFSN and contention window that the access point's best effort queue, and its stations', were sent, or that it
    has its own.
    """
    if not cell.HasField("edca"):
        return "-"
    own, stations = (
        [f"{queue.aifsn} {queue.cw_min}-{queue.cw_max}" for queue in sent]
        for sent in (cell.edca.sent, cell.edca.sent_stations)
    )
    return ", ".join([*own, *(f"stations {text}" for text in stations)]) or "own"


def stations(answer: operations_pb2.ListStationsResponse) -> str:
    """A table of a cell's stations, those that take most of the air first."""
    listed = sorted(answer.stations, key=lambda station: (-station.air_ratio, -station.uplink_bps, station.mac))
    rows: list[tuple[str, ...]] = [
        (
            station.mac,
            station.terminal or ("bridge" if station.four_address else "no agent"),
            "sending" if station.active_sender else "idle",
            f"{station.uplink_bps / 1e6:.1f}",
            _air(station),
            f"{station.retries_per_s:.0f}",
            f"{station.signal_dbm} dBm" if station.HasField("signal_dbm") else "-",
            phy_rates(station),
            " ".join(station.ip_addresses) or "-",
            str(station.tx_failed),
        )
        for station in listed
    ]
    heads: tuple[str, ...] = (
        "STATION",
        "TERMINAL",
        "STATE",
        "Mb/s",
        "AIR",
        "RETRIES/s",
        "SIGNAL",
        "PHY UP/DOWN",
        "ADDRESSES",
        "FAILED",
    )
    limits = [_limits_in_short(station) for station in listed]
    if any(limits):
        heads, rows = (*heads, "WINDOWS"), [(*row, limit or "-") for row, limit in zip(rows, limits, strict=True)]
    notes = [_station_notes(station) for station in listed]
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


def _air(station: operations_pb2.StationView) -> str:
    """Its part of the air since the report before; marked if the access point estimates it."""
    if not station.HasField("air_ratio"):
        return "-"
    estimated = " est." if station.airtime_source == access_point_pb2.AIRTIME_SOURCE_ESTIMATED else ""
    return f"{station.air_ratio:.0%}{estimated}"


_NO_TERMINAL = "No terminal is connected. To have one: `airbound enroll terminal NAME`, then airbound-phone there."


def terminals(answer: operations_pb2.ListTerminalsResponse) -> str:
    """A table of terminals; of several destinations the RTT of the worst ratio."""
    rows = [
        (
            terminal.name,
            terminal_state(terminal),
            f"{terminal.uplink_bps / 1e6:.1f}",
            *_worst_rtt(terminal),
            _sent_or_computed(terminal),
            terminal.back_end or "?",
            terminal.bssid or "not joined",
            f"{terminal.bounds_generation_in_force}/{terminal.bounds_generation_sent}",
            seconds(terminal.report_age_ms),
            terminal.mac,
            str(terminal.refused_total),
        )
        for terminal in answer.terminals
    ]
    heads = (
        "TERMINAL", "STATE", "Mb/s", "RTT", "RATIO", "BOUNDS", "BACK END", "CELL", "IN FORCE/SENT", "AGE", "MAC",
        "REFUSED",
    )  # fmt: skip
    return table(heads, rows) if rows else _NO_TERMINAL


def _worst_rtt(terminal: operations_pb2.Terminal) -> tuple[str, str]:
    """RTT, and over the minimum RTT."""
    worst = max(terminal.decisions, key=lambda decision: decision.rtt_ratio, default=None)
    return (ms(worst.srtt_us), f"{worst.rtt_ratio:.1f}") if worst is not None and worst.srtt_us else ("-", "-")


def _limits_in_short(station: operations_pb2.StationView) -> str:
    """The limits of a station's windows, or why it has none; empty where there is nothing to say."""
    if station.limits:
        return ", ".join(f"{limit.destination or 'all'} {limit.max_bytes} B" for limit in station.limits)
    return f"no limit{unlimited_for(station)}: {reason(station.no_limit)}" if station.HasField("no_limit") else ""


def _sent_or_computed(terminal: operations_pb2.Terminal) -> str:
    if terminal.bounds_sent or not terminal.decisions:
        return bounds_text(terminal.bounds_sent)
    return f"none (would be {bounds_text(terminal.decisions)})"
