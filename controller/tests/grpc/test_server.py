# SPDX-License-Identifier: Apache-2.0
"""The two servers: who reaches what, how they are marked, and what they do about too many pings."""

import asyncio
import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from airbound.config import Limits
from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.grpc import server
from airbound.grpc.agent_services import ACCESS_POINT_SERVICE, TERMINAL_SERVICE
from airbound.grpc.operations_service import OperationsService
from airbound.grpc.operators_server import OPERATIONS_SERVICE
from airbound.runtime.runner import Runner
from airbound.v1 import operations_pb2, operations_pb2_grpc
from airbound_testing.agents import WAIT_S, FakeAccessPoint, FakePhone
from airbound_testing.live import LOOPBACK, MACS, LiveController, upload

NETWORK_CONTROL = 0xC0  # CS6 in the upper six bits


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController() as controller:
        yield controller


async def test_health_and_reflection_answer_for_the_services_of_each_port(live: LiveController) -> None:
    agents, operators = {ACCESS_POINT_SERVICE, TERMINAL_SERVICE}, {OPERATIONS_SERVICE}
    for target, served, others in ((live.target, agents, operators), (live.operators, operators, agents)):
        async with grpc.aio.insecure_channel(target) as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)
            for service in ("", *served):
                answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
            untyped: Any = channel
            call = reflection_pb2_grpc.ServerReflectionStub(untyped).ServerReflectionInfo()
            await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            names = {entry.name for entry in (await call.read()).list_services_response.service}
            await call.done_writing()
        assert served | {"grpc.health.v1.Health"} <= names
        assert not others & names


async def test_operators_have_nothing_to_ask_on_the_agents_port(live: LiveController) -> None:
    async with grpc.aio.insecure_channel(live.target) as channel:
        stub: Any = operations_pb2_grpc.OperationsServiceStub(channel)
        for call in (
            stub.SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE)),
            stub.ExemptTerminal(operations_pb2.ExemptTerminalRequest(name="x", exempt=True)),
            stub.GetController(operations_pb2.GetControllerRequest()),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    settings = live.runner.engine.settings
    assert (settings.mode, settings.exempt) == ("control", set())


async def test_agents_have_nothing_to_report_on_the_operators_port(live: LiveController) -> None:
    async with FakePhone(live.operators, MACS[0]) as phone, FakeAccessPoint(live.operators) as access_point:
        for agent in (phone, access_point):
            await asyncio.wait_for(agent.ended.wait(), WAIT_S)
            assert agent.error is not None
            assert agent.error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert live.runner.reports_total == 0


async def test_operators_on_a_unix_socket_and_a_port(tmp_path: Path) -> None:
    endpoint = f"unix:{tmp_path}/airbound.sock"
    async with LiveController(operators=[endpoint, LOOPBACK]) as live:
        assert live.operators == endpoint
        assert len(live.running.operator_ports) == 2
        for target in (endpoint, f"127.0.0.1:{live.running.operator_ports[1]}"):
            async with grpc.aio.insecure_channel(target) as channel:
                stub: Any = operations_pb2_grpc.OperationsServiceStub(channel)
                assert (await stub.GetController(operations_pb2.GetControllerRequest())).mode


async def test_a_controller_without_operators() -> None:
    async with LiveController(operators=[]) as live:
        assert live.running.operator_ports == []
        await live.uploading(1)


async def test_an_address_that_is_taken_or_none_of_ours(live: LiveController, tmp_path: Path) -> None:
    for listen, operators, wrong in (
        (live.target, [LOOPBACK], live.target),
        (LOOPBACK, [live.operators], live.operators),
        ("192.0.2.1:50051", [], "192.0.2.1:50051"),
        (LOOPBACK, [f"unix:{tmp_path}/nowhere/airbound.sock"], "unix:"),
    ):
        runner = Runner(Engine(Parameters()))
        with pytest.raises(server.ListenError, match=f"^cannot listen on {wrong}"):
            await server.start(runner, OperationsService(runner), listen, operators, Limits(), security=None)


async def test_stopping_reports_that_it_does_not_serve(live: LiveController) -> None:
    async with grpc.aio.insecure_channel(live.operators) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        stopping = asyncio.ensure_future(live.running.stop())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watch.cancel()
        await stopping
    assert live.runner.streams == 0


STREAMS_AT_ONCE = 1_600
AGENTS_AT_ONCE = """
import asyncio, sys
import grpc, grpc.aio
from airbound.grpc.agent_services import TERMINAL_SERVICE
from airbound.v1 import terminal_pb2

target, count = sys.argv[1], int(sys.argv[2])
options = [("grpc.use_local_subchannel_pool", 1)]  # a connection for each channel

async def main():
    calls = []
    for _ in range(count // 4):  # as many streams as a connection may have
        connect = grpc.aio.insecure_channel(target, options).stream_stream(f"/{TERMINAL_SERVICE}/Connect")
        calls += [connect() for _ in range(4)]
    for number, call in enumerate(calls):
        mac = bytes([2, 0, 0, 0, number // 256, number % 256])
        report = terminal_pb2.TerminalReport(mac=mac, sequence=1, monotonic_us=1)
        await call.write(terminal_pb2.TerminalServiceConnectRequest(report=report).SerializeToString())
    print("all have sent a report", flush=True)
    answers = await asyncio.gather(*(call.read() for call in calls), return_exceptions=True)
    print(sum(isinstance(answer, bytes) for answer in answers), flush=True)

asyncio.run(main())
"""


async def test_of_many_streams_at_once_none_is_turned_away() -> None:
    """As after a restart. While the event loop is busy, streams wait in gRPC; by default 1,000 of them, for 30 s."""
    async with LiveController(streams_max=2 * STREAMS_AT_ONCE) as live:
        arguments = [sys.executable, "-c", AGENTS_AT_ONCE, live.target, str(STREAMS_AT_ONCE)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as agents:  # noqa: ASYNC220  # it is to block
            assert agents.stdout is not None
            assert agents.stdout.readline() == "all have sent a report\n"  # the event loop waits as well
            served = await asyncio.to_thread(agents.stdout.readline)
        assert served == f"{STREAMS_AT_ONCE}\n"


async def test_the_servers_are_stopped_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take its grace, for calls that do not end: the controller's end must not take the sum of them."""
    async with LiveController() as live:
        all_stopping = asyncio.Barrier(len(live.running.servers))

        class Stopping:
            def __init__(self, server: grpc.aio.Server) -> None:
                self._server = server

            async def stop(self, grace_s: float) -> None:
                await all_stopping.wait()
                await self._server.stop(grace_s)

        assert all_stopping.parties == 2
        with monkeypatch.context() as patched:
            patched.setattr(live.running, "servers", [Stopping(server) for server in live.running.servers])
            async with asyncio.timeout(WAIT_S):
                await live.running.stop()


async def test_ipv6_and_ipv4_on_one_port() -> None:
    async with LiveController(listen="[::]:0") as live:
        port = live.running.port
        async with FakePhone(f"127.0.0.1:{port}", MACS[0]) as v4, FakePhone(f"[::1]:{port}", MACS[1]) as v6:
            for phone in (v4, v6):
                await phone.report(upload(), monotonic_us=1)
                await phone.until(lambda phone=phone: phone.reporting.interval_ms != 0)  # type: ignore[misc]
            terminals = {terminal.name: terminal.stream.address for terminal in live.runner.engine.terminals()}
        assert terminals == {"127.0.0.1": bytes([127, 0, 0, 1]), "::1": bytes(15) + b"\x01"}


def sockets_of(port: int) -> list[socket.socket]:
    """This process's connections that were accepted on the port; copies, for the caller to close."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            candidate = socket.socket(fileno=os.dup(int(descriptor.name)))
        except OSError:  # no socket, or gone
            continue
        try:
            ours = candidate.family in {socket.AF_INET, socket.AF_INET6} and candidate.getsockname()[1] == port
            candidate.getpeername()
        except OSError:
            ours = False
        if ours:
            found.append(candidate)
        else:
            candidate.close()
    return found


@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
async def test_commands_are_marked_as_network_control(address: str) -> None:
    async with LiveController(listen=f"{address}:0") as live:
        await live.uploading(1)
        accepted = sockets_of(live.running.port)
        assert accepted
        for connection in accepted:
            with connection:
                # gRPC listens on IPv4 by a socket of both families, whose packets have this mark, too.
                assert connection.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == NETWORK_CONTROL
                if address == "[::1]":
                    assert connection.family == socket.AF_INET6
                    assert connection.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS) == NETWORK_CONTROL


# HTTP/2 by hand: gRPC's own client sends no more pings than are welcome.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, PING, GOAWAY, ACK = 4, 6, 7, 1
ENHANCE_YOUR_CALM = 11


def frame(kind: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, 0) + payload


class Pinger:
    """A connection that pings; `acknowledged` and `goaway` are what came back."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.acknowledged = 0
        self.goaway: int | None = None

    @classmethod
    async def connect(cls, port: int) -> Self:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(PREFACE + frame(SETTINGS))
        return cls(reader, writer)

    def ping(self) -> None:
        self._writer.write(frame(PING, bytes(8)))

    async def read(self) -> bool:
        """One frame; whether there was one."""
        try:
            head = await self._reader.readexactly(9)
            payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        if head[3] == SETTINGS and not head[4] & ACK:
            self._writer.write(frame(SETTINGS, flags=ACK))
        if head[3] == PING and head[4] & ACK:
            self.acknowledged += 1
        if head[3] == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
        return True

    async def close(self) -> None:
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)


async def test_a_flood_of_pings_ends_its_connection_alone(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    pinger = await Pinger.connect(live.running.port)
    async with asyncio.timeout(WAIT_S):
        for number in range(1, 20):
            pinger.ping()
            while pinger.acknowledged < number and pinger.goaway is None and await pinger.read():
                pass
            if pinger.goaway is not None:
                break
    await pinger.close()
    assert pinger.goaway == ENHANCE_YOUR_CALM
    assert phone.error is None


async def test_pings_as_agents_send_them_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything a hundred times as fast: agents ping every 10 s, and 5 s are allowed."""
    options = dict(server.AGENT_OPTIONS)
    assert options["grpc.http2.min_ping_interval_without_data_ms"] == 5_000
    options["grpc.http2.min_ping_interval_without_data_ms"] = 50
    monkeypatch.setattr(server, "AGENT_OPTIONS", tuple(options.items()))
    async with LiveController() as live:
        pinger = await Pinger.connect(live.running.port)
        for number in range(1, 9):
            await asyncio.sleep(0.1)
            pinger.ping()
            async with asyncio.timeout(WAIT_S):
                while pinger.acknowledged < number:
                    assert await pinger.read()
        assert pinger.goaway is None
        await pinger.close()
