# SPDX-License-Identifier: Apache-2.0
"""Whether a figure grows over time: a straight line through samples, and how sure its slope is. Opens nothing."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95
SAMPLES_MIN = 5


@dataclass(frozen=True, slots=True)
class Trend:
    """A slope per second, with the bounds of its confidence interval, and the line's value at the first sample."""

    slope_per_s: float
    low_per_s: float
    high_per_s: float
    start: float

    @property
    def grows(self) -> bool:
        """Whether zero is below the confidence interval: of figures that do not grow, one in 40 does so by chance."""
        return self.low_per_s > 0


def fit(times_s: Sequence[float], values: Sequence[float]) -> Trend:
    """Least squares. Neighbouring samples of memory are alike, so there is less in them than their number says: the
    variance of the slope is multiplied by (1 + r) / (1 - r), and the degrees of freedom are divided by it, where r is
    the autocorrelation of the residuals at lag 1 (Bence 1995, "Analysis of short time series").

    Raises:
        ValueError: there are fewer than five samples, or they are of one moment.
    """
    count = len(times_s)
    if count < SAMPLES_MIN or count != len(values):
        raise ValueError(f"{count} times and {len(values)} values: expected at least {SAMPLES_MIN} of each")
    mean_s, mean = math.fsum(times_s) / count, math.fsum(values) / count
    spread = math.fsum((time_s - mean_s) ** 2 for time_s in times_s)
    if not spread:
        raise ValueError("all samples are of one moment")
    pairs = list(zip(times_s, values, strict=True))
    slope = math.fsum((time_s - mean_s) * (value - mean) for time_s, value in pairs) / spread
    residuals = [value - mean - slope * (time_s - mean_s) for time_s, value in pairs]
    squares = math.fsum(residual**2 for residual in residuals)
    inflation = _inflation(residuals, squares)
    freedom = max(1.0, count / inflation - 2)
    error = math.sqrt(squares / (count - 2) / spread * inflation)
    half = student_quantile((1 + CONFIDENCE) / 2, freedom) * error
    return Trend(slope, slope - half, slope + half, mean + slope * (times_s[0] - mean_s))


def _inflation(residuals: Sequence[float], squares: float) -> float:
    if not squares:
        return 1.0
    products = (one * other for one, other in itertools.pairwise(residuals))
    r = min(max(math.fsum(products) / squares, 0.0), 0.95)
    return (1 + r) / (1 - r)


def student_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t distribution above one half: exact for one and two degrees of freedom, from three on to
    3 % by its expansion around the normal distribution (Abramowitz and Stegun 26.7.5); between them that for the next
    smaller number, which is larger.
    """
    if freedom < 2:  # noqa: PLR2004  # degrees of freedom
        return math.tan(math.pi * (probability - 0.5))
    if freedom < 3:  # noqa: PLR2004
        twice = 2 * probability - 1
        return twice * math.sqrt(2 / (1 - twice**2))
    z = NormalDist().inv_cdf(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
