# SPDX-License-Identifier: Apache-2.0
"""The gRPC servers for operators: one, or two where a front is before their TCP ports."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import grpc.aio

from airbound import grpc_server
from airbound.config import Limits
from airbound.fronting.configuration import STREAMS_PER_CONNECTION_MAX
from airbound.grpc import endpoints
from airbound.grpc.decoding import Decoding
from airbound.grpc.endpoints import Credentials
from airbound.grpc.events_service import EVENTS_SERVICE, EventsService
from airbound.grpc.live_service import LIVE_SERVICE, LiveService
from airbound.grpc.operations_service import OperationsService
from airbound.grpc.ports import OPERATORS
from airbound.runtime.runner import Runner
from airbound.v1 import (
    events_pb2_grpc,
    live_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    replicas_pb2,
    replicas_pb2_grpc,
)

if TYPE_CHECKING:
    from airbound.fronting.supervisor import Supervisor as FrontSupervisor
    from airbound.grpc.security import Security

OPERATIONS_SERVICE = operations_pb2.DESCRIPTOR.services_by_name["OperationsService"].full_name
REPLICAS_SERVICE = replicas_pb2.DESCRIPTOR.services_by_name["ReplicasService"].full_name

CONNECTIONS_MAX = 256
# An operator, whose requests are single messages, may follow events of a cell in which nothing happens; one that is
# gone is noticed by TCP's keepalive.
ANSWER_SILENT_S = 20 * 86_400.0
OPTIONS = (*endpoints.OPTIONS, ("grpc.max_concurrent_streams", 100))


class OperatorsServers(NamedTuple):
    """What listens for operators; `ports` are the real ones of the endpoints, in their order."""

    direct: grpc.aio.Server
    """On Unix sockets, and without a front on TCP ports as well."""
    behind: grpc.aio.Server | None
    """A server of its own: what a caller by a Unix socket says about itself counts there, and nowhere else."""
    front: "FrontSupervisor | None"
    ports: list[int]

    @property
    def servers(self) -> list[grpc.aio.Server]:
        """Those that there are."""
        return [self.direct] if self.behind is None else [self.direct, self.behind]


def listen(
    runner: Runner,
    operations: OperationsService,
    operators: Sequence[str],
    limits: Limits,
    held: ExitStack,
    *,
    security: "Security | None",
    credentials: Credentials | None,
    replicas: replicas_pb2_grpc.ReplicasServiceServicer | None,
) -> OperatorsServers:
    """Listen on each of ADDRESS:PORT or unix:/PATH. `held` releases them. Raises as `endpoints.listen`."""
    server = partial(_server, runner, operations, limits, security=security, replicas=replicas)
    direct, front = server(fronted=False), None
    over_tcp = [*filter(endpoints.is_tcp, operators)]
    if over_tcp and security is not None:
        front = security.fronting(OPERATORS, endpoints.front_limits(limits, CONNECTIONS_MAX, ANSWER_SILENT_S))
    if front is None:
        ports = [endpoints.listen(direct, OPERATORS, endpoint, held, credentials) for endpoint in operators]
        return OperatorsServers(direct, None, None, ports)
    behind = server(fronted=True)
    real = iter(endpoints.listen_behind(front, behind, over_tcp, held))
    ports = [
        next(real) if endpoints.is_tcp(endpoint) else endpoints.listen(direct, OPERATORS, endpoint, held, credentials)
        for endpoint in operators
    ]
    return OperatorsServers(direct, behind, front, ports)


def service_names(replicas: replicas_pb2_grpc.ReplicasServiceServicer | None) -> tuple[str, ...]:
    """Of the services whose health is reported."""
    return (OPERATIONS_SERVICE, EVENTS_SERVICE, LIVE_SERVICE, *((REPLICAS_SERVICE,) if replicas else ()))


def _server(
    runner: Runner,
    operations: OperationsService,
    limits: Limits,
    *,
    security: "Security | None",
    replicas: replicas_pb2_grpc.ReplicasServiceServicer | None,
    fronted: bool,
) -> grpc.aio.Server:
    """One that listens nowhere yet."""
    # A front has a connection of its own for each call.
    taken_max = CONNECTIONS_MAX * (STREAMS_PER_CONNECTION_MAX if fronted else 1)
    guards = () if security is None else security.guards(runner, fronted=fronted)
    options = (*OPTIONS, *endpoints.connection_options(limits, taken_max))
    server = grpc_server.make(options, interceptors=(*guards, Decoding(runner.refuse)))
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(operations, server)
    events_pb2_grpc.add_EventsServiceServicer_to_server(operations.events or EventsService(runner.history), server)
    live_pb2_grpc.add_LiveServiceServicer_to_server(operations.live or LiveService(runner), server)
    if replicas is not None:
        replicas_pb2_grpc.add_ReplicasServiceServicer_to_server(replicas, server)
    return server
