# SPDX-License-Identifier: Apache-2.0
"""What a policy may look at, and what it answers."""

import math
from typing import NamedTuple

from airbound.core.addresses import IPV4_OCTETS, Address

# IP and TCP headers with the time stamp option, which the kernel's mss already leaves out.
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20 + 20 + 12, 40 + 20 + 12


class PolicyInput(NamedTuple):
    """A terminal's connections to one destination, in its cell.

    `spare_bps` is what the terminal may have beside an equal share of the cell's `capacity_bps`: what others leave of
    theirs, or, below 0, what downloads take. `by_srtt`: downloads fill the access point's queue, in which the ACKs wait
    as well, so that the smoothed RTT is the path's and no fault of the uploads.
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
    spare_bps: float = 0.0
    by_srtt: bool = False

    @property
    def share_bps(self) -> float:
        """What the terminal may have."""
        return self.capacity_bps / self.active_senders + self.spare_bps

    @property
    def path_rtt_us(self) -> float:
        """The RTT that a window is for. A smoothed one is taken in steps of a fifth: not every report is to move it."""
        if not self.by_srtt or self.srtt_us <= self.min_rtt_us:
            return self.min_rtt_us
        return max(self.min_rtt_us, 2 ** (round(4 * math.log2(self.srtt_us)) / 4))

    @property
    def rtt_ratio(self) -> float:
        """Smoothed RTT over minimum RTT, never below 1; 1 while there is no RTT sample."""
        return max(1.0, self.srtt_us / self.min_rtt_us)


class Range(NamedTuple):
    """For each connection, 1 <= min_segs <= max_segs."""

    min_segs: int
    max_segs: int


class Decision(NamedTuple):
    """One destination's range and everything that it follows from."""

    destination: Address
    range: Range
    of: PolicyInput
    own_min_rtt_us: int

    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment."""
        return self.of.segment_bytes - header_bytes(self.destination)


def header_bytes(address: Address) -> int:
    """What a segment to an address has beside its payload."""
    return IPV4_HEADER_BYTES if len(address) == IPV4_OCTETS else IPV6_HEADER_BYTES
