# SPDX-License-Identifier: Apache-2.0

from airbound.runtime.rate_limit import RateLimit
from airbound_testing.scenario import SECOND_US


def taken(limit: RateLimit, *at_s: float) -> list[bool]:
    return [limit.take(round(seconds * SECOND_US)) for seconds in at_s]


def test_a_rate_is_limited_to_so_many_a_second_and_twice_as_many_at_once() -> None:
    limit, now_s = RateLimit(10), 1000.0
    assert taken(limit, *[now_s] * 22) == [True] * 20 + [False] * 2
    assert taken(limit, now_s + 0.09, now_s + 0.11) == [False, True]
    ten_seconds = taken(limit, *(now_s + 1 + hundredth / 100 for hundredth in range(1000)))
    assert 100 <= sum(ten_seconds) <= 110
    assert taken(limit, *[now_s + 3600] * 22) == [True] * 20 + [False] * 2


def test_a_rate_below_one_a_second_lets_one_through() -> None:
    assert taken(RateLimit(0.1), 5.0, 5.0, 14.9, 15.1) == [True, False, False, True]


def test_refused_attempts_cost_nothing() -> None:
    limit = RateLimit(1)
    taken(limit, *[100.0] * 1000)
    assert taken(limit, 101.01) == [True]
