# SPDX-License-Identifier: Apache-2.0
"""What an access point sees of its stations' connections, and does with their windows: limits of what it may say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    CONNECTIONS_MAX,
    COUNTER_MAX,
    MSS_MAX_BYTES,
    MSS_MIN_BYTES,
    REPORT_DESTINATIONS_MAX,
    RTT_MAX_US,
    RTT_MIN_US,
    STATION_DESTINATIONS_MAX,
    AccessPointReport,
    WindowState,
)
from airbound.grpc import convert
from airbound.v1 import access_point_pb2
from airbound_testing.messages import IPV4, IPV6, MAC, OTHER_MAC, WINDOWS, cell_report, seen, station
from airbound_testing.messages import station_destination as destination


def converted(*stations: access_point_pb2.Station, **fields: Any) -> tuple[AccessPointReport, list[Reason]]:
    """The report of an access point that looks at connections."""
    report, refusals = convert.access_point_report(cell_report(**{"windows": WINDOWS, **fields}, stations=stations))
    assert report is not None
    return report, refusals


AT_LIMITS: list[tuple[str, int, int]] = [  # field, right, wrong
    ("connections", CONNECTIONS_MAX, CONNECTIONS_MAX + 1),
    ("connections_sending", 8, 9),  # no more than there are
    ("connections_unscaled", 8, 9),
    ("srtt_us", RTT_MAX_US, RTT_MAX_US + 1),
    ("srtt_us", RTT_MIN_US, RTT_MIN_US - 1),
    ("min_rtt_us", RTT_MAX_US, RTT_MAX_US + 1),
    ("min_rtt_us", RTT_MIN_US, RTT_MIN_US - 1),
    ("mss_bytes", MSS_MAX_BYTES, MSS_MAX_BYTES + 1),
    ("mss_bytes", MSS_MIN_BYTES, MSS_MIN_BYTES - 1),
    ("sent_bytes", COUNTER_MAX, COUNTER_MAX + 1),
    ("received_bytes", COUNTER_MAX, COUNTER_MAX + 1),
]


@pytest.mark.parametrize(("field", "right", "wrong"), AT_LIMITS)
def test_a_destination_at_each_limit_and_beyond(field: str, right: int, wrong: int) -> None:
    entries = [destination(**{field: right}), destination(address=IPV6, **{field: wrong})]
    report, refusals = converted(station(destinations=entries))
    (found,) = report.destinations[MAC]
    assert (found.address, getattr(found, field, right)) == (IPV4, right)
    limit = 8 if wrong == 9 else right
    subject = f"stations[0].destinations[1].{field}"
    assert refusals == [Reason(Code.OUT_OF_RANGE, subject, after=wrong, limit=limit)]


@pytest.mark.parametrize(
    "address", [b"", b"\x0a", bytes(4), bytes([127, 0, 0, 1]), bytes([224, 0, 0, 1]), bytes(15) + b"\x01"]
)
def test_what_is_no_address_of_another_host(address: bytes) -> None:
    report, refusals = converted(station(destinations=[destination(address=address), destination()]))
    assert [destination.address for destination in report.destinations[MAC]] == [IPV4]
    assert refusals[0].code is Code.MALFORMED
    assert refusals[0].subject.startswith("stations[0].destinations[0].address")


def test_a_station_is_used_whatever_is_wrong_with_its_destinations() -> None:
    entries = [destination(srtt_us=1), destination(address=b"")]
    report, refusals = converted(station(rx_bytes=7, destinations=entries), station(mac=OTHER_MAC))
    assert [station.mac for station in report.stations] == [MAC, OTHER_MAC]
    assert report.destinations == {}
    assert len(refusals) == 1  # of a station one, so that their number is bounded


def test_a_station_that_is_refused_has_no_destinations() -> None:
    report, refusals = converted(
        station(rx_bytes=2**63, destinations=[destination()]), station(mac=b"\x03" * 6, destinations=[destination()])
    )
    assert report.destinations == {}
    assert len(refusals) == 2


def test_of_what_is_listed_twice_the_first_counts() -> None:
    twice = [destination(connections_sending=1), destination(connections_sending=2)]
    report, refusals = converted(
        station(destinations=twice), station(destinations=[destination(connections_sending=3)])
    )
    assert [destination.connections_sending for destination in report.destinations[MAC]] == [1]
    assert seen(refusals) == [
        (Code.DUPLICATE_ENTRY, "stations[1].mac"),
        (Code.DUPLICATE_ENTRY, "stations[0].destinations[1].address"),
    ]


@pytest.mark.parametrize("over", [0, 1, 1000])
def test_a_station_has_no_endless_list_of_destinations(over: int) -> None:
    count = STATION_DESTINATIONS_MAX + over
    entries = [destination(address=bytes([10, 1, *divmod(number, 256)])) for number in range(count)]
    report, refusals = converted(station(destinations=entries))
    assert len(report.destinations[MAC]) == STATION_DESTINATIONS_MAX
    expected = Reason(Code.TOO_MANY_ENTRIES, "stations[0].destinations", after=count, limit=STATION_DESTINATIONS_MAX)
    assert refusals == ([expected] if over else [])


def test_nor_has_a_report() -> None:
    entries = [destination(address=bytes([10, 1, 0, number])) for number in range(1, STATION_DESTINATIONS_MAX + 1)]
    stations = [
        station(mac=bytes([2, 0, 0, 1, 0, number]), destinations=entries)
        for number in range(REPORT_DESTINATIONS_MAX // STATION_DESTINATIONS_MAX + 2)
    ]
    report, refusals = converted(*stations)
    assert sum(map(len, report.destinations.values())) == REPORT_DESTINATIONS_MAX
    assert {reason.code for reason in refusals} == {Code.TOO_MANY_ENTRIES}
    assert len(refusals) == 2


def test_without_a_state_of_windows_nobody_looks_for_destinations() -> None:
    report, refusals = convert.access_point_report(cell_report(stations=[station(destinations=[destination()])]))
    assert report is not None
    assert (report.windows, report.destinations, refusals) == (None, {}, [])


@pytest.mark.parametrize(
    ("refusal", "right"), [("x" * 200, True), ("x" * 201, False), ("no\nline", False), ("\x1b[2J", False)]
)
def test_the_words_of_an_access_point(refusal: str, right: bool) -> None:  # noqa: FBT001
    report, refusals = converted(windows=access_point_pb2.WindowState(refusal=refusal, limits_max=3))
    assert report.windows == WindowState(refusal=refusal if right else "", limits_max=3)
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "windows.refusal")])


def test_a_generation_that_none_can_follow_is_refused_with_all_of_it() -> None:
    report, refusals = converted(windows=access_point_pb2.WindowState(generation=COUNTER_MAX))
    assert (report.windows, refusals) == (WindowState(generation=COUNTER_MAX), [])
    report, refusals = converted(windows=access_point_pb2.WindowState(generation=COUNTER_MAX + 1))
    assert report.windows is None
    assert refusals == [Reason(Code.OUT_OF_RANGE, "windows.generation", after=COUNTER_MAX + 1, limit=COUNTER_MAX)]


@pytest.mark.parametrize("field", ["refused_total", "connections_evicted_total", "limited_segments_total"])
def test_a_counter_that_looks_like_a_negative_number_is_none(field: str) -> None:
    report, refusals = converted(windows=access_point_pb2.WindowState(can_set=True, **{field: 2**64 - 1}))
    assert report.windows == WindowState(can_set=True)
    assert refusals == [Reason(Code.OUT_OF_RANGE, f"windows.{field}", after=2**64 - 1, limit=COUNTER_MAX)]


ANYTHING = st.builds(
    access_point_pb2.StationDestination,
    address=st.one_of(st.binary(max_size=17), st.just(IPV4), st.just(IPV6)),
    connections=st.integers(0, 2**32 - 1),
    connections_sending=st.integers(0, 2**32 - 1),
    srtt_us=st.integers(0, 2**32 - 1),
    min_rtt_us=st.integers(0, 2**32 - 1),
    mss_bytes=st.integers(0, 2**32 - 1),
    sent_bytes=st.integers(0, 2**64 - 1),
    received_bytes=st.integers(0, 2**64 - 1),
    connections_unscaled=st.integers(0, 2**32 - 1),
)


@given(st.lists(ANYTHING, max_size=8))
def test_whatever_comes_is_used_within_the_limits_or_refused_by_name(
    entries: list[access_point_pb2.StationDestination],
) -> None:
    report, refusals = converted(station(destinations=entries))
    found = report.destinations.get(MAC, ())
    assert len(refusals) == (len(found) < len(entries))
    assert all(reason.subject.startswith("stations[0].destinations[") for reason in refusals)
    for accepted in found:
        assert 0 <= accepted.connections_sending <= CONNECTIONS_MAX
        assert accepted.min_rtt_us == 0 or RTT_MIN_US <= accepted.min_rtt_us <= RTT_MAX_US
        assert accepted.mss_bytes == 0 or MSS_MIN_BYTES <= accepted.mss_bytes <= MSS_MAX_BYTES
        assert accepted.fills_window
