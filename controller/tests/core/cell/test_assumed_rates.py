# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.assumed_rates import (
    BEGIN_BPS,
    CARRIED_PER_BITRATE,
    FRAMES_SHARE,
    LEAST_AIR_US,
    LEAST_BPS,
    ROOM,
    SAMPLES_LEAST,
    AssumedRates,
)
from airbound.core.policy import RateSource
from airbound_testing.scenario import mac

PHONE, OTHER = mac(1), mac(2)
SECOND_US = 1_000_000


def carried(assumed: AssumedRates, *every_bps: float) -> None:
    for bps in every_bps:
        assumed.end(bps, {PHONE})


def test_air_time_comes_first() -> None:
    assumed = AssumedRates()
    assumed.begin([866.7e6])
    rate = assumed.rate(PHONE, round(300e6 * FRAMES_SHARE), SECOND_US)
    assert (rate.up_bps, rate.down_bps, rate.source) == (pytest.approx(300e6), rate.up_bps, RateSource.AIR_TIME)
    assert assumed.count == 1


def test_of_air_times_the_second_highest_rate_counts_and_those_of_before_are_forgotten() -> None:
    assumed = AssumedRates()
    assumed.begin([])

    def rate_mbps(mbps: float, air_us: int = SECOND_US) -> float:
        return assumed.rate(PHONE, round(mbps * air_us * FRAMES_SHARE), air_us).up_bps / 1e6

    assert rate_mbps(200) == pytest.approx(200)
    assert rate_mbps(900) == pytest.approx(200)  # counters that were read at two moments
    assert rate_mbps(400) == pytest.approx(400)
    assert [rate_mbps(100) for _ in range(8)][-1] == pytest.approx(100)
    assert rate_mbps(5_000, LEAST_AIR_US - 1) == pytest.approx(100)


def test_without_air_time_it_is_the_median_of_the_other_stations() -> None:
    assumed = AssumedRates()
    assumed.begin([866.7e6, 58.5e6, 650e6])
    rate = assumed.rate(PHONE, 10_000_000, 0)
    assert (rate.up_bps, rate.source) == (650e6, RateSource.CELL)


def test_without_others_it_is_above_what_the_cell_carried_while_windows_limit_it() -> None:
    assumed = AssumedRates()
    assumed.begin([])
    assert assumed.rate(PHONE, 10_000_000, 0).up_bps == BEGIN_BPS
    carried(assumed, *[3e6] * 20)
    assert assumed.rate(PHONE, 10_000_000, 0).up_bps == BEGIN_BPS  # nobody wanted more
    assumed.is_limited = True
    carried(assumed, *[100e6] * (SAMPLES_LEAST - 1))
    assert assumed.rate(PHONE, 10_000_000, 0).up_bps == BEGIN_BPS
    carried(assumed, 130e6, 90e6)
    rate = assumed.rate(PHONE, 10_000_000, 0)
    assert (rate.up_bps, rate.source) == (pytest.approx(ROOM * 130e6 / CARRIED_PER_BITRATE), RateSource.CARRIED)
    carried(assumed, *[1e6] * 10)
    assert assumed.rate(PHONE, 10_000_000, 0).up_bps == LEAST_BPS


def test_what_is_known_of_a_station_ends_when_it_leaves() -> None:
    assumed = AssumedRates()
    assumed.begin([])
    assumed.rate(PHONE, 100_000_000, SECOND_US)
    assumed.rate(OTHER, 100_000_000, SECOND_US)
    assert assumed.count == 2
    assumed.end(0, {OTHER})
    assert assumed.rate(PHONE, 0, 0).source is RateSource.CARRIED
    assert assumed.rate(OTHER, 0, 0).source is RateSource.AIR_TIME


@given(st.lists(st.tuples(st.integers(0, 10**10), st.integers(0, SECOND_US)), max_size=30))
def test_a_rate_is_always_assumed(intervals: list[tuple[int, int]]) -> None:
    assumed = AssumedRates(is_limited=True)
    for bits, air_us in intervals:
        assumed.begin([])
        rate = assumed.rate(PHONE, bits, air_us)
        assert rate.source is not RateSource.REPORTED
        assert rate.up_bps >= 0
        carried(assumed, bits)
