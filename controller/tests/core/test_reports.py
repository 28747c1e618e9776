# SPDX-License-Identifier: Apache-2.0
"""What reports may contain: agents in the field are written for these limits."""

from airbound.core import reports
from airbound.core.addresses import address_from_text
from airbound.core.reports import NO_AGENT, BackEnd, Destination, Station
from airbound_testing.scenario import mac

VALUES = ("NO_AGENT", "NO_FLOWS", "UNKNOWN_RADIO")
"""Values, and no limits."""


def test_the_limits() -> None:
    assert {name: value for name, value in vars(reports).items() if name.isupper() and name not in VALUES} == {
        "COUNTER_MAX": 9_223_372_036_854_775_807,
        "RTT_MIN_US": 50,
        "RTT_MAX_US": 300_000_000,
        "MSS_MIN_BYTES": 88,
        "MSS_MAX_BYTES": 65_535,
        "CONNECTIONS_MAX": 1_000_000,
        "BITRATE_MAX_KBPS": 50_000_000,
        "FREQUENCY_MAX_MHZ": 100_000,
        "SIGNAL_DBM": (-150, 50),
        "SSID_MAX_BYTES": 32,
        "STATIONS_MAX": 2048,
        "LINKS_MAX": 15,
        "RECENT_MAX_US": 60_000_000,
        "SURVEY_REFUSAL_MAX_CHARACTERS": 200,
        "STATION_ADDRESSES_MAX": 16,
        "DESTINATIONS_MAX": 256,
        "STATION_DESTINATIONS_MAX": 64,
        "REPORT_DESTINATIONS_MAX": 4096,
        "APP_PARTS_MAX": 64,
        "APP_UIDS_MAX": 16,
    }


def test_a_station_of_which_nothing_is_reported() -> None:
    assert Station(mac(0)) == (mac(0), 0, 0, 0, 0, 0, 0, 0, False, (), 0, 0, False, 0, 0, 0, 0, 0, 0)


def test_a_destination_of_which_nothing_is_reported() -> None:
    address = address_from_text("10.0.4.1")
    assert Destination(address) == (address, 0, 0, 1448, True, 0)


def test_an_agent_that_was_not_described_can_do_nothing() -> None:
    able = BackEnd()
    assert (able.can_set_max, able.can_set_min, able.can_select_destination, able.rules_max) == (True, True, True, 0)
    unable = NO_AGENT.back_end
    assert (unable.name, unable.can_set_max, unable.can_set_min, unable.can_select_destination) == ("", *(False,) * 3)
