# SPDX-License-Identifier: Apache-2.0

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.unlimited import ABOVE, CLAIMS, HOPELESS, LARGEST, STEP, Unlimited
from airbound.core.policy import UNBOUNDED
from airbound_testing.scenario import mac

HALF_US = 500_000
WITHOUT, OTHER = mac(1), mac(2)


class Cell:
    """One sender that nothing limits, beside four whose windows are `enough` times too small for their parts."""

    def __init__(self, enough: float, without: int = 1) -> None:
        self.enough, self.without = enough, without
        self.unlimited, self.now_us = Unlimited(), 0
        self.factors = list[float]()

    def run(self, seconds: float, *, sends: bool = True, noise: Sequence[float] = (1.0,)) -> "Cell":
        for step in range(round(2 * seconds)):
            self.now_us += HALF_US
            part = min(1.0, self.unlimited.factor / self.enough)
            rest = (4 + self.without - 4 * part) / self.without * noise[step % len(noise)]
            used = {mac(number): rest if sends else 0.1 for number in range(self.without)}
            before = self.unlimited.factor
            ended = self.unlimited.ended
            moved = self.unlimited.observe(used, [part] * 4, self.now_us)
            assert moved is (self.unlimited.factor != before or self.unlimited.ended is not ended)
            self.factors.append(self.unlimited.factor)
        return self


@pytest.mark.parametrize(("enough", "without"), [(1.2, 1), (1.3, 1), (1.5, 3), (1.8, 3)])
def test_windows_grow_until_the_parts_are_equal_and_no_further(enough: float, without: int) -> None:
    cell = Cell(enough, without).run(25)
    assert enough / 1.15 <= cell.factors[-1] < max(2.0, enough) * STEP + 0.01
    assert cell.factors[24:] == sorted(cell.factors[24:])
    assert cell.run(60).factors[-1] == cell.factors[49]


def test_beside_one_that_has_several_times_as_much_bounds_end_at_once() -> None:
    """Windows are raised for three seconds first."""
    cell = Cell(4.0).run(2.0)
    assert cell.factors == [1.0, 1.0, 1.0, UNBOUNDED]
    assert not cell.run(2.5).unlimited.ended
    assert cell.run(0.5).unlimited.ended
    assert cell.run(60).unlimited.ended
    assert cell.unlimited.begun_total == 1


def test_one_that_has_several_times_as_much_for_a_moment_only_does_not_end_them() -> None:
    unlimited = Unlimited()
    for step, harm in enumerate([HOPELESS * 2, ABOVE * 1.1, HOPELESS * 2, HOPELESS * 2], 1):
        unlimited.observe({WITHOUT: harm}, [1.0], step * HALF_US)
    assert unlimited.factor == 2.0


def test_where_no_window_is_enough_bounds_end() -> None:
    unlimited, factors = Unlimited(), list[float]()
    for step in range(1, 80):
        unlimited.observe({WITHOUT: HOPELESS * 0.9}, [1.0], step * HALF_US)
        factors.append(unlimited.factor)
    assert (factors[-1], unlimited.ended) == (UNBOUNDED, True)
    assert LARGEST / STEP < max(factor for factor in factors if factor < UNBOUNDED) <= LARGEST


def test_bounds_that_ended_stay_so_while_nobody_wants_more() -> None:
    """Without bounds the windows of those that had some are not full any more."""
    unlimited = Unlimited()
    for step in range(1, 60):
        unlimited.observe({WITHOUT: 5.0 if step < 6 else 1.0}, [0.1] if step < 6 else [], step * HALF_US)
    assert unlimited.ended


def test_they_return_three_seconds_after_the_last_claim_and_not_for_a_pause() -> None:
    cell = Cell(1.8, 3).run(15)
    grown = cell.factors[-1]
    assert cell.run(2.5, sends=False).factors[-1] == grown
    assert cell.run(2.0).factors[-1] >= grown
    assert cell.run(3.5, sends=False).factors[-1] == 1.0
    assert not cell.unlimited.mac
    assert cell.run(10).unlimited.begun_total == 2
    assert Cell(4.0).run(15).run(3.5, sends=False).factors[-1] == 1.0


def test_a_start_is_no_harm() -> None:
    """In its first second a phone has less than its part, whatever its window is."""
    cell = Cell(4.0).run(1.0)
    cell.enough = 1.0
    assert cell.run(20).factors[-1] == 1.0


def test_who_takes_most_is_named_and_one_that_claims_little_changes_nothing() -> None:
    unlimited = Unlimited()
    for step in range(1, 6):
        unlimited.observe({WITHOUT: 1.5, OTHER: 2.5}, [0.5], step * HALF_US)
    assert unlimited.mac == OTHER
    quiet = Unlimited()
    for step in range(1, 20):
        assert not quiet.observe({WITHOUT: CLAIMS * 0.9}, [0.1], step * HALF_US)


def test_nobody_is_harmed_where_nobody_is_limited_or_wants_more() -> None:
    unlimited = Unlimited()
    for step in range(1, 40):
        assert not unlimited.observe({WITHOUT: 5.0}, [], step * HALF_US)
    assert unlimited.factor == 1.0


def test_limited_ones_that_get_nothing_at_all_are_harmed() -> None:
    unlimited = Unlimited()
    for step in range(1, 60):
        unlimited.observe({WITHOUT: 5.0}, [0.0, 0.0], step * HALF_US)
    assert unlimited.factor == UNBOUNDED


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), max_size=200))
def test_between_its_beginning_and_its_end_it_only_grows(seen: list[tuple[float, float]]) -> None:
    """So the steps of one episode are at most those to the largest factor, whatever is measured: it cannot swing."""
    unlimited, factors = Unlimited(), [1.0]
    for step, (without, limited) in enumerate(seen, 1):
        unlimited.observe({WITHOUT: without}, [limited], step * HALF_US)
        factors.append(unlimited.factor)
    for before, after in itertools.pairwise(factors):
        assert after >= before or after == 1.0
        assert after in {before, 1.0, 2.0, UNBOUNDED} or after == before * STEP <= LARGEST
    assert sum(before > after for before, after in itertools.pairwise(factors)) <= unlimited.begun_total


@given(st.lists(st.floats(0.9, 1.1), min_size=1, max_size=7))
def test_noise_of_a_tenth_changes_nothing_where_parts_are_equal(noise: list[float]) -> None:
    assert Cell(1.0).run(60, noise=noise).factors[-1] == 1.0
    assert ABOVE > 1.1 / 0.9
