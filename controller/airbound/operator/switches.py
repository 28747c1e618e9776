# SPDX-License-Identifier: Apache-2.0
"""`airbound switches`, and what `airbound explain` shows of a station's traffic."""

import argparse
from typing import TYPE_CHECKING

from airbound.core.addresses import mac_from_text
from airbound.core.switch_reports import PROTOCOL_NAMES
from airbound.operator import display, values
from airbound.v1 import operations_pb2

if TYPE_CHECKING:
    from airbound.operator.client import Client

_BINDINGS = {
    operations_pb2.SWITCH_BINDING_CONFIGURATION: "configuration",
    operations_pb2.SWITCH_BINDING_SWITCH: "switch",
    operations_pb2.SWITCH_BINDING_ACCESS_POINT: "access point",
}


def answer(client: "Client", arguments: argparse.Namespace) -> str:
    """What the command prints."""
    if arguments.station:
        traffic = client.station_traffic(arguments.station)
        return display.as_json(traffic) if arguments.json else station_traffic(traffic)
    listed = client.switches()
    return display.as_json(listed) if arguments.json else switches(listed)


def traffic_of(client: "Client", name: str) -> operations_pb2.GetStationTrafficResponse:
    """A station's traffic by every switch that reports it; nothing if the name is no MAC address."""
    try:
        mac_from_text(name)
    except ValueError:
        return operations_pb2.GetStationTrafficResponse()
    return client.station_traffic(name)


def switches(listed: operations_pb2.ListSwitchesResponse) -> str:
    """A table of switches, and below it what is not as it should be."""
    heads = (
        "SWITCH", "CELL", "BY", "STATIONS", "SENDING", "UPLINK", "DOWNLINK", "RULES", "LIMITED", "FLOWS", "METERS",
        "COPIES", "ERRORS", "AGE",
    )  # fmt: skip
    if not listed.switches:
        return "No switch has reported."
    lines = [values.table(heads, [_row(of) for of in listed.switches])]
    for of in listed.switches:
        if of.HasField("restriction"):
            lines.append(f"{of.datapath_id}: {values.reason(of.restriction)}")
        lines.append(f"{of.datapath_id}: {values.printable(of.description) or '?'}, from {values.printable(of.peer)}")
    return "\n".join(lines)


def _row(of: operations_pb2.Switch) -> tuple[str, ...]:
    sending = str(of.active_senders)
    if of.bssid:
        sending += (
            f" (counts; cell {of.cell_active_senders})" if of.counts_for_cell else f" (cell {of.cell_active_senders})"
        )
    copies = f"{of.packet_ins_total}"
    return (
        of.datapath_id,
        of.bssid or "-",
        _BINDINGS.get(of.bound_by, "-"),
        str(of.stations),
        sending,
        values.mbps(of.uplink_bps),
        values.mbps(of.downlink_bps),
        f"{of.generation_in_force}/{of.generation_sent}",
        str(of.limited_stations),
        str(of.flows),
        f"{of.meters}/{of.meters_max}",
        f"{copies}, {of.packet_ins_dropped_total} dropped" if of.packet_ins_dropped_total else copies,
        str(of.errors_total + of.malformed_total + of.refused_total + of.commands_refused_total),
        values.seconds(of.report_age_ms),
    )


def station_traffic(traffic: operations_pb2.GetStationTrafficResponse) -> str:
    """What a station exchanges with whom, by its switch."""
    return "\n".join(line for of in traffic.stations for line in _station(of)) or "No switch reports this station."


def _station(of: operations_pb2.SwitchStation) -> list[str]:
    states = [word for word, is_so in (("sending", of.sending), ("receiving", of.receiving)) if is_so]
    limits = [
        f"{way} {kbps / 1000:.1f} Mb/s"
        for way, kbps in (("uplink", of.uplink_limit_kbps), ("downlink", of.downlink_limit_kbps))
        if kbps
    ]
    head = (
        f"station {of.mac} by the switch {of.datapath_id}: {', '.join(states) or 'idle'}; uplink"
        f" {values.mbps(of.uplink_bps)}, downlink {values.mbps(of.downlink_bps)};"
        f" limits: {', '.join(limits) or 'none'}"
    )
    rows = [
        (
            entry.address or "(others)",
            PROTOCOL_NAMES.get(entry.protocol, "?"),
            values.mbps(entry.uplink_bps),
            values.mbps(entry.downlink_bps),
            _megabytes(entry.uplink_bytes),
            _megabytes(entry.downlink_bytes),
        )
        for entry in of.traffic
    ]
    heads = ("ADDRESS", "PROTOCOL", "UPLINK", "DOWNLINK", "SENT", "RECEIVED")
    return [head, *([values.table(heads, rows)] if rows else [])]


def _megabytes(octets: int) -> str:
    return f"{octets / 1e6:.2f} MB"
