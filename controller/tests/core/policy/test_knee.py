# SPDX-License-Identifier: Apache-2.0

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core.policy import CellFacts
from airbound.core.policy.knee import FORGOTTEN_US, LARGEST, RESTS_MOST_US, SMALLEST, STEP, Knee, State

SECOND_US = 1_000_000
WEIGHT = 0.3
WAYS = math.ceil(math.log(LARGEST / SMALLEST) / math.log(STEP))


@dataclass
class Cell:
    """A full cell: n phones take turns, each with an overhead and so many frames; who waits has all others before."""

    overhead_us: float = 360.0
    frame_us: float = 15.0
    frames: float = 40.0
    senders: int = 10
    wire_us: float = 4_000.0
    capacity_bps: float = 500e6
    fastest_bps: float = 866e6
    full: float = 1.0
    rtt_known: bool = True
    standing_us: float = 0.0  # of a queue that windows had left before they were bounded, which drains
    noise: Callable[[], float] = lambda: 1.0
    knee: Knee = field(default_factory=lambda: Knee(WEIGHT))
    now_us: int = 0
    factors: list[float] = field(default_factory=list)

    def facts(self) -> CellFacts:
        frames = self.frames * self.knee.factor
        turn_us = self.overhead_us + frames * self.frame_us
        bps = min(frames * 12_000 / turn_us * 1e6, 12_000e6 * self.senders * frames / self.wire_us)
        rtt_us = max(self.wire_us, self.senders * turn_us) + self.standing_us if self.rtt_known else 0.0
        return CellFacts(self.senders, self.capacity_bps, self.full * bps * self.noise(), 0.0, rtt_us, self.fastest_bps)

    def run(self, seconds: float) -> "Cell":
        for _ in range(round(2 * seconds)):
            self.now_us += SECOND_US // 2
            self.standing_us /= 2
            before = self.knee.factor
            assert self.knee.observe(self.facts(), self.now_us) is (self.knee.factor != before)
            self.factors.append(self.knee.factor)
        return self

    @property
    def changes(self) -> int:
        return sum(one != other for one, other in zip(self.factors, self.factors[1:], strict=False))


@pytest.mark.parametrize("frames", [20.0, 40.0, 80.0, 150.0])
def test_it_finds_the_length_from_either_side(frames: float) -> None:
    cell = Cell(frames=frames).run(90)
    best = 360 / (WEIGHT * 15)  # where the derivative of the score is 0
    found = cell.knee.factor * frames
    assert cell.knee.state is State.RESTS
    assert best / STEP**1.5 <= found <= best * STEP**1.5


def test_it_stays_within_its_limits() -> None:
    up, down = math.floor(math.log(LARGEST, STEP)), math.floor(math.log(1 / SMALLEST, STEP))
    assert max(Cell(frames=2.0, capacity_bps=1e6).run(300).factors) == pytest.approx(STEP**up)
    assert min(Cell(frames=2_000.0, capacity_bps=1e6).run(300).factors) == pytest.approx(STEP**-down)


def test_one_that_is_right_rests_and_rests_longer_each_time() -> None:
    cell = Cell(frames=80.0).run(13)
    assert (cell.knee.factor, cell.knee.state) == (1.0, State.RESTS)
    assert (cell.knee.trials_total, cell.knee.steps_total) == (2, 0)
    cell.run(3600)
    assert cell.knee.factor == 1.0
    assert cell.knee.trials_total == 2 * 17  # after 30, 60, 120 s and then every 240 s
    assert sum(factor == 1.0 for factor in cell.factors) > 0.9 * len(cell.factors)


def test_more_senders_or_another_rate_begin_a_search_from_where_it_is() -> None:
    for change in ({"senders": 11}, {"fastest_bps": 400e6}, {"fastest_bps": 1200e6}):
        cell = Cell(frames=20.0).run(90)
        found, trials = cell.knee.factor, cell.knee.trials_total
        assert found > 2
        for name, value in change.items():
            setattr(cell, name, value)
        cell.run(0.5)
        assert (cell.knee.factor, cell.knee.state) == (found, State.WATCHES)
        cell.run(10)
        assert cell.knee.trials_total > trials


def test_a_change_in_a_trial_ends_it_without_a_step() -> None:
    cell = Cell(frames=80.0).run(4)
    assert (cell.knee.state, cell.knee.factor) == (State.TRIES, STEP)
    cell.senders = 9
    cell.run(0.5)
    assert (cell.knee.state, cell.knee.factor, cell.knee.steps_total) == (State.WATCHES, 1.0, 0)


@pytest.mark.parametrize("seconds_before", [4, 5, 8, 13, 30], ids=lambda s: f"after {s} s")
def test_it_is_where_it_was_after_a_time_without_bounds(seconds_before: int) -> None:
    """Round trips are unknown then, and long at first when windows are bounded again: a queue drains. Measured so, the
    factor as it is would be worse than any trial.
    """
    cell = Cell(frames=80.0).run(seconds_before)
    for _ in range(6):
        cell.rtt_known = False
        cell.run(50)
        assert cell.knee.factor == 1.0
        cell.rtt_known, cell.standing_us = True, 2 * SECOND_US
        cell.factors.clear()
        cell.run(50)
        assert set(cell.factors) <= {1.0, STEP, 1 / STEP}
        assert cell.knee.steps_total == 0


def test_a_time_without_bounds_does_not_shorten_a_rest() -> None:
    cell = Cell(frames=80.0).run(3600)
    trials = cell.knee.trials_total
    for _ in range(12):
        cell.rtt_known = False
        cell.run(50)
        cell.rtt_known = True
        cell.run(50)
    assert cell.knee.trials_total <= trials + 2 * 1200 / (RESTS_MOST_US / SECOND_US)


@pytest.mark.parametrize(
    "cell",
    [Cell(senders=1), Cell(full=0.3), Cell(rtt_known=False), Cell(senders=0)],
    ids=["one sender", "a light load", "no RTT", "no sender"],
)
def test_a_cell_from_which_nothing_can_be_learned_is_left_alone(cell: Cell) -> None:
    cell.run(300)
    assert cell.knee.trials_total == 0
    assert set(cell.factors) == {1.0}


def test_after_a_change_rests_are_short_again() -> None:
    cell = Cell(frames=80.0).run(3600)
    cell.senders = 11
    cell.run(20)
    assert cell.knee.state is State.RESTS
    trials = cell.knee.trials_total
    cell.run(40)
    assert cell.knee.trials_total == trials + 2


def test_from_its_longest_it_finds_back() -> None:
    cell = Cell(frames=2.0, capacity_bps=1e6).run(300)
    longest = cell.knee.factor
    cell.frames = 200.0
    cell.run(2 * RESTS_MOST_US / SECOND_US)
    assert cell.knee.factor < longest / STEP**2


def test_a_cell_is_full_by_both_directions() -> None:
    knee = Knee(WEIGHT)
    for second in range(10):
        knee.observe(CellFacts(10, 500e6, 200e6, 200e6, 10_000.0, 866e6), second * SECOND_US)
    assert knee.trials_total > 0


def test_what_was_learned_is_forgotten_when_nobody_has_sent_for_long() -> None:
    cell = Cell(frames=20.0).run(90)
    found = cell.knee.factor
    cell.senders = 0
    cell.run(FORGOTTEN_US / SECOND_US - 1)
    assert cell.knee.factor == found
    cell.run(2)
    assert cell.knee.factor == 1.0


def test_the_same_reports_give_the_same_factors() -> None:
    assert Cell(frames=20.0).run(200).factors == Cell(frames=20.0).run(200).factors


plants = st.builds(
    Cell,
    overhead_us=st.floats(50, 2_000),
    frame_us=st.floats(2, 400),
    frames=st.floats(1, 300),
    senders=st.integers(2, 100),
    wire_us=st.floats(500, 300_000),
    capacity_bps=st.just(1e3),
)


@settings(max_examples=60)
@given(plants)
def test_it_does_not_oscillate(cell: Cell) -> None:
    """In a cell that does not change: a step for each that the range has at most, then two trials between two rests."""
    cell.run(3 * (2 * WAYS + 4) + 10)
    assert cell.knee.state is State.RESTS
    assert cell.knee.steps_total <= WAYS
    assert all(SMALLEST <= factor <= LARGEST for factor in cell.factors)
    rested, trials = cell.knee.factor, cell.knee.trials_total
    cell.factors.clear()
    cell.run(20 * RESTS_MOST_US / SECOND_US)
    assert cell.knee.trials_total - trials <= 2 * 24
    assert cell.changes <= 4 * 24
    assert sum(factor == rested for factor in cell.factors) > 0.9 * len(cell.factors)


@settings(max_examples=30)
@given(plants, st.integers(0, 2**32))
def test_noise_does_not_drive_it_out_of_its_limits(cell: Cell, seed: int) -> None:
    state = [seed]

    def noise() -> float:
        state[0] = (state[0] * 1_103_515_245 + 12_345) % 2**31
        return 0.98 + 0.04 * state[0] / 2**31

    cell.noise = noise
    cell.run(600)
    assert all(SMALLEST <= factor <= LARGEST for factor in cell.factors)
    assert cell.knee.trials_total <= 200
