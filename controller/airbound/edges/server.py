# SPDX-License-Identifier: Apache-2.0
"""The gRPC server: our services, health and reflection. Plain text for now; credentials will come in at `listen`."""

from dataclasses import dataclass

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from airbound.edges.access_point import AccessPointService
from airbound.edges.hub import Hub
from airbound.edges.operations import OperationsService
from airbound.edges.session import REPORT_BYTES_MAX
from airbound.edges.terminal import TerminalService
from airbound.v1 import (
    access_point_pb2,
    access_point_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    terminal_pb2,
    terminal_pb2_grpc,
)

SERVICES = (
    access_point_pb2.DESCRIPTOR.services_by_name["AccessPointService"].full_name,
    terminal_pb2.DESCRIPTOR.services_by_name["TerminalService"].full_name,
    operations_pb2.DESCRIPTOR.services_by_name["OperationsService"].full_name,
)
STOP_GRACE_S = 2.0
MESSAGE_BYTES_MAX = 4 * REPORT_BYTES_MAX  # what is larger than a report may be is refused by us, who count it
CONTROL_DSCP = 48
OPTIONS = (
    # CS6, network control (RFC 4594): where the access point honours it, a command does not wait behind downloads and
    # the TCP ACKs of uploads. Agents mark their side alike.
    ("grpc.dscp", CONTROL_DSCP),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    # Otherwise two controllers could share the port and each see half of the agents.
    ("grpc.so_reuseport", 0),
    # Agents ping a silent controller every 10 s; an access point is told nothing for hours, and by default that many
    # pings end the connection.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
    # An agent that vanished without a word must not hold a stream for ever.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 15_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


class ListenError(OSError):
    """The address cannot be listened on."""


@dataclass(slots=True)
class ControllerServer:
    """A server that runs; `port` is the real one if 0 was asked for."""

    hub: Hub
    port: int
    _server: grpc.aio.Server
    _health: HealthServicer

    async def stop(self) -> None:
        """Say that we are going, free every terminal, then end the streams."""
        await self._health.enter_graceful_shutdown()
        self.hub.stop()
        await self._server.stop(STOP_GRACE_S)


async def start(hub: Hub, listen: str) -> ControllerServer:
    """Listen on ADDRESS:PORT.

    Raises:
        ListenError: the address is taken, not ours, or no address.
    """
    server = grpc.aio.server(options=OPTIONS)
    access_point_pb2_grpc.add_AccessPointServiceServicer_to_server(AccessPointService(hub), server)
    terminal_pb2_grpc.add_TerminalServiceServicer_to_server(TerminalService(hub), server)
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(OperationsService(hub), server)
    health = HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    names = (*SERVICES, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as error:
        raise ListenError(f"cannot listen on {listen}: {error}") from error
    await server.start()
    for name in ("", *SERVICES):
        await health.set(name, health_pb2.HealthCheckResponse.SERVING)
    return ControllerServer(hub, port, server, health)
