# SPDX-License-Identifier: Apache-2.0
"""Bounds from the bandwidth-delay product. For each of a terminal's c sending connections, in a cell with n active
senders in which the terminal may have S bit/s, to a destination at minimum RTT R, in segments of s bytes on the wire:

    share = S / c x R / 8 / s              what the connection needs to use its part of the air with no queue at all
    queue = max(1, round(queue_segs / n))  the terminal's part of the queue that the cell may have
    max   = ceil(gain x share) + ceil(queue / c)   gain_alone instead of gain if n = 1
    min   = floor(min_fraction x share)

both at least `floor_segs`, and min <= max. The queue keeps a short path busy over delayed ACKs and frame retries; it
belongs to the cell, since it is one queue at the access point that all of them fill. The minimum is about half the
share, so that a phone that lost a segment is back at its share within a few round trips, while n phones at their
minimum cannot fill a queue. One segment would stall on delayed ACKs, hence the floor of two. A phone that is alone
gets a little more: nobody else uses the air while its congestion control has stepped back.

S is C / n, the n-th part of the cell's capacity, and what others leave of theirs, or less what downloads take
(core/cell/shares.py). While downloads fill the access point's queue, in which the uploads' ACKs wait as well, R is the
smoothed RTT: a window for the empty path would leave the uploads next to nothing. S, n and R are
the controller's knowledge: R is the smallest that the cell's phones saw to the destination.
"""

import math

from airbound.core.parameters import BdpParameters, Parameters
from airbound.core.policy.types import SEGMENTS_MAX, Policy, PolicyInput, Range


class Bdp(Policy):
    """A share of the cell's bandwidth-delay product."""

    name = "bdp"
    uses_capacity = True
    uses_rtt_ratio = False

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters.bdp

    def decide(self, given: PolicyInput) -> Range:
        """The formula above."""
        parameters, share = self._parameters, share_segs(given)
        floor = parameters.floor_segs
        max_segs = math.ceil(_gain(given, parameters) * share) + queue_segs(given, parameters)
        max_segs = min(max(max_segs, floor), SEGMENTS_MAX)
        return Range(min(max(math.floor(parameters.min_fraction * share), floor), max_segs), max_segs)

    def formula(self, given: PolicyInput) -> str:
        """The same with its values."""
        parameters = self._parameters
        among = f" / {given.connections} connections" if given.connections > 1 else ""
        left = f" + {given.spare_bps / 1e6:.1f} Mb/s that others leave" if given.spare_bps > 0 else ""
        left = f" - {-given.spare_bps / 1e6:.1f} Mb/s for downloads" if given.spare_bps < 0 else left
        rtt = "RTT behind downloads" if given.by_srtt else "min RTT"
        share = f"{given.capacity_bps / 1e6:.1f} Mb/s / n={given.active_senders}{left}"
        return (
            f"{f'({share})' if left and among else share}{among} x {rtt} {given.path_rtt_us / 1000:.1f} ms"
            f" = {share_segs(given):.1f} segments; max {_gain(given, parameters):g} x that"
            f" + {queue_segs(given, parameters)}, min {parameters.min_fraction:g} x that,"
            f" at least {parameters.floor_segs}"
        )


def share_segs(given: PolicyInput) -> float:
    """A connection's part of the bandwidth-delay product, segments."""
    return given.share_bps / given.connections * given.path_rtt_us / 8e6 / given.segment_bytes


def queue_segs(given: PolicyInput, parameters: BdpParameters) -> int:
    """A connection's part of the cell's queue, segments; at least one unless the cell is to have none."""
    if not parameters.queue_segs:
        return 0
    return math.ceil(max(1, round(parameters.queue_segs / given.active_senders)) / given.connections)


def _gain(given: PolicyInput, parameters: BdpParameters) -> float:
    return parameters.gain if given.active_senders > 1 else parameters.gain_alone
