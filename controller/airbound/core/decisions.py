# SPDX-License-Identifier: Apache-2.0
"""From what is known of a sender in its cell to the ranges that it should have: of a terminal, or of a station that has
no working agent.

A sender's share is split over its sending connections, since the kernel bounds each connection. A destination that
paused counts as if it sent again, but it takes nothing from the others' shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core.policy import UNBOUNDED, Decision, PolicyInput, header_bytes

if TYPE_CHECKING:
    from airbound.core.addresses import Mac
    from airbound.core.cell.sender import Sender
    from airbound.core.cell.state import CellState
    from airbound.core.reports import Destination

DEFAULT_MSS_BYTES = 1448


def decide(sender: Sender, cell: CellState) -> tuple[Decision, ...]:
    """The decisions for a sender's destinations, by address. A destination without any RTT sample gets none."""
    connections_now = 0
    for destination in sender.sending.values():
        connections_now += destination.connections_sending
    decisions = list[Decision]()
    for destination in sender.sending.values():
        decisions += _decision(destination, connections_now, sender.mac, cell)
    for destination, _ in sender.paused.values():
        decisions += _decision(destination, connections_now + destination.connections_sending, sender.mac, cell)
    if len(decisions) > 1:
        decisions.sort()
    return tuple(decisions)


def _decision(destination: Destination, connections: int, mac: Mac, cell: CellState) -> tuple[Decision, ...]:
    """One destination's, if there is an RTT sample."""
    address, own_us = destination.address, destination.min_rtt_us
    min_rtt_us = min_rtt_used_us(destination, cell)
    if not min_rtt_us:
        return ()
    air = cell.air.air_for(mac)
    policy_input = PolicyInput(
        cell.stations.active_senders or 1,
        connections,
        destination.srtt_us,
        min_rtt_us,
        segment_bytes(destination),
        cell.decided_capacity_bps,
        cell.spare_bps,
        cell.has_downloads and air is None,
        air,
        cell.policy.found if air is not None else 1.0,
        cell.widened_for(aggregates=air is not None),
        cell.pacing.tcp_part(mac),
        cell.policy.stopping,
    )
    decided = cell.policy.decide(policy_input).widened(policy_input.widened)
    if policy_input.tcp_part < 1 and policy_input.widened < UNBOUNDED:
        decided = decided.part(policy_input.tcp_part)
    return (Decision(address, decided, policy_input, own_us),)


def min_rtt_used_us(destination: Destination, cell: CellState) -> int:
    """The minimum RTT that counts for a sender's destination, microseconds; 0 if there is no sample."""
    own_us, shared_us = destination.min_rtt_us, cell.min_rtt.shared_us(destination.address)
    return min(own_us, shared_us) if own_us and shared_us else own_us or shared_us


def segment_bytes(destination: Destination) -> int:
    """What a full segment takes as an IP packet."""
    return (destination.mss_bytes or DEFAULT_MSS_BYTES) + header_bytes(destination.address)
