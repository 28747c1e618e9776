# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.runtime.histogram import BOUNDS_S, Histogram


def test_values_are_counted_at_or_below_their_limit() -> None:
    histogram = Histogram()
    for seconds in (0.0, BOUNDS_S[0], BOUNDS_S[0] + 1e-9, 1.5, 100.0):
        histogram.observe(seconds)
    distribution = histogram.distribution()
    assert distribution.cumulative[:2] == (2, 3)
    assert distribution.cumulative[-3:] == (3, 4, 5)
    assert len(distribution.cumulative) == len(BOUNDS_S) + 1
    assert distribution.sum_s == pytest.approx(101.5002)


def test_a_distribution_does_not_change() -> None:
    histogram = Histogram()
    before = histogram.distribution()
    histogram.observe(1.0)
    assert before.cumulative[-1] == 0
    assert histogram.distribution().cumulative[-1] == 1
