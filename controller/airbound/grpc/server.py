# SPDX-License-Identifier: Apache-2.0
"""The gRPC servers: one for agents, one for operators, on addresses of their own. Devices that have no certificate yet
have a process of their own (airbound/enrolling).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from airbound.config import UNIX, Limits
from airbound.fronting.configuration import STREAMS_PER_CONNECTION_MAX
from airbound.fronting.configuration import Limits as FrontLimits
from airbound.grpc import unix_socket
from airbound.grpc.agent_services import ACCESS_POINT_SERVICE, SWITCH_SERVICE, TERMINAL_SERVICE, AgentServices
from airbound.grpc.events_service import EVENTS_SERVICE, EventsService
from airbound.grpc.live_service import LIVE_SERVICE, LiveService
from airbound.grpc.operations_service import OperationsService
from airbound.grpc.peers import PlainText
from airbound.grpc.ports import AGENTS, ENROLLMENT, OPERATORS
from airbound.grpc.session import REPORT_BYTES_MAX
from airbound.pki.options import enrollment_endpoint
from airbound.runtime.connections import WITHOUT_CALL_WARNED, Warned
from airbound.runtime.descriptors import connections_max
from airbound.runtime.reception import Alone, Reception
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
    from airbound.enrolling.supervisor import Supervisor
    from airbound.fronting.supervisor import Supervisor as FrontSupervisor
    from airbound.grpc.security import Security

OPERATIONS_SERVICE = operations_pb2.DESCRIPTOR.services_by_name["OperationsService"].full_name
REPLICAS_SERVICE = replicas_pb2.DESCRIPTOR.services_by_name["ReplicasService"].full_name
Credentials = Callable[[str], grpc.ServerCredentials]
"""Makes credentials for one port of a name: gRPC asks them once for what they begin with."""

STOP_GRACE_S = 2.0
CONTROL_DSCP = 48
OPERATOR_CONNECTIONS_MAX = 256
SILENT_S = 120.0  # of a stream behind a front; agents report more often
# An operator, whose requests are single messages, may follow events of a cell in which nothing happens; one that is
# gone is noticed by TCP's keepalive.
OPERATORS_ANSWER_SILENT_S = 20 * 86_400.0
STREAMS_WAITING_MAX = 100_000  # `streams_max` limits those that are served
STREAM_WAITS_MAX_S = 600  # of an agent that vanished, keep-alive ends the stream earlier

COMMON_OPTIONS = (
    # Otherwise two controllers could share the port and each see half of the agents.
    ("grpc.so_reuseport", 0),
    # A peer that vanished must not keep a stream for ever.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 15_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
AGENT_OPTIONS = (
    *COMMON_OPTIONS,
    # CS6, network control (RFC 4594): where the access point maps it to a category of its own, a command does not wait
    # behind downloads and the TCP ACKs of uploads. Agents mark their side alike.
    ("grpc.dscp", CONTROL_DSCP),
    # What is larger than a report may be is refused by us, who count it, up to this; beyond it by grpc.
    ("grpc.max_receive_message_length", 4 * max(REPORT_BYTES_MAX.values())),
    # A report fits into the window that HTTP/2 begins with. To find a larger one grpc pings, and every ping and its
    # answer take a phone's air (docs/results.md, "What do agents cost?").
    ("grpc.http2.bdp_probe", 0),
    # An agent has one stream.
    ("grpc.max_concurrent_streams", 4),
    # When thousands come at once, after a restart, those that are not served at once wait. By default grpc turns them
    # away from 1,000 waiting ones on, and after 30 s, as CANCELLED; they come again, and a busy controller only gets
    # busier.
    ("grpc.server.max_pending_requests", STREAMS_WAITING_MAX),
    ("grpc.server.max_pending_requests_hard_limit", STREAMS_WAITING_MAX),
    ("grpc.server_max_unrequested_time_in_server", STREAM_WAITS_MAX_S),
    # Agents ping a silent controller every 10 s; an access point is sent nothing for hours. By default that many pings
    # end the connection; faster ones still do.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
)
OPERATOR_OPTIONS = (*COMMON_OPTIONS, ("grpc.max_concurrent_streams", 100))


class ListenError(OSError):
    """The address cannot be listened on."""


@dataclass(slots=True)
class ControllerServer:
    """Servers that run; `port` and `operator_ports` are the real ones where 0 was asked for (1 for a Unix socket)."""

    runner: Runner
    port: int
    operator_ports: list[int]
    enrolling: "Supervisor | None"
    front: "FrontSupervisor | None"
    """Before the agents' port."""
    operators_front: "FrontSupervisor | None"
    """Before the operators' ports."""
    servers: list[grpc.aio.Server]
    health: list[Any]
    held: ExitStack  # paths of Unix sockets, sockets of fronts

    @property
    def fronts(self) -> "list[FrontSupervisor]":
        """Those that there are."""
        return [front for front in (self.front, self.operators_front) if front is not None]

    @property
    def enrollment(self) -> str:
        """Where devices use their tokens, ADDRESS:PORT; empty: nowhere."""
        return "" if self.enrolling is None else self.enrolling.endpoint

    async def stop(self) -> None:
        """Report that we are going, then end the streams. Bounds end with their leases."""
        for servicer in self.health:
            await servicer.enter_graceful_shutdown()
        self.runner.stop()
        enrolling = () if self.enrolling is None else (self.enrolling.stop(),)
        await asyncio.gather(*(server.stop(STOP_GRACE_S) for server in self.servers), *enrolling)
        for front in self.fronts:
            await front.stop()
        self.held.close()


async def start(
    runner: Runner,
    operations: OperationsService,
    listen: str,
    operators: Sequence[str],
    limits: Limits,
    *,
    security: "Security | None",
    reception: Reception | None = None,
    replicas: replicas_pb2_grpc.ReplicasServiceServicer | None = None,
) -> ControllerServer:
    """Listen for agents on ADDRESS:PORT, for operators on each of ADDRESS:PORT or unix:/PATH; without security in plain
    text. Without a reception the streams of agents lead to the runner.

    Raises:
        ListenError: an address is taken, not ours, or no address.
    """
    credentials = None if security is None else partial(security.certificates.credentials, clients=True)
    taken_max = connections_max(limits.connections_max)
    agents = grpc.aio.server(options=(*AGENT_OPTIONS, *_limited(limits), *_at_most(taken_max)))
    reception = reception or Alone(runner)
    if security is not None:
        reception = security.receiving(reception, runner)
    peers = PlainText() if security is None else security.fronted_peers
    reports = AgentServices(runner, reception, limits, peers)
    agents.add_generic_rpc_handlers(reports.handlers())
    people = partial(_people, runner, operations, limits, security=security, replicas=replicas)
    front = None
    with ExitStack() as held:
        if security is not None:
            front = security.fronting(AGENTS, _front_limits(limits, taken_max, SILENT_S, CONTROL_DSCP))
        if front is None:
            port = _listen(agents, AGENTS, listen, held, credentials)
        else:
            (port,) = _listen_behind(front, agents, [listen], held)
        direct, behind, operators_front, operator_ports = _for_operators(
            people, operators, limits, held, security=security, credentials=credentials
        )
        enrolling = None if security is None else _enrolling(security, runner, listen, held)
        keep = held.pop_all()
    reports.port, reports.front = port, front
    servers = [agents, direct, *([] if behind is None else [behind])]
    numbered = [endpoint for endpoint in operators if not endpoint.startswith(UNIX)]
    if security is not None:
        at = enrolling.endpoint if enrolling else ""
        security.add_agents_services(agents, runner)
        for server in servers[1:]:
            security.add_operators_services(server, runner, at, fronted=server is behind)
        security.connections.ports = {
            **security.connections.ports,
            AGENTS: [port],
            OPERATORS: [number for number, where in zip(operator_ports, operators, strict=True) if where in numbered],
        }
        security.connections.octets.ports = security.connections.ports
        # Beyond its limit gRPC closes connections at once; a front leaves them in the kernel's queue.
        closed_beyond = taken_max if front is None else 0
        security.connections.warned = Warned(limits.connections_per_address_warned, WITHOUT_CALL_WARNED, closed_beyond)
    running = ControllerServer(runner, port, operator_ports, enrolling, front, operators_front, servers, [], keep)
    await _start_fronts(running, {AGENTS: listen, OPERATORS: ", ".join(numbered)})
    of_operators = (OPERATIONS_SERVICE, EVENTS_SERVICE, LIVE_SERVICE, *((REPLICAS_SERVICE,) if replicas else ()))
    for server in servers:
        names = (ACCESS_POINT_SERVICE, TERMINAL_SERVICE, SWITCH_SERVICE) if server is agents else of_operators
        running.health.append(await _serve(server, names))
    if enrolling is not None:
        enrolling.start()
    return running


async def _serve(server: grpc.aio.Server, names: Sequence[str]) -> Any:
    """Start it, and report its services as healthy; the service that reports."""
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    known = (*names, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(known, server)
    await server.start()
    for name in ("", *names):
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    return servicer


class _ForOperators(NamedTuple):
    """What listens for operators."""

    direct: grpc.aio.Server
    """On Unix sockets, and without a front on TCP ports as well."""
    behind: grpc.aio.Server | None
    """A server of its own: what a caller by a Unix socket says about itself counts there, and nowhere else."""
    front: "FrontSupervisor | None"
    ports: list[int]


def _for_operators(
    people: Callable[..., grpc.aio.Server],
    endpoints: Sequence[str],
    limits: Limits,
    held: ExitStack,
    *,
    security: "Security | None",
    credentials: Credentials | None,
) -> _ForOperators:
    """Listen on each of the endpoints, with servers that `people` makes."""
    direct, front = people(fronted=False), None
    numbered = [endpoint for endpoint in endpoints if not endpoint.startswith(UNIX)]
    if numbered and security is not None:
        front = security.fronting(OPERATORS, _front_limits(limits, OPERATOR_CONNECTIONS_MAX, OPERATORS_ANSWER_SILENT_S))
    if front is None:
        ports = [_listen(direct, OPERATORS, endpoint, held, credentials) for endpoint in endpoints]
        return _ForOperators(direct, None, None, ports)
    behind = people(fronted=True)
    real = iter(_listen_behind(front, behind, numbered, held))
    ports = [
        next(real) if endpoint in numbered else _listen(direct, OPERATORS, endpoint, held, credentials)
        for endpoint in endpoints
    ]
    return _ForOperators(direct, behind, front, ports)


def _people(
    runner: Runner,
    operations: OperationsService,
    limits: Limits,
    *,
    security: "Security | None",
    replicas: replicas_pb2_grpc.ReplicasServiceServicer | None,
    fronted: bool,
) -> grpc.aio.Server:
    """A server for operators, which listens nowhere yet."""
    # A front has a connection of its own for each call.
    taken_max = OPERATOR_CONNECTIONS_MAX * (STREAMS_PER_CONNECTION_MAX if fronted else 1)
    options = (*OPERATOR_OPTIONS, *_limited(limits), *_at_most(taken_max))
    guards = () if security is None else security.guards(runner, fronted=fronted)
    server = grpc.aio.server(options=options, interceptors=guards)
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(operations, server)
    events_pb2_grpc.add_EventsServiceServicer_to_server(operations.events or EventsService(runner.history), server)
    live_pb2_grpc.add_LiveServiceServicer_to_server(operations.live or LiveService(runner), server)
    if replicas is not None:
        replicas_pb2_grpc.add_ReplicasServiceServicer_to_server(replicas, server)
    return server


def _front_limits(limits: Limits, connections: int, answer_silent_s: float, dscp: int = 0) -> FrontLimits:
    return FrontLimits(
        connections, limits.handshake_s, limits.idle_connection_s, SILENT_S, answer_silent_s, tos=dscp << 2
    )


async def _start_fronts(running: ControllerServer, endpoints: Mapping[str, str]) -> None:
    """Start them, or release all that was opened.

    Raises:
        ListenError: one does not start.
    """
    for front in running.fronts:
        try:
            await front.start()
        except OSError as error:
            for started in running.fronts:
                await started.stop()
            running.held.close()
            raise ListenError(f"cannot listen on {endpoints[front.port]}: {error.strerror or error}") from error


def _enrolling(security: "Security", runner: Runner, listen: str, held: ExitStack) -> "Supervisor | None":
    """What serves enrolment, if there is to be something here."""
    supervisor = security.enrolling(runner)
    if supervisor is not None:
        endpoint = enrollment_endpoint(security.options.enrollment, listen)
        try:
            port = supervisor.listen(endpoint)
        except OSError as error:
            raise ListenError(f"cannot listen on {endpoint}: {error.strerror or error}") from error
        held.callback(supervisor.close)
        security.connections.ports = {ENROLLMENT: [port]}
        security.connections.closings = {**security.connections.closings, ENROLLMENT: supervisor.closed}
    return supervisor


def _listen_behind(
    front: "FrontSupervisor", server: grpc.aio.Server, endpoints: Sequence[str], held: ExitStack
) -> list[int]:
    """Of the front, which passes calls on by a Unix socket of its own; the real ports."""
    held.callback(front.close)
    ports = []
    for endpoint in endpoints:
        try:
            ports.append(front.listen(endpoint))
            if len(ports) == 1:
                server.add_insecure_port(f"unix:{front.calls}")
        except (OSError, RuntimeError) as error:
            raise ListenError(f"cannot listen on {endpoint}: {getattr(error, 'strerror', None) or error}") from error
    return ports


def _limited(limits: Limits) -> tuple[tuple[str, int], ...]:
    """How long a connection may be without a call. The first is for the handshakes of TLS and of HTTP/2 together, and
    is the whole time: a peer that sends an octet now and then gains nothing.
    """
    return (
        ("grpc.server_handshake_timeout_ms", round(limits.handshake_s * 1000)),
        ("grpc.max_connection_idle_ms", round(limits.idle_connection_s * 1000)),
    )


def _at_most(connections: int) -> tuple[tuple[str, int], ...]:
    return (("grpc.max_allowed_incoming_connections", connections),)


def _listen(server: grpc.aio.Server, name: str, endpoint: str, held: ExitStack, credentials: Credentials | None) -> int:
    try:
        if not endpoint.startswith(UNIX):
            if credentials is not None:
                return server.add_secure_port(endpoint, credentials(name))
            return server.add_insecure_port(endpoint)
        held.enter_context(unix_socket.held(unix_socket.path_of(endpoint)))
        with unix_socket.for_owner_and_group():
            return server.add_insecure_port(endpoint)
    except OSError as error:
        raise ListenError(f"cannot listen on {endpoint}: {error.strerror or error}") from error
    except RuntimeError as error:
        raise ListenError(f"cannot listen on {endpoint}: {error}") from error
