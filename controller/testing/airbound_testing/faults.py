# SPDX-License-Identifier: Apache-2.0
"""Two cells with three phones each at replicas that share a store, and what a fault does to them.

Right bounds are those of the paper's table for the number of senders. After a fault one phone of each cell stops to
send: the others' bounds must follow.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import grpc.aio

from airbound.pki.identities import CertificateRole
from airbound.v1 import replicas_pb2, replicas_pb2_grpc
from airbound_testing.agents import Secured, channel
from airbound_testing.live import SERVER
from airbound_testing.processes import Process
from airbound_testing.realtime import RealAccessPoint, RealPhone

BSSIDS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
PHONES = 3  # of each cell
RIGHT: dict[int, dict[str, tuple[int, int]]] = {2: {SERVER: (300, 300)}, 3: {SERVER: (250, 400)}}
SETTLED_S = 300.0  # only a failure takes that long
POLL_S = 0.1


@dataclass(slots=True)
class Outcome:
    """What a fault did. Times are seconds after it."""

    right_again_s: float | None = None  # all bounds right for the new number of senders
    expired: int = 0  # leases that ended while their phone sent
    clamped: int = 0  # phones with bounds in cells whose access points are gone
    released: int = 0  # empty sets to a phone that sends
    owned_twice: int = 0  # answers by which two replicas could command one cell at one time
    owners: dict[str, dict[int, str]] = field(default_factory=dict)  # by cell and epoch

    def note(self, owned: AbstractSet[tuple[str, int, str]]) -> None:
        """One round of answers: cell, epoch, replica. All replicas were asked after the round before was over."""
        latest = {cell: max(owners) for cell, owners in self.owners.items()}
        for cell, epoch, replica in owned:
            owner = self.owners.setdefault(cell, {}).setdefault(epoch, replica)
            self.owned_twice += owner != replica or epoch < latest.get(cell, 0)


class Fleet:
    """Access points and phones, spread over the replicas; a context manager."""

    def __init__(
        self,
        controllers: Sequence[Process],
        *,
        through: str = "",
        secured: Callable[[CertificateRole, str], Secured | None] = lambda *_: None,
        slowness: int = 1,
    ) -> None:
        self.controllers = list(controllers)
        self._slowness = slowness
        self._secured = secured
        self.lost: set[int] = set()  # cells whose access points do not come back: their phones are to be free
        self._stack = AsyncExitStack()
        self._through = through  # a load balancer, instead of the replicas' own addresses
        self.access_points: list[RealAccessPoint] = []
        self.phones: list[list[RealPhone]] = []  # by cell
        self.outcome = Outcome()
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        targets = [self._through] if self._through else [controller.target for controller in self.controllers]
        for cell, bssid in enumerate(BSSIDS):
            macs = [f"02:00:00:00:{cell + 1:02x}:{number:02x}" for number in range(PHONES)]
            order = targets[cell % len(targets) :] + targets[: cell % len(targets)]
            access_point = RealAccessPoint(
                order, bssid, macs, seed=cell, secured=partial(self._secured, "access-point", bssid),
                slowness=self._slowness,
            )  # fmt: skip
            self.access_points.append(await self._stack.enter_async_context(access_point))
            phones = []
            for number, mac in enumerate(macs):
                first = (cell + number) % len(targets)
                phone = RealPhone(
                    targets[first:] + targets[:first],
                    mac,
                    seed=100 + 10 * cell + number,
                    secured=partial(self._secured, "terminal", mac),
                    slowness=self._slowness,
                )
                phones.append(await self._stack.enter_async_context(phone))
            self.phones.append(phones)
        self._watch = asyncio.create_task(self._watch_owners())
        await self.until(lambda: self.are_right(PHONES), SETTLED_S)
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]

    def are_right(self, senders: int) -> bool:
        """Whether every phone that sends has the bounds of so many senders, or none if its access point is gone."""
        return all(
            phone.bounds == ({} if cell in self.lost else RIGHT[senders])
            for cell, phones in enumerate(self.phones)
            for phone in phones
            if phone.sends
        )

    async def until(self, condition: Callable[[], bool], limit_s: float) -> float:
        """Wait for a condition; the seconds that took.

        Raises:
            TimeoutError: it is not met in time.
        """
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        async with asyncio.timeout(limit_s):
            while not condition():  # noqa: ASYNC110  # many things are looked at
                await asyncio.sleep(0.02)
        return loop.time() - began_s

    async def connect_again(self, role: CertificateRole, limit_s: float) -> None:
        """Have the agents of a role connect with the certificates that they have now, and be answered.

        Raises:
            TimeoutError: it takes longer.
        """
        agents: list[RealAccessPoint | RealPhone] = []
        if role == "access-point":
            agents += self.access_points
        elif role == "terminal":
            agents += itertools.chain(*self.phones)
        before = [agent.agent.answers for agent in agents]
        for agent in agents:
            await agent.break_off()

        def answered() -> bool:
            return self.are_right(PHONES) and all(
                agent.agent.answers > count and agent.agent.secured == agent.secured()
                for agent, count in zip(agents, before, strict=True)
            )

        await self.until(answered, limit_s)

    def one_stops(self) -> None:
        """One phone of each cell stops to send."""
        for access_point, phones in zip(self.access_points, self.phones, strict=True):
            access_point.sending.discard(phones[-1].mac)
            phones[-1].sends = False

    async def endure(self, fault: Callable[[], Awaitable[Any]], *, stop_after_s: float = 0.0) -> Outcome:
        """Do something bad, have one phone of each cell stop, and see what it does.

        Raises:
            TimeoutError: bounds are not right again within `SETTLED_S`.
        """
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        doing = asyncio.ensure_future(fault())
        await asyncio.sleep(stop_after_s)
        self.one_stops()
        stopped_s = loop.time()
        await self.until(lambda: self.are_right(PHONES - 1), SETTLED_S)
        self.outcome.right_again_s = loop.time() - stopped_s
        await doing
        await asyncio.sleep(2.0 * self._slowness)  # what comes late counts as well
        if self._watch is not None and self._watch.done():
            self._watch.result()
            raise RuntimeError("nobody looked who owned the cells")
        for cell, phones in enumerate(self.phones):
            self.outcome.clamped += sum(phone.bounds != {} for phone in phones if cell in self.lost)
            for phone in phones[:-1] if cell not in self.lost else ():
                since = [happened for happened in phone.history if happened.at_s >= began_s]
                self.outcome.expired += sum(happened.kind == "expired" for happened in since)
                self.outcome.released += sum(happened.kind == "released" for happened in since)
        return self.outcome

    async def _watch_owners(self) -> None:
        """Note who says to own what; a replica that does not answer says nothing.

        Answers of one round may be far apart on a busy machine, and a cell go from one replica to the other between
        them. Two may command it at one time if they have the same epoch, or if an owner is asked after a later one has
        answered, and still says that it is one.
        """
        channels = [
            channel(controller.operators, self._secured("operator", "bench")) for controller in self.controllers
        ]
        stubs: list[Any] = [replicas_pb2_grpc.ReplicasServiceStub(each) for each in channels]
        try:
            while True:
                answers = await asyncio.gather(*(_owned(stub) for stub in stubs))
                self.outcome.note({(cell.bssid, cell.epoch, cell.replica) for cells in answers for cell in cells})
                await asyncio.sleep(POLL_S)
        finally:
            for each in channels:
                await each.close()


async def _owned(stub: Any) -> list[replicas_pb2.OwnedCell]:
    request = replicas_pb2.ListOwnedRequest(only_this=True)
    try:
        answer = await stub.ListOwned(request, timeout=0.5)
    except grpc.aio.AioRpcError:
        return []
    return [cell for cell in answer.cells if cell.lease_left_ms]


def logs(controllers: Sequence[Process]) -> str:
    """What the controllers logged, for a failure."""
    return "\n".join(f"{controller.log.name}\n{Path(controller.log).read_text()[-4000:]}" for controller in controllers)
