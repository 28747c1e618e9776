# SPDX-License-Identifier: Apache-2.0
"""What is learnt of a cell, to and from the octets that the store keeps."""

import math

from google.protobuf.message import DecodeError

from airbound.core.addresses import is_peer_address
from airbound.core.cell.memory import CellMemory, SeenMinRtt
from airbound.core.reports import RTT_MAX_US, RTT_MIN_US
from airbound.v1 import replica_pb2

SEEN_MAX = 4_096


def octets(memory: CellMemory) -> bytes:
    """As the store keeps it."""
    seen = sorted(memory.min_rtts, key=lambda entry: entry.age_us)[:SEEN_MAX]
    return replica_pb2.CellMemory(
        capacity_bps=memory.capacity_bps,
        access_point=memory.access_point,
        min_rtts=[replica_pb2.SeenMinRtt(**entry._asdict()) for entry in seen],
    ).SerializeToString()


def parsed(state: bytes | None) -> CellMemory | None:
    """What was kept; none if there is nothing, or nothing that can be read. Entries out of range are left out."""
    if state is None:
        return None
    try:
        message = replica_pb2.CellMemory.FromString(state)
    except DecodeError:
        return None
    seen = tuple(
        SeenMinRtt(entry.address, entry.terminal, entry.min_rtt_us, entry.age_us)
        for entry in message.min_rtts[:SEEN_MAX]
        if is_peer_address(entry.address) and RTT_MIN_US <= entry.min_rtt_us <= RTT_MAX_US
    )
    capacity_bps = message.capacity_bps if math.isfinite(message.capacity_bps) else 0.0
    return CellMemory(max(0.0, capacity_bps), seen, message.access_point)
