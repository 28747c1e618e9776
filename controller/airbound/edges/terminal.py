# SPDX-License-Identifier: Apache-2.0
"""The service that terminals connect to: reports in, bounds and renewals out."""

from collections.abc import AsyncIterator
from typing import Any

from airbound.core.events import TerminalReported
from airbound.edges import convert
from airbound.edges.hub import Hub
from airbound.edges.session import serve
from airbound.v1 import terminal_pb2, terminal_pb2_grpc


class TerminalService(terminal_pb2_grpc.TerminalServiceServicer):
    """Serves any number of terminals."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def Connect(  # noqa: N802  # the contract's name
        self, requests: AsyncIterator[terminal_pb2.TerminalServiceConnectRequest], context: Any
    ) -> AsyncIterator[terminal_pb2.TerminalServiceConnectResponse]:
        """Take reports and give commands until either side ends the stream."""
        hub = self._hub

        def take(stream: int, request: terminal_pb2.TerminalServiceConnectRequest) -> None:
            report, refusals = convert.terminal_report(request.report)
            hub.refuse("terminal", request.report.mac, refusals)
            if report is not None:
                hub.submit(TerminalReported(stream, report))

        async for command in serve(hub, "terminal", requests, context, take):
            yield convert.terminal_command(command)
