# SPDX-License-Identifier: Apache-2.0
"""What the study says, as tables, JSON and CSV; pure."""

from __future__ import annotations

import csv
import io
import statistics
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airbound_lab.handover_study.design import LIMIT
from airbound_lab.handover_study.lanes import Lane
from airbound_lab.handover_study.measures import Figures, figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from airbound_lab.handover_study.design import Case, Design, Handover
    from airbound_lab.handover_study.observed import Observed

SCHEMA = 1

TABLES: dict[str, tuple[str, Callable[[Figures], float | None]]] = {
    "silence": ("longest time without an arrival, s", lambda found: found.silence_s),
    "later": ("first record of after the losses: later than by UDP, s", lambda found: found.later_than_udp_s),
    "fresh": (
        "first record as fresh as by UDP: sent so long after UDP's first one, s",
        lambda found: found.fresh_after_s,
    ),
    "delay": ("worst delay of a record, s", lambda found: found.worst_delay_s),
}
"""By their names: what a table is of."""


def all_figures(design: Design, found: Mapping[Lane, Observed]) -> dict[Case, dict[str, Figures]]:
    """Return the figures of every case of which UDP and at least one rival are known."""
    by_case: dict[Case, dict[str, Figures]] = {}
    for case in design.cases():
        udp = found.get(Lane(case, LIMIT))
        if udp is None:
            continue
        known = ((name, found.get(Lane(case, name))) for name in design.rivals)
        by_case[case] = {name: figures(case, rival, udp) for name, rival in known if rival is not None}
    return by_case


def rows(
    design: Design, by_case: Mapping[Case, Mapping[str, Figures]], figure: Callable[[Figures], float | None]
) -> list[list[str]]:
    """Heading and a row for each handover: the median of the seeds, and the largest behind it."""
    table = [[*_heading(design), *design.rivals]]
    for handover in design.handovers():
        cells = [spread([figure(one) for one in _of(by_case, handover, name)]) for name in design.rivals]
        table.append([*_row(design, handover), *cells])
    return table


def cost_rows(design: Design, by_case: Mapping[Case, Mapping[str, Figures]]) -> list[list[str]]:
    """Heading and a row for each rival: what it sent for a record, and how records arrived, over all cases."""
    table = [["", "packets a record", "bytes a record", "never arrived", "arrived again", "behind a newer one"]]
    for name in design.rivals:
        every = [(case, found[name]) for case, found in by_case.items() if name in found]
        records = sum(case.handover.records() for case, _ in every)
        if not records:
            continue
        totals = [sum(pick(one) for _, one in every) for pick in _COSTS]
        table.append([name, *(f"{total / records:.2f}" for total in totals[:2]), *(str(total) for total in totals[2:])])
    return table


_COSTS: tuple[Callable[[Figures], int], ...] = (
    lambda found: found.packets,
    lambda found: found.bytes,
    lambda found: found.lost,
    lambda found: found.again,
    lambda found: found.late,
)


def spread(values: Sequence[float | None]) -> str:
    """Return median and largest; a value that is missing is longer than any."""
    if not values:
        return "-"
    known = sorted(float("inf") if value is None else value for value in values)
    middle, largest = statistics.median_high(known), known[-1]
    return f"{_seconds(middle)} ({_seconds(largest)})"


def _seconds(value: float) -> str:
    return "never" if value == float("inf") else f"{round(value, 2) + 0.0:.2f}"  # no -0.00


_AXES: tuple[tuple[str, Callable[[Design], tuple[float, ...]], Callable[[Handover], float]], ...] = (
    ("RTT ms", lambda design: design.rtts_ms, lambda handover: handover.rtt_ms),
    ("queue s", lambda design: design.before_s, lambda handover: handover.before_s),
    ("lost s", lambda design: design.lost_s, lambda handover: handover.lost_s),
    ("held s", lambda design: design.held_s, lambda handover: handover.held_s),
    ("after s", lambda design: design.after_s, lambda handover: handover.after_s),
    ("down s", lambda design: design.down_shifts_s, lambda handover: handover.down_shift_s),
)


def _heading(design: Design) -> list[str]:
    return [name for name, values, _ in _AXES if _shown(name, values(design))]


def _row(design: Design, handover: Handover) -> list[str]:
    return [f"{value(handover):g}" for name, values, value in _AXES if _shown(name, values(design))]


def _shown(name: str, values: tuple[float, ...]) -> bool:
    """Whether a column is needed: outages always, others if there is more than one, or not zero."""
    return name == "lost s" or len(values) > 1 or values[0] != 0


def _of(by_case: Mapping[Case, Mapping[str, Figures]], handover: Handover, rival: str) -> list[Figures]:
    return [found[rival] for case, found in by_case.items() if case.handover == handover and rival in found]


def document(by_case: Mapping[Case, Mapping[str, Figures]], statements: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """JSON: every figure of every case and rival, and what was checked."""
    return {
        "schema": SCHEMA,
        "cases": [
            asdict(case.handover)
            | {
                "seed": case.seed,
                "loss_at_s": case.handover.loss_at_s(case.seed),
                "complete_s": case.handover.complete_s(case.seed),
                "rivals": {name: asdict(one) for name, one in found.items()},
            }
            for case, found in by_case.items()
        ],
        "statements": list(statements),
    }


CSV_COLUMNS = (
    *("rtt_ms", "before_s", "lost_s", "held_s", "after_s", "down_shift_s", "seed", "rival", "number"),
    *("due_s", "written_s", "arrived_s"),
)


def records_csv(found: Mapping[Lane, Observed]) -> str:
    """CSV: a line for each record of each lane; what never happened is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for lane, rival in found.items():
        handover = lane.case.handover
        where = [
            *(handover.rtt_ms, handover.before_s, handover.lost_s, handover.held_s),
            *(handover.after_s, handover.down_shift_s, lane.case.seed, lane.rival),
        ]
        for number, record in enumerate(rival.lane.records):
            times_us = (record.due_us, record.written_us, record.arrived_us)
            times = ["" if us is None or us < 0 else f"{us / 1e6:.6f}" for us in times_us]
            writer.writerow([*where, number, *times])
    return out.getvalue()
