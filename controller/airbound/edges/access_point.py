# SPDX-License-Identifier: Apache-2.0
"""The service that access points connect to: reports in."""

from collections.abc import AsyncIterator
from typing import Any

from airbound.core.events import AccessPointReported
from airbound.edges import convert
from airbound.edges.hub import Hub
from airbound.edges.session import serve
from airbound.v1 import access_point_pb2, access_point_pb2_grpc


class AccessPointService(access_point_pb2_grpc.AccessPointServiceServicer):
    """Serves any number of access points."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def Connect(  # noqa: N802  # the contract's name
        self, requests: AsyncIterator[access_point_pb2.AccessPointServiceConnectRequest], context: Any
    ) -> AsyncIterator[access_point_pb2.AccessPointServiceConnectResponse]:
        """Take reports until either side ends the stream."""
        hub = self._hub

        def take(stream: int, request: access_point_pb2.AccessPointServiceConnectRequest) -> None:
            report, refusals = convert.access_point_report(request.report)
            hub.refuse("access_point", request.report.bssid, refusals)
            if report is not None:
                hub.submit(AccessPointReported(stream, report))

        async for _ in serve(hub, "access_point", requests, context, take):
            yield access_point_pb2.AccessPointServiceConnectResponse()
