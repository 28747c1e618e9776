# SPDX-License-Identifier: Apache-2.0
"""Senders that nothing limits (no agent, no clamp, UDP), and what the others' windows must be beside them.

A window that is just large enough for its share, where all windows are limited, is too small beside a sender whose
window is not: after each turn it is empty for a round trip, in which the other one has several turns. So where such
senders get more of their shares than those that are limited, the maxima of the limited ones grow together, by a factor,
until they get as much:

    harm    = what the unlimited get of their shares / what the limited get of theirs
              means over those that want more: of the limited ones whose windows are full, of the others that use at
              least CLAIMS of their shares
    begins    when it has been above ABOVE for BEGINS_US
    factor    FIRST at the beginning, then STEP times as much: after STEP_US in which the harm was above FAR_ABOVE, or
              if it was above ENOUGH in the mean over MEASURED_US, of which the first second does not count
    ends      bounds, beyond LARGEST; and at once where the harm is above HOPELESS, at the beginning all the time or
              later in the mean over STEP_US: for RAISED_US windows are raised, and then there are no bounds
    returns   when none of the unlimited has wanted CLAIMS of its share for LINGERS_US: bounds are as computed

It only grows while it is in force: below the factor that makes the parts equal there is harm again, and a search
downwards would swing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airbound.core.addresses import Mac
from airbound.core.policy import UNBOUNDED

ABOVE, FAR_ABOVE, HOPELESS, ENOUGH, CLAIMS = 1.3, 1.6, 3.0, 1.1, 0.7
BEGINS_US, STEP_US, SETTLED_US, MEASURED_US, LINGERS_US = 1_500_000, 1_500_000, 1_000_000, 3_000_000, 3_000_000
RAISED_US = 3_000_000
FIRST, STEP, LARGEST = 2.0, 1.5, 16.0
LEAST = 0.01  # of its share, that a limited one is taken to get


@dataclass(slots=True)
class Unlimited:
    """Of one cell."""

    mac: Mac = b""  # who of them takes most; empty while maxima are as computed
    factor: float = 1.0  # of the others' maxima; UNBOUNDED: they are about to end, or have ended
    ended: bool = False  # whether there are no bounds any more
    begun_total: int = 0
    _above_since_us: int = 0  # 0: it is not above
    _hopeless: bool = False  # whether it has been above HOPELESS since then
    _claimed_us: int = 0
    _stepped_us: int = 0
    _sum: float = 0.0  # of the harm since the last step
    _count: int = 0

    def observe(self, unlimited: Mapping[Mac, float], limited: Sequence[float], now_us: int) -> bool:
        """Take in, after each measurement, what each gets over its share: unlimited senders, at least those that use
        CLAIMS of theirs, and the limited ones that want more. Whether the factor changed.
        """
        claiming = [used for used in unlimited.values() if used >= CLAIMS]
        if not claiming:
            return self._end(now_us)
        harm = _mean(claiming) / max(_mean(limited), LEAST) if limited else 0.0
        if self.mac:
            self._claimed_us, self.mac = now_us, max(unlimited, key=unlimited.__getitem__)
            return (bool(limited) or self.factor > LARGEST) and self._measure(harm, now_us)
        if harm <= ABOVE:
            self._above_since_us = 0
            return False
        self._hopeless = harm > HOPELESS and (self._hopeless or not self._above_since_us)
        self._above_since_us = self._above_since_us or now_us
        if now_us - self._above_since_us < BEGINS_US:
            return False
        self.mac, self._claimed_us = max(unlimited, key=unlimited.__getitem__), now_us
        self.begun_total += 1
        return self._step(UNBOUNDED if self._hopeless else FIRST, now_us)

    def _measure(self, harm: float, now_us: int) -> bool:
        """Whether more is needed."""
        since_us = now_us - self._stepped_us
        if self.factor > LARGEST:
            had, self.ended = self.ended, self.ended or since_us >= RAISED_US
            return self.ended is not had
        if since_us <= SETTLED_US:
            return False
        self._sum, self._count = self._sum + harm, self._count + 1
        far_above = harm > FAR_ABOVE and since_us >= STEP_US
        if not far_above and since_us < MEASURED_US:
            return False
        if not far_above and self._sum <= ENOUGH * self._count:
            return self._step(self.factor, now_us)
        grows = self.factor * STEP <= LARGEST and self._sum <= HOPELESS * self._count
        return self._step(self.factor * STEP if grows else UNBOUNDED, now_us)

    def _step(self, factor: float, now_us: int) -> bool:
        moved = factor != self.factor
        self.factor, self._stepped_us, self._sum, self._count = factor, now_us, 0.0, 0
        return moved

    def _end(self, now_us: int) -> bool:
        self._above_since_us = 0
        if not self.mac or now_us - self._claimed_us < LINGERS_US:
            return False
        self.mac, self.ended = b"", False
        return self._step(1.0, now_us)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
