# SPDX-License-Identifier: Apache-2.0
"""Between the messages of `airbound openflow` and the core's types, as convert.py; the process uses the same functions
the other way round.
"""

from airbound.core.addresses import IPV4_OCTETS, IPV6_OCTETS, is_station_mac, mac_text
from airbound.core.effects import SetStationRules
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.reports import COUNTER_MAX, STATIONS_MAX
from airbound.core.switch_reports import (
    DESCRIPTION_MAX_CHARACTERS,
    DSCP_MAX,
    KBPS_MAX,
    LEASE_MAX_MS,
    LEASE_MIN_MS,
    MARKS_MAX,
    OTHER,
    PORT_MAX,
    QUIC,
    STATION_RULES_MAX,
    TRAFFIC_MAX,
    Mark,
    StationRule,
    SwitchReport,
    Traffic,
)
from airbound.grpc.command_convert import reason_message
from airbound.grpc.convert import VERSION_MAX_CHARACTERS
from airbound.v1 import switch_pb2

_ADDRESS_OCTETS = frozenset({0, IPV4_OCTETS, IPV6_OCTETS})
_COUNTERS = (
    "generation",
    "packet_ins_total",
    "packet_ins_dropped_total",
    "malformed_total",
    "errors_total",
    "refused_total",
    "meter_dropped_bytes",
)


def switch_report(message: switch_pb2.SwitchReport) -> tuple[SwitchReport | None, list[Reason]]:
    """The report, unless it is refused, and everything that was refused."""
    refusals = list[Reason]()
    try:
        _check_head(message)
    except RefusedError as error:
        return None, [error.reason]
    counters = {}
    for name in _COUNTERS:
        value = getattr(message, name)
        if value > COUNTER_MAX:
            refusals.append(Reason(Code.OUT_OF_RANGE, name, after=value, limit=COUNTER_MAX))
            value = 0
        counters[name] = value
    return SwitchReport(
        datapath_id=message.datapath_id,
        bssid=message.bssid,
        sequence=message.sequence,
        monotonic_us=message.monotonic_us,
        description=message.description[:DESCRIPTION_MAX_CHARACTERS],
        peer=message.peer[:DESCRIPTION_MAX_CHARACTERS],
        agent_version=message.agent_version[:VERSION_MAX_CHARACTERS],
        traffic=_traffic(message, refusals),
        meters_max=message.meters_max,
        flows=message.flows,
        meters=message.meters,
        lists_stations=message.lists_stations,
        stations=_stations(message, refusals),
        **counters,
    ), refusals


def _check_head(message: switch_pb2.SwitchReport) -> None:
    if not message.datapath_id:
        raise RefusedError(Reason(Code.MALFORMED, "datapath_id"))
    if message.bssid and not is_station_mac(message.bssid):
        raise RefusedError(Reason(Code.MALFORMED, "bssid"))
    for name in ("sequence", "monotonic_us"):
        value = getattr(message, name)
        if not 1 <= value <= COUNTER_MAX:
            limit = 1 if value < 1 else COUNTER_MAX
            raise RefusedError(Reason(Code.OUT_OF_RANGE, name, after=value, limit=limit))


def _stations(message: switch_pb2.SwitchReport, refusals: list[Reason]) -> tuple[bytes, ...]:
    """Each once."""
    if len(message.stations) > STATIONS_MAX:
        refusals.append(Reason(Code.TOO_MANY_ENTRIES, "stations", after=len(message.stations), limit=STATIONS_MAX))
    stations = dict.fromkeys(message.stations[:STATIONS_MAX])
    wrong = [mac for mac in stations if not is_station_mac(mac)]
    for mac in wrong:
        del stations[mac]
    if wrong:
        refusals.append(Reason(Code.MALFORMED, "stations"))
    return tuple(stations)


def _traffic(message: switch_pb2.SwitchReport, refusals: list[Reason]) -> tuple[Traffic, ...]:
    """Every entry that can be used. What is refused is named by its station."""
    if len(message.traffic) > TRAFFIC_MAX:
        refusals.append(Reason(Code.TOO_MANY_ENTRIES, "traffic", after=len(message.traffic), limit=TRAFFIC_MAX))
    found = dict[tuple[bytes, bytes, int], Traffic]()
    for counters in message.traffic[:TRAFFIC_MAX]:
        entry = Traffic(
            counters.mac,
            counters.address,
            counters.protocol,
            counters.uplink_bytes,
            counters.uplink_packets,
            counters.downlink_bytes,
            counters.downlink_packets,
        )
        reason = _refusal(entry)
        if reason is None and entry[:3] in found:
            reason = Reason(Code.DUPLICATE_ENTRY, f"traffic[{mac_text(entry.mac)}]")
        if reason is None:
            found[entry[:3]] = entry
        else:
            refusals.append(reason)
    return tuple(found.values())


def _refusal(traffic: Traffic) -> Reason | None:
    if not is_station_mac(traffic.mac):
        return Reason(Code.MALFORMED, "traffic.mac")
    at = f"traffic[{mac_text(traffic.mac)}]"
    if len(traffic.address) not in _ADDRESS_OCTETS:
        return Reason(Code.MALFORMED, f"{at}.address")
    if not 1 <= traffic.protocol <= OTHER:
        return Reason(Code.OUT_OF_RANGE, f"{at}.protocol", after=traffic.protocol, limit=OTHER)
    most = max(traffic[3:])
    return Reason(Code.OUT_OF_RANGE, f"{at}.bytes", after=most, limit=COUNTER_MAX) if most > COUNTER_MAX else None


def switch_report_message(report: SwitchReport) -> switch_pb2.SwitchReport:
    """A report on the wire."""
    message = switch_pb2.SwitchReport(
        **{
            name: getattr(report, name)
            for name in (
                *_COUNTERS, "datapath_id", "bssid", "sequence", "monotonic_us", "description", "peer", "agent_version",
                "meters_max", "flows", "meters", "lists_stations",
            )
        }
    )  # fmt: skip
    message.stations.extend(report.stations[:STATIONS_MAX])
    message.traffic.extend(
        switch_pb2.StationTraffic(
            mac=counters.mac,
            address=counters.address,
            protocol=counters.protocol,  # type: ignore[arg-type]  # the same numbers: tested
            uplink_bytes=counters.uplink_bytes,
            uplink_packets=counters.uplink_packets,
            downlink_bytes=counters.downlink_bytes,
            downlink_packets=counters.downlink_packets,
        )
        for counters in report.traffic[:TRAFFIC_MAX]
    )
    return message


def switch_command(effect: SetStationRules) -> bytes:
    """What goes to a switch: a SwitchServiceConnectResponse."""
    rules = [
        switch_pb2.StationRule(
            mac=rule.mac,
            uplink_kbps=rule.uplink_kbps,
            downlink_kbps=rule.downlink_kbps,
            marks=[
                switch_pb2.DownlinkMark(
                    protocol=mark.protocol,  # type: ignore[arg-type]  # the same numbers: tested
                    address=mark.address,
                    port=mark.port,
                    dscp=mark.dscp,
                )
                for mark in rule.marks
            ],
        )
        for rule in effect.rules
    ]
    set_rules = switch_pb2.SetStationRules(
        generation=effect.generation, rules=rules, lease_ms=effect.lease_ms, reason=reason_message(effect.reason)
    )
    command = switch_pb2.SwitchCommand(set_station_rules=set_rules)
    return switch_pb2.SwitchServiceConnectResponse(command=command).SerializeToString()


def station_rules(message: switch_pb2.SetStationRules) -> tuple[int, tuple[StationRule, ...], int]:
    """Generation, rules and lease of a command.

    Raises:
        RefusedError: it is not what it must be, and nothing of it is used.
    """
    if not 1 <= message.generation <= COUNTER_MAX:
        raise RefusedError(Reason(Code.OUT_OF_RANGE, "generation", after=message.generation, limit=1))
    if not LEASE_MIN_MS <= message.lease_ms <= LEASE_MAX_MS:
        limit = LEASE_MIN_MS if message.lease_ms < LEASE_MIN_MS else LEASE_MAX_MS
        raise RefusedError(Reason(Code.OUT_OF_RANGE, "lease_ms", after=message.lease_ms, limit=limit))
    if len(message.rules) > STATION_RULES_MAX:
        raise RefusedError(Reason(Code.TOO_MANY_ENTRIES, "rules", after=len(message.rules), limit=STATION_RULES_MAX))
    return message.generation, tuple(map(_rule, message.rules)), message.lease_ms


def _rule(rule: switch_pb2.StationRule) -> StationRule:
    if not is_station_mac(rule.mac):
        raise RefusedError(Reason(Code.MALFORMED, "rules.mac"))
    at = f"rules[{mac_text(rule.mac)}]"
    for kbps in (rule.uplink_kbps, rule.downlink_kbps):
        if kbps > KBPS_MAX:
            raise RefusedError(Reason(Code.OUT_OF_RANGE, f"{at}.kbps", after=kbps, limit=KBPS_MAX))
    if len(rule.marks) > MARKS_MAX:
        raise RefusedError(Reason(Code.TOO_MANY_ENTRIES, f"{at}.marks", after=len(rule.marks), limit=MARKS_MAX))
    return StationRule(rule.mac, rule.uplink_kbps, rule.downlink_kbps, tuple(_mark(at, mark) for mark in rule.marks))


def _mark(at: str, mark: switch_pb2.DownlinkMark) -> Mark:
    if len(mark.address) not in _ADDRESS_OCTETS:
        raise RefusedError(Reason(Code.MALFORMED, f"{at}.marks.address"))
    if mark.dscp > DSCP_MAX:
        raise RefusedError(Reason(Code.OUT_OF_RANGE, f"{at}.marks.dscp", after=mark.dscp, limit=DSCP_MAX))
    if not 0 <= mark.protocol < OTHER:
        raise RefusedError(Reason(Code.OUT_OF_RANGE, f"{at}.marks.protocol", after=mark.protocol, limit=OTHER - 1))
    most = 0 if mark.protocol == QUIC else PORT_MAX
    if mark.port > most:
        raise RefusedError(Reason(Code.OUT_OF_RANGE, f"{at}.marks.port", after=mark.port, limit=most))
    return Mark(mark.protocol, mark.address, mark.port, mark.dscp)
