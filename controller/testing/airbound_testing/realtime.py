# SPDX-License-Identifier: Apache-2.0
"""Agents in real time against controllers that come and go: they connect again as the real ones do, apply bounds under
their lease, and keep a history.
"""

import asyncio
import contextlib
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import grpc.aio

from airbound.core.addresses import mac_from_text
from airbound.grpc.agent_services import ANSWERS
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.agents import Agent, FakeAccessPoint, FakePhone, Secured
from airbound_testing.live import ACK_IP_BYTES, IP_BYTES, LINK_BYTES, PACKETS_PER_S, upload
from airbound_testing.patience import Patience

REPORT_S = 0.5  # twice as often as the agents, so that a test takes less time
Credentials = Callable[[], Secured | None]
BACKOFF_MIN_S, BACKOFF_MAX_S = 0.1, 2.0


def nobody() -> None:
    """Plain text."""


class Happened(NamedTuple):
    """Something that a phone's bounds did, by the event loop's clock. `kind`: set, released, expired."""

    at_s: float
    kind: str
    bounds: dict[str, tuple[int, int]]


class _Answered(Agent):
    """Asks for answers, and takes note of them."""

    metadata = (ANSWERS,)
    patience: Patience

    def received(self, response: Any) -> None:
        """Something came."""
        answer = not response.HasField("command")
        self.patience.received(asyncio.get_running_loop().time(), answer=answer)
        super().received(response)


class _Connecting:
    """Stays connected to one of several addresses, as an agent: the next one after an error, later and later."""

    def __init__(self, targets: Sequence[str], seed: int, secured: Credentials, slowness: int) -> None:
        self.targets = list(targets)
        self.secured = secured  # asked before each attempt, for its certificate may be a new one
        self.streams = 0
        self._random = random.Random(seed)  # noqa: S311  # jitter
        self.patience = Patience(slowness)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.result()

    async def _run(self) -> None:
        wait_s = BACKOFF_MIN_S
        for target in itertools.cycle(self.targets):
            began_s = asyncio.get_running_loop().time()
            with contextlib.suppress(
                grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError, TimeoutError
            ):
                self.streams += 1
                await self.session(target)
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise asyncio.CancelledError
            lasted_s = asyncio.get_running_loop().time() - began_s
            wait_s = BACKOFF_MIN_S if lasted_s > BACKOFF_MAX_S else min(2 * wait_s, BACKOFF_MAX_S)
            await asyncio.sleep(wait_s * self._random.uniform(0.5, 1.0))

    async def until_next(self, agent: Agent) -> None:
        """Wait until the next report is due, or the stream has ended.

        Raises:
            TimeoutError: the controller does not answer.
        """
        loop = asyncio.get_running_loop()
        self.patience.sent(loop.time())
        left_s = self.patience.left_s(loop.time())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(REPORT_S, max(0.0, left_s))):
                await agent.ended.wait()
        if self.patience.left_s(loop.time()) <= 0:
            raise TimeoutError

    async def vanish(self) -> None:
        """The agent's process is killed: its stream breaks, and no other is opened until `return_`."""
        await self.__aexit__()

    async def return_(self) -> None:
        """The agent is started again."""
        await self.__aenter__()

    async def break_off(self) -> None:
        """The stream breaks; another one is opened."""
        await self.agent.leave()
        self.agent.ended.set()

    @property
    def agent(self) -> Agent:
        """What connects."""
        raise NotImplementedError

    async def session(self, target: str) -> None:
        """One stream, until it breaks."""
        raise NotImplementedError


class _AccessPoint(_Answered, FakeAccessPoint):
    """An access point that asks for answers."""

    def __init__(self, target: str, patience: Patience) -> None:
        super().__init__(target)
        self.patience = patience


class Phone(_Answered, FakePhone):
    """A phone whose leases end by the clock."""

    def __init__(self, target: str, mac: str, noted: Callable[[str], None], patience: Patience) -> None:
        super().__init__(target, mac)
        self.patience = patience
        self._noted = noted
        self._lease: asyncio.TimerHandle | None = None

    def take(self, response: Any) -> None:
        """Apply, and keep the lease."""
        before = self.generation
        super().take(response)
        command = response.command
        match command.WhichOneof("command"):
            case "set_bounds":
                self.under_lease(command.set_bounds.lease_ms)
                self._noted("set" if self.bounds else "released")
            case "renew_lease" if command.renew_lease.generation == before:
                self.under_lease(command.renew_lease.lease_ms)

    def under_lease(self, lease_ms: int) -> None:
        """The lease begins anew."""
        if self._lease is not None:
            self._lease.cancel()
        self._lease = asyncio.get_running_loop().call_later(lease_ms / 1000, self._end) if self.bounds else None

    def _end(self) -> None:
        self.expire()
        self._noted("expired")


class RealPhone(_Connecting):
    """A phone that sends, or does not, and reports twice a second."""

    def __init__(
        self, targets: Sequence[str], mac: str, *, seed: int, secured: Credentials = nobody, slowness: int = 1
    ) -> None:
        super().__init__(targets, seed, secured, slowness)
        self.mac = mac
        self.sends = True
        self.history: list[Happened] = []
        self._phone = Phone(targets[0], mac, self._note, self.patience)

    @property
    def agent(self) -> Agent:
        """What connects."""
        return self._phone

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """The ranges in force."""
        return self._phone.bounds

    def _note(self, kind: str) -> None:
        self.history.append(Happened(asyncio.get_running_loop().time(), kind, dict(self._phone.bounds)))

    async def session(self, target: str) -> None:
        """Report until the stream breaks. Bounds and their lease outlive it."""
        phone = self._phone
        self.patience.opened()
        phone.secured = self.secured()
        await phone.connect_again(target)
        try:
            while not phone.ended.is_set():
                destinations: list[terminal_pb2.Destination] = [upload()] if self.sends else []
                at_us = int(asyncio.get_running_loop().time() * 1e6)
                async with asyncio.timeout(5):
                    await phone.report(*destinations, monotonic_us=at_us)
                await self.until_next(phone)
        finally:
            await phone.leave()


class RealAccessPoint(_Connecting):
    """An access point that reports twice a second which of its stations send."""

    def __init__(
        self,
        targets: Sequence[str],
        bssid: str,
        stations: Sequence[str],
        *,
        seed: int,
        secured: Credentials = nobody,
        slowness: int = 1,
    ) -> None:
        super().__init__(targets, seed, secured, slowness)
        self.bssid = bssid
        self.sending = set(stations)
        self._packets = dict.fromkeys(stations, 0)
        self._began_s = asyncio.get_running_loop().time() - 10
        self._agent = _AccessPoint(targets[0], self.patience)

    async def session(self, target: str) -> None:
        """Report until the stream breaks."""
        agent = self._agent
        self.patience.opened()
        agent.secured = self.secured()
        await agent.connect_again(target)
        try:
            while not agent.ended.is_set():
                async with asyncio.timeout(5):
                    await agent.report(self._report())
                await self.until_next(agent)
        finally:
            await agent.leave()

    @property
    def agent(self) -> Agent:
        """What connects."""
        return self._agent

    def _report(self) -> access_point_pb2.AccessPointReport:
        now_us = int((asyncio.get_running_loop().time() - self._began_s) * 1e6)
        for mac in self.sending:
            self._packets[mac] += int(PACKETS_PER_S * REPORT_S)
        stations = [
            access_point_pb2.Station(
                mac=mac_from_text(mac),
                rx_packets=packets,
                rx_bytes=packets * (IP_BYTES + LINK_BYTES),
                tx_packets=packets // 2,
                tx_bytes=packets // 2 * (ACK_IP_BYTES + LINK_BYTES),
                connected_time_ms=now_us // 1000,
            )
            for mac, packets in self._packets.items()
        ]
        return access_point_pb2.AccessPointReport(
            bssid=mac_from_text(self.bssid),
            ssid=b"faults",
            monotonic_us=now_us,
            stations=stations,
            survey=access_point_pb2.ChannelSurvey(active_us=now_us, busy_us=now_us * 9 // 10),
        )
