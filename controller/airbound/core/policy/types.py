# SPDX-License-Identifier: Apache-2.0
"""What a policy may look at, and what it answers."""

import math
from abc import ABC, abstractmethod
from enum import IntEnum
from typing import ClassVar, NamedTuple

from airbound.core.addresses import IPV4_OCTETS, Address
from airbound.core.parameters import Parameters, PolicyName

# IP and TCP headers with the time stamp option, which the kernel's mss already leaves out.
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20 + 20 + 12, 40 + 20 + 12

SEGMENTS_MAX = 65_535  # the kernel's limit
UNBOUNDED = 65_536.0  # times as large a maximum is none
STALLS_BELOW_SEGS = 2  # one segment waits for delayed ACKs
RAISED = 8  # times the computed maximum: what CUBIC has in flight in a cell that is full (policy.md)


class RateSource(IntEnum):
    """Where a sender's PHY rate comes from: reports, or assumed (core/cell/assumed_rates.py)."""

    REPORTED = 0
    AIR_TIME = 1
    CELL = 2
    CARRIED = 3


class Air(NamedTuple):
    """Of a sender whose frames are aggregated, beside the fastest sender of its cell. Rates are above 0."""

    rate_bps: float  # PHY rate of its frames
    frames_most: int  # that a block ack of its format answers
    psdu_max_bytes: int
    share_bps: float  # what its part of the cell's air carries at its own rate
    fastest_bps: float
    fastest_share_bps: float
    source: RateSource = RateSource.REPORTED  # of `rate_bps`


class PolicyInput(NamedTuple):
    """A terminal's connections to one destination, in its cell.

    `spare_bps` is what the terminal may have beside an equal share of the cell's `capacity_bps`: what others leave of
    theirs, or, below 0, what downloads take. `by_srtt`: downloads fill the access point's queue, in which the ACKs wait
    as well, so that the smoothed RTT is the path's and no fault of the uploads.
    `connections` counts the sending connections of the whole terminal: the kernel bounds each of them, the share is
    the terminal's. `segment_bytes` is what a segment takes as an IP packet.
    `found` is what the policy's search has found so far in this cell, `widened` by how much its maxima grow beside
    senders that nothing limits, or downloads, `tcp_part` how much of its windows a terminal's UDP leaves to its TCP.
    `stopping` is for how many senders windows are to allow that stop.
    `active_senders`, `connections` and `min_rtt_us` are above 0.
    """

    active_senders: int
    connections: int
    srtt_us: int
    min_rtt_us: int
    segment_bytes: int
    capacity_bps: float
    spare_bps: float = 0.0
    by_srtt: bool = False
    air: Air | None = None
    found: float = 1.0
    widened: float = 1.0
    tcp_part: float = 1.0
    stopping: int = 0

    @property
    def share_bps(self) -> float:
        """What the terminal may have."""
        if self.air is not None:
            return self.air.share_bps
        return self.capacity_bps / self.active_senders + self.spare_bps

    @property
    def tcp_share_bps(self) -> float:
        """What of it its TCP may have."""
        return self.share_bps * self.tcp_part

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

    def widened(self, factor: float) -> "Range":
        """With a maximum so much larger. The minimum stays: a congestion control may not ignore a loss for more.

        With `UNBOUNDED`, which is a moment before there are no bounds, the window is raised to what a connection that
        never had bounds would have: congestion avoidance would need half a minute from here.
        """
        if factor == 1:
            return self
        if factor < UNBOUNDED:
            return Range(self.min_segs, min(math.ceil(self.max_segs * factor), SEGMENTS_MAX))
        return Range(min(self.max_segs * RAISED, SEGMENTS_MAX), SEGMENTS_MAX)

    def part(self, factor: float) -> "Range":
        """With a maximum so much smaller, but no less than `STALLS_BELOW_SEGS`, and a minimum that is within it."""
        high = max(math.ceil(self.max_segs * factor), min(STALLS_BELOW_SEGS, self.max_segs))
        return Range(min(self.min_segs, high), high)


class Decision(NamedTuple):
    """One destination's range and everything that it follows from."""

    destination: Address
    range: Range
    policy_input: PolicyInput
    own_min_rtt_us: int

    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment."""
        return self.policy_input.segment_bytes - header_bytes(self.destination)


class CellFacts(NamedTuple):
    """Facts of a cell after a report of its access point, for a policy that learns over time."""

    active_senders: int
    capacity_bps: float
    uplink_bps: float  # payload, of all stations
    downlink_bps: float
    rtt_us: float = 0.0  # the median of the senders' smoothed RTTs; 0: none is known
    fastest_bps: float = 0.0  # the highest PHY rate of senders whose frames are aggregated
    one_stopped: bool = False  # whether one of those that sent at the report before sends no more


class Policy(ABC):
    """One way to get from what is known to ranges. Each cell has an object of its own, which may keep what it learned;
    it is made anew when the cell's parameters change.
    """

    name: ClassVar[PolicyName]
    uses_capacity: ClassVar[bool]  # whether ranges follow from the cell's capacity and from what others leave of it
    uses_rtt_ratio: ClassVar[bool]  # whether they follow from the smoothed RTT, which is another in each report
    shares_air: ClassVar[bool] = False  # whether senders whose frames are aggregated have equal parts of the air
    widens: ClassVar[bool] = False  # whether maxima grow beside senders that nothing limits

    @abstractmethod
    def __init__(self, parameters: Parameters) -> None:
        """For a cell with these parameters."""

    @property
    def title(self) -> str:
        """The name, with what distinguishes it from others of that name."""
        return self.name

    def observe(self, facts: CellFacts, now_us: int) -> bool:  # noqa: ARG002  # a policy without memory uses neither
        """Learn from a report; whether that changes what `decide` answers."""
        return False

    @property
    def found(self) -> float:
        """What a search has found so far, for `PolicyInput`; 1 without a search."""
        return 1.0

    @property
    def trials_total(self) -> int:
        """How often a search tried something else."""
        return 0

    @property
    def stopping(self) -> int:
        """For how many senders windows are to allow that stop, for `PolicyInput`."""
        return 0

    @abstractmethod
    def decide(self, given: PolicyInput) -> Range:
        """The range of each of the connections to a destination."""

    @abstractmethod
    def formula(self, given: PolicyInput) -> str:
        """How that range follows from the input: one line for a person, made only when one asks."""


def header_bytes(address: Address) -> int:
    """What a segment to an address has beside its payload."""
    return IPV4_HEADER_BYTES if len(address) == IPV4_OCTETS else IPV6_HEADER_BYTES
