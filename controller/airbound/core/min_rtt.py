# SPDX-License-Identifier: Apache-2.0
"""The smallest minimum RTT to each destination over all terminals of a cell.

A flow that starts in a full cell never sees an empty queue: its own minimum RTT is too large, so it takes the wrong
table and too large a window. Some other phone saw the path when it was idle, and that minimum is a fact of the path.

It is not shared between cells. One address is not one place: 192.168.1.10 is another machine in another house, and an
anycast address another server behind another uplink.

A sliding-window minimum: of the samples in the window only those matter that no later one undercuts, so the kept
ones rise from oldest to newest and the first is the answer. A sample within 1/16 of the window of the newest kept
one, and no smaller, is left out; that bounds the memory to some 17 samples at the price of a minimum that may be
forgotten 1/16 early.
"""

from collections import deque
from dataclasses import dataclass, field

_COALESCE = 16
ADDRESSES_MAX = 65_536  # a phone that makes addresses up must not fill the memory


@dataclass(slots=True)
class MinRttTable:
    """Minimum RTTs by cell (BSSID) and destination address; samples older than `max_age_us` do not count."""

    max_age_us: int
    # Each sample is a minimum RTT and when it was seen, both in microseconds.
    _samples: dict[tuple[str, str], deque[tuple[int, int]]] = field(default_factory=dict)

    def observe(self, bssid: str, address: str, min_rtt_us: int, now_us: int) -> bool:
        """Take in the minimum RTT of a cell's terminal to an address; true if the smallest changed."""
        if min_rtt_us <= 0:
            return False
        before = self.smallest_us(bssid, address, now_us)
        kept = self._samples.pop((bssid, address), None)
        if kept is None:
            kept = deque[tuple[int, int]]()
            if len(self._samples) >= ADDRESSES_MAX:
                del self._samples[next(iter(self._samples))]  # the one that nobody has reported for the longest time
        self._samples[bssid, address] = kept
        while kept and kept[-1][0] >= min_rtt_us:
            kept.pop()
        if not kept or now_us - kept[-1][1] >= self.max_age_us // _COALESCE:
            kept.append((min_rtt_us, now_us))
        return self.smallest_us(bssid, address, now_us) != before

    def smallest_us(self, bssid: str, address: str, now_us: int) -> int:
        """The smallest minimum RTT from the cell to the address within the window, microseconds; 0 if there is none."""
        kept = self._samples.get((bssid, address))
        if kept is None:
            return 0
        while kept and now_us - kept[0][1] > self.max_age_us:
            kept.popleft()
        if not kept:
            del self._samples[bssid, address]
            return 0
        return kept[0][0]

    def expire(self, now_us: int) -> None:
        """Forget destinations that nobody has talked to within the window."""
        for bssid, address in list(self._samples):
            self.smallest_us(bssid, address, now_us)

    def __len__(self) -> int:
        return len(self._samples)
