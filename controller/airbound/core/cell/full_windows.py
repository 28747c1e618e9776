# SPDX-License-Identifier: Apache-2.0
"""Whether a terminal's report that its windows are full is borne out by its access point's counters.

A sender whose window is full is given an equal part, although it uses less: what it sends says nothing of what it
wants. A phone that sends next to nothing and reports a full window would keep a whole part from the others. So the
report counts while

    used >= QUARTER x min(1, m)     used: what it sends over its share; m: the median of the same of the other senders
                                    that want more, of the two in the middle the higher one; 1 if there are none

and for PATIENCE_US besides: a connection needs some round trips to grow. That time runs once, and is given again when
the counters have shown it. Where all get little of their shares the median is as small. After that a report that is not
borne out counts for nothing, and the sender is taken to want what it uses, like one whose window is not full.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_high

from airbound.core.addresses import Mac

QUARTER = 0.25
PATIENCE_US = 5_000_000


@dataclass(slots=True)
class FullWindows:
    """Of one cell's terminals."""

    doubted: set[Mac] = field(default_factory=set)  # whose reports count for nothing
    _unproven_us: dict[Mac, int] = field(default_factory=dict)  # for how long reports were not borne out

    def observe(
        self, claimed: Mapping[Mac, float], others: Sequence[float], elapsed_us: int, stations: Container[Mac]
    ) -> None:
        """Take in, after each measurement, what those use of their shares that report a full window, and what others
        that want more use of theirs. `stations` are those that are associated.
        """
        for mac, used in claimed.items():
            rest = [*others, *(value for each, value in claimed.items() if each != mac)]
            if used >= QUARTER * min(1.0, median_high(rest) if rest else 1.0):
                self._unproven_us.pop(mac, None)
            else:
                self._unproven_us[mac] = self._unproven_us.get(mac, 0) + elapsed_us
        for mac in [mac for mac in self._unproven_us if mac not in stations]:
            del self._unproven_us[mac]
        self.doubted = {mac for mac, spent_us in self._unproven_us.items() if spent_us > PATIENCE_US}

    @property
    def is_waiting(self) -> bool:
        """Whether some reports were not borne out."""
        return bool(self._unproven_us)

    def forget(self) -> None:
        """What counters show says nothing now."""
        self.doubted.clear()
        self._unproven_us.clear()
