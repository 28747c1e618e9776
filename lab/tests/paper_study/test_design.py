# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.paper_study import design
from airbound_lab.paper_study.design import Design, Point


def test_a_generation_decides_the_table_and_the_window() -> None:
    modes = {
        (generation, control): Point("aarf", generation, 4.0, 1, control).variant
        for generation in design.GENERATIONS
        for control in design.CONTROLS
    }
    assert modes == {
        ("gb", "cubic"): "cubic@cwnd-clamp=63",
        ("gb", "paper"): "paper-gb@cwnd-clamp=63",
        ("gb", "airbound"): "airbound@cwnd-clamp=63",
        ("jb", "cubic"): "cubic",
        ("jb", "paper"): "paper-jb",
        ("jb", "airbound"): "airbound",
    }


def test_the_whole_study_has_every_combination_once() -> None:
    tasks = Design(seeds=(1, 2)).tasks()
    assert len(tasks) == len(set(tasks)) == 2 * (2 * 2 * 3 * 10 * 3)


def test_the_quick_study_also_has_what_the_paper_shows_over_time() -> None:
    tasks = design.QUICK.tasks()
    of_series = [task for task in tasks if (task.condition.terminals, task.condition.wired_delays_ms[0]) in
                 ((10, 16.0), (9, 256.0))]  # fmt: skip
    assert len(tasks) == len(set(tasks)) == 4 * 2 * 2 * 3 + len(of_series)
    assert sorted(task.variant.name for task in of_series) == [
        "airbound@cwnd-clamp=63", "cubic", "cubic@cwnd-clamp=63", "cubic@cwnd-clamp=63", "paper-gb@cwnd-clamp=63",
    ]  # fmt: skip
    assert len(replace(design.QUICK, has_series=False).tasks()) == 4 * 2 * 2 * 3


def test_what_is_shown_over_time_is_run_with_the_first_seed_only() -> None:
    tasks = Design(terminals=(1,), delays_ms=(4.0,), seeds=(3, 4)).tasks()
    assert {task.seed for task in tasks if task.condition.terminals > 1} == {3}


def test_without_control_there_is_no_run_with_it() -> None:
    tasks = replace(design.QUICK, controls=("cubic",)).tasks()
    assert {task.variant.mode for task in tasks} == {"cubic"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generations": ("ics",)}, "--generations: 'ics' is none of gb, jb"),
        ({"controls": ("cubic", "bdp")}, "--modes: 'bdp' is none of cubic, paper, airbound"),
        ({"terminals": (1, 1)}, "--terminals: each only once"),
        ({"rate_controls": ("aarf", "aarf")}, "--rate-control: each only once"),
        ({"terminals": (0,)}, "--terminals: 0: "),
        ({"delays_ms": (-1.0,)}, "--wired-delays[0]: -1.0: "),
        ({"seconds": 5}, "--warmup-seconds: 10: not below seconds"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        replace(design.QUICK, **changes).check()
    assert message in str(raised.value)
