# SPDX-License-Identifier: Apache-2.0

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.capacity import CapacityEstimator, Interval, utilisation
from airbound.core.parameters import BdpParameters, CapacityParameters
from airbound.core.policy import Situation, bdp

SECOND_US = 1_000_000
PARAMETERS = CapacityParameters()


def interval(
    mbps: float = 0.0,
    busy: float | None = None,
    *,
    frames: int = 0,
    n: int = 1,
    seconds: float = 1.0,
) -> Interval:
    return Interval(
        duration_us=round(seconds * SECOND_US),
        payload_bytes=round(mbps * 1e6 / 8 * seconds),
        frames=frames,
        active_senders=n,
        survey_active_us=0 if busy is None else round(seconds * SECOND_US),
        survey_busy_us=0 if busy is None else round(busy * seconds * SECOND_US),
    )


def test_utilisation_counts_the_idle_time_that_each_frame_costs() -> None:
    # Two contenders: 28 us and 15 slots / 3 of 9 us, so 73 us for each of 3000 frames.
    assert utilisation(interval(20, 0.7, frames=3000), PARAMETERS) == pytest.approx(0.7 + 0.219)
    # Eleven: 28 us and 15 / 12 slots.
    assert utilisation(interval(20, 0.7, frames=3000, n=10), PARAMETERS) == pytest.approx(0.7 + 3000 * 39.25e-6)
    assert utilisation(interval(20), PARAMETERS) is None


def test_half_a_channel_tells_the_whole_capacity() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.observe(interval(12, 0.5), 0)
    assert estimator.bps(0) == pytest.approx(24e6)
    assert estimator.measured


def test_a_full_channel_carries_what_it_carries() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.observe(interval(24, 0.95, frames=3000), 0)
    assert estimator.bps(0) == pytest.approx(24e6)


def test_the_default_holds_until_there_is_traffic() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.observe(interval(0.2, 0.05), 0)
    assert estimator.bps(0) == 20e6
    assert not estimator.measured
    estimator.observe_bitrate(300_000)
    assert estimator.bps(0) == pytest.approx(132e6)
    estimator.observe_bitrate(6_000)  # a management frame's rate lowers nothing
    assert estimator.bps(0) == pytest.approx(132e6)


def test_quiet_intervals_leave_the_estimate() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.observe(interval(12, 0.5), 0)
    for second in range(100):
        estimator.observe(interval(0, 0.01), second * SECOND_US)
    assert estimator.bps(0) == pytest.approx(24e6)


def test_smoothing_takes_its_time_constant() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.observe(interval(20, 1.0), 0)
    for second in range(3):
        estimator.observe(interval(10, 1.0), second * SECOND_US)
    assert estimator.bps(0) == pytest.approx(10e6 + 10e6 * math.exp(-1))


def test_short_and_long_intervals_weigh_alike() -> None:
    short, long = CapacityEstimator(PARAMETERS), CapacityEstimator(PARAMETERS)
    for estimator, parts in ((short, 4), (long, 1)):
        estimator.observe(interval(20, 1.0), 0)
        for _ in range(parts):
            estimator.observe(interval(10, 1.0, seconds=2 / parts), 0)
    assert short.bps(0) == pytest.approx(long.bps(0))


def test_without_a_survey_the_highest_rate_of_ten_seconds_counts_but_never_below_the_default() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    for second, mbps in enumerate((5, 31, 28, 5, 5)):
        estimator.observe(interval(mbps), second * SECOND_US)
    assert estimator.bps(5 * SECOND_US) == pytest.approx(31e6)
    assert estimator.bps(11 * SECOND_US + SECOND_US // 2) == pytest.approx(28e6)
    assert estimator.bps(60 * SECOND_US) == 20e6
    assert not estimator.measured


@pytest.mark.parametrize("seconds", [0.0, 11.0])
def test_an_interval_of_no_or_too_much_time_is_no_sample(seconds: float) -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.observe(interval(30, 1.0, seconds=seconds), 0)
    assert estimator.bps(0) == 20e6


@given(
    st.lists(
        st.builds(
            Interval,
            duration_us=st.integers(-10, 20 * SECOND_US),
            payload_bytes=st.integers(0, 2**60),
            frames=st.integers(0, 2**40),
            active_senders=st.integers(0, 3000),
            survey_active_us=st.integers(0, 2**62),
            survey_busy_us=st.integers(0, 2**62),
        ),
        max_size=20,
    )
)
def test_whatever_is_counted_the_estimate_stays_sane(intervals: list[Interval]) -> None:
    estimator = CapacityEstimator(PARAMETERS)
    for number, entry in enumerate(intervals):
        estimator.observe(entry, number * SECOND_US)
        assert PARAMETERS.min_bps <= estimator.bps(number * SECOND_US) <= PARAMETERS.max_bps


@given(
    n=st.integers(1, 30),
    min_rtt_ms=st.floats(2, 600),
    data_us=st.floats(250, 3000),
    ack_us=st.floats(60, 500),
    idle_error=st.floats(0.5, 1.5),
    first_estimate_mbps=st.floats(0.5, 100),
)
def test_bounds_and_estimate_do_not_spiral_down(
    *, n: int, min_rtt_ms: float, data_us: float, ack_us: float, idle_error: float, first_estimate_mbps: float
) -> None:
    """A cell that carries min(capacity, sum of windows / RTT), bounded by what the estimate says, second by second.

    Wrong timing constants (each frame costs `idle_error` times the idle time assumed) must not make it spiral either.
    """
    contenders = n + 1
    assumed_idle_us = PARAMETERS.difs_us + PARAMETERS.slot_us * PARAMETERS.cw_min_slots / (contenders + 1)
    packet_us = data_us + ack_us / 2 + 1.5 * idle_error * assumed_idle_us
    capacity_packets = SECOND_US / packet_us
    estimator = CapacityEstimator(CapacityParameters(default_bps=first_estimate_mbps * 1e6))
    packets = 0.0
    for second in range(60):
        estimate = estimator.bps(second * SECOND_US)
        seen = Situation(
            active_senders=n,
            connections=1,
            srtt_us=round(min_rtt_ms * 1000),
            min_rtt_us=round(min_rtt_ms * 1000),
            segment_bytes=1500,
            capacity_bps=estimate,
        )
        windows = n * bdp.decide(seen, BdpParameters()).max_segs
        packets = min(capacity_packets, windows / min_rtt_ms * 1000)
        estimator.observe(
            Interval(
                duration_us=SECOND_US,
                payload_bytes=round(packets * 1500),
                frames=round(packets * 1.5),
                active_senders=n,
                survey_active_us=SECOND_US,
                survey_busy_us=min(SECOND_US, round(packets * (data_us + ack_us / 2))),
            ),
            second * SECOND_US,
        )
    assert packets >= 0.95 * capacity_packets
    assert 0.9 <= estimator.bps(60 * SECOND_US) / (capacity_packets * 12_000) <= 1.35
