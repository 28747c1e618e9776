# SPDX-License-Identifier: Apache-2.0
"""What the paper states about its figures, what is measured here, and whether the two agree; pure.

Each statement has a criterion, a function below; the paper gives its figures as curves, so the limits are ours.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.paper_study import measures
from airbound_lab.paper_study.design import (
    AIRBOUND,
    GENERATIONS,
    HIGH_MS,
    LOW_MS,
    MANY,
    MIDDLE_MS,
    PAPER,
    UNCONTROLLED,
    Point,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airbound_lab.compare.matrix import Task
    from airbound_lab.figures.results import Run
    from airbound_lab.paper_study.design import Design
    from airbound_lab.settings.values import RateControl

FALLEN = 0.75
"""A total has fallen considerably if less than this share of its largest is left."""
FULL = 0.85
"""Of the largest total that one phone alone has: most of the bandwidth."""
NOTICEABLE = 1.02
"""A gain below this is none."""
NEAR_CLAMP = 0.9
INFLATED = 2.0
"""RTT over the wire's delay: considerably more."""
OPPOSITE = -0.3
"""Correlation of throughput and RTT."""
MOSTLY = 0.75
"""Share of the points, or of the samples, at which something must be so."""
GB_CLAMP_SEGS = GENERATIONS["gb"].cwnd_clamp_segs or 0
FEW = 3
"""Phones; more than twice as many are many."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of the paper."""

    figure: str
    stated: str
    measured: str
    agrees: bool


class Measured:
    """What a study measured with one rate control."""

    def __init__(self, design: Design, rate_control: RateControl, found: Mapping[Task, Run]) -> None:
        self.design = design
        self._rate_control = rate_control
        self._found = found

    def totals(self, generation: str, delay_ms: float, control: str) -> dict[int, float]:
        """Median of the total by number of phones."""
        points = measures.points(self.design, self._rate_control, generation, delay_ms, control)
        return {terminals: total.median for terminals, total in measures.curve(self.design, self._found, points)}

    def gains(self, generation: str, delay_ms: float) -> dict[int, float]:
        """Total with the paper's bounds over that without, by number of phones."""
        plain, bounded = (self.totals(generation, delay_ms, control) for control in (UNCONTROLLED, PAPER))
        return {terminals: bounded[terminals] / plain[terminals] for terminals in plain if terminals in bounded}

    def run(self, generation: str, delay_ms: float, terminals: int, control: str) -> Run | None:
        """Return the run that is shown over time."""
        return self.design.first(Point(self._rate_control, generation, delay_ms, terminals, control), self._found)

    def several(self, generation: str, control: str) -> Run | None:
        """Return the run with which the paper shows its middleware over time."""
        return self.run(generation, HIGH_MS, GENERATIONS[generation].several, control)

    def capacity_mbps(self) -> float:
        """Return the largest total of one phone alone, which has no collisions with other phones."""
        alone = [
            self.totals(generation, delay_ms, control).get(1, 0.0)
            for generation in self.design.generations
            for delay_ms in self.design.delays_ms
            for control in self.design.controls
        ]
        return max(alone, default=0.0)


class MissingRunsError(Exception):
    """A statement needs runs that there are not."""


def all_of(design: Design, rate_control: RateControl, found: Mapping[Task, Run]) -> list[Statement]:
    """Return the statements for which there are runs, in the order of the paper's measures."""
    measured = Measured(design, rate_control, found)
    statements = []
    for figure, stated, criterion in STATEMENTS:
        try:
            text, agrees = criterion(measured)
        except MissingRunsError:
            continue
        statements.append(Statement(figure, stated, text, agrees))
    return statements


def rows(statements: Sequence[Statement]) -> list[list[str]]:
    """Heading and a row for each statement."""
    return [
        ["the paper's statement, measured here", "figure", "agrees"],
        *(
            row
            for statement in statements
            for row in (
                [statement.stated, statement.figure, "yes" if statement.agrees else "no"],
                [f"  {statement.measured}", "", ""],
            )
        ),
    ]


Outcome = tuple[str, bool]


def _known(totals: dict[int, float], *terminals: int) -> dict[int, float]:
    if not totals or any(number not in totals for number in terminals):
        raise MissingRunsError
    return totals


def _run(found: Run | None) -> Run:
    if found is None:
        raise MissingRunsError
    return found


def _falls(generation: str, delay_ms: float) -> Callable[[Measured], Outcome]:
    """Criterion: less than FALLEN of the largest total is left with MANY phones."""

    def criterion(measured: Measured) -> Outcome:
        totals = _known(measured.totals(generation, delay_ms, UNCONTROLLED), MANY)
        best = max(totals, key=lambda number: totals[number])
        text = f"{totals[best]:.1f} Mb/s with {_phones(best)}, {totals[MANY]:.1f} with {MANY}"
        return text, totals[MANY] < FALLEN * totals[best]

    return criterion


def _phones(number: int) -> str:
    return "1 phone" if number == 1 else f"{number} phones"


def _peaks_differ(measured: Measured) -> Outcome:
    """Criterion: the total falls at the shorter delay, and is largest with fewer phones than at the longer one."""
    peaks = []
    for delay_ms in (LOW_MS, HIGH_MS):
        totals = _known(measured.totals("gb", delay_ms, UNCONTROLLED), MANY)
        peaks.append(max(totals, key=lambda number: totals[number]))
    _, falls = _falls("gb", LOW_MS)(measured)
    text = f"largest total at {LOW_MS:g} ms with {_phones(peaks[0])}, at {HIGH_MS:g} ms with {_phones(peaks[1])}"
    return text, falls and peaks[0] < peaks[1]


def _jb_falls_less(measured: Measured) -> Outcome:
    """Criterion: of the largest total, JB has more left with MANY phones than GB, at both delays."""
    parts, smaller = [], True
    for delay_ms in (LOW_MS, HIGH_MS):
        left = {}
        for generation in ("gb", "jb"):
            totals = _known(measured.totals(generation, delay_ms, UNCONTROLLED), MANY)
            left[generation] = totals[MANY] / max(totals.values())
        smaller = smaller and left["jb"] > left["gb"]
        parts.append(f"{delay_ms:g} ms: {100 * left['gb']:.0f} % left of GB's, {100 * left['jb']:.0f} % of JB's")
    return "; ".join(parts), smaller


def _jb_has_more_alone(measured: Measured) -> Outcome:
    """Criterion: the longer delay, one phone."""
    alone = [_known(measured.totals(generation, HIGH_MS, UNCONTROLLED), 1)[1] for generation in ("gb", "jb")]
    return f"one phone, {HIGH_MS:g} ms: GB {alone[0]:.1f} Mb/s, JB {alone[1]:.1f} Mb/s", alone[1] > NOTICEABLE * alone[
        0
    ]


def _window(run: Run, measured: Measured) -> tuple[float, float]:
    """Median of cwnd over phones and measured seconds, and mean RTT."""
    segs = [
        value
        for phone in run.phones
        for value in phone.series.cwnd_segs[measured.design.warmup_seconds :]
        if value is not None
    ]
    if not segs or run.rtt_mean_ms is None:
        raise MissingRunsError
    return statistics.median(segs), run.rtt_mean_ms


def _windows(
    generation: str, delay_ms: float, is_so: Callable[[float], bool], *, rtt_counts: bool = True
) -> Callable[[Measured], Outcome]:
    """Criterion: the median of cwnd is as stated and, if stated, the mean RTT is INFLATED, with MANY phones."""

    def criterion(measured: Measured) -> Outcome:
        segs, rtt_ms = _window(_run(measured.run(generation, delay_ms, MANY, UNCONTROLLED)), measured)
        agrees = is_so(segs) and (not rtt_counts or rtt_ms > INFLATED * delay_ms)
        return f"median cwnd {segs:.0f}, mean RTT {rtt_ms:.0f} ms", agrees

    return criterion


def _is_at_clamp(segs: float) -> bool:
    return segs >= NEAR_CLAMP * GB_CLAMP_SEGS


def _is_above_clamp(segs: float) -> bool:
    return segs > GB_CLAMP_SEGS


def opposition(run: Run) -> float:
    """Correlation of all phones' throughput with their mean RTT, over the seconds of a run from the second one on."""
    pairs = [
        (total, rtt)
        for total, rtt in zip(measures.totals_mbps(run)[1:], measures.rtts_ms(run)[1:], strict=True)
        if rtt is not None
    ]
    totals, rtts = [total for total, _ in pairs], [rtt for _, rtt in pairs]
    if len(set(totals)) < 2 or len(set(rtts)) < 2:  # noqa: PLR2004  (a correlation needs two values)
        raise MissingRunsError
    return statistics.correlation(totals, rtts)


def _opposite(generation: str) -> Callable[[Measured], Outcome]:
    """Criterion: throughput and RTT, second by second, have a correlation below OPPOSITE."""

    def criterion(measured: Measured) -> Outcome:
        value = opposition(_run(measured.run(generation, MIDDLE_MS, MANY, UNCONTROLLED)))
        return f"correlation {value:.2f}", value < OPPOSITE

    return criterion


def _uses_most(measured: Measured) -> Outcome:
    """Criterion: with bounds, FULL of what one phone alone can have."""
    capacity = measured.capacity_mbps()
    two = _known(measured.totals("gb", LOW_MS, PAPER), 2)[2]
    seven = _known(measured.totals("gb", HIGH_MS, PAPER), 7)[7]
    text = f"{LOW_MS:g} ms: {two:.1f} Mb/s with 2; {HIGH_MS:g} ms: {seven:.1f} with 7; one alone {capacity:.1f}"
    return text, min(two, seven) >= FULL * capacity


def _mean_gains(gains: dict[int, float]) -> tuple[float, float]:
    few = [gain for number, gain in gains.items() if number <= FEW]
    many = [gain for number, gain in gains.items() if number > 2 * FEW]
    if not few or not many:
        raise MissingRunsError
    return statistics.geometric_mean(few), statistics.geometric_mean(many)


def _gains_of(delay_ms: float, *, with_many: bool) -> Callable[[Measured], Outcome]:
    """Criterion: a gain, NOTICEABLE and the larger one of those of few and of many phones."""

    def criterion(measured: Measured) -> Outcome:
        few, many = _mean_gains(measured.gains("gb", delay_ms))
        wanted, other = (many, few) if with_many else (few, many)
        text = f"{few:.2f} times the total with up to {FEW}, {many:.2f} with {2 * FEW + 1} and more"
        return text, wanted > NOTICEABLE and wanted > other

    return criterion


def _gains_everywhere(measured: Measured) -> Outcome:
    """Criterion: NOTICEABLE at MOSTLY of all points of each delay."""
    parts, agrees = [], True
    for delay_ms in measured.design.delays_ms:
        gains = measured.gains("jb", delay_ms)
        if not gains:
            raise MissingRunsError
        gained = sum(gain > NOTICEABLE for gain in gains.values())
        agrees = agrees and gained >= MOSTLY * len(gains)
        mean = statistics.geometric_mean(gains.values())
        parts.append(f"{delay_ms:g} ms: more at {gained} of {len(gains)} points, {mean:.2f} times the total on average")
    return "; ".join(parts), agrees


def _within_bounds(generation: str) -> Callable[[Measured], Outcome]:
    """Criterion: MOSTLY of the samples of cwnd are within the bounds of that moment."""

    def criterion(measured: Measured) -> Outcome:
        samples = [
            low <= segs <= high
            for phone in _run(measured.several(generation, PAPER)).phones
            for segs, low, high in zip(
                phone.series.cwnd_segs, phone.series.bound_min_segs, phone.series.bound_max_segs, strict=True
            )
            if segs is not None and low is not None and high is not None
        ]
        if not samples:
            raise MissingRunsError
        share = statistics.fmean(samples)
        return f"{100 * share:.1f} % of {len(samples)} samples are within the bounds", share >= MOSTLY

    return criterion


def _rtt_is_lower(generation: str) -> Callable[[Measured], Outcome]:
    """Criterion: what the mean RTT is above the wire's delay is with bounds less than half of what it is without."""

    def criterion(measured: Measured) -> Outcome:
        controls = [control for control in (UNCONTROLLED, PAPER, AIRBOUND) if control in measured.design.controls]
        rtts_ms = {control: measured.several(generation, control) for control in controls}
        known = {control: run.rtt_mean_ms for control, run in rtts_ms.items() if run and run.rtt_mean_ms is not None}
        if UNCONTROLLED not in known or PAPER not in known:
            raise MissingRunsError
        text = ", ".join(f"{control} {rtt_ms:.0f} ms" for control, rtt_ms in known.items())
        return f"mean RTT: {text}", INFLATED * (known[PAPER] - HIGH_MS) < known[UNCONTROLLED] - HIGH_MS

    return criterion


STATEMENTS: tuple[tuple[str, str, Callable[[Measured], Outcome]], ...] = (
    ("5", "GB, 4 ms: with more phones the total falls considerably", _falls("gb", LOW_MS)),
    ("5", "GB, 256 ms: with more phones the total falls considerably", _falls("gb", HIGH_MS)),
    ("5", "GB: at how many phones it falls depends on the delay", _peaks_differ),
    ("6", "JB, 4 ms: with more phones the total falls considerably", _falls("jb", LOW_MS)),
    ("6", "JB, 256 ms: with more phones the total falls considerably", _falls("jb", HIGH_MS)),
    ("6", "JB falls less than GB", _jb_falls_less),
    ("5, 6", "JB has more than GB with few phones, whose windows do not fill the path", _jb_has_more_alone),
    ("7", "GB, 4 ms: cwnd is about its limit, the RTT far above the wire's", _windows("gb", LOW_MS, _is_at_clamp)),
    ("8", "GB, 256 ms: cwnd is about its limit", _windows("gb", HIGH_MS, _is_at_clamp, rtt_counts=False)),
    ("9", "JB, 4 ms: cwnd grows beyond that, the RTT is far above the wire's", _windows("jb", LOW_MS, _is_above_clamp)),
    (
        "10",
        "JB, 256 ms: cwnd grows beyond that, the RTT is far above the wire's",
        _windows("jb", HIGH_MS, _is_above_clamp),
    ),
    ("11", "GB, 16 ms: where throughput is high, the RTT is low", _opposite("gb")),
    ("12", "JB, 16 ms: where throughput is high, the RTT is low", _opposite("jb")),
    ("15", "GB, with bounds: most of the bandwidth at 4 ms with 2 phones, at 256 ms with 7", _uses_most),
    ("15", "GB, 4 ms: bounds gain mainly with few phones", _gains_of(LOW_MS, with_many=False)),
    ("15", "GB, 256 ms: bounds gain much with many phones", _gains_of(HIGH_MS, with_many=True)),
    ("16", "JB: bounds gain throughout, whatever the delay", _gains_everywhere),
    ("17", "GB: bounds limit cwnd from both sides", _within_bounds("gb")),
    ("18", "JB: bounds limit cwnd from both sides", _within_bounds("jb")),
    ("19", "GB: bounds prevent the long RTT", _rtt_is_lower("gb")),
    ("20", "JB: bounds prevent the long RTT", _rtt_is_lower("jb")),
)
"""The number of the paper's figure, its statement in our words, and the criterion."""
