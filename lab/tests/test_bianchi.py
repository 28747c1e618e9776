# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import bianchi

KNOWN = [(1, 29.89, 0), (2, 30.59, 0.105), (5, 28.74, 0.272), (10, 26.54, 0.389)]


@pytest.mark.parametrize(("stations", "mbps", "collision"), KNOWN)
def test_known_values(stations: int, mbps: float, collision: float) -> None:
    found = bianchi.saturation(stations)
    assert found.payload_mbps == pytest.approx(mbps, abs=0.01)
    assert found.collision_probability == pytest.approx(collision, abs=0.001)


@pytest.mark.parametrize(
    ("frame_bytes", "rate_mbps", "microseconds"),
    [(14, 24, 34), (14, 6, 50), (1534, 54, 254), (1536, 54, 254), (1537, 54, 258), (1534, 6, 2078)],
)
def test_the_airtime_of_a_frame(frame_bytes: int, rate_mbps: int, microseconds: float) -> None:
    """A preamble and a header of 20 us, symbols of 4 us, and 6 us of silence."""
    assert bianchi.ofdm_airtime_us(frame_bytes, rate_mbps) == microseconds


@pytest.mark.parametrize(("payload_bytes", "frame_us"), [(1472, 254), (1473, 258)])
def test_a_station_alone_waits_for_half_a_window_before_each_frame(payload_bytes: int, frame_us: float) -> None:
    """Frames of 64 bytes more than their payload; one byte may be one too many for a symbol."""
    alone = bianchi.saturation(1, payload_bytes=payload_bytes)
    backoff_us, sifs_us, ack_us, difs_us = 7.5 * 9, 10, 34, 28
    cycle_us = backoff_us + frame_us + sifs_us + ack_us + difs_us
    assert alone.payload_mbps == pytest.approx(payload_bytes * 8 / cycle_us)
    assert alone.collision_probability == pytest.approx(0)


@pytest.mark.parametrize(
    ("collision", "attempts", "slots"), [(0, 1, 8.5), (1, 7, 7 + (15 + 31 + 63 + 127 + 255 + 511 + 1023) / 2)]
)
def test_each_of_seven_attempts_has_twice_the_window(collision: float, attempts: float, slots: float) -> None:
    assert bianchi.attempt_probability(collision) == pytest.approx(attempts / slots, rel=1e-9)


@pytest.mark.parametrize("stations", [1, 2, 5, 10, 50])
def test_the_solution_is_the_fixed_point(stations: int) -> None:
    attempt, collision = bianchi.solve(stations)
    assert attempt == pytest.approx(bianchi.attempt_probability(collision))
    assert collision == pytest.approx(1 - (1 - attempt) ** (stations - 1), abs=1e-9)


@pytest.mark.parametrize("stations", [0, -1])
def test_without_a_station_nothing_is_computed(stations: int) -> None:
    with pytest.raises(ValueError, match=f"stations: {stations} is not a positive number"):
        bianchi.saturation(stations)


@given(st.integers(2, 99))
def test_more_stations_collide_more_and_carry_less(stations: int) -> None:
    fewer, more = bianchi.saturation(stations), bianchi.saturation(stations + 1)
    assert more.collision_probability > fewer.collision_probability
    assert more.payload_mbps < fewer.payload_mbps
