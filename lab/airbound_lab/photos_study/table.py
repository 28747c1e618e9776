# SPDX-License-Identifier: Apache-2.0
"""What the study of photos and a file says, as tables and JSON; pure.

Photos are done when the server has the last byte of the last one. Beside that, `sending` is without pauses: the sum of
the times from the start of a photo to its last byte at the server. A file's rate is over the time until its last byte;
max-min fair would be an equal part of what all servers received in the seconds that are wholly in that time, itself
included.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from airbound_lab.photos_study.design import FILE
from airbound_lab.settings.application import File

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.photos_study.design import Case

SCHEMA = 1
BITS, MEGA = 8, 1e6


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    seed: int
    status: str
    done_s: float | None
    """From the start to the last byte at the server; None: not within the run."""
    sending_s: float | None
    others_mbps: float | None
    """What the others' servers received meanwhile, all together; None: less than a whole second."""
    mbps: float | None = None
    """Of a file."""
    fair_mbps: float | None = None


class Condition(NamedTuple):
    """Where modes are compared."""

    cell: str
    terminals: int
    what: str


@dataclass(slots=True)
class Found:
    """The trials of one mode under one condition."""

    condition: Condition
    mode: str
    trials: list[Trial]

    def median(self, figure: Callable[[Trial], float | None]) -> float | None:
        """The median of a figure; a trial that did not end takes longer than all others. None: that is the median."""
        values = [math.inf if (value := figure(trial)) is None else value for trial in self.trials]
        found = statistics.median(values)
        return found if math.isfinite(found) else None


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Sort runs by condition and mode, in their order."""
    found: dict[tuple[Condition, str], Found] = {}
    for case, run in runs:
        condition = Condition(case.cell, case.terminals, case.what)
        found.setdefault((condition, case.mode), Found(condition, case.mode, [])).trials.append(trial(case, run))
    return list(found.values())


def trial(case: Case, run: Run) -> Trial:
    """Return the figures of a run."""
    [result] = run.applications or ()
    [action] = case.parameters.scenario.application_actions()
    last_s = [transfer.last_byte_s for transfer in result.transfers]
    wanted = 1 if isinstance(action.application, File) else getattr(action.application, "count", 0)
    ends_s = [end_s for end_s in last_s if end_s is not None]
    if len(ends_s) < wanted:
        return Trial(run.seed, result.status, None, None, None)
    done_s = max(ends_s) - result.start_s
    sending_s = sum(end_s - each.start_s for each, end_s in zip(result.transfers, ends_s, strict=True))
    # Series have the seconds by their ends.
    whole = range(math.ceil(result.start_s), math.floor(max(ends_s)))
    others_mbps = (
        statistics.fmean(sum(phone.series.goodput_mbps[second] for phone in run.phones[1:]) for second in whole)
        if whole
        else None
    )
    if not isinstance(action.application, File):
        return Trial(run.seed, result.status, done_s, sending_s, others_mbps)
    mbps = action.application.size_bytes * BITS / MEGA / done_s
    fair_mbps = None if others_mbps is None else (mbps + others_mbps) / case.terminals
    return Trial(run.seed, result.status, done_s, sending_s, others_mbps, mbps, fair_mbps)


def photo_rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode that uploads photos; medians, and their parts of the first mode's."""
    heading = [
        "cell",
        "phones",
        "what",
        "mode",
        "done after s",
        "of the first",
        "sending s",
        "of the first",
        "others Mb/s",
    ]
    table = [heading]
    for found in every:
        if found.condition.what == FILE:
            continue
        first = next(each for each in every if each.condition == found.condition)
        cells = []
        for figure in (_done_s, _sending_s):
            value, reference = found.median(figure), first.median(figure)
            ratio = value / reference if value is not None and reference else None
            cells += [_range(found, figure), "-" if ratio is None else f"{ratio:.2f}"]
        others = found.median(_others_mbps)
        table.append([*map(str, found.condition), found.mode, *cells, "-" if others is None else f"{others:.1f}"])
    return table


def file_rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode that uploads a file; medians."""
    table = [["cell", "phones", "mode", "done after s", "Mb/s", "max-min fair", "of that", "others Mb/s"]]
    for found in every:
        if found.condition.what != FILE:
            continue
        values = [found.median(figure) for figure in (_mbps, _fair_mbps, _of_fair, _others_mbps)]
        shown = ["-" if value is None else f"{value:.2f}" for value in values]
        cell, terminals, _ = found.condition
        table.append([cell, str(terminals), found.mode, _range(found, _done_s), *shown])
    return table


def _done_s(trial: Trial) -> float | None:
    return trial.done_s


def _sending_s(trial: Trial) -> float | None:
    return trial.sending_s


def _others_mbps(trial: Trial) -> float | None:
    return trial.others_mbps


def _mbps(trial: Trial) -> float | None:
    return trial.mbps


def _fair_mbps(trial: Trial) -> float | None:
    return trial.fair_mbps


def _of_fair(trial: Trial) -> float | None:
    return trial.mbps / trial.fair_mbps if trial.mbps is not None and trial.fair_mbps else None


def _range(found: Found, figure: Callable[[Trial], float | None]) -> str:
    """The median, with the smallest and the largest if there are several trials."""
    values = [figure(trial) for trial in found.trials]
    median = found.median(figure)
    middle = "not done" if median is None else f"{median:.2f}"
    if len(values) == 1:
        return middle
    known = [value for value in values if value is not None]
    least, most = (f"{extreme:.2f}" if known else "-" for extreme in (min(known, default=0), max(known, default=0)))
    return f"{middle} [{least}, {most if len(known) == len(values) else 'not done'}]"


def document(every: Iterable[Found]) -> dict[str, Any]:
    """JSON: all figures."""
    return {
        "schema": SCHEMA,
        "found": [
            found.condition._asdict() | {"mode": found.mode, "trials": [asdict(trial) for trial in found.trials]}
            for found in every
        ],
    }
