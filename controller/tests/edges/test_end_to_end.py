# SPDX-License-Identifier: Apache-2.0
"""Real gRPC over the loopback interface; only the controller's clock is the test's."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.edges import server
from airbound.edges.hub import Hub
from airbound.edges.store import MemoryStore
from airbound.testing.agents import WAIT_S, FakeAccessPoint, FakePhone
from airbound.v1 import access_point_pb2, operations_pb2, operations_pb2_grpc, terminal_pb2

BSSID = "02:00:00:00:00:01"
SERVER = "10.0.4.1/32"
MACS = [f"02:00:00:00:01:{number:02x}" for number in range(4)]


@dataclass
class Cell:
    """A controller, and an access point whose clock moves a second with each report."""

    running: server.ControllerServer
    target: str
    stack: AsyncExitStack
    clock_us: list[int]
    access_point: FakeAccessPoint
    packets: dict[str, int] = field(default_factory=dict)
    second: int = 0

    async def report(self, *sending: str, idle: tuple[str, ...] = ()) -> None:
        self.second += 1
        for mac in sending:
            self.packets[mac] = self.packets.get(mac, 0) + 200
        message = access_point_pb2.AccessPointReport(
            bssid=BSSID,
            monotonic_us=self.second * 1_000_000,
            stations=[
                access_point_pb2.Station(
                    mac=mac,
                    rx_packets=self.packets.get(mac, 0),
                    rx_bytes=self.packets.get(mac, 0) * 1534,
                    connected_time_ms=self.second * 1000,
                )
                for mac in (*sending, *idle)
            ],
            survey=access_point_pb2.ChannelSurvey(active_us=self.second * 10**6, busy_us=self.second * 9 * 10**5),
        )
        await self.access_point.report(message)

    async def phone(self, number: int) -> FakePhone:
        return await self.stack.enter_async_context(FakePhone(self.target, MACS[number]))

    async def uploading(self, count: int) -> list[FakePhone]:
        """So many phones that send and are bound."""
        await self.report(*MACS[:count])
        await self.report(*MACS[:count])
        ask = self.ask()

        async def counted() -> bool:
            cells = (await ask.ListCells(operations_pb2.ListCellsRequest())).cells
            return bool(cells and cells[0].active_senders == count)

        await self.until(counted)  # streams are not handled in the order in which they were written to
        phones = [await self.phone(number) for number in range(count)]
        for phone in phones:
            await phone.report(upload(), monotonic_us=1)
        for phone in phones:
            await phone.until(lambda phone=phone: phone.bounds != {})  # type: ignore[misc]
        return phones

    def ask(self) -> Any:
        channel = grpc.aio.insecure_channel(self.target)
        self.stack.push_async_callback(channel.close)
        return operations_pb2_grpc.OperationsServiceStub(channel)

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds that no phone is told of."""
        async with asyncio.timeout(WAIT_S):
            while not await condition():  # noqa: ASYNC110  # it is the controller that is asked
                await asyncio.sleep(0.01)


def upload(srtt_us: int = 300_000, min_rtt_us: int = 256_500) -> terminal_pb2.Destination:
    return terminal_pb2.Destination(
        address="10.0.4.1",
        connections=1,
        connections_sending=1,
        srtt_us=srtt_us,
        min_rtt_us=min_rtt_us,
        mss_bytes=1448,
    )


@pytest.fixture
async def cell() -> AsyncIterator[Cell]:
    clock_us = [1_000_000_000]
    hub = Hub(Engine(Parameters(policy="paper")), MemoryStore(), lambda: clock_us[0])
    running = await server.start(hub, "127.0.0.1:0")
    target = f"127.0.0.1:{running.port}"
    async with AsyncExitStack() as stack:
        access_point = await stack.enter_async_context(FakeAccessPoint(target))
        yield Cell(running, target, stack, clock_us, access_point)
    await running.stop()


async def test_a_change_of_n_reaches_the_other_phones_without_their_reports(cell: Cell) -> None:
    phones = await cell.uploading(3)
    assert [phone.bounds for phone in phones] == [{SERVER: (250, 400)}] * 3
    await cell.report(*MACS[:4])
    await cell.report(*MACS[:4])
    for phone in phones:
        await phone.until(lambda phone=phone: phone.bounds == {SERVER: (120, 200)})  # type: ignore[misc]
        assert "n 3 -> 4" in phone.reason
    await cell.report(MACS[0], idle=tuple(MACS[1:]))
    await phones[0].until(lambda: phones[0].bounds == {SERVER: (250, 555)})


async def test_leases_are_renewed_by_the_one_timer(cell: Cell) -> None:
    (phone,) = await cell.uploading(1)
    cell.clock_us[0] += 2_000_000
    await phone.report(upload(), monotonic_us=2)
    await phone.until(lambda: phone.renewals == 1)
    assert phone.sets == 1


async def test_a_silent_access_point_frees_its_phones(cell: Cell) -> None:
    (phone,) = await cell.uploading(1)
    cell.clock_us[0] += 3_500_000
    await phone.report(upload(), monotonic_us=2)
    await phone.until(lambda: phone.bounds == {})
    assert "silent" in phone.reason


async def test_a_controller_that_stops_frees_its_phones_and_says_goodbye(cell: Cell) -> None:
    phones = await cell.uploading(2)
    await cell.running.stop()
    for phone in phones:
        await phone.ended.wait()
        assert phone.bounds == {}
        assert phone.error is not None
        assert phone.error.code() is grpc.StatusCode.UNAVAILABLE
        assert phone.error.details() == "the controller is stopping"


async def test_a_second_stream_of_a_phone_ends_the_first(cell: Cell) -> None:
    (first,) = await cell.uploading(1)
    second = await cell.phone(0)
    await second.report(upload(), monotonic_us=5)
    await second.until(lambda: second.bounds == {SERVER: (250, 555)})
    await asyncio.wait_for(first.ended.wait(), WAIT_S)
    assert first.error is not None
    assert "a newer stream" in (first.error.details() or "")


async def test_a_phone_no_access_point_reports_is_explained(cell: Cell) -> None:
    phone = await cell.phone(3)
    await phone.report(upload(), monotonic_us=1)
    ask = cell.ask()

    async def explained() -> bool:
        try:
            answer = await ask.ExplainTerminal(operations_pb2.ExplainTerminalRequest(mac=MACS[3]))
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.NOT_FOUND  # noqa: PT017  # the report may still be on its way
            return False
        assert not answer.HasField("cell")
        assert "not joined" in answer.no_bounds_reason
        return True

    await cell.until(explained)
    assert phone.sets == 0


async def test_garbage_is_refused_counted_and_harms_nobody(cell: Cell) -> None:
    phones = await cell.uploading(2)
    before = phones[1].bounds
    for garbage in (
        upload(srtt_us=1),
        upload(min_rtt_us=2**32 - 1),
        terminal_pb2.Destination(address="nan"),
        terminal_pb2.Destination(address="10.0.4.1", connections_sending=2**32 - 1),
    ):
        await phones[0].report(garbage, monotonic_us=1)
    await cell.access_point.report(access_point_pb2.AccessPointReport(bssid=BSSID, monotonic_us=2**64 - 1))
    ask = cell.ask()

    async def counted() -> bool:
        terminals = (await ask.ListTerminals(operations_pb2.ListTerminalsRequest())).terminals
        cells = (await ask.ListCells(operations_pb2.ListCellsRequest())).cells
        return bool(terminals[0].refused_reports_total == 4 and cells[0].refused_reports_total == 1)

    await cell.until(counted)
    assert phones[1].bounds == before
    assert (phones[0].error, cell.access_point.error) == (None, None)


async def test_operators_switch_modes_and_exempt_phones(cell: Cell) -> None:
    phones = await cell.uploading(2)
    ask = cell.ask()
    answer = await ask.ExemptTerminal(operations_pb2.ExemptTerminalRequest(mac=MACS[0].upper(), exempt=True))
    assert not answer.previously_exempt
    await phones[0].until(lambda: phones[0].bounds == {})
    assert phones[1].bounds == {SERVER: (300, 300)}
    mode = await ask.SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE))
    assert mode.previous_mode == operations_pb2.MODE_CONTROL
    await phones[1].until(lambda: phones[1].bounds == {})
    assert (await ask.ListCells(operations_pb2.ListCellsRequest())).mode == operations_pb2.MODE_OBSERVE
    with pytest.raises(grpc.aio.AioRpcError, match="expected observe or control"):
        await ask.SetMode(operations_pb2.SetModeRequest())
    with pytest.raises(grpc.aio.AioRpcError, match="mac = 'phone'"):
        await ask.ExemptTerminal(operations_pb2.ExemptTerminalRequest(mac="phone", exempt=True))


async def test_watchers_see_every_cell_once_and_then_each_change(cell: Cell) -> None:
    await cell.uploading(1)
    watch = cell.ask().WatchCells(operations_pb2.WatchCellsRequest())
    assert (await watch.read()).cell.active_senders == 1
    await cell.report(MACS[0], idle=(MACS[1],))
    assert (await watch.read()).cell.stations == 2
    watch.cancel()


async def test_health_and_reflection_answer(cell: Cell) -> None:
    async with grpc.aio.insecure_channel(cell.target) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for service in ("", *server.SERVICES):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        untyped: Any = channel
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(untyped)
        call = stub.ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        names = {entry.name for entry in (await call.read()).list_services_response.service}
        await call.done_writing()
    assert {*server.SERVICES, "grpc.health.v1.Health"} <= names


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


async def test_commands_are_marked_as_network_control(cell: Cell) -> None:
    await cell.uploading(1)
    accepted = sockets_of(cell.running.port)
    assert accepted
    for connection in accepted:
        with connection:
            # A socket of both families sends to IPv4 with this one, too.
            assert connection.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 0xC0
            if connection.family == socket.AF_INET6:
                assert connection.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS) == 0xC0


async def test_a_taken_port_is_said_so(cell: Cell) -> None:
    hub = Hub(Engine(Parameters()), MemoryStore())
    with pytest.raises(server.ListenError, match=f"cannot listen on {cell.target}"):
        await server.start(hub, cell.target)


async def test_a_report_too_large_ends_its_stream_alone(cell: Cell) -> None:
    (phone,) = await cell.uploading(1)
    other = await cell.phone(1)
    await other.report(*[upload()] * 40_000, monotonic_us=1)
    await asyncio.wait_for(other.ended.wait(), WAIT_S)
    assert other.error is not None
    assert "a report is at most 1048576 bytes" in (other.error.details() or "")
    assert cell.running.hub.engine.refused_unattributed_total == 1
    assert (phone.error, cell.access_point.error) == (None, None)


async def test_bytes_that_are_no_message_are_counted_for_whom_the_stream_speaks_for(cell: Cell) -> None:
    (phone,) = await cell.uploading(1)
    report = terminal_pb2.TerminalReport(mac=MACS[0], sequence=1, monotonic_us=1, destinations=[upload()])
    async with grpc.aio.insecure_channel(cell.target) as channel:
        connect = channel.stream_stream(
            "/airbound.v1.TerminalService/Connect", request_serializer=bytes, response_deserializer=bytes
        )
        call = connect()
        await call.write(terminal_pb2.TerminalServiceConnectRequest(report=report).SerializeToString())
        await call.write(b"\xff\xff\xff")
        assert await call.code() == grpc.StatusCode.UNAVAILABLE
        assert await call.details() == "not a message of the contract"
    view = cell.running.hub.engine.terminal(MACS[0], cell.clock_us[0])
    assert view is not None
    assert view.refused_total == 1
    assert cell.access_point.error is None
    assert phone.error is not None  # the newer stream of the same terminal took its place
