# SPDX-License-Identifier: Apache-2.0
"""The service for live views: what of a cell changes each second, and is in no list."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from airbound.core.addresses import mac_from_text, mac_text
from airbound.core.cell.state import CellState
from airbound.core.decisions import min_rtt_used_us
from airbound.grpc import operations_convert as convert
from airbound.runtime.runner import Runner
from airbound.v1 import live_pb2, live_pb2_grpc, terminal_pb2

LIVE_SERVICE = live_pb2.DESCRIPTOR.services_by_name["LiveService"].full_name
PAGE = 50


class LiveService(live_pb2_grpc.LiveServiceServicer):
    """Shows the engine's state."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def ListRttRatios(
        self, _request: live_pb2.ListRttRatiosRequest, _context: Any
    ) -> AsyncIterator[live_pb2.ListRttRatiosResponse]:
        """Of every cell."""
        cells = list(self._runner.engine.cells.values())
        for start in range(0, max(1, len(cells)), PAGE):
            found = map(cell_ratio, cells[start : start + PAGE])
            yield live_pb2.ListRttRatiosResponse(cells=[cell for cell in found if cell is not None])
            await asyncio.sleep(0)

    async def ListDestinations(
        self, request: live_pb2.ListDestinationsRequest, context: Any
    ) -> AsyncIterator[live_pb2.ListDestinationsResponse]:
        """Of one cell's terminals."""
        try:
            cell = self._runner.engine.cells.get(mac_from_text(request.bssid))
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"bssid: {error}"[:300])
            raise
        if cell is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no access point has reported a cell {request.bssid}")
            return
        terminals = list(cell.terminals.values())
        for start in range(0, max(1, len(terminals)), PAGE):
            yield live_pb2.ListDestinationsResponse(
                terminals=[
                    live_pb2.TerminalDestinations(
                        mac=mac_text(terminal.mac),
                        destinations=convert.destinations(
                            terminal_pb2.TerminalServiceConnectRequest.FromString(terminal.last_report).report
                        ),
                    )
                    for terminal in terminals[start : start + PAGE]
                ]
            )
            await asyncio.sleep(0)


def cell_ratio(cell: CellState) -> live_pb2.CellRttRatio | None:
    """The worst ratio and the mean of a cell, if there is any sample."""
    worst, name, total, count = 0.0, "", 0.0, 0
    for terminal in cell.terminals.values():
        for destination in terminal.sending.values():
            min_rtt_us = min_rtt_used_us(destination, cell)
            if not min_rtt_us or not destination.srtt_us:
                continue
            ratio = destination.srtt_us / min_rtt_us
            total, count = total + ratio, count + 1
            if ratio > worst:
                worst, name = ratio, terminal.name
    if not count:
        return None
    return live_pb2.CellRttRatio(bssid=cell.name, worst=worst, worst_terminal=name, mean=total / count)
