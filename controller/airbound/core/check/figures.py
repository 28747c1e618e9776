# SPDX-License-Identifier: Apache-2.0
"""What two modes carried and how long round trips took, from turns of both; pure.

Traffic changes by itself, slowly: a phone comes, a file ends. So turns alternate, as observe, control, control,
observe, and each turn is compared with the one beside it that has the other mode. Of a pair of turns the difference
counts, as a ratio: d = ln(with / without). Of n pairs
    change = exp(mean d) - 1,  its interval = exp(mean d +- h) - 1,  h = sqrt((t(n - 1) s / sqrt(n))^2 + least^2)
with s the deviation of d, t Student's quantile for 95 %, and `least` what pairs of one check do not show: they are all
of the same ten minutes. Only an interval without zero is a finding.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIRS_LEAST = 3
STUDENT_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided quantiles of Student's t for 95 %, by degrees of freedom from 1 on; the last one for more as well."""
CARRIED_LEAST, RTT_LEAST = math.log(1.05), math.log(1.2)
"""In the lab a cell in which nothing changes carries up to 5 % more or less in another ten minutes, and round trips are
20 % longer or shorter: the search for the length of aggregates stands elsewhere, phones take turns in another order
(docs/studies/2026-11-28-whole-aggregates.md).
"""
MS_PER_MINUTE = 60_000


class Sample(NamedTuple):
    """A second of a cell in which somebody sent."""

    carried_bps: float
    rtt_us: float  # mean of the senders' smoothed RTTs; 0: none is known
    senders: int


@dataclass(frozen=True, slots=True)
class Turn:
    """Means of a turn in one mode, without its beginning."""

    controlled: bool
    carried_bps: float
    rtt_us: float  # 0: no sample
    senders: float


class Change(NamedTuple):
    """Of a figure, with Airbound over without: 0.1 is a tenth more. In 95 of 100 checks the interval has the truth."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> int:
        """1: more; -1: less; 0: no difference was found."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


@dataclass(frozen=True, slots=True)
class Result:
    """Of a check. Figures are means over the turns of a mode."""

    pairs: int
    senders: float
    carried_bps: tuple[float, float]  # without, with
    rtt_us: tuple[float, float]
    carried: Change
    rtt: Change | None  # none: too few RTTs are known


def turn(samples: Sequence[Sample], *, controlled: bool) -> Turn | None:
    """Means of a turn's samples; none if nobody sent."""
    if not samples:
        return None
    rtts = [sample.rtt_us for sample in samples if sample.rtt_us]
    return Turn(
        controlled,
        statistics.fmean(sample.carried_bps for sample in samples),
        statistics.fmean(rtts) if rtts else 0.0,
        statistics.fmean(sample.senders for sample in samples),
    )


def plan(turns: int) -> list[bool]:
    """Which turns are controlled: without, with, with, without, and so on, so that a drift favours none."""
    return [number % 4 in {1, 2} for number in range(turns)]


def pairs(turns: Sequence[Turn | None]) -> list[tuple[Turn, Turn]]:
    """Turns that follow each other, without and with; a turn in which nobody sent takes its pair with it."""
    found = []
    for first, second in zip(turns[::2], turns[1::2], strict=False):
        if first is not None and second is not None and first.controlled != second.controlled:
            found.append((second, first) if first.controlled else (first, second))
    return found


def result(turns: Sequence[Turn | None]) -> Result | None:
    """What the turns say; none if they are too few."""
    both = pairs(turns)
    carrying = [pair for pair in both if all(each.carried_bps > 0 for each in pair)]
    if len(carrying) < PAIRS_LEAST:
        return None
    with_rtt = [pair for pair in both if all(each.rtt_us for each in pair)]
    return Result(
        len(carrying),
        statistics.fmean(each.senders for pair in carrying for each in pair),
        _means([(without.carried_bps, with_.carried_bps) for without, with_ in carrying]),
        _means([(without.rtt_us, with_.rtt_us) for without, with_ in with_rtt]) if with_rtt else (0.0, 0.0),
        change([with_.carried_bps / without.carried_bps for without, with_ in carrying], CARRIED_LEAST),
        change([with_.rtt_us / without.rtt_us for without, with_ in with_rtt], RTT_LEAST)
        if len(with_rtt) >= PAIRS_LEAST
        else None,
    )


def _means(both: Sequence[tuple[float, float]]) -> tuple[float, float]:
    without, with_ = zip(*both, strict=True)
    return statistics.fmean(without), statistics.fmean(with_)


def change(ratios: Sequence[float], least: float) -> Change:
    """The formula above; at least two ratios, above 0. `least` is of a logarithm."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, count = statistics.fmean(logs), len(logs)
    quantile = STUDENT_95[min(count - 1, len(STUDENT_95)) - 1]
    half = math.hypot(quantile * statistics.stdev(logs) / math.sqrt(count), least)
    return Change(math.exp(mean) - 1, math.exp(mean - half) - 1, math.exp(mean + half) - 1)


def per_minute(rtt_us: float) -> float:
    """Round trips in a minute, as responsiveness under load is given (RPM)."""
    return MS_PER_MINUTE * 1000 / rtt_us if rtt_us else 0.0
