# SPDX-License-Identifier: Apache-2.0
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_testing.trend import fit, student_quantile

TIMES_S = [5.0 * number for number in range(60)]


@given(st.floats(-1e3, 1e3), st.floats(-1e6, 1e6))
def test_a_straight_line_is_found(slope: float, start: float) -> None:
    line = fit(TIMES_S, [start + slope * time_s for time_s in TIMES_S])
    assert line.slope_per_s == pytest.approx(slope, abs=1e-6)
    assert line.start == pytest.approx(start, abs=1e-4)
    assert line.low_per_s <= line.slope_per_s <= line.high_per_s


def test_growth_above_the_noise_is_seen_and_noise_is_none() -> None:
    chance = random.Random(1)  # noqa: S311  # no secret
    grown = 0
    for _ in range(200):
        noise = [chance.gauss(0, 100) for _ in TIMES_S]
        assert fit(TIMES_S, [value + 2 * time_s for value, time_s in zip(noise, TIMES_S, strict=True)]).grows
        grown += fit(TIMES_S, noise).grows
    assert grown <= 20  # 2.5 % of 200 are expected


def test_a_walk_that_goes_nowhere_does_not_count_as_growth_as_often_as_its_samples_alone_would() -> None:
    """Memory wanders: each sample is near the one before."""
    chance, grown, naive = random.Random(2), 0, 0  # noqa: S311  # no secret
    for _ in range(300):
        value, values = 0.0, []
        for _ in TIMES_S:
            value = 0.7 * value + chance.gauss(0, 100)
            values.append(value)
        grown += fit(TIMES_S, values).grows
        naive += _grows_by_independent_samples(values)
    assert grown <= 30 < naive


def _grows_by_independent_samples(values: list[float]) -> bool:
    count, mean_s, mean = len(values), sum(TIMES_S) / len(TIMES_S), sum(values) / len(values)
    spread = sum((time_s - mean_s) ** 2 for time_s in TIMES_S)
    slope = sum((time_s - mean_s) * (value - mean) for time_s, value in zip(TIMES_S, values, strict=True)) / spread
    rest = sum((value - mean - slope * (time_s - mean_s)) ** 2 for time_s, value in zip(TIMES_S, values, strict=True))
    return slope > 2.0 * math.sqrt(rest / (count - 2) / spread)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    # A table of Student's t, two-sided 95 %.
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)],
)
def test_quantiles_are_those_of_the_table(freedom: float, quantile: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, rel=0.03)


@pytest.mark.parametrize("times_s", [[1.0, 2.0, 3.0, 4.0], [1.0] * 5])
def test_too_little_gives_no_line(times_s: list[float]) -> None:
    with pytest.raises(ValueError, match=r"samples|moment|expected"):
        fit(times_s, [1.0] * len(times_s))
