# SPDX-License-Identifier: Apache-2.0
"""`airbound switches`, and what `airbound explain` shows of a station's traffic."""

import argparse
from typing import TYPE_CHECKING

from airbound.core.addresses import mac_from_text
from airbound.core.switch_reports import PROTOCOL_NAMES
from airbound.operator import display, values
from airbound.operator.printable import printable
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
    lines = [values.table(heads, [_row(switch) for switch in listed.switches])]
    for switch in listed.switches:
        if switch.HasField("restriction"):
            lines.append(f"{switch.datapath_id}: {values.reason(switch.restriction)}")
        lines.append(f"{switch.datapath_id}: {printable(switch.description) or '?'}, from {printable(switch.peer)}")
    return "\n".join(lines)


def _row(switch: operations_pb2.Switch) -> tuple[str, ...]:
    sending = str(switch.active_senders)
    if switch.bssid:
        sending += (
            f" (counts; cell {switch.cell_active_senders})"
            if switch.counts_for_cell
            else f" (cell {switch.cell_active_senders})"
        )
    copies = f"{switch.packet_ins_total}"
    return (
        switch.datapath_id,
        switch.bssid or "-",
        _BINDINGS.get(switch.bound_by, "-"),
        str(switch.stations),
        sending,
        values.mbps(switch.uplink_bps),
        values.mbps(switch.downlink_bps),
        f"{switch.generation_in_force}/{switch.generation_sent}",
        str(switch.limited_stations),
        str(switch.flows),
        f"{switch.meters}/{switch.meters_max}",
        f"{copies}, {switch.packet_ins_dropped_total} dropped" if switch.packet_ins_dropped_total else copies,
        str(switch.errors_total + switch.malformed_total + switch.refused_total + switch.commands_refused_total),
        values.seconds(switch.report_age_ms),
    )


def station_traffic(traffic: operations_pb2.GetStationTrafficResponse) -> str:
    """What a station exchanges with whom, by its switch."""
    return (
        "\n".join(line for station in traffic.stations for line in _station(station))
        or "No switch reports this station."
    )


def _station(station: operations_pb2.SwitchStation) -> list[str]:
    states = [word for word, is_so in (("sending", station.sending), ("receiving", station.receiving)) if is_so]
    limits = [
        f"{way} {kbps / 1000:.1f} Mb/s"
        for way, kbps in (("uplink", station.uplink_limit_kbps), ("downlink", station.downlink_limit_kbps))
        if kbps
    ]
    head = (
        f"station {station.mac} by the switch {station.datapath_id}: {', '.join(states) or 'idle'}; uplink"
        f" {values.mbps(station.uplink_bps)}, downlink {values.mbps(station.downlink_bps)};"
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
        for entry in station.traffic
    ]
    heads = ("ADDRESS", "PROTOCOL", "UPLINK", "DOWNLINK", "SENT", "RECEIVED")
    return [head, *([values.table(heads, rows)] if rows else [])]


def _megabytes(octets: int) -> str:
    return f"{octets / 1e6:.2f} MB"
