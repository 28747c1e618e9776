# SPDX-License-Identifier: Apache-2.0
"""The figures of the study as a table and as JSON; pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airbound_lab.compare.matrix import YEARS
from airbound_lab.compare.ranking import spread
from airbound_lab.paper_study import statements
from airbound_lab.paper_study.design import GENERATIONS, Point
from airbound_lab.paper_study.measures import total_mbps
from airbound_lab.report import tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airbound_lab.compare.matrix import Task
    from airbound_lab.figures.results import Run
    from airbound_lab.paper_study.design import Design
    from airbound_lab.settings.values import RateControl

SCHEMA = 1
COLUMNS = "total Mb/s / mean of a phone / mean RTT ms"


def radios(rate_control: str) -> str:
    """Name a rate control, and whose it is."""
    return f"{rate_control} (radios of {YEARS[rate_control]})" if rate_control in YEARS else rate_control


def rows(design: Design, rate_control: RateControl, found: Mapping[Task, Run]) -> list[list[str]]:
    """Heading and a row for each generation, delay and number of phones; the median of the seeds."""
    table = [["phones", *design.controls]]
    for generation in design.generations:
        for delay_ms in design.delays_ms:
            heading = f"{GENERATIONS[generation].title}, {delay_ms:g} ms"
            table.append([heading, *[""] * len(design.controls)])
            for terminals in design.terminals:
                points = [Point(rate_control, generation, delay_ms, terminals, control) for control in design.controls]
                table.append([f"  {terminals}", *(_entry(design.runs(point, found), terminals) for point in points)])
    return table


def _entry(runs: Sequence[Run], terminals: int) -> str:
    total, rtt_ms = total_mbps(runs), spread(run.rtt_mean_ms for run in runs)
    if total is None or rtt_ms is None:
        return "-"
    text = tables.cell([run.total_goodput_mbps for run in runs], 1)
    return f"{text} / {total.median / terminals:.2f} / {rtt_ms.median:.0f}"


def document(design: Design, found: Mapping[Task, Run]) -> dict[str, Any]:
    """All figures and statements, as JSON."""
    return {
        "schema": SCHEMA,
        "design": asdict(design),
        "points": [
            {**asdict(point), "mode": point.mode, "cwnd_clamp_segs": GENERATIONS[point.generation].cwnd_clamp_segs,
             "runs": len(runs), **_measures(runs, point.terminals)}
            for rate_control in design.rate_controls
            for point in dict.fromkeys((*design.sweep(rate_control), *design.series(rate_control)))
            if (runs := design.runs(point, found))
        ],
        "statements": [
            {"rate_control": rate_control, **asdict(statement)}
            for rate_control in design.rate_controls
            for statement in statements.all_of(design, rate_control, found)
        ],
    }  # fmt: skip


def _measures(runs: Sequence[Run], terminals: int) -> dict[str, Any]:
    measures = {
        "total_mbps": total_mbps(runs),
        "mean_mbps": spread(run.total_goodput_mbps / terminals for run in runs),
        "jain": spread(run.jain for run in runs),
        "rtt_mean_ms": spread(run.rtt_mean_ms for run in runs),
        "rtt_p95_ms": spread(run.rtt_p95_ms for run in runs),
    }
    return {name: asdict(found) if found else None for name, found in measures.items()}
