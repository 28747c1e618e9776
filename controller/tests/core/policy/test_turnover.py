# SPDX-License-Identifier: Apache-2.0

import itertools

import pytest

from airbound.core.policy.turnover import WINDOW_US, Turnover

SECOND_US = 1_000_000


def run(turnover: Turnover, seconds: int, senders: int, every_s: int = 0, start_s: int = 0) -> list[bool]:
    """A report a second; in each `every_s`-th one of the senders has stopped."""
    answers = []
    for second in range(start_s, start_s + seconds):
        stopped = bool(every_s) and second % every_s == 0
        before = turnover.allows
        changed = turnover.observe(senders, second * SECOND_US, one_stopped=stopped)
        assert changed is (turnover.allows != before)
        answers.append(turnover.allows)
    return answers


@pytest.mark.parametrize(("senders", "every_s"), [(2, 8), (3, 4), (5, 4), (10, 2), (20, 1)])
def test_windows_allow_for_one_where_senders_come_and_go(senders: int, every_s: int) -> None:
    answers = run(Turnover(), 120, senders, every_s)
    assert all(answers[40:])


@pytest.mark.parametrize(("senders", "every_s"), [(2, 0), (2, 30), (5, 12), (10, 8), (20, 4)])
def test_they_do_not_where_that_costs_next_to_nothing(senders: int, every_s: int) -> None:
    assert not any(run(Turnover(), 120, senders, every_s))


def test_it_ends_when_nobody_has_stopped_for_some_time() -> None:
    turnover = Turnover()
    assert run(turnover, 40, 2, 2)[-1]
    answers = run(turnover, 60, 2, start_s=40)
    assert answers[0]
    assert not any(answers[WINDOW_US // SECOND_US :])
    assert sum(a != b for a, b in itertools.pairwise(answers)) == 1


def test_near_the_threshold_it_does_not_flap() -> None:
    """What begins it is twice what keeps it."""
    turnover = Turnover()
    run(turnover, 40, 5, 4)
    answers = run(turnover, 200, 5, 7, start_s=40)
    assert all(answers)
    assert not any(run(Turnover(), 200, 5, 7))


def test_one_that_stops_now_and_then_is_nothing_and_no_sender_is_no_error() -> None:
    assert not any(run(Turnover(), 100, 0))
    turnover = Turnover()
    assert not turnover.observe(1, 0, one_stopped=True)
    assert not turnover.allows
