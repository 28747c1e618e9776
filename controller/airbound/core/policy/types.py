# SPDX-License-Identifier: Apache-2.0
"""What a policy may look at, and what it answers."""

from typing import NamedTuple


class PolicyInput(NamedTuple):
    """A terminal's connections to one destination, in its cell.

    `left_bps` is what the terminal may have beside an equal share of the cell's `capacity_bps`: what others leave of
    theirs.
    `connections` counts the sending connections of the whole terminal: the kernel bounds each of them, the share is
    the terminal's. `segment_bytes` is what a segment takes as an IP packet. `active_senders`, `connections` and
    `min_rtt_us` are above 0.
    """

    active_senders: int
    connections: int
    srtt_us: int
    min_rtt_us: int
    segment_bytes: int
    capacity_bps: float
    left_bps: float = 0.0

    @property
    def share_bps(self) -> float:
        """What the terminal may have."""
        return self.capacity_bps / self.active_senders + self.left_bps

    @property
    def rtt_ratio(self) -> float:
        """Smoothed RTT over minimum RTT, never below 1; 1 while there is no RTT sample."""
        return max(1.0, self.srtt_us / self.min_rtt_us)


class Range(NamedTuple):
    """For each connection, 1 <= min_segs <= max_segs."""

    min_segs: int
    max_segs: int
