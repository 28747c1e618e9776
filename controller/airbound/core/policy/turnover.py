# SPDX-License-Identifier: Apache-2.0
"""Whether windows are to allow for a sender that stops.

Windows of n senders are made so that all n together keep the cell busy. When one of them stops, the others have too
little in flight until that is seen, a report has told it, and larger bounds are in force: about LOST_US, in which the
cell carries 1/n less. Where senders seldom stop that is nothing. Where they come and go, as phones do that upload
photos or short videos, it is several per cent of all that a cell carries (docs/policy.md). There windows are made as if
one sender fewer were there, which costs a round trip that is longer by 1/(n - 1).

So reports are counted by which one of the senders has stopped: windows allow for one that stops if what those of the
last WINDOW_US cost is more than COSTS of that time, and no longer if it is less than half of that. Several that stop
together count as one: they do not come and go.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

LOST_US = 270_000
WINDOW_US = 20_000_000
COSTS = 0.01
STOPS_LEAST = 2
STOPS_KEPT = 100  # more than the reports of WINDOW_US are seldom


@dataclass(slots=True)
class Turnover:
    """Of one cell."""

    allows: bool = False
    _stops_us: deque[int] = field(default_factory=lambda: deque(maxlen=STOPS_KEPT))

    def observe(self, active_senders: int, now_us: int, *, one_stopped: bool) -> bool:
        """Take in a report; whether windows are to allow for one that stops from now on, or no longer."""
        stops_us, before = self._stops_us, self.allows
        if one_stopped:
            stops_us.append(now_us)
        while stops_us and now_us - stops_us[0] > WINDOW_US:
            stops_us.popleft()
        lost = len(stops_us) * LOST_US / max(active_senders, 1) / WINDOW_US
        if len(stops_us) < STOPS_LEAST or lost < COSTS / 2:
            self.allows = False
        elif lost > COSTS:
            self.allows = True
        return self.allows != before
