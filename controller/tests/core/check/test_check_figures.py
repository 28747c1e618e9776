# SPDX-License-Identifier: Apache-2.0
"""Intervals have the truth as often as they claim, and a drift of the traffic is no difference."""

import random

import pytest

from airbound.core.check import figures
from airbound.core.check.figures import Sample, Turn

TURNS = 12


def turns(drawn: random.Random, gain: float, *, noise: float, drift: float = 0.0) -> list[Turn | None]:
    """Turns of a cell that carries 100 Mb/s without Airbound, and RTTs of 200 ms; a fifth of these with it."""
    made: list[Turn | None] = []
    for number, controlled in enumerate(figures.plan(TURNS)):
        carried_bps = 100e6 * (1 + drift * number) * (1 + gain * controlled) * drawn.lognormvariate(0, noise)
        made.append(Turn(controlled, carried_bps, 40e3 if controlled else 200e3, 4.0))
    return made


def checked(made: list[Turn | None]) -> figures.Result:
    found = figures.result(made)
    assert found is not None
    return found


def test_turns_alternate_and_both_modes_have_as_many_and_the_same_mean_time() -> None:
    plan = figures.plan(TURNS)
    assert plan[:4] == [False, True, True, False]
    assert sum(plan) == TURNS // 2
    times = [[number for number, controlled in enumerate(plan) if controlled is mode] for mode in (False, True)]
    assert sum(times[0]) == sum(times[1])


@pytest.mark.parametrize("gain", [0.3, 0.0, -0.2])
def test_the_interval_has_the_truth_in_95_of_100_checks(gain: float) -> None:
    drawn = random.Random(1)  # noqa: S311  # repeatable
    found = [checked(turns(drawn, gain, noise=0.1)).carried for _ in range(1000)]
    covered = sum(change.low <= gain <= change.high for change in found) / len(found)
    assert 0.93 < covered < 0.97
    wrong = sum(change.verdict * gain < 0 for change in found)
    assert wrong == 0
    if not gain:
        assert sum(change.verdict != 0 for change in found) / len(found) < 0.07


def test_equal_turns_say_no_more_than_a_check_can_know() -> None:
    """A cell in which nothing changes carries a little more or less another time, by where searches stand."""
    drawn, gain = random.Random(5), 0.05  # noqa: S311
    found = []
    for _ in range(300):
        of_this_time = (1 + gain) * drawn.uniform(1 / 1.05, 1.05) - 1
        found.append(checked(turns(drawn, of_this_time, noise=0.001)))
    assert sum(each.carried.low <= gain <= each.carried.high for each in found) / len(found) > 0.95
    rtts = [each.rtt for each in found if each.rtt is not None]
    assert len(rtts) == len(found)
    for rtt in rtts:
        assert rtt.mean == pytest.approx(-0.8)
        assert (1 + rtt.low, 1 + rtt.high) == pytest.approx((0.2 / 1.2, 0.2 * 1.2))


def test_a_slow_drift_is_no_difference() -> None:
    drawn = random.Random(2)  # noqa: S311
    found = [checked(turns(drawn, 0.0, noise=0.02, drift=0.02)).carried for _ in range(200)]
    assert sum(change.verdict != 0 for change in found) / len(found) < 0.07


def test_figures_of_both_modes() -> None:
    found = checked(turns(random.Random(3), 0.5, noise=0.001))  # noqa: S311
    assert found.pairs == 6
    assert found.carried_bps == pytest.approx((100e6, 150e6), rel=0.01)
    assert found.rtt_us == (200e3, 40e3)
    assert found.carried.mean == pytest.approx(0.5, abs=0.01)
    assert found.rtt is not None
    assert found.rtt.mean == pytest.approx(-0.8)
    assert found.rtt.verdict == -1
    assert figures.per_minute(200e3) == 300


def test_a_turn_without_senders_takes_its_pair_and_too_few_pairs_are_no_result() -> None:
    made = turns(random.Random(4), 0.1, noise=0.01)  # noqa: S311
    made[0] = None
    assert checked(made).pairs == 5
    for number in (2, 4, 6):
        made[number] = None
    assert figures.result(made) is None
    assert figures.turn([], controlled=True) is None


def test_unknown_rtts_do_not_count() -> None:
    made = figures.turn([Sample(1e6, 0.0, 2), Sample(3e6, 10e3, 4)], controlled=False)
    assert made == Turn(controlled=False, carried_bps=2e6, rtt_us=10e3, senders=3.0)
    silent = [Turn(controlled, 1e6, 0.0, 2.0) for controlled in figures.plan(TURNS)]
    found = figures.result(silent)
    assert found is not None
    assert found.rtt is None
