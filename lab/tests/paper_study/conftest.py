# SPDX-License-Identifier: Apache-2.0
"""A study whose figures are chosen by the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab.compare.matrix import Task
from airbound_lab.figures.results import Results, Run

if TYPE_CHECKING:
    from airbound_lab.paper_study.design import Design, Point

Study = dict[Task, Run]
MakeStudy = Callable[..., Study]


@pytest.fixture(scope="session")
def make_study(make_results: Callable[..., Results]) -> MakeStudy:
    """All runs of a study; a function of the point and the seed gives the total, and if wanted changes the run."""

    def make(
        design: Design,
        total_mbps_of: Callable[[Point, int], float],
        change: Callable[[Point, Run], Run] = lambda _, run: run,
    ) -> Study:
        found = {}
        for rate_control in design.rate_controls:
            for point in (*design.sweep(rate_control), *design.series(rate_control)):
                for seed in design.seeds:
                    [run] = make_results(
                        terminals=point.terminals, wired_delays_ms=(point.delay_ms,), modes=(point.mode,),
                        seeds=(seed,), seconds=design.seconds, warmup_seconds=design.warmup_seconds,
                    ).runs  # fmt: skip
                    run = replace(run, total_goodput_mbps=total_mbps_of(point, seed))
                    found[design.task(point, seed)] = change(point, run)
        return found

    return make
