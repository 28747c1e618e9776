# SPDX-License-Identifier: Apache-2.0
"""A second of a cell for a check, from what operators are shown of it: the same for a client and in the controller."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from airbound.core.check.figures import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound.v1 import operations_pb2


def sample(
    cell: operations_pb2.Cell,
    terminals: Iterable[operations_pb2.Terminal],
    stations: Iterable[operations_pb2.StationView],
) -> Sample:
    """How a cell is in which somebody sends."""
    down_bps = cell.edca.downlink_bps if cell.HasField("edca") else 0
    rtts_us = [*_rtts_of_terminals(terminals), *_rtts_of_stations(stations)]
    return Sample(cell.uplink_bps + down_bps, statistics.fmean(rtts_us) if rtts_us else 0.0, cell.active_senders)


def _rtts_of_terminals(terminals: Iterable[operations_pb2.Terminal]) -> Iterable[int]:
    for terminal in terminals:
        known = [decision.srtt_us for decision in terminal.decisions if decision.srtt_us]
        if known and terminal.active_sender:
            yield min(known)


def _rtts_of_stations(stations: Iterable[operations_pb2.StationView]) -> Iterable[int]:
    """Of those without an agent, as their access point sees them."""
    for station in stations:
        known = [view.srtt_us for view in station.destinations if view.srtt_us and view.connections_sending]
        if known and station.active_sender and not station.terminal:
            yield min(known)
