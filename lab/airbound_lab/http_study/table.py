# SPDX-License-Identifier: Apache-2.0
"""What the study of HTTP in a cell says, as tables and JSON; pure.

A rate is what ended in the time that was given, over that time. Quantiles are of all transactions of all seeds; one
that had not ended is in none of them, so `longest` is of both.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from airbound_lab.figures.measure import mean
from airbound_lab.settings.application import Http

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.http_study.design import Case

SCHEMA = 1
P99 = 0.99


class Condition(NamedTuple):
    """What modes are compared under."""

    cell: str
    delay_ms: float
    uploads: int
    transactions: str


@dataclass(slots=True)
class Found:
    """What one mode has under one condition; of each seed one entry."""

    condition: Condition
    mode: str
    seeds: list[int] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)
    durations_ms: list[tuple[float, ...]] = field(default_factory=list)
    unfinished_ms: list[tuple[float, ...]] = field(default_factory=list)
    uploads_mbps: list[float] = field(default_factory=list)
    """The total of the uploads meanwhile, and the mean of their smoothed RTTs, which are sampled each second."""
    uploads_rtt_ms: list[float | None] = field(default_factory=list)

    @property
    def every_ms(self) -> list[float]:
        """All durations."""
        return sorted(duration for durations in self.durations_ms for duration in durations)

    @property
    def longest_ms(self) -> float:
        """Of those that ended and those that did not."""
        return max([*self.every_ms, *(duration for durations in self.unfinished_ms for duration in durations)])


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Sort what runs have by condition, then mode, each in the order in which it comes first."""
    found: dict[tuple[Condition, str], Found] = {}
    for case, run in runs:
        actions = case.parameters.scenario.application_actions()
        for name, action, result in zip(case.transactions, actions, run.applications or (), strict=True):
            if not isinstance(action.application, Http) or result.transactions is None:
                raise TypeError(f"{case}: {name} is no HTTP")
            condition = Condition(case.cell, case.delay_ms, case.uploads, name)
            own = found.setdefault((condition, case.mode), Found(condition, case.mode))
            own.seeds.append(run.seed)
            own.per_s.append(len(result.transactions.durations_ms) / action.application.length_s)
            own.durations_ms.append(result.transactions.durations_ms)
            own.unfinished_ms.append(result.transactions.unfinished_ms)
            # Series have the seconds by their ends.
            meanwhile = slice(round(action.at_s), round(action.at_s + action.application.length_s))
            series = [phone.series for phone in run.phones[1:]]
            own.uploads_mbps.append(sum(statistics.fmean(one.goodput_mbps[meanwhile]) for one in series))
            own.uploads_rtt_ms.append(
                mean([rtt for one in series for rtt in one.srtt_ms[meanwhile] if rtt is not None])
            )
    conditions = list(dict.fromkeys(condition for condition, _ in found))
    return sorted(found.values(), key=lambda one: conditions.index(one.condition))


def quantile(ascending: Sequence[float], part: float) -> float | None:
    """The smallest value that so large a part of all does not exceed; None of nothing."""
    return ascending[max(math.ceil(part * len(ascending)) - 1, 0)] if ascending else None


def rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode under each condition. The rate is the mean of the seeds, with the smallest and
    the largest, then as a multiple of the first mode's.
    """
    table = [[
        *("cell", "delay ms", "uploads", "transactions", "mode", "a second", "of the first", "ended"),
        *("median ms", "p99 ms", "longest ms", "uploads Mb/s", "their RTT ms"),
    ]]  # fmt: skip
    for found in every:
        reference = next(one for one in every if one.condition == found.condition)
        rate, first = statistics.fmean(found.per_s), statistics.fmean(reference.per_s)
        cell, delay_ms, uploads, transactions = found.condition
        quantiles = (quantile(found.every_ms, part) for part in (0.5, P99))
        rtt_ms = mean([rtt for rtt in found.uploads_rtt_ms if rtt is not None])
        table.append([
            *(cell, f"{delay_ms:g}", str(uploads), transactions, found.mode),
            _rate(rate) + (f" ({_rate(min(found.per_s))} to {_rate(max(found.per_s))})" if found.seeds[1:] else ""),
            f"{rate / first:.2f}" if first else "-",
            str(len(found.every_ms)),
            *("-" if value is None else f"{value:.1f}" for value in quantiles),
            f"{found.longest_ms:.1f}",
            f"{statistics.fmean(found.uploads_mbps):.1f}" if uploads else "-",
            "-" if rtt_ms is None else f"{rtt_ms:.1f}",
        ])  # fmt: skip
    return table


def _rate(per_s: float) -> str:
    return f"{per_s:.{3 if per_s < 1 else 1}f}"


def document(every: Iterable[Found]) -> dict[str, Any]:
    """JSON: all figures but the single transactions, of which there are the quantiles."""
    documents = []
    for found in every:
        data = asdict(found)
        del data["condition"], data["durations_ms"], data["unfinished_ms"]
        ascending = found.every_ms
        documents.append(
            found.condition._asdict()
            | data
            | {
                "ended": [len(durations) for durations in found.durations_ms],
                "median_ms": quantile(ascending, 0.5),
                "p99_ms": quantile(ascending, P99),
                "longest_ms": found.longest_ms,
            }
        )
    return {"schema": SCHEMA, "found": documents}
