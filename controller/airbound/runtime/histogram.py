# SPDX-License-Identifier: Apache-2.0
"""How often something took how long: counts by upper limit, for one thread.

prometheus_client's histogram takes a lock for each value and twice the time, and the event loop need not know who reads
what it measures.
"""

from bisect import bisect_left
from typing import NamedTuple

BOUNDS_S = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0)


class Distribution(NamedTuple):
    """A histogram at one moment: how many values were at most each of BOUNDS_S, then how many there were."""

    cumulative: tuple[int, ...]
    sum_s: float


class Histogram:
    """Counts durations, seconds."""

    __slots__ = ("_counts", "_sum_s")

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BOUNDS_S, seconds)] += 1
        self._sum_s += seconds

    def distribution(self) -> Distribution:
        """What was counted so far."""
        total, cumulative = 0, []
        for count in self._counts:
            total += count
            cumulative.append(total)
        return Distribution(tuple(cumulative), self._sum_s)
