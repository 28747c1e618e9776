# SPDX-License-Identifier: Apache-2.0
"""From the figures of a comparison's runs to who is best where, and by how much; pure.

A variant's figure under a condition is the median over the seeds, with the smallest and the largest. Two variants tie
if the ranges of their seeds overlap, or if their medians differ by no more than MARGIN.
"""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from airbound_lab.compare.matrix import Condition, Matrix, Task
    from airbound_lab.compare.record import Figures

MARGIN = 0.01
"""Of the larger median; of Jain's index, the difference itself. With one seed there is no range, and this is all."""
NOISE_RULE = (
    "Two modes tie if the ranges of their seeds overlap or their medians differ by at most 1 % (Jain's index: 0.01)."
)

TOTAL_SHARE = 1.0
TOTAL_SHARE_ALONE = 0.97
"""Of a rival's total: where several senders share the air, and where a phone is alone or RTS begin transmissions.
Bounds save contention, of which there is none there, or which costs next to nothing."""
LONG_RTT = 5.0
"""A rival with RTS whose RTT is so many times as long has its total by a queue, and is listed, not counted."""
RIVAL_SHARE = 0.95
FAIR = 0.99
CRITERION = (
    "Total at least that of each rival, of several TXOP limits (@txop=N) its better one, with one phone or with RTS "
    "0.97 of it; mean RTT at most that of any mode whose total is at least 0.95 of the subject's; Jain's index at "
    "least 0.99, or the largest. With RTS a rival's total does not count if its RTT is more than five times as long."
)
P95_IS_OF = "p95 is of TCP's smoothed RTT, sampled once a second in each sender, all senders together."

Verdict = Literal["win", "tie", "loss"]
VERDICTS: tuple[Verdict, ...] = ("win", "tie", "loss")


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that is compared."""

    key: str
    title: str
    unit: str
    decimals: int
    best: Literal["largest", "smallest"]
    value: Callable[[Figures], float | None]
    is_index: bool = False
    """Whether differences count, not ratios."""
    judged: bool = True
    """Whether it decides who is best; the others say the same in another unit, or are of one direction."""

    @property
    def larger_is_better(self) -> bool:
        """Whether the largest figure is the best one."""
        return self.best == "largest"

    def better(self, a: float, b: float) -> bool:
        """Whether a is better than b."""
        return a > b if self.larger_is_better else a < b

    def worse_by(self, value: float, best: float) -> float:
        """How much worse a value is than the best: a share of the best (0.5: half of it, or half as long again), or the
        difference of an index; never negative.
        """
        if self.is_index:
            return max(0.0, best - value)
        if not best:
            return 0.0
        return max(0.0, (1 - value / best) if self.larger_is_better else (value / best - 1))


def _rpm(found: Figures) -> float | None:
    return 60_000 / found.rtt_mean_ms if found.rtt_mean_ms else None


def _agentless_percent(found: Figures) -> float | None:
    return None if found.agentless_ratio is None else 100 * abs(found.agentless_ratio - 1)


TOTAL = Measure("total_mbps", "Total", "Mb/s", 1, "largest", lambda found: found.total_goodput_mbps)
JAIN = Measure("jain", "Jain's index", "", 3, "largest", lambda found: found.jain, is_index=True)
AIR_JAIN = Measure(
    "air_jain", "Jain's index of air times", "", 3, "largest", lambda f: f.air_jain, is_index=True, judged=False
)
RTT = Measure("rtt_mean_ms", "Mean RTT", "ms", 0, "smallest", lambda found: found.rtt_mean_ms)
RTT_P95 = Measure("rtt_p95_ms", "p95 RTT", "ms", 0, "smallest", lambda found: found.rtt_p95_ms)
RPM = Measure("rpm", "Round trips per minute", "RPM", 0, "largest", _rpm, judged=False)
UP = Measure("up_mbps", "Up", "Mb/s", 1, "largest", lambda found: found.up_mbps, judged=False)
DOWN = Measure("down_mbps", "Down", "Mb/s", 1, "largest", lambda found: found.down_mbps, judged=False)
UP_JAIN = Measure("up_jain", "Jain's index, up", "", 3, "largest", lambda f: f.up_jain, is_index=True, judged=False)
DOWN_JAIN = Measure(
    "down_jain", "Jain's index, down", "", 3, "largest", lambda f: f.down_jain, is_index=True, judged=False
)
RECOVERY = Measure("recovery_s", "Time to recover", "s", 0, "smallest", lambda found: found.recovery_s, judged=False)
AGENTLESS = Measure(
    "agentless_percent", "Without an agent, apart from with one", "%", 1, "smallest", _agentless_percent, judged=False
)
MEASURES = (TOTAL, JAIN, AIR_JAIN, RTT, RTT_P95, RPM, UP, DOWN, UP_JAIN, DOWN_JAIN, RECOVERY, AGENTLESS)
JUDGED = tuple(measure for measure in MEASURES if measure.judged)


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over the seeds."""

    median: float
    min: float
    max: float


def spread(values: Iterable[float | None]) -> Spread | None:
    """Median and range of what is known; None of nothing."""
    known = [value for value in values if value is not None]
    return Spread(statistics.median(known), min(known), max(known)) if known else None


@dataclass(frozen=True, slots=True)
class Row:
    """One condition: each variant's figures by the measure's key, as far as there are runs and figures."""

    condition: Condition
    figures: Mapping[str, Mapping[str, Spread]]
    runs: Mapping[str, int]

    def get(self, variant: str, measure: Measure) -> Spread | None:
        """Return a variant's figure."""
        return self.figures.get(variant, {}).get(measure.key)

    def known(self, measure: Measure) -> dict[str, Spread]:
        """Return each variant's figure, of those that have one."""
        found = {variant: self.get(variant, measure) for variant in self.figures}
        return {variant: figure for variant, figure in found.items() if figure is not None}

    def best(self, measure: Measure, *, but: str | None = None) -> str | None:
        """Return the variant with the best median, of equal ones the first; None if none has a figure."""
        best = None
        known = self.known(measure)
        for variant, figure in known.items():
            if variant != but and (best is None or measure.better(figure.median, known[best].median)):
                best = variant
        return best

    def leaders(self, measure: Measure) -> list[str]:
        """Return every variant whose median is the best one, to the decimals that are shown."""
        shown = {variant: round(figure.median, measure.decimals) for variant, figure in self.known(measure).items()}
        best = self.best(measure)
        return [variant for variant, median in shown.items() if best is not None and median == shown[best]]

    def worse_by(self, variant: str, measure: Measure) -> float | None:
        """Return how much worse than the best a variant is; None if it has no figure."""
        figure, best = self.get(variant, measure), self.best(measure)
        if figure is None or best is None:
            return None
        return measure.worse_by(figure.median, self.known(measure)[best].median)


def rows(matrix: Matrix, found: Mapping[Task, Figures]) -> list[Row]:
    """Put the runs' figures together, condition by condition, in the order of the matrix."""
    runs: dict[tuple[Condition, str], list[Figures]] = {}
    for task in matrix.tasks():
        if task in found:
            runs.setdefault((task.condition, task.variant.name), []).append(found[task])
    table = []
    for condition in matrix.conditions:
        runs_of_variant = {variant.name: runs.get((condition, variant.name), []) for variant in matrix.variants}
        figures = {
            name: {measure.key: value for measure in MEASURES if (value := spread(map(measure.value, several)))}
            for name, several in runs_of_variant.items()
        }
        table.append(Row(condition, figures, {name: len(several) for name, several in runs_of_variant.items()}))
    return table


def verdict(measure: Measure, mine: Spread, other: Spread) -> Verdict:
    """Whether one figure is better than another beyond the noise."""
    if mine.min <= other.max and other.min <= mine.max:
        return "tie"
    scale = 1.0 if measure.is_index else max(abs(mine.median), abs(other.median))
    if abs(mine.median - other.median) <= MARGIN * scale:
        return "tie"
    return "win" if measure.better(mine.median, other.median) else "loss"


def against(table: Sequence[Row], subject: str, measure: Measure, rival: str | None = None) -> Counter[Verdict]:
    """Count a subject's verdicts over all conditions, against one rival or against the best of all others."""
    counts: Counter[Verdict] = Counter(dict.fromkeys(VERDICTS, 0))
    for row in table:
        other = rival if rival is not None else row.best(measure, but=subject)
        mine, theirs = row.get(subject, measure), row.get(other, measure) if other is not None else None
        if mine is not None and theirs is not None:
            counts[verdict(measure, mine, theirs)] += 1
    return counts


@dataclass(frozen=True, slots=True)
class Shortfall:
    """In what one condition fails the criterion."""

    what: Literal["total", "rtt", "jain", "missing"]
    mine: float | None = None
    rival: str = ""
    rivals: float | None = None
    worse_by: float | None = None
    within_noise: bool = False
    counts: bool = True
    """Whether the criterion fails by it; else it is only listed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a subject meets the criterion under a condition."""

    condition: Condition
    shortfalls: tuple[Shortfall, ...]

    @property
    def met(self) -> bool:
        """Whether nothing counts that falls short."""
        return not any(shortfall.counts for shortfall in self.shortfalls)


def rival_of(variant: str) -> str:
    """Return a variant's name without the access point's TXOP limit, which is each rival's own choice."""
    mode, *settings = variant.split("@")
    return "@".join([mode, *(setting for setting in settings if not setting.startswith("txop="))])


def rivals(row: Row, subject: str) -> dict[str, str]:
    """Return each rival and, of its variants, the one with the largest total; without those that have no figure."""
    better: dict[str, str] = {}
    totals = row.known(TOTAL)
    for variant, total in totals.items():
        if variant != subject:
            before = better.setdefault(rival_of(variant), variant)
            if total.median > totals[before].median:
                better[rival_of(variant)] = variant
    return better


def judge(row: Row, subject: str) -> Judgement:
    """Apply the criterion, on medians; a shortfall within the noise is one, and marked."""
    total, rtt = row.get(subject, TOTAL), row.get(subject, RTT)
    totals, rtts = row.known(TOTAL), row.known(RTT)
    if total is None or rtt is None:
        return Judgement(row.condition, (Shortfall("missing"),))
    shortfalls = []
    rts = row.condition.rts_bytes is not None
    share = TOTAL_SHARE_ALONE if rts or row.condition.terminals == 1 else TOTAL_SHARE
    for rival in rivals(row, subject).values():
        if total.median < share * totals[rival].median:
            long = rts and rival in rtts and rtts[rival].median > LONG_RTT * rtt.median
            shortfalls.append(_shortfall("total", TOTAL, total, rival, totals[rival], counts=not long))
    quick = [
        name for name, other in rtts.items() if name != subject and totals[name].median >= RIVAL_SHARE * total.median
    ]
    first = min(quick, key=lambda name: rtts[name].median, default=subject)
    if rtt.median > rtts[first].median:
        shortfalls.append(_shortfall("rtt", RTT, rtt, first, rtts[first]))
    jain, fairest = row.get(subject, JAIN), row.best(JAIN)
    if jain is not None and fairest is not None and jain.median < min(FAIR, row.known(JAIN)[fairest].median):
        shortfalls.append(_shortfall("jain", JAIN, jain, fairest, row.known(JAIN)[fairest]))
    return Judgement(row.condition, tuple(shortfalls))


def _shortfall(
    what: Literal["total", "rtt", "jain"],
    measure: Measure,
    mine: Spread,
    rival: str,
    theirs: Spread,
    *,
    counts: bool = True,
) -> Shortfall:
    worse_by = measure.worse_by(mine.median, theirs.median)
    noise = verdict(measure, mine, theirs) == "tie"
    return Shortfall(what, mine.median, rival, theirs.median, worse_by, noise, counts)
