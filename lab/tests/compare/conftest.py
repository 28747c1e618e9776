# SPDX-License-Identifier: Apache-2.0
"""Figures of comparisons, made up by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from airbound_lab.compare import matrix, ranking
from airbound_lab.compare.matrix import Axes, Matrix
from airbound_lab.compare.ranking import Row
from airbound_lab.compare.record import Figures

Seeds = Sequence[tuple[float, float | None, float | None]]
"""Of each seed: total, Jain's index, RTT."""

MakeRows = Callable[..., tuple[Matrix, list[Row]]]


def of_run(total_mbps: float, jain: float | None, rtt_ms: float | None, **changes: Any) -> Figures:
    """The figures of a run; its p95 RTT is twice the mean."""
    plain: dict[str, Any] = {
        "total_goodput_mbps": total_mbps,
        "jain": jain,
        "rtt_mean_ms": rtt_ms,
        "rtt_p95_ms": rtt_ms and 2 * rtt_ms,
        "rtt_ratio": None,
        "retransmits": 0,
        "phones_mbps": (),
        "wall_seconds": 1.0,
    }
    of_directions = dict.fromkeys(("up_mbps", "up_jain", "down_mbps", "down_jain", "recovery_s"))
    return Figures(**plain | of_directions | changes)


@pytest.fixture(scope="session")
def make_rows() -> MakeRows:
    """A comparison of as many conditions (1 phone, 2 phones, ...) as there are tables of variants' seeds."""

    def make(*conditions: Mapping[str, Seeds], **changes: Any) -> tuple[Matrix, list[Row]]:
        names = list(dict.fromkeys(name for variants in conditions for name in variants))
        seeds = range(1, 1 + max(len(seeds_figures) for variants in conditions for seeds_figures in variants.values()))
        axes = Axes(terminals=tuple(range(1, len(conditions) + 1)), rate_controls=("minstrel",))
        found = matrix.build(axes.conditions(), names, tuple(seeds))
        figures = {}
        for task in found.tasks():
            seeds_figures = conditions[task.condition.terminals - 1].get(task.variant.name, ())
            if task.seed <= len(seeds_figures):
                figures[task] = of_run(*seeds_figures[task.seed - 1], **changes)
        return found, ranking.rows(found, figures)

    return make
