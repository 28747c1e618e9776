# SPDX-License-Identifier: Apache-2.0
"""What operators are shown of OpenFlow switches and of what they count."""

from collections.abc import Iterator

from airbound.core.addresses import Mac, address_text, mac_text
from airbound.core.cell.switch_rates import PairRate, StationRate
from airbound.core.switches import Binding, Switch, Switches
from airbound.grpc.command_convert import reason_message
from airbound.v1 import operations_pb2

BINDINGS: dict[Binding, operations_pb2.SwitchBinding] = {
    "": operations_pb2.SWITCH_BINDING_UNSPECIFIED,
    "configuration": operations_pb2.SWITCH_BINDING_CONFIGURATION,
    "switch": operations_pb2.SWITCH_BINDING_SWITCH,
    "access point": operations_pb2.SWITCH_BINDING_ACCESS_POINT,
}
PAIRS_SHOWN = 256  # of a station


def switch(switch: Switch, now_us: int) -> operations_pb2.Switch:
    """A switch at one moment."""
    report, sent, cell, rates = switch.report, switch.rules_lease.sent, switch.cell, switch.rates
    message = operations_pb2.Switch(
        datapath_id=switch.name,
        name=switch.stream.principal.name,
        agent_version=switch.agent_version,
        bssid=mac_text(switch.bound_to) if switch.bound_to else "",
        bound_by=BINDINGS[switch.bound_by],
        report_age_ms=(now_us - switch.reported_at_us) // 1000,
        stations=len(rates.stations),
        active_senders=rates.active_senders,
        uplink_bps=round(sum(station.uplink_bps for station in rates.stations.values())),
        downlink_bps=round(sum(station.downlink_bps for station in rates.stations.values())),
        refused_total=switch.refused_total,
    )
    if report is not None:
        message.peer, message.description = report.peer, report.description
        message.generation_in_force = report.generation
        message.flows, message.meters, message.meters_max = report.flows, report.meters, report.meters_max
        message.packet_ins_total = report.packet_ins_total
        message.packet_ins_dropped_total = report.packet_ins_dropped_total
        message.malformed_total, message.errors_total = report.malformed_total, report.errors_total
        message.commands_refused_total = report.refused_total
        message.meter_dropped_bytes = report.meter_dropped_bytes
    if cell is not None:
        message.cell_active_senders = cell.stations.active_senders
        message.counts_for_cell = cell.counted_by_switch
    if sent is not None:
        message.generation_sent = sent.generation
        message.lease_remaining_ms = max(0, sent.ends_at_us - now_us) // 1000 if sent.entries else 0
        message.sent_reason.CopyFrom(reason_message(sent.reasons[0]))
        message.limited_stations = sum(bool(rule.uplink_kbps or rule.downlink_kbps) for rule in sent.entries)
    if switch.reason is not None:
        message.restriction.CopyFrom(reason_message(switch.reason))
    return message


def station_traffic(switches: Switches, mac: Mac) -> Iterator[operations_pb2.SwitchStation]:
    """What each switch that reports a station knows of it."""
    for switch in switches.all():
        rate = switch.rates.stations.get(mac)
        if rate is not None:
            yield _station(switch, mac, rate)


def _station(switch: Switch, mac: Mac, rate: StationRate) -> operations_pb2.SwitchStation:
    sent = switch.rules_lease.sent
    rule = next((rule for rule in sent.entries if rule.mac == mac), None) if sent is not None else None
    pairs = sorted(rate.pairs.values(), key=lambda pair: (-pair.uplink_bps - pair.downlink_bps, -_bytes(pair)))
    return operations_pb2.SwitchStation(
        datapath_id=switch.name,
        bssid=mac_text(switch.bound_to) if switch.bound_to else "",
        mac=mac_text(mac),
        sending=rate.sending,
        receiving=rate.receiving,
        uplink_bps=round(rate.uplink_bps),
        downlink_bps=round(rate.downlink_bps),
        uplink_limit_kbps=rule.uplink_kbps if rule else 0,
        downlink_limit_kbps=rule.downlink_kbps if rule else 0,
        traffic=map(_traffic, pairs[:PAIRS_SHOWN]),
    )


def _bytes(pair: PairRate) -> int:
    return pair.traffic.uplink_bytes + pair.traffic.downlink_bytes


def _traffic(pair: PairRate) -> operations_pb2.TrafficView:
    traffic = pair.traffic
    return operations_pb2.TrafficView(
        address=address_text(traffic.address) if traffic.address else "",
        protocol=traffic.protocol,  # type: ignore[arg-type]  # the same numbers: tested
        uplink_bps=round(pair.uplink_bps),
        downlink_bps=round(pair.downlink_bps),
        uplink_bytes=traffic.uplink_bytes,
        downlink_bytes=traffic.downlink_bytes,
    )
