# SPDX-License-Identifier: Apache-2.0
"""Two replicas and an access point without any network between them: its reports go to the one that it is connected to,
once a second. When its stream ends it connects to the other one.
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence

from airbound.core.addresses import mac_from_text
from airbound.core.effects import Command
from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Reason
from airbound.core.reports import AccessPointReport, Station
from airbound.replica.node import Node
from airbound.runtime.runner import Runner
from airbound.store.types import Store

NAMES = ("a", "b")
CELL, STATION = mac_from_text("02:00:00:00:00:01"), mac_from_text("02:00:00:00:01:01")
REPORT_S, CONNECT_S = 1.0, 0.7
BEFORE_S, STEP_S = 4.0, 0.05


class _Session:
    """A stream whose commands nobody reads."""

    def __init__(self, stream: Stream, closed: Callable[[], None]) -> None:
        self.stream = stream
        self.generation = 0
        self._closed = closed

    def send(self, command: Command) -> None:
        """Nothing comes of it."""

    def close(self, reason: Reason) -> None:
        """End the stream, in the next turn of the loop."""
        del reason
        asyncio.get_running_loop().call_soon(self._closed)


class Replicas:
    """Two replicas, their access to the store, and an access point."""

    def __init__(self, stores: Sequence[Store], now_us: Callable[[], int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._now_us = now_us
        self.nodes = [
            Node(name, Runner(Engine(Parameters(), replicas=True), clock_us=now_us), store)
            for name, store in zip(NAMES, stores, strict=True)
        ]
        self.at = 0  # where the access point is, or connects next
        self.session: _Session | None = None
        self.trouble = list[str]()
        self._sequence = itertools.count(1)
        self._tasks = list[asyncio.Task[None]]()
        self._next_s = 0.0  # when the access point does something

    async def start(self) -> None:
        """Begin, and wait until the cell has its owner."""
        for node in self.nodes:
            await node.start()
        self._tasks = [self._loop.create_task(work) for work in (self._report(), self._watch())]
        await asyncio.sleep(BEFORE_S)

    async def stop(self) -> None:
        """End everything."""
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        for result in results:
            if not isinstance(result, asyncio.CancelledError) and result is not None:
                raise result
        for node in self.nodes:
            await node.stop()
            node.runner.stop()

    def commanded_by(self) -> list[str]:
        """The replicas that would command the cell now. Each first looks whether it stood still, as before an event."""
        for node in self.nodes:
            node.owners.ownership.stall.check()
        now_us = self._now_us()
        return [node.name for node in self.nodes if node.owners.ownership.token(CELL, now_us) is not None]

    def is_right(self) -> bool:
        """Whether the replica with the access point is the owner."""
        return self.session is not None and self.commanded_by() == [NAMES[self.at]]

    def leave(self, next_at: int, away_s: float) -> None:
        """The access point's stream ends; it connects again."""
        session, self.session = self.session, None
        if session is not None:
            self.nodes[self.at].closed(session)
        self.at, self._next_s = next_at, self._loop.time() + away_s

    def _connect(self) -> _Session:
        runner, at = self.nodes[self.at].runner, self.at
        stream = Stream(runner.next_stream(), Principal("access-point", "ap"))

        def closed() -> None:
            if self.session is session:
                self.leave(1 - at, CONNECT_S)

        session = self.session = _Session(stream, closed)
        self.nodes[at].opened(session)
        return session

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(max(STEP_S, self._next_s - self._loop.time()))
            if self._loop.time() < self._next_s:
                continue  # it left meanwhile
            session = self.session or self._connect()
            number, now_us = next(self._sequence), self._now_us()
            station = Station(STATION, rx_bytes=number * 100_000, rx_packets=number * 100, connected_time_ms=number)
            report = AccessPointReport(bssid=CELL, sequence=number, monotonic_us=now_us, stations=(station,))
            self.nodes[self.at].take_access_point_report(session, report, b"", now_us)
            self._next_s = self._loop.time() + REPORT_S

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(STEP_S)
            if len(self.commanded_by()) > 1:
                self.trouble.append(f"two command the cell at {self._loop.time():.2f} s")
