# SPDX-License-Identifier: Apache-2.0
"""What the study of `airbound check` says, as a table and JSON; pure.

A check is right about a figure if its interval of 95 % has the change that is so, and wrong in sign if it found more
where less is so, or less where more is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound_lab.check_study.design import Case, Cell, Part
    from airbound_lab.figures.checked import Change
    from airbound_lab.figures.results import Run

SCHEMA = 1
CONFIDENCE = 0.95
FIGURES = ("carried", "rtt")


@dataclass(frozen=True, slots=True)
class Figure:
    """One of a cell: the change that is so, and what the check said; none: that it has no result."""

    truth: float
    said: Change | None

    @property
    def is_right(self) -> bool:
        """Whether the interval has the truth."""
        return self.said is not None and self.said.has(self.truth)

    @property
    def is_wrong_in_sign(self) -> bool:
        """Whether it found the opposite."""
        return self.said is not None and self.said.sign * self.truth < 0


@dataclass(frozen=True, slots=True)
class Found:
    """Of one cell and seed."""

    cell: Cell
    seed: int
    carried: Figure
    rtt: Figure


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Put the runs of each cell together; a cell of which one is missing is left out."""
    by_cell: dict[tuple[Cell, int], dict[Part, Run]] = {}
    for case, run in runs:
        by_cell.setdefault((case.cell, run.seed), {})[case.part] = run
    found = []
    for (cell, seed), parts in by_cell.items():
        if {"check", "without", "with"} <= parts.keys():
            before, after, check = parts["without"], parts["with"], parts["check"].check
            carried = Figure(
                after.total_goodput_mbps / before.total_goodput_mbps - 1, None if check is None else check.carried
            )
            rtt = Figure(_ratio(after.rtt_mean_ms, before.rtt_mean_ms) - 1, None if check is None else check.rtt)
            found.append(Found(cell, seed, carried, rtt))
    return found


def _ratio(after: float | None, before: float | None) -> float:
    return after / before if after is not None and before else math.nan


def rows(found: Sequence[Found]) -> list[list[str]]:
    """Heading, and a row for each cell."""
    heads = ["", "carried", "said", "", "RTT", "said", ""]
    return [heads, *([each.cell.name, *_columns(each.carried), *_columns(each.rtt)] for each in found)]


def _columns(figure: Figure) -> tuple[str, str, str]:
    if figure.said is None:
        return f"{figure.truth:+.1%}", "no result", "no"
    word = "wrong sign" if figure.is_wrong_in_sign else "" if figure.is_right else "not in it"
    return f"{figure.truth:+.1%}", f"{figure.said.low:+.1%} to {figure.said.high:+.1%}", word


def summary(found: Sequence[Found]) -> str:
    """How many are right, and whether those are enough: as many as the confidence says."""
    lines = []
    for name in FIGURES:
        figures = _figures(found, name)
        right, wrong = sum(each.is_right for each in figures), sum(each.is_wrong_in_sign for each in figures)
        lines.append(f"{name}: the interval has what is so in {right} of {len(figures)}, {wrong} of wrong sign")
    return "\n".join(lines)


def complaints(found: Sequence[Found]) -> list[str]:
    """What is not as it is to be."""
    complaints = []
    for name in FIGURES:
        figures = _figures(found, name)
        least = math.floor(CONFIDENCE * len(figures))
        right = sum(each.is_right for each in figures)
        if right < least:
            complaints.append(f"{name}: right in {right}, expected {least}")
        if any(each.is_wrong_in_sign for each in figures):
            complaints.append(f"{name}: of wrong sign")
    return complaints


def _figures(found: Sequence[Found], name: str) -> list[Figure]:
    return [each.carried if name == "carried" else each.rtt for each in found]


def document(found: Sequence[Found]) -> dict[str, Any]:
    """All of it, for JSON."""
    return {
        "schema": SCHEMA,
        "cells": [
            asdict(each) | {"cell": each.cell._asdict(), "right": {n: getattr(each, n).is_right for n in FIGURES}}
            for each in found
        ],
    }
