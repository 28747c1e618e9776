# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import bianchi


@pytest.mark.parametrize(
    ("stations", "mbps", "collision"), [(1, 29.89, 0), (2, 30.66, 0.105), (5, 28.94, 0.272), (10, 26.83, 0.389)]
)
def test_known_values(stations: int, mbps: float, collision: float) -> None:
    assert bianchi.saturation_mbps(stations) == pytest.approx(mbps, abs=0.01)
    assert bianchi.collision_probability(stations) == pytest.approx(collision, abs=0.001)


def test_one_station_by_hand() -> None:
    # 1534 bytes are 57 symbols at 54 Mb/s: 20 + 57 x 4 + 6; the ACK 2 symbols at 24 Mb/s; 7.5 slots of back-off.
    exchange_us = 28 + 7.5 * 9 + 254 + 10 + 34
    assert bianchi.saturation_mbps(1) == pytest.approx(1470 * 8 / exchange_us)


@given(st.integers(2, 99))
def test_more_stations_collide_more_and_carry_less(stations: int) -> None:
    assert bianchi.collision_probability(stations + 1) > bianchi.collision_probability(stations)
    assert bianchi.saturation_mbps(stations + 1) < bianchi.saturation_mbps(stations)
