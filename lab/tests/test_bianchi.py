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


@given(st.integers(2, 99))
def test_more_stations_collide_more_and_carry_less(stations: int) -> None:
    fewer, more = bianchi.saturation(stations), bianchi.saturation(stations + 1)
    assert more.collision_probability > fewer.collision_probability
    assert more.payload_mbps < fewer.payload_mbps
