# SPDX-License-Identifier: Apache-2.0

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.capacity import (
    MAX_FILTER_S,
    CapacityEstimator,
    Interval,
    expected_goodput_bps,
    has_short_packets,
    most_per_bitrate,
    utilisation,
)
from airbound.core.cell.contention import CW_MIN_SLOTS, DIFS_US, SLOT_US
from airbound.core.parameters import CapacityParameters, Parameters
from airbound.core.policy import PolicyInput, bdp

SECOND_US = 1_000_000
PARAMETERS = CapacityParameters()
AT_ONCE = CapacityParameters(default_bps=1e5)  # the first sample counts whole


def interval(
    mbps: float = 0.0,
    busy: float | None = None,
    *,
    frames: int = 0,
    aggregated: int = 0,
    n: int = 1,
    seconds: float = 1.0,
    goodput_mbps: float = 0.0,
    best_mbps: float = 0.0,
) -> Interval:
    return Interval(
        duration_us=round(seconds * SECOND_US),
        payload_bytes=round(mbps * 1e6 / 8 * seconds),
        frames=frames,
        aggregated_frames=aggregated,
        active_senders=n,
        goodput_bps=goodput_mbps * 1e6,
        best_bitrate_bps=best_mbps * 1e6,
        survey_active_us=0 if busy is None else round(seconds * SECOND_US),
        survey_busy_us=0 if busy is None else round(busy * seconds * SECOND_US),
    )


def packets(mbps: float) -> int:
    """Frames in a second of uplink TCP in segments of 1500 bytes, and an ACK for every other."""
    return round(mbps * 1e6 / 8 / 1500 * 1.5)


class Estimated:
    """An estimator that is given one interval after another."""

    def __init__(self, *intervals: Interval, parameters: CapacityParameters = PARAMETERS) -> None:
        self.estimator = CapacityEstimator(parameters)
        self.now_us = 0
        self.see(*intervals)

    def see(self, *intervals: Interval) -> "Estimated":
        for entry in intervals:
            self.now_us += max(0, entry.duration_us)
            self.estimator.observe(entry, self.now_us)
        return self

    @property
    def mbps(self) -> float:
        return self.estimator.bps / 1e6

    @property
    def source(self) -> str:
        return self.estimator.estimate()[1]


def test_utilisation_counts_the_idle_time_that_each_frame_costs() -> None:
    # Two contenders: 28 us and 15 slots / 3 of 9 us, so 73 us for each of 3000 frames.
    assert utilisation(interval(20, 0.7, frames=3000)) == pytest.approx(0.7 + 0.219)
    # Nobody was seen to send: still two.
    assert utilisation(interval(20, 0.7, frames=3000, n=0)) == pytest.approx(0.7 + 0.219)
    # Eleven: 28 us and 15 / 12 slots.
    assert utilisation(interval(20, 0.7, frames=3000, n=10)) == pytest.approx(0.7 + 3000 * 39.25e-6)
    assert utilisation(interval(20)) is None


def aggregated(mbps: float, needs: float, busy: float | None, *, own: float = 0.0, **more: int) -> Interval:
    """A second of stations that aggregate, and had `own` of the air time."""
    measured = interval(mbps, busy, aggregated=packets(mbps), frames=more.get("frames", 0))
    return replace(
        measured,
        aggregated_us=needs * SECOND_US,
        airtime_us=round(own * SECOND_US),
        unaggregated_airtime_us=more.get("unaggregated_us", 0),
    )


@pytest.mark.parametrize("busy", [0.2, 0.5, 0.95, None])
@pytest.mark.parametrize("mbps", [20, 100, 300])
def test_with_aggregation_the_time_counts_that_a_full_channel_needs(mbps: float, busy: float | None) -> None:
    """Whether the packets went singly or many at once, and so how long they took, says nothing."""
    seen = Estimated(aggregated(mbps, mbps / 500, busy))
    assert (seen.mbps, seen.source) == (pytest.approx(500), "busy_time")


@pytest.mark.parametrize("others", [0.0, 0.3])
def test_with_aggregation_it_is_at_least_what_is_carried(others: float) -> None:
    """Bounded senders collide less than the time that a full channel needs allows for: packets fit that should not."""
    quiet = [aggregated(1, 0.02, others + 0.02, own=0.02)] * 40
    full = aggregated(217, 1.2, 0.93, own=0.93 - others)
    assert Estimated(*quiet, *[full] * 40).mbps == pytest.approx(217, rel=0.01)
    # Half as much says no less: what fits beside these packets is what counts then.
    half = aggregated(108, 0.5, others + 0.5, own=0.5)
    assert Estimated(*quiet, *[full] * 40, *[half] * 40).mbps == pytest.approx(216 * (1 - others), rel=0.02)


def test_with_aggregation_nearly_nothing_is_no_sample() -> None:
    assert Estimated(aggregated(5, 0.011, 0.05)).source == "busy_time"
    assert Estimated(aggregated(4, 0.009, 0.05)).source == "default"


def test_what_stations_without_aggregation_took_is_added() -> None:
    # 0.2 s of air and 1000 accesses of 73 us each, beside what needs 0.2 s.
    seen = Estimated(aggregated(100, 0.2, 0.5, frames=1000, unaggregated_us=200_000))
    assert seen.mbps == pytest.approx(100 / (0.4 + 0.073))
    # Air time is not measured: by frames. 16,667 frames are aggregated.
    by_frames = Estimated(aggregated(100, 0.2, 0.5, frames=1000))
    assert by_frames.mbps == pytest.approx(100 / (0.2 + 0.5 * 1000 / (1000 + packets(100)) + 0.073))


def test_what_others_take_is_known_from_quiet_intervals() -> None:
    quiet = [replace(interval(0.01, 0.33), airtime_us=30_000)] * 40
    assert Estimated(*quiet, aggregated(100, 0.2, 0.9, own=0.5), parameters=AT_ONCE).mbps == pytest.approx(
        100 / 0.2 * 0.7, rel=0.01
    )
    # Without aggregation: 12 Mb/s take 30 % beside these 30 %, and have 70 %.
    plain = replace(interval(12, 0.6), airtime_us=280_000)
    assert Estimated(*quiet, plain, parameters=AT_ONCE).estimator.measured_bps == pytest.approx(
        Estimated(*quiet, plain, parameters=AT_ONCE).estimator.bps
    )
    steady = Estimated(*quiet, *[plain] * 40, parameters=AT_ONCE)
    assert steady.mbps == pytest.approx(12 * 0.7 / 0.3, rel=0.01)
    # A full channel carries what it carries, whatever share of it is not ours.
    assert Estimated(*quiet, *[replace(interval(15, 1.0), airtime_us=700_000)] * 40).mbps == pytest.approx(15, rel=0.01)


def test_short_packets_of_a_cell_at_rest_say_nothing_of_full_ones() -> None:
    reports = replace(interval(1, 0.1), has_short_packets=True, bulk_bps=30e6)
    assert Estimated(*[reports] * 20).mbps == pytest.approx(30)
    assert Estimated(replace(reports, bulk_bps=0.0)).source == "default"
    # A cell that short packets fill carries no more.
    assert Estimated(*[replace(interval(5, 0.5), has_short_packets=True)] * 20).mbps == pytest.approx(10, rel=0.01)


def test_a_cell_at_rest_follows_settled_rates_of_stations_that_aggregate() -> None:
    """As ten phones on 11n-20 at 5 % load: the estimate of when the first began stayed while the others did."""
    at_rest = replace(interval(2, 0.1, aggregated=400), has_short_packets=True, bulk_bps=47e6, aggregated_us=50_000.0)
    fuller = [interval(52, 1.0)] * 20
    assert Estimated(*fuller, *[at_rest] * 20).mbps == pytest.approx(47, rel=0.01)
    assert Estimated(*fuller, *[replace(at_rest, climbing=0.5)] * 20).mbps == pytest.approx(52)
    assert Estimated(*fuller, *[replace(at_rest, aggregated_frames=0)] * 20).mbps == pytest.approx(52)


@pytest.mark.parametrize(
    ("up", "down", "short"),
    [
        ((13_000, 10), (520, 10), False),
        ((12_999, 10), (520, 10), True),
        ((520, 10), (13_000, 10), False),
        ((520, 10), (12_999, 10), True),
        ((0, 0), (0, 0), False),
    ],
)
def test_which_packets_are_short(up: tuple[int, int], down: tuple[int, int], *, short: bool) -> None:
    assert has_short_packets(*up, *down) == short


def test_others_that_leave_a_busy_cell_are_missed_soon() -> None:
    """What is busy beside the stations' own air is the most that others can have, however full the cell is."""
    neighbour = replace(interval(1, 0.6), airtime_us=10_000)
    own = replace(interval(15, 0.5), airtime_us=490_000)
    full = [replace(interval(12, 1.0), airtime_us=400_000)] * 20
    assert Estimated(*[neighbour] * 20, *full, *[own] * 40, parameters=AT_ONCE).mbps == pytest.approx(30, rel=0.05)


def test_the_best_bitrate_of_802_11g_limits_no_cell_whose_senders_aggregate() -> None:
    """A station that had sent at 6 Mb/s and left held a cell of 802.11ac at 2.8 Mb/s for good."""
    legacy = interval(2, 0.9, best_mbps=6, goodput_mbps=2.6)
    aggregating = replace(interval(240, 0.8, goodput_mbps=500, aggregated=30_000), aggregated_us=750_000.0)
    assert Estimated(*[legacy] * 5, *[aggregating] * 30).mbps == pytest.approx(320, rel=0.05)


def test_packets_of_unknown_air_time_are_no_sample() -> None:
    """A station of 802.11g beside one that aggregates, at an access point that has no survey."""
    mixed = replace(interval(20, frames=2_500, aggregated=20), aggregated_us=5_000.0)
    assert Estimated(*[mixed] * 3).source != "busy_time"
    assert Estimated(*[replace(mixed, unaggregated_airtime_us=800_000)] * 20).mbps < 25


def test_collisions_of_a_busy_cell_are_not_others() -> None:
    busy = [replace(interval(20, 0.9), airtime_us=700_000)] * 20
    assert Estimated(*busy).mbps == pytest.approx(20 / 0.9, rel=0.01)


def test_without_measured_air_time_all_that_is_busy_is_ours() -> None:
    assert Estimated(*[interval(2, 0.08)] * 20).mbps == pytest.approx(25, rel=0.01)


def of_one_access_per_packet(entry: Interval) -> float:
    """The formula for 802.11g: u = (busy + frames x (DIFS + slot x CWmin / (contenders + 1))) / active."""
    contenders = max(1, entry.active_senders) + 1
    access_us = 28.0 + 9.0 * 15 / (contenders + 1)
    used = (entry.survey_busy_us + entry.frames * access_us) / entry.survey_active_us
    return entry.payload_bytes * 8e6 / entry.duration_us / min(1.0, used)


@given(mbps=st.floats(1, 30), busy=st.floats(0.1, 1), frames=st.integers(0, 10_000), n=st.integers(0, 50))
def test_without_aggregation_each_frame_is_a_channel_access(*, mbps: float, busy: float, frames: int, n: int) -> None:
    entry = interval(mbps, busy, frames=frames, n=n)
    assert Estimated(entry, parameters=AT_ONCE).mbps == pytest.approx(of_one_access_per_packet(entry) / 1e6)


def test_rates_are_not_rounded_to_whole_bits() -> None:
    payload = {"duration_us": 3 * SECOND_US, "payload_bytes": 11_625_001, "frames": 0, "active_senders": 1}
    assert Estimated(Interval(**payload)).estimator.bps == 93_000_008 / 3
    half = {"survey_active_us": 3 * SECOND_US, "survey_busy_us": 3 * SECOND_US // 2}
    assert Estimated(Interval(**payload, **half)).estimator.bps == 2 * 93_000_008 / 3


def test_half_a_channel_shows_the_whole_capacity() -> None:
    seen = Estimated(interval(12, 0.5))
    assert (seen.mbps, seen.source) == (pytest.approx(24), "busy_time")


def test_a_full_channel_carries_what_it_carries() -> None:
    assert Estimated(interval(24, 0.95, frames=3000)).mbps == pytest.approx(24)


def test_no_estimate_is_above_what_the_best_bitrate_carries() -> None:
    """Collisions make the busy time look smaller than it is."""
    seen = Estimated(interval(24, 0.5, best_mbps=54))
    assert (seen.mbps, seen.source) == (pytest.approx(0.47 * 54), "busy_time")
    seen.see(*[interval(24, 0.5)] * 3)  # nobody sends at a known rate
    assert seen.mbps == pytest.approx(0.47 * 54)
    seen.see(interval(24, 0.5, best_mbps=24))
    assert seen.mbps == pytest.approx(0.47 * 24)
    seen.see(interval(0, 0.01, best_mbps=48))
    assert seen.mbps == pytest.approx(0.47 * 48)
    seen.see(interval(24, 0.5, best_mbps=1000))
    assert seen.mbps == pytest.approx(48)


@pytest.mark.parametrize(
    ("frames", "uplink_frames", "share"),
    [
        (0, 0, 0.47),
        (1000, 1000, 0.57),  # UDP
        (1500, 1000, 0.47),  # an ACK for every second segment
        (4000, 1000, 0.47),  # downloads beside
        (1250, 1000, 2 / (1 / 0.47 + 1 / 0.57)),
    ],
)
def test_without_acks_the_same_bitrate_carries_more(frames: int, uplink_frames: int, share: float) -> None:
    entry = replace(interval(24, 0.5, frames=frames, best_mbps=54), uplink_frames=uplink_frames)
    assert most_per_bitrate(entry) == pytest.approx(share)
    assert Estimated(entry).mbps == pytest.approx(min(share * 54, 24 / min(1, utilisation(entry) or 1)))


@pytest.mark.parametrize(("senders", "carried_mbps"), [(1, 29.7), (5, 27.3), (10, 24.7)])
def test_without_acks_many_senders_carry_less(senders: int, carried_mbps: float) -> None:
    """UDP of the lab's phones on 802.11g, with minstrel, Mb/s of IP."""
    entry = replace(interval(24, 0.5, frames=1000, n=senders, best_mbps=54), uplink_frames=1000)
    assert most_per_bitrate(entry) * 54 == pytest.approx(carried_mbps, rel=0.08)


def test_the_first_samples_of_a_cell_are_too_small_and_count_little() -> None:
    seen = Estimated(interval(5, 0.9))
    assert seen.mbps == pytest.approx(20 + (5 / 0.9 - 20) * -math.expm1(-1 / 3))
    for _ in range(20):
        seen.see(interval(5, 0.9))
    assert seen.mbps == pytest.approx(5 / 0.9, rel=0.02)


def test_a_first_sample_that_is_larger_counts_at_once() -> None:
    assert Estimated(interval(100, 0.5)).mbps == pytest.approx(200)


def test_a_slow_bitrate_limits_the_beginning_as_well() -> None:
    assert Estimated(interval(1, 0.9, best_mbps=6)).mbps == pytest.approx(
        0.47 * 6 + (1 / 0.9 - 0.47 * 6) * -math.expm1(-1 / 3)
    )


def test_rates_that_a_rate_control_has_just_begun_with_do_not_lower_the_beginning() -> None:
    """As behind an Open vSwitch: three phones of 54 Mb/s, the first of which had sent 64 packets by the first sample.
    The estimate began at 4.2 Mb/s and was 20 again after 5 s.
    """
    seen = Estimated(replace(interval(1.14, 0.184, seconds=0.6, best_mbps=9), climbing=1.0))
    assert seen.mbps == pytest.approx(20)
    seen.see(replace(interval(11, 0.828, seconds=0.4, best_mbps=54), climbing=0.9))
    assert seen.mbps == pytest.approx(20, rel=0.01)
    seen.see(interval(16, 0.668, best_mbps=54))
    assert seen.mbps > 20


def test_the_first_samples_with_settled_rates_replace_a_beginning_that_was_too_low() -> None:
    """As in a cell of 802.11ac: what its phones began with was at 113 Mb/s, and its average at 90 % only after 7 s."""
    seen = Estimated(replace(interval(56, 0.5, seconds=0.5), climbing=1.0))
    assert seen.mbps == pytest.approx(112)
    seen.see(interval(200, 0.5))
    assert seen.mbps == pytest.approx(400)
    seen.see(interval(225, 0.5))
    assert seen.mbps == pytest.approx(425)  # the mean of both
    seen.see(interval(200, 0.5))
    assert seen.mbps == pytest.approx(425 - 25 * -math.expm1(-1 / 3))
    seen.see(*[interval(200, 0.5)] * 20, interval(250, 0.5))
    assert seen.mbps == pytest.approx(400 + 100 * -math.expm1(-1 / 3), rel=0.01)


def test_a_cell_at_rest_does_not_use_up_the_first_samples() -> None:
    at_rest = replace(interval(1, 0.1), has_short_packets=True, bulk_bps=200e6)
    seen = Estimated(*[at_rest] * 30, interval(200, 0.5))
    assert seen.mbps == pytest.approx(400)


def test_who_joins_a_cell_lowers_its_estimate_by_the_share_of_the_others_alone() -> None:
    joined = replace(interval(8, 0.8), climbing=0.75)
    seen = Estimated(*[interval(24, 1.0)] * 20).see(joined)
    assert seen.mbps == pytest.approx(24 - 14 * 0.25 * -math.expm1(-1 / 3), rel=0.001)
    assert Estimated(*[interval(8, 1.0)] * 20).see(replace(interval(24, 1.0), climbing=0.75)).mbps == pytest.approx(
        8 + 16 * -math.expm1(-1 / 3), rel=0.01
    )


def test_a_rate_that_is_not_settled_yet_raises_the_limit_and_does_not_lower_it() -> None:
    slow = Estimated(interval(24, 0.5, best_mbps=24))
    slow.see(replace(interval(24, 0.5, best_mbps=12), climbing=0.1))
    assert slow.mbps == pytest.approx(0.47 * 24)
    slow.see(replace(interval(24, 0.5, best_mbps=54), climbing=0.1))
    assert slow.mbps == pytest.approx(0.47 * 54)


@pytest.mark.parametrize("seconds", [0.5, 1.0])
def test_the_cell_of_slow_stations_is_not_taken_for_a_fast_one_however_many_of_them_have_just_begun(
    seconds: float,
) -> None:
    begun = replace(interval(2.5, 1.0, seconds=seconds, best_mbps=6), climbing=1.0)
    seen = Estimated(*[begun] * round(3 / seconds))
    assert seen.mbps == pytest.approx(20)
    seen.see(begun)
    assert seen.mbps == pytest.approx(0.47 * 6)
    seen.see(*[begun] * round(20 / seconds))
    assert seen.mbps == pytest.approx(2.5, rel=0.02)
    # Those that begin once others have settled have as long again.
    seen.see(*[interval(24, 1.0, best_mbps=54)] * 20, begun)
    assert seen.mbps == pytest.approx(24, rel=0.01)


def test_who_begins_after_a_rest_climbs_as_who_began_before() -> None:
    begins = replace(interval(2.5, 1.0, best_mbps=6), climbing=1.0)
    seen = Estimated(*[interval(20, 0.9, best_mbps=54)] * 20, *[replace(begins, duration_us=SECOND_US)] * 4)
    seen.see(*[interval(20, 0.9, best_mbps=54)] * 20)
    before_mbps = seen.mbps
    at_rest = replace(interval(1, 0.1, best_mbps=54), has_short_packets=True, bulk_bps=10e6)
    again = Estimated(*[interval(20, 0.9, best_mbps=54)] * 20, *[begins] * 4, *[at_rest] * 20)
    assert again.see(begins).mbps > 0.7 * before_mbps


def test_a_new_owner_goes_on_from_what_was_measured() -> None:
    estimator = CapacityEstimator(PARAMETERS)
    estimator.restore(300e6)
    estimator.observe(interval(200, 0.5), SECOND_US)
    assert estimator.bps == pytest.approx(300e6 + 100e6 * -math.expm1(-1 / 3))


def test_a_cell_at_rest_takes_no_time_from_those_that_begin() -> None:
    at_rest = replace(interval(1, 0.1, best_mbps=6), has_short_packets=True, bulk_bps=2.6e6, climbing=1.0)
    seen = Estimated(*[at_rest] * 10, replace(interval(2.5, 1.0, best_mbps=6), climbing=1.0))
    assert seen.mbps == pytest.approx(20)


def test_what_is_not_known_of_an_interval_is_zero() -> None:
    entry = Interval(duration_us=1, payload_bytes=2, frames=3, active_senders=4)
    assert (entry.aggregated_frames, entry.goodput_bps, entry.best_bitrate_bps) == (0, 0, 0)
    assert (entry.survey_active_us, entry.survey_busy_us, entry.climbing) == (0, 0, 0)


def test_an_interval_is_a_sample_from_the_smallest_utilisation_on() -> None:
    assert Estimated(interval(2, 0.05)).source == "busy_time"
    assert Estimated(interval(2, 0.049)).source == "default"
    assert Estimated(interval(0, 0.9)).source == "default"  # other cells' traffic alone


def test_until_a_sample_the_phy_rates_count_or_the_default() -> None:
    seen = Estimated(interval(0.2, 0.04))
    assert (seen.mbps, seen.source) == (20, "default")
    seen.see(interval(0.2, 0.04, goodput_mbps=30))
    assert (seen.mbps, seen.source) == (pytest.approx(30), "bitrate")
    seen.see(interval(12, 0.5, goodput_mbps=30))
    assert (seen.mbps, seen.source) == (pytest.approx(24), "busy_time")


def test_a_management_frames_rate_at_the_start_makes_no_cell_slow() -> None:
    """A station's last frame was at 6 Mb/s, or rate control still climbs: that gave 1.9 Mb/s of a cell of 24."""
    seen = Estimated(interval(0.2, goodput_mbps=1.9))
    assert (seen.mbps, seen.source) == (20, "default")
    for _ in range(8):
        seen.see(interval(0.2, goodput_mbps=24))
        assert seen.mbps >= 20
    seen.see(interval(0.2, goodput_mbps=24))
    assert (seen.mbps, seen.source) == (pytest.approx(24, rel=0.05), "bitrate")


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_a_slow_cell_is_taken_for_one_after_three_time_constants(seconds: float) -> None:
    seen = Estimated(*[interval(0.2, seconds=seconds, goodput_mbps=2)] * (round(9 / seconds) - 1))
    assert (seen.mbps, seen.source) == (20, "default")
    seen.see(interval(0.2, seconds=seconds, goodput_mbps=2))
    assert (seen.mbps, seen.source) == (pytest.approx(2), "bitrate")
    seen.see(*[interval(0.2, seconds=seconds, goodput_mbps=2)] * 100)
    assert seen.mbps == pytest.approx(2)


def test_time_without_a_rate_is_not_averaged() -> None:
    seen = Estimated(interval(0.2, goodput_mbps=2)).see(*[interval(0)] * 60)
    assert (seen.mbps, seen.source) == (20, "default")


def test_the_goodput_of_phy_rates_is_a_harmonic_mean() -> None:
    assert expected_goodput_bps([(54_000, False)]) == pytest.approx(54e6 * 0.44)
    assert expected_goodput_bps([(866_700, True)]) == pytest.approx(866.7e6 * 0.65)
    both = expected_goodput_bps([(54_000, False), (6_000, False), (0, True)])
    assert both == pytest.approx(0.44 * 2 / (1 / 54e6 + 1 / 6e6))
    assert expected_goodput_bps([]) == 0
    assert expected_goodput_bps([(0, False)]) == 0


def test_one_frame_at_a_high_rate_is_forgotten_within_seconds() -> None:
    """Without a survey it left a floor of 381 Mb/s for ever."""
    seen = Estimated(interval(4.8, goodput_mbps=563))
    assert seen.mbps == pytest.approx(563)
    seen.see(*[interval(4.8, goodput_mbps=10.6)] * 15)
    assert seen.mbps == pytest.approx(10.6, rel=0.4)
    seen.see(*[interval(4.8, goodput_mbps=10.6)] * 15)
    assert (seen.mbps, seen.source) == (pytest.approx(10.6, rel=0.01), "bitrate")


def test_a_rate_is_averaged_with_its_time_constant() -> None:
    seen = Estimated(interval(1, goodput_mbps=60)).see(*[interval(1, goodput_mbps=30)] * 3)
    assert seen.mbps == pytest.approx(30 + 30 * math.exp(-1))
    assert seen.see(*[interval(0)] * 60).mbps == pytest.approx(30 + 30 * math.exp(-1))  # nobody sends


def test_quiet_intervals_leave_the_estimate() -> None:
    seen = Estimated(interval(12, 0.5))
    assert seen.see(*[interval(0, 0.01)] * 100).mbps == pytest.approx(24)


def test_smoothing_takes_its_time_constant() -> None:
    seen = Estimated(interval(20, 1.0)).see(*[interval(10, 1.0)] * 3)
    assert seen.mbps == pytest.approx(10 + 10 * math.exp(-1))


def test_short_and_long_intervals_weigh_alike() -> None:
    short, long = (
        Estimated(interval(20, 1.0)).see(*[interval(10, 1.0, seconds=2 / parts)] * parts) for parts in (4, 1)
    )
    assert short.mbps == pytest.approx(long.mbps)


def test_without_a_survey_the_highest_rate_of_ten_seconds_counts_but_never_less_than_the_floor() -> None:
    seen = Estimated(*(interval(mbps) for mbps in (5, 31, 28, 5, 5)))
    assert (seen.mbps, seen.source) == (pytest.approx(31), "throughput")
    seen.see(*[interval(5)] * 7)  # 12 s
    assert seen.mbps == pytest.approx(31)
    assert seen.see(interval(5)).mbps == pytest.approx(28)
    assert seen.see(interval(5)).mbps == 20
    assert seen.source == "default"


@pytest.mark.parametrize("busy", [None, 0.5])
def test_the_list_of_rates_is_bounded(busy: float | None) -> None:
    """With a survey nobody reads it; it grew for as long as rates fell."""
    seen = Estimated(*(interval(1000 - step / 10, busy) for step in range(5_000)))
    assert len(seen.estimator._rates) <= MAX_FILTER_S + 1


def test_reading_the_estimate_changes_nothing() -> None:
    for busy in (None, 0.5):
        read, unread = (Estimated() for _ in range(2))
        for step in range(40):
            entry = interval(30 - step / 2, busy, goodput_mbps=10 + step % 3)
            read.see(entry)
            unread.see(entry)
            before = (read.estimator._smoothed_bps, read.estimator._goodput_bps, list(read.estimator._rates))
            for _ in range(3):
                assert read.estimator.estimate()[0] == read.estimator.bps
            assert (read.estimator._smoothed_bps, read.estimator._goodput_bps, list(read.estimator._rates)) == before
        assert read.estimator.estimate() == unread.estimator.estimate()


@pytest.mark.parametrize(("seconds", "used"), [(-1.0, False), (0.0, False), (10.0, True), (10.1, False)])
def test_an_interval_of_no_or_too_much_time_is_no_sample(seconds: float, used: bool) -> None:  # noqa: FBT001
    seen = Estimated(interval(30, 1.0, seconds=seconds, goodput_mbps=99))
    assert seen.source == ("busy_time" if used else "default")


def test_no_estimate_is_outside_of_its_limits() -> None:
    parameters = CapacityParameters(min_bps=1e6, max_bps=5e6)
    assert Estimated(parameters=parameters).mbps == 5
    assert Estimated(interval(30, 1.0), parameters=parameters).mbps == 5
    assert Estimated(*[interval(0.01, 1.0)] * 30, parameters=parameters).mbps == pytest.approx(1, rel=0.01)
    assert Estimated(*[interval(0.01, goodput_mbps=0.01)] * 9, parameters=parameters).mbps == 1


@given(
    st.lists(
        st.builds(
            Interval,
            duration_us=st.integers(-10, 20 * SECOND_US),
            payload_bytes=st.integers(0, 2**60),
            frames=st.integers(0, 2**40),
            aggregated_frames=st.integers(0, 2**40),
            active_senders=st.integers(0, 3000),
            goodput_bps=st.floats(0, 1e15),
            best_bitrate_bps=st.floats(0, 1e15),
            climbing=st.floats(0, 1),
            survey_active_us=st.integers(0, 2**62),
            survey_busy_us=st.integers(0, 2**62),
        ),
        max_size=20,
    )
)
def test_whatever_is_counted_the_estimate_stays_within_its_limits(intervals: list[Interval]) -> None:
    seen = Estimated()
    for entry in intervals:
        seen.see(entry)
        assert PARAMETERS.min_bps <= seen.estimator.bps <= PARAMETERS.max_bps


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
    """A cell that carries min(capacity, sum of windows / RTT), bounded by the estimate of the second before.

    Wrong timing constants (each frame costs `idle_error` times the idle time assumed) must not make it spiral either.
    If frames cost less than assumed, the channel seems full too early, and then only the queue allowance lets the
    rate rise: slowly, from 86 % of what the cell can carry.
    """
    contenders = n + 1
    assumed_idle_us = DIFS_US + SLOT_US * CW_MIN_SLOTS / (contenders + 1)
    packet_us = data_us + ack_us / 2 + 1.5 * idle_error * assumed_idle_us
    capacity_packets = SECOND_US / packet_us
    estimator = CapacityEstimator(CapacityParameters(default_bps=first_estimate_mbps * 1e6))
    packets = 0.0
    for second in range(900):
        estimate = estimator.bps
        seen = PolicyInput(
            active_senders=n,
            connections=1,
            srtt_us=round(min_rtt_ms * 1000),
            min_rtt_us=round(min_rtt_ms * 1000),
            segment_bytes=1500,
            capacity_bps=estimate,
        )
        windows = n * bdp.Bdp(Parameters()).decide(seen).max_segs
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
        if second == 60:
            assert packets >= 0.85 * capacity_packets
    assert packets >= 0.95 * capacity_packets
    assert 0.9 <= estimator.bps / (capacity_packets * 12_000) <= 1.35


@given(n=st.integers(1, 30), min_rtt_ms=st.floats(2, 100), first_estimate_mbps=st.floats(0.5, 500))
def test_bounds_and_estimate_do_not_spiral_down_with_aggregation(
    *, n: int, min_rtt_ms: float, first_estimate_mbps: float
) -> None:
    """The same for a cell that carries 300 Mb/s in aggregates."""
    capacity_packets = 300e6 / 12_000
    estimator = CapacityEstimator(CapacityParameters(default_bps=first_estimate_mbps * 1e6))
    packets_per_s = 0.0
    for second in range(120):
        inputs = PolicyInput(n, 1, round(min_rtt_ms * 1000), round(min_rtt_ms * 1000), 1500, estimator.bps)
        windows = n * bdp.Bdp(Parameters()).decide(inputs).max_segs
        packets_per_s = min(capacity_packets, windows / min_rtt_ms * 1000)
        entry = Interval(
            duration_us=SECOND_US,
            payload_bytes=round(packets_per_s * 1500),
            frames=0,
            aggregated_frames=round(packets_per_s * 1.5),
            active_senders=n,
            goodput_bps=300e6,
            survey_active_us=SECOND_US,
            survey_busy_us=round(0.97 * SECOND_US * packets_per_s / capacity_packets),
        )
        estimator.observe(entry, second * SECOND_US)
    assert packets_per_s >= 0.95 * capacity_packets
    assert 0.95 <= estimator.bps / 300e6 <= 1.1
