# SPDX-License-Identifier: Apache-2.0

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.parameters import BdpParameters
from airbound.core.policy import Situation, bdp

# 23.9 Mb/s of payload in 1448-byte segments, as IP.
CAPACITY_BPS = 23.9e6 * 1500 / 1448


def situation(
    n: int = 1,
    min_rtt_us: int = 256_500,
    connections: int = 1,
    capacity_bps: float = CAPACITY_BPS,
    segment_bytes: int = 1500,
) -> Situation:
    return Situation(
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
        (1, 256_500, (264, 665)),  # 529.2 segments of share
        (2, 256_500, (132, 334)),
        (5, 256_500, (52, 136)),
        (10, 256_500, (26, 70)),
        (1, 4_300, (4, 15)),  # 8.9
        (10, 4_300, (2, 5)),  # 0.9: the floor holds the minimum
    ],
)
def test_the_formula(n: int, min_rtt_us: int, expected: tuple[int, int]) -> None:
    verdict = bdp.decide(situation(n, min_rtt_us), BdpParameters())
    assert (verdict.min_segs, verdict.max_segs) == expected


def test_connections_share_the_terminals_part_and_its_queue() -> None:
    one = bdp.decide(situation(10), BdpParameters())
    three = bdp.decide(situation(10, connections=3), BdpParameters())
    assert three.max_segs == math.ceil((one.max_segs - 3) / 3) + 1
    assert three.min_segs == one.min_segs // 3


def test_the_parameters_count() -> None:
    parameters = BdpParameters(gain=1.0, queue_segs=0, min_fraction=1.0, floor_segs=4)
    verdict = bdp.decide(situation(1, 8_000, capacity_bps=15e6), parameters)
    assert (verdict.min_segs, verdict.max_segs) == (10, 10)
    verdict = bdp.decide(situation(100, 8_000, capacity_bps=15e6), parameters)
    assert (verdict.min_segs, verdict.max_segs) == (4, 4)


def test_the_reason_holds_the_numbers() -> None:
    reason = bdp.decide(situation(10), BdpParameters()).reason
    for part in ("24.8 Mb/s", "n=10", "256.5 ms", "52.9 segments", "1.25", "+ 3"):
        assert part in reason


@given(
    n=st.integers(-3, 5000),
    min_rtt_us=st.integers(1, 300_000_000),
    connections=st.integers(0, 100_000),
    capacity_bps=st.floats(1e4, 1e12),
    segment_bytes=st.integers(140, 70_000),
    gain=st.floats(0.1, 100),
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
    queue_segs: int,
    min_fraction: float,
    floor_segs: int,
) -> None:
    parameters = BdpParameters(gain=gain, queue_segs=queue_segs, min_fraction=min_fraction, floor_segs=floor_segs)
    verdict = bdp.decide(situation(n, min_rtt_us, connections, capacity_bps, segment_bytes), parameters)
    assert floor_segs <= verdict.min_segs <= verdict.max_segs <= 65_535


@given(n=st.integers(1, 200), min_rtt_us=st.integers(1_000, 1_000_000))
def test_more_senders_never_widen_the_bounds(n: int, min_rtt_us: int) -> None:
    few, many = (bdp.decide(situation(count, min_rtt_us), BdpParameters()) for count in (n, n + 1))
    assert many.max_segs <= few.max_segs
    assert many.min_segs <= few.min_segs


@pytest.mark.parametrize(
    ("held", "fresh", "near"),
    [(4, 5, True), (4, 6, False), (100, 110, True), (100, 111, False), (100, 90, True), (100, 89, False)],
)
def test_noise_is_one_segment_or_ten_percent(held: int, fresh: int, near: bool) -> None:  # noqa: FBT001
    assert bdp.within_tolerance(held, fresh, BdpParameters()) is near
