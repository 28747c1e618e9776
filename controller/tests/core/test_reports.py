# SPDX-License-Identifier: Apache-2.0

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.reports import (
    AccessPointReport,
    Destination,
    ReportRefusedError,
    Station,
    Survey,
    TerminalReport,
    checked_address,
    checked_mac,
)

MAC = "02:00:00:00:00:01"
ABSURD = (math.nan, math.inf, -math.inf, -1, 2**63, 1.5, True, None, "7")


@pytest.mark.parametrize("value", ABSURD, ids=repr)
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (Station, "rx_bytes"),
        (Station, "tx_packets"),
        (Station, "connected_time_ms"),
        (Survey, "active_us"),
        (Survey, "busy_us"),
        (AccessPointReport, "sequence"),
        (AccessPointReport, "monotonic_us"),
        (Destination, "srtt_us"),
        (Destination, "min_rtt_us"),
        (Destination, "connections_sending"),
        (Destination, "mss_bytes"),
        (TerminalReport, "bounds_generation"),
        (TerminalReport, "sequence"),
    ],
)
def test_no_absurd_number_becomes_a_report(kind: Any, field: str, value: object) -> None:
    good: dict[Any, dict[str, Any]] = {
        Station: {"mac": MAC},
        Survey: {"active_us": 10, "busy_us": 5},
        AccessPointReport: {"bssid": MAC, "sequence": 1, "monotonic_us": 1},
        Destination: {"address": "10.0.0.1"},
        TerminalReport: {"mac": MAC, "sequence": 1, "monotonic_us": 1},
    }
    kind(**good[kind])
    with pytest.raises(ReportRefusedError) as caught:
        kind(**(good[kind] | {field: value}))
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field} = {value!r}: ")


@pytest.mark.parametrize(
    ("field", "value"),
    [("srtt_us", 49), ("min_rtt_us", 1), ("srtt_us", 300_000_001), ("mss_bytes", 87), ("mss_bytes", 70_000)],
)
def test_what_no_air_can_do_is_refused(field: str, value: int) -> None:
    absurd: Any = {field: value}
    with pytest.raises(ReportRefusedError, match=f"{field} = {value}"):
        Destination(address="10.0.0.1", **absurd)


@pytest.mark.parametrize("dbm", [-151, 51, math.nan])
def test_an_absurd_signal_is_refused(dbm: Any) -> None:
    with pytest.raises(ReportRefusedError, match="signal_dbm"):
        Station(mac=MAC, signal_dbm=dbm)


def test_more_busy_than_active_is_refused() -> None:
    with pytest.raises(ReportRefusedError, match="busy_us = 11: more than active_us = 10"):
        Survey(active_us=10, busy_us=11)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:0G",
        "02:00:00:00:00:0A",
        "02-00-00-00-00-01",
        "02:00:00:00:00:01\\n",
        7,
        "ff:ff:ff:ff:ff:ff",
        "01:00:5e:00:00:01",
        "00:00:00:00:00:00",
    ],
)
def test_what_is_no_stations_address(text: object) -> None:
    with pytest.raises(ReportRefusedError, match="mac = "):
        checked_mac("mac", text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("10.0.0.1", "10.0.0.1"), ("2001:DB8:0::1", "2001:db8::1"), ("::ffff:10.0.0.1", "10.0.0.1")],
)
def test_addresses_become_canonical(text: str, canonical: str) -> None:
    assert checked_address("address", text) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "10.0.0", "10.0.0.256", "10.0.0.1/32", "fe80::1%wlan0", "224.0.0.1", "ff02::1", "0.0.0.0", "::", 7],  # noqa: S104
)
def test_what_no_connection_goes_to(text: object) -> None:
    with pytest.raises(ReportRefusedError, match="address = "):
        checked_address("address", text)


def test_a_destination_is_in_canonical_form() -> None:
    with pytest.raises(ReportRefusedError, match="not in canonical form"):
        Destination(address="2001:DB8::1")


def test_nothing_is_listed_twice() -> None:
    with pytest.raises(ReportRefusedError, match=r"stations\.mac = '02:00:00:00:00:01': listed twice"):
        AccessPointReport(bssid=MAC, sequence=1, monotonic_us=1, stations=(Station(mac=MAC), Station(mac=MAC)))
    twice = (Destination(address="10.0.0.1"), Destination(address="10.0.0.1"))
    with pytest.raises(ReportRefusedError, match=r"destinations\.address = '10\.0\.0\.1': listed twice"):
        TerminalReport(mac=MAC, sequence=1, monotonic_us=1, destinations=twice)


def test_more_entries_than_any_cell_has_are_refused() -> None:
    stations = tuple(Station(mac=f"02:00:00:00:{number // 256:02x}:{number % 256:02x}") for number in range(2049))
    with pytest.raises(ReportRefusedError, match="stations = 2049: more than 2048"):
        AccessPointReport(bssid=MAC, sequence=1, monotonic_us=1, stations=stations)
    destinations = tuple(Destination(address=f"10.0.{number // 250}.{number % 250 + 1}") for number in range(4097))
    with pytest.raises(ReportRefusedError, match="destinations = 4097: more than 4096"):
        TerminalReport(mac=MAC, sequence=1, monotonic_us=1, destinations=destinations)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for check in (checked_mac, checked_address):
        try:
            assert check("field", text)
        except ReportRefusedError as error:
            assert error.value == text  # noqa: PT017  # either outcome is right


def test_an_error_quotes_no_more_than_a_line() -> None:
    text = str(ReportRefusedError("mac", "x" * 1_000_000, "no address"))
    assert text.startswith("mac = 'xxx")
    assert text.endswith("...: no address")
    assert len(text) < 120
