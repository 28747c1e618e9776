# SPDX-License-Identifier: Apache-2.0
"""From what is known of a sender in its cell to the ranges that it should have: of a terminal, or of a station that has
no working agent.

A sender's share is split over its sending connections, since the kernel bounds each connection. A destination that
paused counts as if it sent again, but it takes nothing from the others' shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airbound.core.addresses import IPV4_OCTETS, Address, address_text
from airbound.core.policy import PolicyInput, Range
from airbound.core.reasons import Code, Reason

if TYPE_CHECKING:
    from airbound.core.cell.sender import Sender
    from airbound.core.cell.state import CellState
    from airbound.core.reports import Destination
    from airbound.core.settings import Settings

DEFAULT_MSS_BYTES = 1448
# IP and TCP headers with the time stamp option, which the kernel's mss already leaves out.
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20 + 20 + 12, 40 + 20 + 12


class Decision(NamedTuple):
    """One destination's range and everything that it follows from."""

    destination: Address
    range: Range
    of: PolicyInput
    own_min_rtt_us: int

    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment."""
        return self.of.segment_bytes - _header_bytes(self.destination)


def decide(sender: Sender, cell: CellState, settings: Settings) -> tuple[Decision, ...]:
    """The decisions for a sender's destinations, by address. A destination without any RTT sample gets none."""
    connections_now = 0
    for destination in sender.sending.values():
        connections_now += destination.connections_sending
    decisions = list[Decision]()
    for destination in sender.sending.values():
        decisions += _decision(destination, connections_now, cell, settings)
    for destination, _ in sender.paused.values():
        decisions += _decision(destination, connections_now + destination.connections_sending, cell, settings)
    if len(decisions) > 1:
        decisions.sort()
    return tuple(decisions)


def _decision(destination: Destination, connections: int, cell: CellState, settings: Settings) -> tuple[Decision, ...]:
    """One destination's, if there is an RTT sample."""
    address, own_us = destination.address, destination.min_rtt_us
    min_rtt_us = min_rtt_used_us(destination, cell)
    if not min_rtt_us:
        return ()
    of = PolicyInput(
        cell.stations.active_senders or 1,
        connections,
        destination.srtt_us,
        min_rtt_us,
        segment_bytes(destination),
        cell.decided_capacity_bps,
        cell.left_bps,
        cell.has_downloads,
    )
    return (Decision(address, settings.policy(of), of, own_us),)


def min_rtt_used_us(destination: Destination, cell: CellState) -> int:
    """The minimum RTT that counts for a sender's destination, microseconds; 0 if there is no sample."""
    own_us, shared_us = destination.min_rtt_us, cell.min_rtt.shared_us(destination.address)
    return min(own_us, shared_us) if own_us and shared_us else own_us or shared_us


def segment_bytes(destination: Destination) -> int:
    """What a full segment takes as an IP packet."""
    return (destination.mss_bytes or DEFAULT_MSS_BYTES) + _header_bytes(destination.address)


def _header_bytes(address: Address) -> int:
    return IPV4_HEADER_BYTES if len(address) == IPV4_OCTETS else IPV6_HEADER_BYTES


def changes(before: tuple[Decision, ...], after: tuple[Decision, ...], policy_name: str) -> tuple[Reason, ...]:
    """What differs between two sets of decisions; at least one reason, the weightiest first."""
    old, new = ({decision.destination: decision for decision in decisions} for decisions in (before, after))
    started = [Reason(Code.STARTED_SENDING, address_text(address)) for address in new if address not in old]
    stopped = [Reason(Code.STOPPED_SENDING, address_text(address)) for address in old if address not in new]
    cell, own = list[Reason](), list[Reason]()
    for address, decision in new.items():
        if address not in old or old[address].range == decision.range:
            continue
        was, now = old[address].of, decision.of
        if not cell:  # the same for all destinations
            if was.active_senders != now.active_senders:
                cell.append(Reason(Code.ACTIVE_SENDERS, "", was.active_senders, now.active_senders))
            if was.capacity_bps != now.capacity_bps and policy_name == "bdp":
                cell.append(Reason(Code.CAPACITY, "", was.capacity_bps, now.capacity_bps))
            if was.left_bps != now.left_bps and policy_name == "bdp":
                cell.append(Reason(Code.SHARE, "", was.share_bps, now.share_bps))
            if was.connections != now.connections:
                cell.append(Reason(Code.CONNECTIONS, "", was.connections, now.connections))
        if was.min_rtt_us != now.min_rtt_us:
            own.append(Reason(Code.MIN_RTT, address_text(address), was.min_rtt_us, now.min_rtt_us))
        if (policy_name == "paper" or was.by_srtt or now.by_srtt) and was.rtt_ratio != now.rtt_ratio:
            own.append(Reason(Code.RTT_RATIO, address_text(address), was.rtt_ratio, now.rtt_ratio))
    return (*cell, *started, *own, *stopped) or (Reason(Code.POLICY, policy_name),)
