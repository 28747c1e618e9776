# SPDX-License-Identifier: Apache-2.0
"""Bounds from the bandwidth-delay product. For each of a terminal's c sending connections, in a cell with n active
senders and capacity C, to a destination at minimum RTT R, in segments of s bytes on the wire:

    share = C / n / c x R / 8 / s          what the connection needs to use its part of the air with no queue at all
    max   = ceil(gain x share) + ceil(queue / c)
    min   = floor(min_fraction x share)

both at least `floor_segs`, and min <= max. The gain leaves room for an estimate that is too low and for others'
pauses; the queue keeps a short path busy over delayed ACKs and frame retries. The minimum is about half the share, so
that a phone that lost a segment is back at its share within a few round trips, while n phones at their minimum
cannot fill a queue. One segment would stall on delayed ACKs, hence the floor of two.

C, n and R are the controller's knowledge: R is the smallest that any phone saw to the destination.
"""

import math

from airbound.core.parameters import BdpParameters
from airbound.core.policy.situation import Situation, Verdict

SEGMENTS_MAX = 65_535  # the kernel's range


def decide(situation: Situation, parameters: BdpParameters) -> Verdict:
    """The formula above."""
    n = max(1, situation.active_senders)
    connections = max(1, situation.connections)
    bytes_in_flight = situation.capacity_bps / n / connections * situation.min_rtt_us / 8e6
    share = bytes_in_flight / situation.segment_bytes
    queue_segs = math.ceil(parameters.queue_segs / connections)
    max_segs = math.ceil(parameters.gain * share) + queue_segs
    max_segs = min(max(max_segs, parameters.floor_segs), SEGMENTS_MAX)
    min_segs = min(max(math.floor(parameters.min_fraction * share), parameters.floor_segs), max_segs)
    among = f" / {connections} connections" if connections > 1 else ""
    return Verdict(
        min_segs,
        max_segs,
        f"{situation.capacity_bps / 1e6:.1f} Mb/s / n={n}{among} x min RTT {situation.min_rtt_us / 1000:.1f} ms"
        f" = {share:.1f} segments; max {parameters.gain:g} x that + {queue_segs},"
        f" min {parameters.min_fraction:g} x that, at least {parameters.floor_segs}",
    )


def within_tolerance(held_max_segs: int, fresh_max_segs: int, parameters: BdpParameters) -> bool:
    """A maximum that moved by one segment, or by no more than `change_ratio`, follows noise in the capacity."""
    return abs(fresh_max_segs - held_max_segs) <= max(1.0, parameters.change_ratio * held_max_segs)
