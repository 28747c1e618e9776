# SPDX-License-Identifier: Apache-2.0

from airbound.runtime.rate_limit import BUDGETS_MAX, Budget, Budgets, RateLimit
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


def test_a_budget_of_what_is_known_afterwards() -> None:
    budget = Budget(10)
    assert budget.left(0)
    budget.spend(15)  # as many at once, and the one that goes beyond it
    assert not budget.left(0)
    assert budget.taken() == 15
    assert not budget.left(500_000)
    assert budget.left(500_001)


def test_budgets_are_kept_by_name_and_those_who_asked_last_only() -> None:
    budgets = Budgets()
    budgets.budget("a", 1).spend(2)
    assert not budgets.budget("a", 1).left(0)
    assert budgets.budget("b", 1).left(0)
    for number in range(BUDGETS_MAX):
        budgets.budget(number, 1)
    assert budgets.budget("a", 1).left(0)
