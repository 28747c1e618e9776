# SPDX-License-Identifier: Apache-2.0

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.balance import APART, LARGEST_BESIDE_DOWNLOADS, STEP_MOST, Balance

SECOND_US = 1_000_000


class Cell:
    """Uploads and downloads of which the latter get `harm` times as much where windows are as computed, and less by the
    power `gain` of the factor.
    """

    def __init__(self, harm: float, gain: float = 1.5) -> None:
        self._harm, self._gain = harm, gain
        self.balance, self.now_us = Balance(), SECOND_US
        self.factors = list[float]()

    @property
    def harm(self) -> float:
        return self._harm / self.balance.factor**self._gain

    def run(self, seconds: int, *, noise: Sequence[float] = (1.0,), receives: bool = True) -> "Cell":
        for second in range(seconds):
            self.now_us += SECOND_US
            before = self.balance.factor
            received = [self.harm * noise[second % len(noise)]] * 3 if receives else [0.1]
            moved = self.balance.observe(received, [1.0] * 10, self.now_us)
            assert moved is (self.balance.factor != before)
            self.factors.append(self.balance.factor)
        return self


@pytest.mark.parametrize("harm", [1.3, 2.0, 3.4, 6.0])
@pytest.mark.parametrize("gain", [1.2, 1.5, 1.9])
def test_windows_grow_until_each_direction_has_its_part_and_stay(harm: float, gain: float) -> None:
    cell = Cell(harm, gain).run(90)
    assert 1 / APART <= cell.harm <= APART
    settled = cell.balance.factor
    cell.run(200)
    assert cell.balance.factor == settled


@given(st.floats(1.0, 8.0), st.floats(0.8, 1.9), st.lists(st.floats(0.97, 1.03), min_size=1, max_size=7))
def test_it_never_goes_to_and_fro(harm: float, gain: float, noise: list[float]) -> None:
    factors = Cell(harm, gain).run(150, noise=noise).factors
    steps = [after / before for before, after in itertools.pairwise(factors) if after != before]
    downward = [index for index, step in enumerate(steps) if step < 1]
    assert not downward or all(step < 1 for step in steps[downward[0] :])
    assert all(1 / STEP_MOST - 1e-9 <= step <= STEP_MOST + 1e-9 for step in steps)
    assert all(1 <= factor <= LARGEST_BESIDE_DOWNLOADS for factor in factors)


def test_where_uploads_have_more_than_their_part_windows_stay_as_computed() -> None:
    assert set(Cell(0.6).run(60).factors) == {1.0}


def test_windows_shrink_again_when_downloads_take_less() -> None:
    cell = Cell(3.4).run(90)
    cell._harm = 1.2
    before = cell.balance.factor
    cell.run(90)
    assert 1 <= cell.balance.factor < before


def test_without_downloads_that_want_their_part_they_are_as_computed_after_some_seconds() -> None:
    cell = Cell(3.4).run(90)
    assert cell.balance.factor > 1
    assert cell.run(2, receives=False).balance.factor > 1
    assert cell.run(2, receives=False).balance.factor == 1


def test_a_pause_of_one_direction_is_no_measurement() -> None:
    directions = Balance()
    for second in range(1, 60):
        assert not directions.observe([5.0], [1.0] if second % 5 == 0 else [], second * SECOND_US)


def test_senders_that_get_nothing_make_no_error() -> None:
    directions = Balance()
    for second in range(1, 30):
        directions.observe([1.0], [0.0], second * SECOND_US)
    assert directions.factor > 1
