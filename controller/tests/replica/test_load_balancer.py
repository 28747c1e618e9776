# SPDX-License-Identifier: Apache-2.0
"""The load balancer of docs/replicas.md: a real HAProxy with that configuration, two replicas with mutual TLS that
share a real Redis, and agents in real time.
"""

import asyncio
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio

from airbound.v1 import operations_pb2, operations_pb2_grpc, replicas_pb2, replicas_pb2_grpc
from airbound_testing import processes
from airbound_testing.agents import channel
from airbound_testing.faults import logs
from airbound_testing.identities import Identities, name_of
from airbound_testing.ports import free_port
from airbound_testing.realtime import RealAccessPoint, RealPhone

if TYPE_CHECKING:
    from airbound_testing.processes import Process

DOCUMENT = Path(__file__).parents[3] / "docs" / "replicas.md"
# Instead of 6, 3 and 5 s: on a machine with other work, nothing must end because everything is late.
PATIENT = "[safety]\nlease_ms = 30000\ncell_stale_ms = 30000\nterminal_stale_ms = 30000\n"
CELLS, PHONES = 4, 10  # a replica sheds streams if it has ten more than the mean
WAIT_S = 300.0


def documented(port: int, targets: list[str]) -> str:
    """The configuration of the document, with addresses of this machine."""
    (found,) = re.findall(r"```haproxy\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    text: str = found
    for placeholder, address in zip(("192.0.2.11:50051", "192.0.2.12:50051"), targets, strict=True):
        assert text.count(placeholder) == 1
        text = text.replace(placeholder, address)
    assert text.count("bind :50051") == 1
    return text.replace("bind :50051", f"bind 127.0.0.1:{port}")


class Site:
    """Redis, two replicas, HAProxy, agents that know HAProxy's address only."""

    def __init__(self, directory: Path, stack: AsyncExitStack) -> None:
        self.directory, self.stack = directory, stack
        self.identities = Identities(directory / "identities")
        self.controllers: list[Process] = []
        self.phones: list[RealPhone] = []

    async def start(self) -> None:
        self.identities.make(CELLS, CELLS * PHONES)
        redis = await self.stack.enter_async_context(processes.redis(self.directory))
        for name in ("a", "b"):
            # Far fewer than come from the balancer's address: with certificates that one does not count.
            limits = "streams_per_address_max = 3\nstreams_per_name_max = 2\n"
            made = processes.controller(
                self.directory, name, {"url": f"redis://{redis.target}"}, identities=self.identities, limits=limits,
                more=PATIENT,
            )  # fmt: skip
            self.controllers.append(await self.stack.enter_async_context(made))
        port = free_port()
        configuration = documented(port, [controller.target for controller in self.controllers])
        balancer = await self.stack.enter_async_context(processes.haproxy_of(self.directory, port, configuration))
        for cell in range(CELLS):
            numbers = range(cell * PHONES, (cell + 1) * PHONES)
            macs = [f"02:00:00:00:{cell + 1:02x}:{number:02x}" for number in numbers]
            await self.stack.enter_async_context(
                RealAccessPoint(
                    [balancer.target], f"02:00:00:00:00:{cell + 1:02x}", macs, seed=cell,
                    secured=partial(self.identities.client, "access-point", cell),
                )
            )  # fmt: skip
            for number, mac in zip(numbers, macs, strict=True):
                secured = partial(self.identities.client, "terminal", number)
                phone = RealPhone([balancer.target], mac, seed=100 + number, secured=secured)
                self.phones.append(await self.stack.enter_async_context(phone))

    async def until(self, what: str, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait for a condition; only a failure takes the whole time."""
        try:
            async with asyncio.timeout(WAIT_S):
                while not await condition():  # noqa: ASYNC110  # it is the replicas that are asked
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"not within {WAIT_S} s: {what}\n{logs(self.controllers)}") from None

    async def bounded(self) -> bool:
        return all(phone.bounds for phone in self.phones)

    async def ask(self, replica: int, service: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """What an operator is answered at a replica; none if it does not answer."""
        async with channel(self.controllers[replica].operators, self.identities.client("operator", 0)) as made:
            try:
                return await call(service(made))
            except grpc.aio.AioRpcError:
                return None

    async def terminals(self) -> list[int]:
        """How many terminals' streams each replica has, the smaller number first; both must be there."""

        async def call(stub: Any) -> Any:
            return await stub.ListReplicas(replicas_pb2.ListReplicasRequest(), timeout=5)

        answer = await self.ask(1, replicas_pb2_grpc.ReplicasServiceStub, call)
        return sorted(replica.terminals for replica in answer.replicas) if answer else []

    async def names(self) -> tuple[set[str], set[str]]:
        """Access points and terminals as a replica has them."""

        async def call(stub: Any) -> Any:
            cells = stub.ListCells(operations_pb2.ListCellsRequest(), timeout=5)
            access_points = {cell.access_point async for page in cells for cell in page.cells}
            found = stub.ListTerminals(operations_pb2.ListTerminalsRequest(), timeout=5)
            return access_points, {terminal.name async for page in found for terminal in page.terminals}

        return await self.ask(1, operations_pb2_grpc.OperationsServiceStub, call) or (set(), set())

    def lost(self, since_s: float) -> list[str]:
        """Phones whose bounds were released or ended with their lease."""
        return [
            f"{phone.mac} {happened.kind}"
            for phone in self.phones
            for happened in phone.history
            if happened.at_s >= since_s and happened.kind != "set"
        ]


async def test_streams_are_spread_and_nobody_is_released_while_a_replica_restarts(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        site = Site(tmp_path, stack)
        await site.start()

        async def are_named() -> bool:
            return await site.names() == (
                {name_of(number) for number in range(CELLS)},
                {name_of(number) for number in range(CELLS * PHONES)},
            )

        async def are_spread() -> bool:
            counts = await site.terminals()
            return len(counts) == 2 and sum(counts) == CELLS * PHONES and counts[0] >= CELLS * PHONES // 4

        await site.until("every phone has bounds", site.bounded)
        await site.until("each replica has its part", are_spread)
        await site.until("replicas know all agents by their certificates", are_named)

        began_s = asyncio.get_running_loop().time()
        site.controllers[0].send(signal.SIGTERM)
        assert await site.controllers[0].ended() == 0

        async def are_at_one() -> bool:
            return (await site.terminals())[-1:] == [CELLS * PHONES]

        await site.until("the other replica has all", are_at_one)
        await site.controllers[0].start()
        await site.until("streams are shed back", are_spread)
        await site.until("replicas know all agents again", are_named)
        assert await site.bounded()
        assert site.lost(began_s) == [], logs(site.controllers)
        assert not any("too_many_streams" in log.read_text() for log in (c.log for c in site.controllers))
