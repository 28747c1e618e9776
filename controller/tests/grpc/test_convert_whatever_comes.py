# SPDX-License-Identifier: Apache-2.0
"""Whatever may be on the wire: reports that are right, with one thing broken, and octets that are no report."""

from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from airbound.grpc import convert
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.messages import (
    IPV6,
    MAC,
    destination,
    phone_report,
)

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
MACS = st.binary(min_size=5, max_size=5).map(lambda octets: b"\x02" + octets)
ADDRESSES = st.one_of(
    st.binary(min_size=3, max_size=3).map(lambda octets: b"\x0a" + octets),
    st.binary(min_size=14, max_size=14).map(lambda octets: b"\x20\x01" + octets),
)
STATIONS = st.builds(
    access_point_pb2.Station,
    mac=MACS,
    signal_dbm=st.integers(-100, 0),
    rx_bytes=st.integers(0, 2**50),
    rx_packets=st.integers(0, 2**40),
    connected_time_ms=st.integers(0, 2**40),
    aggregates=st.booleans(),
    ip_addresses=st.lists(ADDRESSES, max_size=3),
)
CELL_REPORTS = st.builds(
    access_point_pb2.AccessPointReport,
    bssid=MACS,
    ssid=st.binary(max_size=32),
    sequence=st.integers(1, 2**63 - 1),
    monotonic_us=st.integers(0, 2**63 - 1),
    stations=st.lists(STATIONS, max_size=5, unique_by=lambda entry: entry.mac),
)
DESTINATIONS = st.builds(
    terminal_pb2.Destination,
    address=ADDRESSES,
    connections_sending=st.integers(0, 1000),
    srtt_us=st.integers(50, 10**6),
    min_rtt_us=st.integers(50, 10**6),
    mss_bytes=st.integers(500, 9000),
)
PHONE_REPORTS = st.builds(
    terminal_pb2.TerminalReport,
    mac=MACS,
    sequence=st.integers(1, 2**63 - 1),
    monotonic_us=st.integers(0, 2**63 - 1),
    destinations=st.lists(DESTINATIONS, max_size=5, unique_by=lambda entry: entry.address),
    bounds_generation=st.integers(0, 2**63 - 1),
)


@given(CELL_REPORTS)
def test_a_right_report_of_a_cell_is_used_whole(message: access_point_pb2.AccessPointReport) -> None:
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert refusals == []
    assert [(entry.mac, entry.rx_bytes) for entry in report.stations] == [
        (entry.mac, entry.rx_bytes) for entry in message.stations
    ]


@given(PHONE_REPORTS)
def test_a_right_report_of_a_phone_is_used_whole(message: terminal_pb2.TerminalReport) -> None:
    report, refusals = convert.terminal_report(message)
    assert report is not None
    assert refusals == []
    assert [(entry.address, entry.srtt_us) for entry in report.destinations] == [
        (entry.address, entry.srtt_us) for entry in message.destinations
    ]


@given(CELL_REPORTS, STATIONS, st.data())
def test_one_broken_station_costs_itself(
    message: access_point_pb2.AccessPointReport, broken: access_point_pb2.Station, data: st.DataObject
) -> None:
    whole, _ = convert.access_point_report(message)
    field, value = data.draw(
        st.sampled_from(
            [
                ("mac", b"\x02"),
                ("mac", b"\x03" * 6),
                ("signal_dbm", -1000),
                ("rx_bytes", 2**64 - 1),
                ("tx_retries", 2**63),
                ("connected_time_ms", 2**63),
                ("rx_bitrate_kbps", 2**32 - 1),
            ]
        )
    )
    setattr(broken, field, value)
    index = data.draw(st.integers(0, len(message.stations)))
    message.stations.insert(index, broken)
    report, refusals = convert.access_point_report(message)
    assert report == whole
    assert [reason.subject.partition(" ")[0] for reason in refusals] == [f"stations[{index}].{field}"]


@given(PHONE_REPORTS, DESTINATIONS, st.data())
def test_one_broken_destination_costs_itself(
    message: terminal_pb2.TerminalReport, broken: terminal_pb2.Destination, data: st.DataObject
) -> None:
    whole, _ = convert.terminal_report(message)
    field, value = data.draw(
        st.sampled_from(
            [
                ("address", b"\x7f"),
                ("address", bytes(16)),
                ("connections_sending", 2**32 - 1),
                ("srtt_us", 49),
                ("min_rtt_us", 2**32 - 1),
                ("mss_bytes", 87),
            ]
        )
    )
    setattr(broken, field, value)
    index = data.draw(st.integers(0, len(message.destinations)))
    message.destinations.insert(index, broken)
    report, refusals = convert.terminal_report(message)
    assert report == whole
    assert [reason.subject.partition(" ")[0] for reason in refusals] == [f"destinations[{index}].{field}"]


@given(st.one_of(CELL_REPORTS, PHONE_REPORTS), st.data())
def test_octets_that_were_changed_on_their_way_are_read_or_refused(message: Any, data: st.DataObject) -> None:
    octets = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(octets) - 1))
        octets[position] = data.draw(st.integers(0, 255))
    try:
        changed = type(message).FromString(bytes(octets))
    except DecodeError:
        return  # gRPC ends the stream before a conversion
    is_cell = isinstance(changed, access_point_pb2.AccessPointReport)
    report, refusals = (convert.access_point_report if is_cell else convert.terminal_report)(changed)
    assert report is not None or refusals


@given(st.lists(st.tuples(U32, U32, U32, U32), min_size=1, max_size=5), U64, U64)
def test_whatever_numbers_arrive_stay_within_limits_or_are_refused(
    entries: list[tuple[int, int, int, int]], sequence: int, generation: int
) -> None:
    message = phone_report(
        sequence=sequence,
        bounds_generation=generation,
        destinations=[
            destination(
                address=bytes([10, 0, 0, index + 1]),
                srtt_us=srtt,
                min_rtt_us=minimum,
                mss_bytes=mss,
                connections_sending=count,
            )
            for index, (srtt, minimum, mss, count) in enumerate(entries)
        ],
    )
    report, refusals = convert.terminal_report(message)
    kept = len(report.destinations) if report else 0
    assert report is None or kept + len(refusals) == len(entries)
    assert (report is None) == (not 1 <= sequence < 2**63 or generation >= 2**63)


@pytest.mark.parametrize(("queued_bytes", "fills"), [(0, False), (11_199, False), (11_200, True), (10**9, True)])
def test_a_window_is_full_from_four_fifths_on(queued_bytes: int, fills: bool) -> None:  # noqa: FBT001
    entry = terminal_pb2.Destination(address=IPV6, cwnd_segs=10, mss_bytes=1400, queued_bytes=queued_bytes)
    report, _ = convert.terminal_report(terminal_pb2.TerminalReport(mac=MAC, sequence=1, destinations=[entry]))
    assert report.destinations[0].fills_window is fills
