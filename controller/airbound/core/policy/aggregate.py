# SPDX-License-Identifier: Apache-2.0
"""Bounds where frames are aggregated (802.11n and later): a window holds the sender's share of the path, and an
aggregate beside it. For a sender at PHY rate r, in segments of s bytes on the wire, that may have S bit/s of its cell's
air, to a destination at minimum RTT R:

    frame = (s + 46) x 8 / r x 1.06         one more frame in an access, with its part of an ACK's
    O     = 360 us                          what a round of one phone costs beside its frames: two accesses, of data
                                            and of ACKs, with preambles, block acks, and the idle time before them
    K     = min(window of a block ack, longest PSDU / frame, 5484 us / frame)
    k_eta = eta K O / (O + (1 - eta) K frame)       carries the share eta of what K frames carry
    k     = min(K, max(k_eta, D S / (8 s))) x found     all at the rate of the cell's fastest sender, with its share.
                                            D: how long a queue the cell may have. found: knee.py's search
    own   = k x r / r of the fastest        at least 2, at most 2 K at r
    max   = ceil((own + S / (8 s) x R) / c)         of each of c connections. Alone in its cell R + O + own x frame
                                            instead of R: it has every turn
    min   = max(0.6 own, half of S / (8 s) x R) / c     at most max; both at least 2

Where senders come and go (turnover.py) all of this is as if one of them had stopped: the others' S are larger.

Below k = O / frame a smaller window saves no RTT and costs throughput in proportion, since accesses get shorter and
their cost stays; far above it only the RTT grows. A slower sender's own aggregate is smaller, so that its accesses last
no longer than the fastest one's.

Whose frames are not aggregated has the bounds of bdp.py.
"""

import math

from airbound.core.frames import LONGEST_ACCESS_US, OVERHEAD_BYTES
from airbound.core.parameters import Parameters
from airbound.core.policy.bdp import Bdp
from airbound.core.policy.knee import Knee
from airbound.core.policy.turnover import Turnover
from airbound.core.policy.types import SEGMENTS_MAX, Air, CellFacts, Policy, PolicyInput, Range, RateSource

WITH_ACKS = 1.06
ROUND_US = 360.0
LEAST_FRAMES = 2.0
AGGREGATES_MOST = 2  # that wait, where the search for a knee asks for more than one
MIN_PER_AGGREGATE, MIN_PER_SHARE = 0.6, 0.5  # recovery starts from here
FLOOR_SEGS = 2  # one segment stalls on delayed ACKs
ASSUMED = {
    RateSource.REPORTED: "",
    RateSource.AIR_TIME: " (assumed by its air time: none is reported, or one that it contradicts)",
    RateSource.CELL: " (assumed to be the other stations', none of its own is reported)",
    RateSource.CARRIED: " (assumed by what the cell carried, no rate is reported)",
}


class Aggregate(Policy):
    """A share of the path, and an aggregate beside it."""

    name = "aggregate"
    uses_capacity = True
    uses_rtt_ratio = False
    shares_air = True
    widens = True

    def __init__(self, parameters: Parameters) -> None:
        self._parameters, self._bdp = parameters.aggregate, Bdp(parameters)
        self._knee, self._turnover = Knee(parameters.aggregate.delay_weight), Turnover()

    def observe(self, facts: CellFacts, now_us: int) -> bool:
        """Search for a better length of aggregates, and count who stops."""
        turned = self._turnover.observe(facts.active_senders, now_us, one_stopped=facts.one_stopped)
        return self._knee.observe(facts, now_us) or turned

    @property
    def found(self) -> float:
        """By how much aggregates are longer than the formula has them."""
        return self._knee.factor

    @property
    def trials_total(self) -> int:
        """Of the search for their length."""
        return self._knee.trials_total

    @property
    def stopping(self) -> int:
        """One where senders come and go."""
        return int(self._turnover.allows)

    def decide(self, given: PolicyInput) -> Range:
        """The formula above."""
        if given.air is None:
            return self._bdp.decide(given)
        given, air = _with_fewer(given, given.air)
        share = given.share_bps / 8e6 / given.segment_bytes  # segments in a microsecond
        frames = self._frames(given, air)
        window = frames + share * (given.path_rtt_us + _round_us(given, air, frames))
        max_segs = min(max(math.ceil(window / given.connections), FLOOR_SEGS), SEGMENTS_MAX)
        least = max(MIN_PER_AGGREGATE * frames, MIN_PER_SHARE * share * given.path_rtt_us) / given.connections
        return Range(min(max(math.floor(least), FLOOR_SEGS), max_segs), max_segs)

    def formula(self, given: PolicyInput) -> str:
        """The same with its values."""
        if given.air is None:
            return self._bdp.formula(given)
        senders = given.active_senders
        given, air = _with_fewer(given, given.air)
        fewer = f", as if {given.active_senders} of {senders} sent" if given.active_senders < senders else ""
        frames, one_us = self._frames(given, air), frame_us(given.segment_bytes, air.rate_bps)
        round_us = _round_us(given, air, frames)
        path_segs = given.share_bps * (given.path_rtt_us + round_us) / 8e6 / given.segment_bytes
        rtt = f"min RTT {given.path_rtt_us / 1000:.1f} ms"
        rtt = f"({rtt} + a round of {round_us / 1000:.1f} ms, alone)" if round_us else rtt
        among = f", / {given.connections} connections" if given.connections > 1 else ""
        found = f", {given.found:.2f} times the computed ones by search" if given.found != 1 else ""
        return (
            f"{given.share_bps / 1e6:.1f} Mb/s, its part of the air at {air.rate_bps / 1e6:.0f} Mb/s"
            f"{fewer}{ASSUMED[air.source]}, x {rtt} = {path_segs:.1f} segments, + an aggregate of"
            f" {frames:.1f} frames (overhead {ROUND_US / (ROUND_US + frames * one_us):.0%} of the air{found}){among}"
        )

    def _frames(self, given: PolicyInput, air: Air) -> float:
        """Of an access that is worth its overhead, at the sender's rate."""
        parameters, of_fastest = self._parameters, air._replace(rate_bps=air.fastest_bps)
        most = frames_most(given.segment_bytes, of_fastest)
        one_us = frame_us(given.segment_bytes, air.fastest_bps)
        eta = parameters.efficiency
        enough = eta * most * ROUND_US / (ROUND_US + (1 - eta) * most * one_us)
        queue = parameters.queue_ms * air.fastest_share_bps / 8e3 / given.segment_bytes
        frames = min(most, max(enough, queue)) * given.found * air.rate_bps / air.fastest_bps
        return min(max(frames, LEAST_FRAMES), AGGREGATES_MOST * frames_most(given.segment_bytes, air))


def _with_fewer(given: PolicyInput, air: Air) -> tuple[PolicyInput, Air]:
    """The same without those that may stop: what they have is the others', of whom one at least is left."""
    left = max(given.active_senders - given.stopping, 1)
    if left == given.active_senders:
        return given, air
    more = given.active_senders / left
    air = air._replace(share_bps=air.share_bps * more, fastest_share_bps=air.fastest_share_bps * more)
    return given._replace(active_senders=left, air=air), air


def _round_us(given: PolicyInput, air: Air, frames: float) -> float:
    """What a sender waits for its next turn beside the path's RTT if nobody else has any; 0 if others do."""
    return ROUND_US + frames * frame_us(given.segment_bytes, air.rate_bps) if given.active_senders == 1 else 0.0


def frame_us(segment_bytes: int, rate_bps: float) -> float:
    """What a frame adds to an access, with its part of an ACK's, microseconds."""
    return (segment_bytes + OVERHEAD_BYTES) * 8e6 / rate_bps * WITH_ACKS


def frames_most(segment_bytes: int, air: Air) -> float:
    """What an access can carry, at least one frame."""
    octets = segment_bytes + OVERHEAD_BYTES
    return max(
        1.0, min(air.frames_most, air.psdu_max_bytes / octets, LONGEST_ACCESS_US / (octets * 8e6 / air.rate_bps))
    )
