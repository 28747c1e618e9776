# SPDX-License-Identifier: Apache-2.0
"""Counters of peers that go on where the peer's begin again.

A station's counters run since it associated, an agent's since it started, and a destination's since the agent knows it:
their sums fall whenever one of these begins again or is forgotten. A total here begins at 0 when its object is seen
first, and adds what each part has grown by since it was seen last. When the object comes back after a snapshot without
it, the total begins at 0 again. What a part counted between the last snapshot and its new beginning is lost.

To begin at what a peer counted before would be wrong: Prometheus takes a counter that is less than before for one that
began at 0, and after a restart of the controller would count all of it once more.
"""

from collections.abc import Hashable, Sequence

Counts = tuple[int, ...]

PARTS_KEPT = 512  # of one object; twice the destinations of a report


class Totals:
    """The counters of one object, each the sum over parts that come and go. `whole`: also what the parts counted before
    they were seen first counts, since they began at 0 in this process.
    """

    __slots__ = ("_parts", "counts")

    def __init__(self, width: int, *, whole: bool = False) -> None:
        self.counts: Counts = (0,) * width
        self._parts: dict[Hashable, Counts] | None = {} if whole else None

    def update(self, parts: Sequence[tuple[Hashable, Counts]]) -> Counts:
        """Take in the parts as they are now; the totals. A part that is not there now is remembered for a while: it may
        be back with what it had.
        """
        seen = self._parts
        if seen is None:
            self._parts = dict(parts)
            return self.counts
        for key, now in parts:
            before = seen.get(key)
            if before != now:
                seen[key] = now
                self.counts = _grown(self.counts, before, now)
        if len(seen) > PARTS_KEPT and len(seen) > 2 * len(parts):
            self._parts = dict(parts)
        return self.counts

    def begin_again(self) -> None:
        """All parts count from 0 again."""
        if self._parts:
            self._parts = {}


def _grown(totals: Counts, before: Counts | None, now: Counts) -> Counts:
    if before is None:
        return tuple(map(sum, zip(totals, now, strict=True)))
    return tuple(
        total + (new - old if new >= old else new) for total, old, new in zip(totals, before, now, strict=True)
    )
