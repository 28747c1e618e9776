# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.parameters import BdpParameters, Parameters
from airbound.core.policy import PolicyInput, bdp

# 23.9 Mb/s of payload in 1448-byte segments, as IP.
CAPACITY_BPS = 23.9e6 * 1500 / 1448


def policy(parameters: BdpParameters | None = None) -> bdp.Bdp:
    return bdp.Bdp(Parameters(bdp=parameters or BdpParameters()))


def policy_input(
    n: int = 1,
    min_rtt_us: int = 256_500,
    connections: int = 1,
    capacity_bps: float = CAPACITY_BPS,
    segment_bytes: int = 1500,
) -> PolicyInput:
    return PolicyInput(
        active_senders=n,
        connections=connections,
        srtt_us=min_rtt_us,
        min_rtt_us=min_rtt_us,
        segment_bytes=segment_bytes,
        capacity_bps=capacity_bps,
    )


@pytest.mark.parametrize(
    ("n", "min_rtt_us", "expected"),
    [
        (1, 256_500, (264, 583 + 4)),  # 529.2 segments of share, and a tenth more
        (2, 256_500, (132, 265 + 2)),
        (3, 256_500, (88, 177 + 1)),
        (5, 256_500, (52, 106 + 1)),
        (10, 256_500, (26, 53 + 1)),
        (1, 4_300, (4, 10 + 4)),  # 8.9
        (10, 4_300, (2, 1 + 1)),  # 0.9: both ends at the floor
        (1, 300_000_000, (32767 * 2 + 1, 65_535)),
    ],
)
def test_the_formula(n: int, min_rtt_us: int, expected: tuple[int, int]) -> None:
    assert policy().decide(policy_input(n, min_rtt_us)) == expected


def test_connections_split_the_terminals_share_and_its_queue() -> None:
    one, three = policy_input(1), policy_input(1, connections=3)
    assert bdp.share_segs(three) == pytest.approx(bdp.share_segs(one) / 3)
    assert (bdp.queue_segs(one, BdpParameters()), bdp.queue_segs(three, BdpParameters())) == (4, 2)
    assert policy().decide(three) == (88, 195 + 2)  # 176.4 segments of share, and a tenth more


def test_a_queue_of_none_is_none() -> None:
    assert bdp.queue_segs(policy_input(10), BdpParameters(queue_segs=0)) == 0
    assert bdp.queue_segs(policy_input(10), BdpParameters(queue_segs=1)) == 1


def test_shares_and_queues_are_divided_before_they_are_rounded() -> None:
    inputs = policy_input(n=3, connections=2, capacity_bps=20e6)
    assert bdp.share_segs(inputs) == pytest.approx(20e6 * 256_500 / (3 * 2 * 8e6 * 1500), rel=1e-12)
    assert bdp.queue_segs(policy_input(4), BdpParameters(queue_segs=7)) == 2
    assert bdp.queue_segs(policy_input(3), BdpParameters(queue_segs=4)) == 1


def test_larger_segments_are_fewer() -> None:
    small, large = policy_input(segment_bytes=500), policy_input(segment_bytes=1500)
    assert bdp.share_segs(small) == pytest.approx(3 * bdp.share_segs(large))


def test_the_parameters_count() -> None:
    parameters = BdpParameters(gain_alone=1.5, queue_segs=0, min_fraction=1.0, floor_segs=4)
    assert policy(parameters).decide(policy_input(1, 8_000, capacity_bps=15e6)) == (10, 15)
    assert policy(parameters).decide(policy_input(100, 8_000, capacity_bps=15e6)) == (4, 4)
    twice = BdpParameters(gain=2.0, queue_segs=8)
    assert policy(twice).decide(policy_input(2, 8_000, capacity_bps=30e6)) == (5, 20 + 4)
    assert policy(twice).decide(policy_input(1, 8_000, capacity_bps=15e6)) == (5, 11 + 8)


def test_the_minimum_is_never_above_the_maximum() -> None:
    parameters = BdpParameters(gain=0.1, gain_alone=0.2, queue_segs=0, min_fraction=1.0)
    assert policy(parameters).decide(policy_input(2)) == (27, 27)
    assert policy(parameters).decide(policy_input(1)) == (106, 106)


def test_the_formula_is_shown_with_its_values() -> None:
    text = policy(BdpParameters(gain=1.25)).formula(policy_input(10))
    for part in ("24.8 Mb/s", "n=10", "256.5 ms", "52.9 segments", "1.25", "+ 1", "0.5", "at least 2"):
        assert part in text
    assert "max 1.1 x that" in policy(BdpParameters(gain=1.25)).formula(policy_input(1))
    assert "connections" not in text
    assert "/ 3 connections" in policy().formula(policy_input(10, connections=3))


@given(
    n=st.integers(1, 5000),
    min_rtt_us=st.integers(1, 300_000_000),
    connections=st.integers(1, 1_000_000),
    capacity_bps=st.floats(1e4, 1e12),
    segment_bytes=st.integers(140, 70_000),
    gain=st.floats(0.1, 100),
    gain_alone=st.floats(0.1, 100),
    queue_segs=st.integers(0, 1000),
    min_fraction=st.floats(0, 1),
    floor_segs=st.integers(1, 100),
)
def test_bounds_are_ordered_and_within_the_kernels_range(
    *,
    n: int,
    min_rtt_us: int,
    connections: int,
    capacity_bps: float,
    segment_bytes: int,
    gain: float,
    gain_alone: float,
    queue_segs: int,
    min_fraction: float,
    floor_segs: int,
) -> None:
    parameters = BdpParameters(
        gain=gain, gain_alone=gain_alone, queue_segs=queue_segs, min_fraction=min_fraction, floor_segs=floor_segs
    )
    inputs = policy_input(n, min_rtt_us, connections, capacity_bps, segment_bytes)
    min_segs, max_segs = policy(parameters).decide(inputs)
    assert floor_segs <= min_segs <= max_segs <= 65_535


@given(n=st.integers(1, 200), min_rtt_us=st.integers(1_000, 1_000_000))
def test_more_senders_never_widen_the_bounds(n: int, min_rtt_us: int) -> None:
    few, many = (policy().decide(policy_input(count, min_rtt_us)) for count in (n, n + 1))
    assert many.max_segs <= few.max_segs
    assert many.min_segs <= few.min_segs
