# SPDX-License-Identifier: Apache-2.0
"""The controller's gRPC servers: one for agents, which is here, and those for operators (operators_server.py), on
addresses of their own. Devices that have no certificate yet have a process of their own (airbound/enrolling).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from airbound import grpc_server
from airbound.config import Limits
from airbound.grpc import endpoints, operators_server
from airbound.grpc.agent_services import ACCESS_POINT_SERVICE, SWITCH_SERVICE, TERMINAL_SERVICE, AgentServices
from airbound.grpc.checks import Checks
from airbound.grpc.decoding import Decoding
from airbound.grpc.endpoints import SILENT_S, ListenError
from airbound.grpc.operations_service import OperationsService
from airbound.grpc.peers import PlainText
from airbound.grpc.ports import AGENTS, ENROLLMENT, OPERATORS
from airbound.grpc.session import REPORT_BYTES_MAX
from airbound.pki.options import enrollment_endpoint
from airbound.runtime.connections import WITHOUT_CALL_WARNED, Warned
from airbound.runtime.descriptors import connections_max
from airbound.runtime.reception import Alone, Reception
from airbound.runtime.runner import Runner
from airbound.v1 import replicas_pb2_grpc

if TYPE_CHECKING:
    from airbound.enrolling.supervisor import Supervisor
    from airbound.fronting.supervisor import Supervisor as FrontSupervisor
    from airbound.grpc.security import Security

STOP_GRACE_S = 2.0
CONTROL_DSCP = 48
STREAMS_WAITING_MAX = 100_000  # `streams_max` limits those that are served
STREAM_WAITS_MAX_S = 600  # of an agent that vanished, keep-alive ends the stream earlier

AGENT_OPTIONS = (
    *endpoints.OPTIONS,
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
    checks: Checks | None = None,
) -> ControllerServer:
    """Listen for agents on ADDRESS:PORT, for operators on each of ADDRESS:PORT or unix:/PATH; without security in plain
    text. Without a reception the streams of agents lead to the runner. Without checks access points can ask for none.

    Raises:
        ListenError: an address is taken, not ours, or no address.
    """
    credentials = None if security is None else partial(security.certificates.credentials, clients=True)
    taken_max = connections_max(limits.connections_max)
    options = (*AGENT_OPTIONS, *endpoints.connection_options(limits, taken_max))
    agents = grpc_server.make(options, interceptors=(Decoding(runner.refuse),))
    reception = reception or Alone(runner)
    if security is not None:
        reception = security.receiving(reception, runner)
    peers = PlainText() if security is None else security.fronted_peers
    reports = AgentServices(runner, reception, limits, peers, checks)
    reports.serve(agents)
    front = None
    with ExitStack() as held:
        if security is not None:
            front = security.fronting(AGENTS, endpoints.front_limits(limits, taken_max, SILENT_S, CONTROL_DSCP))
        if front is None:
            port = endpoints.listen(agents, AGENTS, listen, held, credentials)
        else:
            (port,) = endpoints.listen_behind(front, agents, [listen], held)
        for_operators = operators_server.listen(
            runner, operations, operators, limits, held, security=security, credentials=credentials, replicas=replicas
        )
        enrolling = None if security is None else _enrolling(security, runner, listen, held)
        keep = held.pop_all()
    reports.port, reports.front = port, front
    if security is not None:
        at = enrolling.endpoint if enrolling else ""
        security.add_agents_services(agents, runner)
        for server in for_operators.servers:
            security.add_operators_services(server, runner, at, fronted=server is for_operators.behind)
        security.connections.ports = {
            **security.connections.ports,
            AGENTS: [port],
            OPERATORS: [
                number for number, where in zip(for_operators.ports, operators, strict=True) if endpoints.is_tcp(where)
            ],
        }
        security.connections.octets.ports = security.connections.ports
        # Beyond its limit gRPC closes connections at once; a front leaves them in the kernel's queue.
        closed_beyond = taken_max if front is None else 0
        security.connections.warned = Warned(limits.connections_per_address_warned, WITHOUT_CALL_WARNED, closed_beyond)
    servers = [agents, *for_operators.servers]
    running = ControllerServer(
        runner, port, for_operators.ports, enrolling, front, for_operators.front, servers, [], keep
    )
    await _start_fronts(running, {AGENTS: listen, OPERATORS: ", ".join(filter(endpoints.is_tcp, operators))})
    running.health.append(await _serve(agents, (ACCESS_POINT_SERVICE, TERMINAL_SERVICE, SWITCH_SERVICE)))
    for server in for_operators.servers:
        running.health.append(await _serve(server, operators_server.service_names(replicas)))
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


async def _start_fronts(running: ControllerServer, listened: Mapping[str, str]) -> None:
    """Start them, or release all that was opened. `listened` are the endpoints of each port.

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
            raise ListenError(f"cannot listen on {listened[front.port]}: {error.strerror or error}") from error


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
