# SPDX-License-Identifier: Apache-2.0
"""What `airbound openflow` and the controller send each other: every field, both ways, and what is refused."""

from typing import Any

import pytest

from airbound.core.effects import SetStationRules
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.reports import COUNTER_MAX, STATIONS_MAX
from airbound.core.switch_reports import (
    OTHER,
    QUIC,
    STATION_RULES_MAX,
    TCP,
    TRAFFIC_MAX,
    Mark,
    StationRule,
    SwitchReport,
    Traffic,
)
from airbound.grpc import switch_convert
from airbound.v1 import switch_pb2

MAC, OTHER_MAC, BSSID = bytes([2, 0, 0, 0, 1, 0]), bytes([2, 0, 0, 0, 1, 1]), bytes([2, 0, 0, 0, 0, 1])
IPV4, IPV6 = bytes([192, 0, 2, 9]), bytes([0x20, 1, 0xD, 0xB8, *range(12)])
REPORT = SwitchReport(
    datapath_id=2**64 - 1,
    bssid=BSSID,
    sequence=7,
    monotonic_us=8_000_000,
    description="Example, Switch, 1.0",
    peer="192.0.2.1:4711",
    agent_version="0.1.0",
    traffic=(
        Traffic(MAC, IPV4, TCP, 1, 2, 3, 4),
        Traffic(MAC, IPV6, QUIC, 5, 6, 7, 8),
        Traffic(MAC, b"", OTHER, 9, 1, 0, 0),
    ),
    generation=9,
    meters_max=10,
    flows=11,
    meters=12,
    packet_ins_total=13,
    packet_ins_dropped_total=14,
    malformed_total=15,
    errors_total=16,
    refused_total=17,
    meter_dropped_bytes=18,
    lists_stations=True,
    stations=(MAC, BSSID),
)
RULES = (
    StationRule(MAC, 1_000, 2_000, (Mark(TCP, IPV6, 443, 46), Mark(QUIC, b"", 0, 34))),
    StationRule(OTHER_MAC),
)


def test_every_field_of_a_report_there_and_back() -> None:
    message = switch_convert.switch_report_message(REPORT)
    assert {field.name for field, _ in message.ListFields()} == set(message.DESCRIPTOR.fields_by_name)
    assert {field.name for field, _ in message.traffic[0].ListFields()} == set(
        message.traffic[0].DESCRIPTOR.fields_by_name
    )
    again = switch_pb2.SwitchReport.FromString(message.SerializeToString())
    assert switch_convert.switch_report(again) == (REPORT, [])


def test_every_field_of_a_command_there_and_back() -> None:
    stream, reason = Stream(1, Principal("switch", "openflow-1")), Reason(Code.METERED, after=1_000)
    octets = switch_convert.switch_command(SetStationRules(stream, 5, RULES, 6_000, reason))
    message = switch_pb2.SwitchServiceConnectResponse.FromString(octets).command.set_station_rules
    assert message.reason.code == Code.METERED
    for part in (message, message.rules[0], message.rules[0].marks[0]):
        assert {field.name for field, _ in part.ListFields()} == set(part.DESCRIPTOR.fields_by_name)
    assert switch_convert.station_rules(message) == (5, RULES, 6_000)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"datapath_id": 0}, Reason(Code.MALFORMED, "datapath_id")),
        ({"bssid": b"\x01\x00\x00\x00\x00\x01"}, Reason(Code.MALFORMED, "bssid")),
        ({"bssid": b"\x02"}, Reason(Code.MALFORMED, "bssid")),
        ({"sequence": 0}, Reason(Code.OUT_OF_RANGE, "sequence", after=0, limit=1)),
        ({"monotonic_us": 2**63}, Reason(Code.OUT_OF_RANGE, "monotonic_us", after=2**63, limit=COUNTER_MAX)),
    ],
)
def test_a_report_without_a_sender_or_a_time_is_refused_whole(fields: dict[str, Any], reason: Reason) -> None:
    message = switch_convert.switch_report_message(REPORT)
    for name, value in fields.items():
        setattr(message, name, value)
    assert switch_convert.switch_report(message) == (None, [reason])


@pytest.mark.parametrize(
    ("fields", "code", "subject"),
    [
        ({"mac": b"\xff" * 6}, Code.MALFORMED, "traffic.mac"),
        ({"mac": b""}, Code.MALFORMED, "traffic.mac"),
        ({"address": b"123"}, Code.MALFORMED, "traffic[02:00:00:00:01:00].address"),
        ({"protocol": 0}, Code.OUT_OF_RANGE, "traffic[02:00:00:00:01:00].protocol"),
        ({"protocol": 5}, Code.OUT_OF_RANGE, "traffic[02:00:00:00:01:00].protocol"),
        ({"uplink_bytes": 2**63}, Code.OUT_OF_RANGE, "traffic[02:00:00:00:01:00].bytes"),
        ({"address": IPV6, "protocol": QUIC}, Code.DUPLICATE_ENTRY, "traffic[02:00:00:00:01:00]"),
    ],
)
def test_an_absurd_entry_is_refused_alone(fields: dict[str, Any], code: Code, subject: str) -> None:
    message = switch_convert.switch_report_message(REPORT)
    for name, value in fields.items():
        setattr(message.traffic[2], name, value)
    report, refusals = switch_convert.switch_report(message)
    assert report is not None
    assert report.traffic == REPORT.traffic[:2]
    assert [(refusal.code, refusal.subject) for refusal in refusals] == [(code, subject)]


def test_no_more_entries_than_there_can_be() -> None:
    message = switch_convert.switch_report_message(REPORT)
    del message.traffic[:]
    for number in range(TRAFFIC_MAX + 1):
        message.traffic.add(mac=MAC, address=number.to_bytes(4, "big"), protocol=switch_pb2.TRAFFIC_PROTOCOL_TCP)
    report, refusals = switch_convert.switch_report(message)
    assert report is not None
    assert len(report.traffic) == TRAFFIC_MAX
    assert refusals == [Reason(Code.TOO_MANY_ENTRIES, "traffic", after=TRAFFIC_MAX + 1, limit=TRAFFIC_MAX)]


def test_a_counter_that_is_a_negative_number_is_none() -> None:
    message = switch_convert.switch_report_message(REPORT)
    message.errors_total = 2**64 - 1
    report, refusals = switch_convert.switch_report(message)
    assert report is not None
    assert report.errors_total == 0
    assert [refusal.subject for refusal in refusals] == ["errors_total"]


def command() -> switch_pb2.SetStationRules:
    octets = switch_convert.switch_command(
        SetStationRules(Stream(1, Principal("switch", "a")), 5, RULES, 6_000, Reason(Code.METERED))
    )
    return switch_pb2.SwitchServiceConnectResponse.FromString(octets).command.set_station_rules


@pytest.mark.parametrize(
    ("change", "code", "subject"),
    [
        (lambda m: setattr(m, "generation", 0), Code.OUT_OF_RANGE, "generation"),
        (lambda m: setattr(m, "lease_ms", 999), Code.OUT_OF_RANGE, "lease_ms"),
        (lambda m: setattr(m, "lease_ms", 60_001), Code.OUT_OF_RANGE, "lease_ms"),
        (lambda m: m.rules.extend([m.rules[1]] * STATION_RULES_MAX), Code.TOO_MANY_ENTRIES, "rules"),
        (lambda m: setattr(m.rules[0], "mac", b"\x01" * 6), Code.MALFORMED, "rules.mac"),
        (lambda m: setattr(m.rules[0], "uplink_kbps", 50_000_001), Code.OUT_OF_RANGE, "rules[02:00:00:00:01:00].kbps"),
        (lambda m: m.rules[0].marks.extend([m.rules[0].marks[0]] * 31), Code.TOO_MANY_ENTRIES,
         "rules[02:00:00:00:01:00].marks"),
        (lambda m: setattr(m.rules[0].marks[0], "dscp", 64), Code.OUT_OF_RANGE, "rules[02:00:00:00:01:00].marks.dscp"),
        (lambda m: setattr(m.rules[0].marks[0], "protocol", OTHER), Code.OUT_OF_RANGE,
         "rules[02:00:00:00:01:00].marks.protocol"),
        (lambda m: setattr(m.rules[0].marks[0], "port", 65_536), Code.OUT_OF_RANGE,
         "rules[02:00:00:00:01:00].marks.port"),
        (lambda m: setattr(m.rules[0].marks[1], "port", 443), Code.OUT_OF_RANGE,
         "rules[02:00:00:00:01:00].marks.port"),
        (lambda m: setattr(m.rules[0].marks[0], "address", b"1"), Code.MALFORMED,
         "rules[02:00:00:00:01:00].marks.address"),
    ],
)  # fmt: skip
def test_of_a_command_that_is_not_what_it_must_be_nothing_is_used(change: Any, code: Code, subject: str) -> None:
    message = command()
    change(message)
    with pytest.raises(RefusedError) as caught:
        switch_convert.station_rules(message)
    assert (caught.value.reason.code, caught.value.reason.subject) == (code, subject)


def test_stations_are_listed_once_and_each_must_be_one() -> None:
    message = switch_convert.switch_report_message(REPORT)
    message.stations.extend([MAC, b"\xff" * 6])
    report, refusals = switch_convert.switch_report(message)
    assert report is not None
    assert report.stations == (MAC, BSSID)
    assert refusals == [Reason(Code.MALFORMED, "stations")]
    message.stations.extend([MAC] * STATIONS_MAX)
    report, refusals = switch_convert.switch_report(message)
    assert report is not None
    assert refusals[0].code is Code.TOO_MANY_ENTRIES
