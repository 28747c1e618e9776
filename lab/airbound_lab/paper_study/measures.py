# SPDX-License-Identifier: Apache-2.0
"""Measures of the study: by number of phones, and of one run over time; pure."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from airbound_lab.compare.ranking import Spread, spread
from airbound_lab.paper_study.design import Point

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airbound_lab.compare.matrix import Task
    from airbound_lab.figures.results import Run
    from airbound_lab.paper_study.design import Design
    from airbound_lab.settings.values import RateControl


def total_mbps(runs: Sequence[Run]) -> Spread | None:
    """Total goodput of runs that differ in their seed only."""
    return spread(run.total_goodput_mbps for run in runs)


def points(design: Design, rate_control: RateControl, generation: str, delay_ms: float, control: str) -> list[Point]:
    """The points of one curve."""
    return [Point(rate_control, generation, delay_ms, terminals, control) for terminals in design.terminals]


def curve(design: Design, found: Mapping[Task, Run], points: Sequence[Point]) -> list[tuple[int, Spread]]:
    """Total goodput by number of phones, as far as there are runs."""
    totals = ((point.terminals, total_mbps(design.runs(point, found))) for point in points)
    return [(terminals, total) for terminals, total in totals if total is not None]


def totals_mbps(run: Run) -> list[float]:
    """Goodput of all phones, second by second."""
    return [sum(values) for values in zip(*(phone.series.goodput_mbps for phone in run.phones), strict=True)]


def rtts_ms(run: Run) -> list[float | None]:
    """Mean of the phones' smoothed RTT, second by second; None before the first sample."""
    seconds = zip(*(phone.series.srtt_ms for phone in run.phones), strict=True)
    known = [[rtt_ms for rtt_ms in values if rtt_ms is not None] for values in seconds]
    return [statistics.fmean(values) if values else None for values in known]
