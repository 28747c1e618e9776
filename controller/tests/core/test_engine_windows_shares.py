# SPDX-License-Identifier: Apache-2.0
"""The loop: limits of windows make rates, rates make shares, shares make limits."""

import math
from collections.abc import Mapping

import pytest

from airbound.core.addresses import Mac
from airbound.core.parameters import (
    Parameters,
)
from airbound.core.reports import WindowState
from airbound_testing.scenario import BSSID, Scenario, mac
from airbound_testing.windows import FIXED, MSS, PHONE, STATION, cell, cell_with, limit, second, seen


class Air:
    """A cell that carries so much, and stations whose windows are what they are limited to: what is more in flight than
    the path holds waits, and every station gets by its window.
    """

    def __init__(self, scenario: Scenario, capacity_bps: float = 24e6, min_rtt_s: float = 0.02) -> None:
        self.scenario, self.capacity_bps, self.min_rtt_s = scenario, capacity_bps, min_rtt_s
        self.rates_bps = dict[Mac, float]()

    def second(self, stations: list[Mac], wants_bps: Mapping[Mac, float], unlimited_bytes: float = 1e6) -> None:
        points = self.scenario.access_points
        windows = {
            station: ((points[BSSID].limit(station) if points else None) or unlimited_bytes) * 1500 / MSS
            for station in stations
        }
        rtt_s = self.min_rtt_s
        for _ in range(50):  # the RTT at which they carry together what the air does
            rates = {
                station: min(windows[station] * 8 / rtt_s, wants_bps.get(station, math.inf)) for station in stations
            }
            total = sum(rates.values())
            rtt_s = max(self.min_rtt_s, rtt_s * total / self.capacity_bps) if total > 0 else rtt_s
        self.rates_bps = {
            station: min(windows[station] * 8 / rtt_s, wants_bps.get(station, math.inf)) for station in stations
        }
        seen_now = {station: seen(rtt_s * 1000, self.min_rtt_s * 1000) for station in stations}
        self.scenario.advance(1)
        self.scenario.access_point(
            {station: bps / 1e6 for station, bps in self.rates_bps.items()}, destinations=seen_now
        )


@pytest.mark.parametrize("parameters", [FIXED, Parameters(), Parameters(policy="paper")])
def test_limited_stations_keep_their_shares_and_leave_no_capacity(parameters: Parameters) -> None:
    """A station that is held back uses what it may: its rate must not be taken for all that it wants."""
    scenario = cell_with(parameters)
    air, stations = Air(scenario), [mac(number) for number in range(10)]
    for _ in range(60):
        air.second(stations, {})
    assert sum(air.rates_bps.values()) >= 0.95 * 24e6
    assert max(air.rates_bps.values()) <= 1.05 * min(air.rates_bps.values())
    assert cell(scenario).spare_bps == 0


def test_a_station_that_is_slowed_by_others_does_not_lose_its_share() -> None:
    """Nine have more in flight than they may (their windows' scale is not known): the tenth gets a third of an equal
    share, and fills its window all the same. Nothing of it is given away.
    """
    scenario = cell_with(FIXED)
    stations = [mac(number) for number in range(10)]
    for _ in range(20):
        scenario.advance(1)
        rates = {**dict.fromkeys(stations[1:], 2.57), stations[0]: 0.8}
        in_flight_bytes = (limit(scenario, stations[0]) or 7 * MSS) if scenario.access_points else 7 * MSS
        rtt_ms = in_flight_bytes * 1500 / MSS * 8 / 0.8e6 * 1000
        scenario.access_point(rates, destinations={station: seen(rtt_ms, 20) for station in stations})
    assert cell(scenario).spare_bps == 0
    assert limit(scenario, stations[0]) == limit(scenario, stations[1])


def test_what_a_station_does_not_want_goes_to_the_others() -> None:
    scenario = cell_with(FIXED)
    air, stations = Air(scenario), [mac(number) for number in range(4)]
    for _ in range(30):
        air.second(stations, {stations[0]: 1e6})
    others = [air.rates_bps[station] for station in stations[1:]]
    assert air.rates_bps[stations[0]] == 1e6
    assert min(others) >= 0.9 * 23e6 / 3
    assert limit(scenario, stations[0]) == limit(scenario, stations[1])  # it may have its share at any time


def test_a_station_that_is_not_limited_is_counted_as_before() -> None:
    """Without limits in force its rate is what is known of its demand."""
    scenario = cell_with(FIXED, state=WindowState())
    for _ in range(4):
        second(scenario, {STATION: seen()}, rates={STATION: 1.0, PHONE: 20.0})
        scenario.terminal(PHONE, *seen())
    assert cell(scenario).spare_bps == pytest.approx(23e6 - 12e6, rel=0.02)
