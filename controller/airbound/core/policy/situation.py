# SPDX-License-Identifier: Apache-2.0
"""What a policy may look at, and what it says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A terminal's connections to one destination, in its cell.

    `connections` counts the sending connections of the whole terminal: the kernel bounds each of them, the share is
    the terminal's. `segment_bytes` is what a segment takes as an IP packet. `min_rtt_us` is above 0.
    """

    active_senders: int
    connections: int
    srtt_us: int
    min_rtt_us: int
    segment_bytes: int
    capacity_bps: float

    @property
    def ratio(self) -> float:
        """Srtt over minimum RTT, never below 1; 1 while there is no RTT sample."""
        return max(1.0, self.srtt_us / self.min_rtt_us)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A range for each connection, 1 <= min_segs <= max_segs, and one line on where it comes from."""

    min_segs: int
    max_segs: int
    reason: str
