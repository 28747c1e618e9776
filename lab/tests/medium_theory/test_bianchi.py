# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory.bianchi import Stations

KNOWN = [(1, 29.89, 0), (2, 30.59, 0.105), (5, 28.74, 0.272), (10, 26.54, 0.389)]


@pytest.mark.parametrize(("stations", "mbps", "collision"), KNOWN)
def test_known_values(stations: int, mbps: float, collision: float) -> None:
    (found,) = bianchi.saturation(Stations(stations))
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
    (alone,) = bianchi.saturation(Stations(1), payload_bytes=payload_bytes)
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
    ((attempt, collision),) = bianchi.solve(Stations(stations))
    assert attempt == pytest.approx(bianchi.attempt_probability(collision))
    assert collision == pytest.approx(1 - (1 - attempt) ** (stations - 1), abs=1e-9)


@pytest.mark.parametrize("stations", [0, -1])
def test_without_a_station_nothing_is_computed(stations: int) -> None:
    with pytest.raises(ValueError, match=f"stations: {stations} is not a positive number"):
        Stations(stations)
    with pytest.raises(ValueError, match="no stations"):
        bianchi.saturation()


@given(st.integers(2, 99))
def test_more_stations_collide_more_and_carry_less(stations: int) -> None:
    (fewer,), (more,) = bianchi.saturation(Stations(stations)), bianchi.saturation(Stations(stations + 1))
    assert more.collision_probability > fewer.collision_probability
    assert more.payload_mbps < fewer.payload_mbps


# The table of docs and literature: the best window grows with the number of stations.
@pytest.mark.parametrize(
    ("stations", "mbps_by_cw_min"),
    [(2, {15: 30.6, 31: 28.6, 127: 19.0}), (10, {15: 26.5, 63: 29.2, 127: 28.5}), (20, {15: 24.1, 127: 29.0})],
)
def test_the_best_contention_window_grows_with_the_stations(stations: int, mbps_by_cw_min: dict[int, float]) -> None:
    for cw_min, mbps in mbps_by_cw_min.items():
        (found,) = bianchi.saturation(Stations(stations, cw_min))
        assert found.payload_mbps == pytest.approx(mbps, abs=0.15)


@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from([7, 15, 31, 63, 127]))
def test_two_classes_that_are_the_same_are_one(first: int, second: int, cw_min: int) -> None:
    (whole,) = bianchi.saturation(Stations(first + second, cw_min))
    parts = bianchi.saturation(Stations(first, cw_min), Stations(second, cw_min))
    for part, count in zip(parts, (first, second), strict=True):
        assert part.payload_mbps == pytest.approx(whole.payload_mbps * count / (first + second), rel=1e-6)
        assert part.collision_probability == pytest.approx(whole.collision_probability, abs=1e-6)


@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from([(15, 31), (15, 127), (31, 63)]))
def test_two_classes_are_a_fixed_point(first: int, second: int, windows: tuple[int, int]) -> None:
    classes = Stations(first, windows[0]), Stations(second, windows[1])
    (tau_1, p_1), (tau_2, p_2) = bianchi.solve(*classes)
    assert tau_1 == pytest.approx(bianchi.attempt_probability(p_1, windows[0]), rel=1e-6)
    assert tau_2 == pytest.approx(bianchi.attempt_probability(p_2, windows[1]), rel=1e-6)
    assert p_1 == pytest.approx(1 - (1 - tau_1) ** (first - 1) * (1 - tau_2) ** second, abs=1e-6)
    assert p_2 == pytest.approx(1 - (1 - tau_1) ** first * (1 - tau_2) ** (second - 1), abs=1e-6)
