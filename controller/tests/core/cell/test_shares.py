# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.shares import demand_bps, fair_share_bps

MORE = math.inf


@pytest.mark.parametrize(
    ("capacity", "demands", "unlimited", "share"),
    [
        (24, [], 1, 24),
        (24, [], 3, 8),
        (24, [2, 2], 1, 20),
        (24, [2], 2, 11),
        (24, [20], 1, 12),  # more than an equal share is no less than wanting everything
        (24, [20, 2], 1, 11),
        (24, [12], 1, 12),
        (24, [0], 1, 24),
        (24, [9, 7], 1, 8.5),  # 9 is more than what is left for each once 7 is taken
    ],
)
def test_what_some_do_not_use_is_the_others(
    capacity: float, demands: list[float], unlimited: int, share: float
) -> None:
    assert fair_share_bps(capacity, demands, unlimited) == pytest.approx(share)


@given(st.floats(1e5, 1e9), st.lists(st.floats(0, 1e9), max_size=20), st.integers(1, 20))
def test_the_level_fills_the_cell_and_is_no_less_than_an_equal_share(
    capacity: float, demands: list[float], unlimited: int
) -> None:
    level = fair_share_bps(capacity, demands, unlimited)
    assert sum(min(demand, level) for demand in demands) + unlimited * level == pytest.approx(capacity)
    assert level >= capacity / (len(demands) + unlimited) * (1 - 1e-9)


def test_a_sender_leaves_what_it_does_not_use() -> None:
    assert demand_bps(2e6, 3e6, wants_more=False) == 2e6


@pytest.mark.parametrize(("used_bps", "wants_more"), [(2e6, True), (2.4e6, False), (5e6, False)])
def test_a_full_window_or_nearly_an_equal_share_means_more(used_bps: float, *, wants_more: bool) -> None:
    assert demand_bps(used_bps, 3e6, wants_more=wants_more) == MORE
