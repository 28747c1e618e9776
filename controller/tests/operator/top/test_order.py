# SPDX-License-Identifier: Apache-2.0
import random

import pytest

from airbound.operator.top.order import steady


def test_the_largest_comes_first() -> None:
    assert steady((), {"a": 0.1, "b": 0.6, "c": 0.3}, 0.1) == ["b", "c", "a"]


def test_rows_that_differ_by_little_stay_where_they_are() -> None:
    assert steady(("a", "b"), {"a": 0.45, "b": 0.5}, 0.1) == ["a", "b"]
    assert steady(("a", "b"), {"a": 0.4, "b": 0.55}, 0.1) == ["b", "a"]


def test_who_came_is_put_in_and_who_left_is_gone() -> None:
    assert steady(("a", "b", "gone"), {"a": 0.5, "b": 0.2, "new": 0.3}, 0.1) == ["a", "new", "b"]


@pytest.mark.parametrize("seed", range(5))
def test_noise_moves_no_row_however_long_it_lasts(seed: int) -> None:
    drawn, keys = random.Random(seed), [f"s{number}" for number in range(10)]  # noqa: S311
    order = steady((), dict.fromkeys(keys, 0.1), 0.1)
    for _ in range(200):
        assert steady(order, {key: 0.1 + drawn.uniform(-0.049, 0.049) for key in keys}, 0.1) == order
