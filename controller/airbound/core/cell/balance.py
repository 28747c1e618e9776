# SPDX-License-Identifier: Apache-2.0
"""By how much windows must be larger beside traffic that bounds do not limit, so that each side has its part of the
air.

Windows are computed by the minimum RTT. Where nothing else fills queues that is nearly the RTT. Downloads, where frames
are aggregated, fill the access point's queue, and every ACK of an upload waits in it; other cells (neighbours.py) take
the turns. Senders then have their windows in a longer RTT, which is less than their shares. Windows by the RTT as it is
would make it longer still, and so on. So the maxima of the cell grow by a factor, in steps, and shrink again, until
both sides get as much of their parts:

    harm    = what the others get of their parts / what the cell's senders get of theirs
              means over the others that use at least CLAIMS of their parts, and the senders whose windows are full
    step    after SETTLED_US, by the mean over MEASURED_US, if that is above APART (`begins`, while the factor is 1) or
            below 1 / APART: factor x sqrt(harm), at most STEP_MOST times as much or as little
    factor  from 1 to `largest`; 1 as soon as there have been no such others or senders for LINGERS_US

The harm falls by less than the square of what windows grow by (measured beside downloads: by the power 1.2 at a factor
of 1.4, 1.9 at 2.6), so that a step of its root does not lead from one side to the other.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

APART, CLAIMS = 1.15, 0.5
STEP_MOST, LARGEST_BESIDE_DOWNLOADS = 2.0, 4.0
SETTLED_US, MEASURED_US, LINGERS_US = 1_000_000, 2_000_000, 3_000_000
LEAST = 0.01  # of its part, that a sender is taken to get


@dataclass(slots=True)
class Balance:
    """Of one cell with one kind of others. Times are the controller's."""

    largest: float = LARGEST_BESIDE_DOWNLOADS
    begins: float = APART
    factor: float = 1.0  # of all maxima
    _stepped_us: int = 0
    _seen_us: int = 0  # when both sides last wanted the air
    _sum: float = 0.0  # of the harm since the last step
    _count: int = 0

    def observe(self, others: Sequence[float], own: Sequence[float], now_us: int) -> bool:
        """Take in, after each measurement, what the others get over their parts of the air, and senders of the cell
        that want more. Whether the factor changed.
        """
        claiming = [part for part in others if part >= CLAIMS]
        if not claiming or not own:
            if now_us - self._seen_us >= LINGERS_US:
                return self._step(1.0, now_us)
            return False
        if now_us - self._seen_us >= LINGERS_US:
            self._step(self.factor, now_us)
        self._seen_us = now_us
        since_us = now_us - self._stepped_us
        if since_us <= SETTLED_US:
            return False
        self._sum += statistics.fmean(claiming) / max(statistics.fmean(own), LEAST)
        self._count += 1
        if since_us < SETTLED_US + MEASURED_US:
            return False
        harm = self._sum / self._count
        if 1 / APART <= harm <= (APART if self.factor > 1 else self.begins):
            return self._step(self.factor, now_us)
        step = min(max(math.sqrt(harm), 1 / STEP_MOST), STEP_MOST)
        return self._step(min(max(self.factor * step, 1.0), self.largest), now_us)

    def _step(self, factor: float, now_us: int) -> bool:
        moved = factor != self.factor
        self.factor, self._stepped_us, self._sum, self._count = factor, now_us, 0.0, 0
        return moved
