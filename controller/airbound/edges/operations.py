# SPDX-License-Identifier: Apache-2.0
"""The service that operators' tools use."""

from collections.abc import AsyncIterator
from typing import Any

import grpc

from airbound.core.parameters import Mode
from airbound.core.reports import ReportRefusedError, checked_mac
from airbound.edges import convert
from airbound.edges.hub import Hub
from airbound.v1 import operations_pb2, operations_pb2_grpc

MODES: dict[Mode, operations_pb2.Mode] = {
    "observe": operations_pb2.MODE_OBSERVE,
    "control": operations_pb2.MODE_CONTROL,
}


class OperationsService(operations_pb2_grpc.OperationsServiceServicer):
    """Shows the engine's state and passes on what operators decide."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def ListCells(  # noqa: N802
        self,
        request: operations_pb2.ListCellsRequest,  # noqa: ARG002
        context: Any,  # noqa: ARG002
    ) -> operations_pb2.ListCellsResponse:
        """Every cell."""
        engine = self._hub.engine
        cells = [convert.cell(view) for view in engine.cells(self._hub.now_us())]
        return operations_pb2.ListCellsResponse(cells=cells, mode=MODES[engine.mode], policy=engine.parameters.policy)

    async def WatchCells(  # noqa: N802
        self,
        request: operations_pb2.WatchCellsRequest,  # noqa: ARG002
        context: Any,  # noqa: ARG002
    ) -> AsyncIterator[operations_pb2.WatchCellsResponse]:
        """Every cell, then each again whenever it changes."""
        async for bssids in self._hub.changed_cells():
            for bssid in bssids:
                view = self._hub.engine.cell(bssid, self._hub.now_us())
                if view is not None:
                    yield operations_pb2.WatchCellsResponse(cell=convert.cell(view))

    async def ListTerminals(  # noqa: N802
        self,
        request: operations_pb2.ListTerminalsRequest,
        context: Any,
    ) -> operations_pb2.ListTerminalsResponse:
        """Every terminal, or those of one cell."""
        bssid = await self._mac("bssid", request.bssid, context) if request.bssid else ""
        views = self._hub.engine.terminals(self._hub.now_us())
        chosen = [convert.terminal(view) for view in views if bssid in {"", view.bssid}]
        return operations_pb2.ListTerminalsResponse(terminals=chosen)

    async def ExplainTerminal(  # noqa: N802
        self, request: operations_pb2.ExplainTerminalRequest, context: Any
    ) -> operations_pb2.ExplainTerminalResponse:
        """A terminal's bounds and their why."""
        mac = await self._mac("mac", request.mac, context)
        view = self._hub.engine.terminal(mac, self._hub.now_us())
        if view is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no terminal {mac} has connected")
            raise AssertionError  # abort raises
        cell = self._hub.engine.cell(view.bssid, self._hub.now_us())
        return operations_pb2.ExplainTerminalResponse(
            terminal=convert.terminal(view),
            cell=None if cell is None else convert.cell(cell),
            no_bounds_reason=view.no_bounds_reason,
        )

    async def SetMode(  # noqa: N802
        self, request: operations_pb2.SetModeRequest, context: Any
    ) -> operations_pb2.SetModeResponse:
        """Switch between observing and controlling."""
        for mode, wire in MODES.items():
            if wire == request.mode:
                return operations_pb2.SetModeResponse(previous_mode=MODES[self._hub.set_mode(mode)])
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"mode = {request.mode}: expected observe or control")
        raise AssertionError  # abort raises

    async def ExemptTerminal(  # noqa: N802
        self, request: operations_pb2.ExemptTerminalRequest, context: Any
    ) -> operations_pb2.ExemptTerminalResponse:
        """Take a terminal out of control, or back in; it need not be connected."""
        mac = await self._mac("mac", request.mac, context)
        previous = self._hub.set_exempt(mac, exempt=request.exempt)
        return operations_pb2.ExemptTerminalResponse(previously_exempt=previous)

    async def _mac(self, field: str, text: str, context: Any) -> str:
        try:
            return checked_mac(field, text.lower())
        except ReportRefusedError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise
