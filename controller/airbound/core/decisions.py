# SPDX-License-Identifier: Apache-2.0
"""From a terminal's destinations to the bounds it should have, each with its why.

A terminal's share is split over its sending connections, since the kernel bounds each connection. A destination that
paused counts as if it sent again, so that a burst after a pause finds its bound in place, but it takes nothing from
the others' shares.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from airbound.core import policy
from airbound.core.effects import Bound
from airbound.core.parameters import Parameters
from airbound.core.reports import Destination

DEFAULT_MSS_BYTES = 1448
EXPLAINED_AT_MOST = 8
# IP and TCP headers with the time stamp option, which the kernel's mss already leaves out.
HEADER_BYTES = {4: 20 + 20 + 12, 6: 40 + 20 + 12}


@dataclass(frozen=True, slots=True)
class Sending:
    """A destination as it was when it last had queued data."""

    destination: Destination
    at_us: int
    now: bool  # whether the last report said so


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One bound and everything it follows from."""

    destination: str
    bound: Bound
    policy: str
    active_senders: int
    connections: int
    srtt_us: int
    min_rtt_us: int
    own_min_rtt_us: int
    rtt_ratio: float
    capacity_bps: float
    reason: str


def decide(
    sending: Mapping[str, Sending],
    shared_min_rtt_us: Mapping[str, int],
    active_senders: int,
    capacity_bps: float,
    parameters: Parameters,
) -> tuple[Decision, ...]:
    """The decisions for a terminal's destinations, by address. A destination with no RTT sample yet gets none."""
    connections_now = sum(entry.destination.connections_sending for entry in sending.values() if entry.now)
    decisions = []
    for address, entry in sorted(sending.items()):
        destination = entry.destination
        candidates = (destination.min_rtt_us, shared_min_rtt_us.get(address, 0) if parameters.min_rtt.share else 0)
        min_rtt_us = min((candidate for candidate in candidates if candidate > 0), default=0)
        if not min_rtt_us:
            continue
        situation = policy.Situation(
            active_senders=max(1, active_senders),
            connections=connections_now + (0 if entry.now else destination.connections_sending),
            srtt_us=destination.srtt_us,
            min_rtt_us=min_rtt_us,
            segment_bytes=segment_bytes(destination),
            capacity_bps=capacity_bps,
        )
        verdict = policy.decide(situation, parameters)
        prefix = f"{address}/{ipaddress.ip_address(address).max_prefixlen}"
        decisions.append(
            Decision(
                destination=address,
                bound=Bound(prefix, verdict.min_segs, verdict.max_segs),
                policy=parameters.policy,
                active_senders=situation.active_senders,
                connections=situation.connections,
                srtt_us=destination.srtt_us,
                min_rtt_us=min_rtt_us,
                own_min_rtt_us=destination.min_rtt_us,
                rtt_ratio=situation.ratio,
                capacity_bps=capacity_bps,
                reason=verdict.reason,
            )
        )
    return tuple(decisions)


def segment_bytes(destination: Destination) -> int:
    """What a full segment takes as an IP packet."""
    version = ipaddress.ip_address(destination.address).version
    return (destination.mss_bytes or DEFAULT_MSS_BYTES) + HEADER_BYTES[version]


def settle(held: Iterable[Decision], fresh: Iterable[Decision], parameters: Parameters) -> tuple[Decision, ...]:
    """The fresh decisions, but with the ranges in force where nothing but noise moved: the same senders, the same
    connections, and a maximum within the policy's tolerance.
    """
    before = {decision.destination: decision for decision in held}
    return tuple(_settle_one(before.get(decision.destination), decision, parameters) for decision in fresh)


def _settle_one(held: Decision | None, fresh: Decision, parameters: Parameters) -> Decision:
    if held is None or held.bound == fresh.bound or held.policy != fresh.policy:
        return fresh
    if (held.active_senders, held.connections) != (fresh.active_senders, fresh.connections):
        return fresh
    if not policy.within_tolerance(held.bound.max_segs, fresh.bound.max_segs, parameters):
        return fresh
    kept = f"{fresh.reason}; {held.bound.min_segs} to {held.bound.max_segs} kept, near enough"
    return replace(fresh, bound=held.bound, reason=kept)


def explain(why: str, in_force: Sequence[Decision]) -> str:
    """One line: what moved, and what the first few ranges follow from. A phone in a full cell pays for every byte."""
    parts = [why] if why else []
    parts += [f"{decision.destination}: {decision.reason}" for decision in in_force[:EXPLAINED_AT_MOST]]
    if len(in_force) > EXPLAINED_AT_MOST:
        parts.append(f"and {len(in_force) - EXPLAINED_AT_MOST} destinations more")
    return "; ".join(parts)


def explain_change(held: Iterable[Decision], fresh: Iterable[Decision]) -> str:
    """What moved between two sets of decisions, for a person."""
    before = {decision.destination: decision for decision in held}
    after = {decision.destination: decision for decision in fresh}
    parts = [f"{address} no longer sent to" for address in before if address not in after]
    for address, new in after.items():
        old = before.get(address)
        if old is None:
            parts.append(f"{address} sent to")
            continue
        if old.bound == new.bound:
            continue
        moved = []
        if old.policy != new.policy:
            moved.append(f"policy {old.policy} -> {new.policy}")
        if old.active_senders != new.active_senders:
            moved.append(f"n {old.active_senders} -> {new.active_senders}")
        if old.connections != new.connections:
            moved.append(f"connections {old.connections} -> {new.connections}")
        if old.min_rtt_us != new.min_rtt_us:
            moved.append(f"min RTT {old.min_rtt_us / 1000:.1f} -> {new.min_rtt_us / 1000:.1f} ms")
        ratios, capacities = ((f"{old.rtt_ratio:.1f}", f"{new.rtt_ratio:.1f}"), (_mbps(old), _mbps(new)))
        if new.policy == "paper" and ratios[0] != ratios[1]:
            moved.append(f"RTT ratio {ratios[0]} -> {ratios[1]}")
        if new.policy == "bdp" and capacities[0] != capacities[1]:
            moved.append(f"capacity {capacities[0]} -> {capacities[1]} Mb/s")
        parts.append(f"{address}: {', '.join(moved) or 'other parameters, or less than is shown'}")
    return "; ".join(parts)


def _mbps(decision: Decision) -> str:
    return f"{decision.capacity_bps / 1e6:.1f}"
