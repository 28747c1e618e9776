# SPDX-License-Identifier: Apache-2.0

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.parameters import AggregateParameters, Parameters
from airbound.core.policy import Air, PolicyInput
from airbound.core.policy.aggregate import Aggregate, frame_us, frames_most
from airbound.core.policy.bdp import Bdp

VHT_PSDU_BYTES, HT_PSDU_BYTES = 1_048_575, 65_535


def air(
    rate_mbps: float = 866.7,
    share_mbps: float = 50.0,
    fastest_mbps: float | None = None,
    frames: int = 64,
    psdu_bytes: int = VHT_PSDU_BYTES,
) -> Air:
    fastest_bps = (fastest_mbps or rate_mbps) * 1e6
    share_bps = share_mbps * 1e6
    return Air(rate_mbps * 1e6, frames, psdu_bytes, share_bps, fastest_bps, share_bps * fastest_bps / rate_mbps / 1e6)


def policy_input(station_air: Air | None, n: int = 10, min_rtt_us: int = 4_000, connections: int = 1) -> PolicyInput:
    return PolicyInput(n, connections, min_rtt_us, min_rtt_us, 1500, 500e6, air=station_air)


def policy(parameters: AggregateParameters | None = None) -> Aggregate:
    return Aggregate(Parameters(aggregate=parameters or AggregateParameters()))


@pytest.mark.parametrize(
    ("station_air", "n", "min_rtt_us", "expected"),
    [
        # 15.1 us a frame, K = 64: 0.93 x 64 x 360 / (360 + 0.07 x 64 x 15.1) = 50.1; 50 Mb/s x 4 ms are 16.7 segments
        (air(), 10, 4_000, (30, 67)),
        (air(), 10, 64_000, (133, 317)),  # the share is 266.7
        (air(share_mbps=100.0), 5, 4_000, (38, 98)),  # 8 ms of 100 Mb/s are 66.7 frames, K is 64; and 33.3
        (air(share_mbps=550.0), 1, 4_000, (91, 309)),  # alone: 64 and 550 Mb/s x (4 ms + 0.36 + 64 x 0.0151)
        (air(65.0, 5.2, psdu_bytes=HT_PSDU_BYTES), 10, 16_000, (7, 20)),  # 201.7 us a frame, K = 28.8: 12.6; and 6.9
        (air(65.0, 5.2, 866.7), 10, 4_000, (2, 6)),  # a thirteenth of the fastest one's 50 frames
    ],
)
def test_the_formula(station_air: Air, n: int, min_rtt_us: int, expected: tuple[int, int]) -> None:
    assert policy().decide(policy_input(station_air, n, min_rtt_us)) == expected


def test_where_senders_come_and_go_a_window_is_as_if_one_had_stopped() -> None:
    two = policy_input(air(share_mbps=275.0), 2)
    alone = policy().decide(policy_input(air(share_mbps=550.0), 1))
    assert policy().decide(two._replace(stopping=1)) == alone
    assert policy().decide(two).max_segs < alone.max_segs
    assert "550.0 Mb/s, its part of the air at 867 Mb/s, as if 1 of 2 sent, x" in policy().formula(
        two._replace(stopping=1)
    )
    for one in (policy_input(air(share_mbps=550.0), 1), policy_input(None, 5)):
        assert policy().decide(one._replace(stopping=1)) == policy().decide(one)


def test_whose_frames_are_not_aggregated_has_the_bounds_of_bdp() -> None:
    plain = policy_input(None)
    assert policy().decide(plain) == Bdp(Parameters()).decide(plain)
    assert policy().formula(plain) == Bdp(Parameters()).formula(plain)


def test_larger_block_acks_give_longer_accesses_only_as_far_as_they_are_worth_it() -> None:
    few, many = (policy().decide(policy_input(air(frames=frames))).max_segs for frames in (64, 256))
    assert few < many < 256  # 130 and the share


def test_a_slow_senders_accesses_last_no_longer_than_the_fastest_ones() -> None:
    fast, slow = air(), air(86.67, 5.0, 866.7)
    one, other = (
        policy().decide(policy_input(station_air)).max_segs - station_air.share_bps * 4e-3 / 12_000
        for station_air in (fast, slow)
    )
    assert other == pytest.approx(one / 10, abs=1)


def test_connections_share_a_senders_window() -> None:
    one, two = (policy().decide(policy_input(air(), connections=connections)) for connections in (1, 2))
    assert two.max_segs == math.ceil(one.max_segs / 2)
    assert policy().decide(policy_input(air(), connections=1000)) == (2, 2)


def test_the_parameters_count() -> None:
    base = policy().decide(policy_input(air()))
    assert policy(AggregateParameters(efficiency=0.8)).decide(policy_input(air())).max_segs < base.max_segs
    assert policy(AggregateParameters(queue_ms=100.0)).decide(policy_input(air())).max_segs == 64 + 17


def test_what_a_search_found_makes_them_longer_or_shorter() -> None:
    base, longer, shorter = (policy().decide(policy_input(air())._replace(found=found)) for found in (1.0, 2.0, 0.5))
    assert (shorter.max_segs, base.max_segs, longer.max_segs) == (25 + 17, 51 + 16, 100 + 17)
    most = policy().decide(policy_input(air())._replace(found=4.0))
    assert most.max_segs == 2 * 64 + 17  # two aggregates wait, no more
    assert "2.00 times" in policy().formula(policy_input(air())._replace(found=2.0))


def test_the_formula_is_shown_with_its_values() -> None:
    text = policy().formula(policy_input(air(), connections=3))
    for part in ("50.0 Mb/s", "867 Mb/s", "4.0 ms", "16.7 segments", "50.1 frames", "32%", "/ 3 connections"):
        assert part in text
    assert "connections" not in policy().formula(policy_input(air()))
    alone = policy().formula(policy_input(air(share_mbps=550.0), n=1))
    assert "(min RTT 4.0 ms + a round of 1.3 ms, alone) = 244.2 segments, + an aggregate of 64.0 frames" in alone


rates_mbps = st.floats(1.0, 10_000.0)


@given(
    rate_mbps=rates_mbps,
    fastest_mbps=rates_mbps,
    share_mbps=st.floats(0.001, 10_000.0),
    n=st.integers(1, 2007),
    min_rtt_us=st.integers(1, 300_000_000),
    connections=st.integers(1, 1_000_000),
    frames=st.sampled_from([64, 256, 1024]),
    psdu_bytes=st.sampled_from([4_095, HT_PSDU_BYTES, VHT_PSDU_BYTES]),
)
def test_bounds_are_ordered_and_within_the_kernels_range(
    *,
    rate_mbps: float,
    fastest_mbps: float,
    share_mbps: float,
    n: int,
    min_rtt_us: int,
    connections: int,
    frames: int,
    psdu_bytes: int,
) -> None:
    station_air = air(rate_mbps, share_mbps, max(rate_mbps, fastest_mbps), frames, psdu_bytes)
    min_segs, max_segs = policy().decide(policy_input(station_air, n, min_rtt_us, connections))
    assert 2 <= min_segs <= max_segs <= 65_535
    assert policy().formula(policy_input(station_air, n, min_rtt_us, connections))


@given(rate_mbps=rates_mbps, segment_bytes=st.integers(140, 9000))
def test_an_access_is_never_longer_than_it_may_be(rate_mbps: float, segment_bytes: int) -> None:
    station_air = air(rate_mbps)
    most = frames_most(segment_bytes, station_air)
    assert 1 <= most <= 64
    assert most == 1 or most * frame_us(segment_bytes, station_air.rate_bps) <= 5_484.0 * 1.06 + 1e-6
