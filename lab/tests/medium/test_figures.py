# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.medium import figures

if TYPE_CHECKING:
    from conftest import MakeAttempt


def test_figures_are_of_accesses_attempts_and_time(attempt: MakeAttempt) -> None:
    collided = {"outcome": "collision", "contenders": 3}
    found = figures.figures(
        [
            attempt(0, 1, contenders=1),
            attempt(500, 0, airtime_ns=100_000, **collided),
            attempt(500, 2, airtime_ns=600_000, **collided),
            attempt(1500, 2, outcome="loss", airtime_ns=500_000),
        ]
    )
    assert found.accesses_per_s == pytest.approx(1500)
    assert found.contenders_shares == pytest.approx({1: 1 / 3, 2: 1 / 3, 3: 1 / 3})
    assert found.contenders_mean == pytest.approx(2)
    assert found.collided_attempts == pytest.approx(0.5)
    assert found.with_access_point == 1
    assert found.phone_attempt_ms == pytest.approx((0.3 + 0.6 + 0.5) / 3)
    assert (found.delivered_air, found.collided_air) == pytest.approx((0.15, 0.3))


def test_a_collision_may_be_of_phones_alone(attempt: MakeAttempt) -> None:
    attempts = [attempt(us, station, outcome="collision") for us, station in ((0, 0), (0, 3), (500, 2), (500, 3))]
    assert figures.figures(attempts).with_access_point == pytest.approx(0.5)


def test_a_table_has_a_row_for_each_trace(attempt: MakeAttempt) -> None:
    phone, access_point = (figures.figures([attempt(0, station)]) for station in (1, 0))
    assert figures.rows([("a", phone), ("b", access_point)]) == [
        figures.HEADING,
        ["a", "3333", "2.0", "0.0%", "-", "0.30", "100%", "0%", "0%"],
        ["b", "3333", "2.0", "0.0%", "-", "-", "100%", "0%", "0%"],
    ]


def test_the_typical_stretch_is_nearest_the_means(attempt: MakeAttempt) -> None:
    # Contenders by ms: 2, 4, 3 3 3; of each ms but the last, one attempt.
    found = [attempt(us, contenders=n) for us, n in ((0, 2), (1000, 4), (2000, 3), (3000, 3), (3300, 3), (4000, 3))]
    assert figures.typical_ns(found, 1_000_000) == 2_000_000


def test_the_typical_stretch_counts_collisions_and_attempts(attempt: MakeAttempt) -> None:
    quiet = [attempt(0), attempt(400)]
    collision = [attempt(1000 * ms, station, outcome="collision") for ms in (1, 2) for station in (1, 2)]
    assert figures.typical_ns([*quiet, *collision, attempt(3000)], 1_000_000) == 1_000_000


def test_a_stretch_may_be_longer_than_the_trace_or_empty(attempt: MakeAttempt) -> None:
    assert figures.typical_ns([attempt(700), attempt(1200)], 1_000_000) == 700_000
    assert figures.typical_ns([attempt(0), attempt(2000), attempt(2100)], 1_000_000) == 0
