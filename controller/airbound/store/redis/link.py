# SPDX-License-Identifier: Apache-2.0
"""One connection to one server, for any number of callers at a time.

What callers ask for in one turn of the event loop is written at once, and replies come in the order of the commands:
callers share the cost of a round trip, and messages stay in order. redis-py's pool would open a connection for each
caller. A server that is silent for the time-out is given up with all that waits for it; the next caller connects again,
after a back-off.
"""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import hiredis
from redis.asyncio import Connection
from redis.exceptions import InvalidResponse, ResponseError

from airbound.store.redis.backoff import Backoff
from airbound.store.redis.connections import FAILURES, Connections, describe
from airbound.store.redis.script import Part
from airbound.store.redis.slots import Server
from airbound.store.types import StoreError

COMMANDS_MAX = 20_000
OCTETS_MAX = 32 << 20
_CHECKS_PER_TIMEOUT = 4

_pack = cast("Callable[[tuple[Part, ...]], bytes]", hiredis.pack_command)


@dataclass(slots=True)
class _Call:
    future: asyncio.Future[list[Any]]
    count: int
    at_s: float
    replies: list[Any] = field(default_factory=list)


class Link:
    """A server. `lost` is called when a connection ends, `connected` when there is one again."""

    def __init__(
        self,
        server: Server,
        connections: Connections,
        timeout_s: float,
        *,
        lost: Callable[[], None],
        connected: Callable[[], None],
    ) -> None:
        self.server = server
        self._lost = lost
        self._connections = connections
        self._timeout_s = timeout_s
        self._connected = connected
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[StoreError | None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._ends: set[asyncio.Task[None]] = set()
        self._calls: deque[_Call] = deque()
        self._commands = 0  # that wait for a reply
        self._out: list[bytes] = []
        self._out_octets = 0
        self._to_write = asyncio.Event()
        self._heard_s = 0.0
        self._checking: asyncio.TimerHandle | None = None
        self._check_s = 0.0  # when it is due
        self._was_late = False
        self._was_connected = False
        self._backoff = Backoff()
        self._retry_s = 0.0
        self._error = ""
        self._closed = False

    def __repr__(self) -> str:
        return str(self.server)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for it."""
        return not self._calls and self._connecting is None

    async def connect(self) -> None:
        """Connect if there is no connection.

        Raises:
            StoreError: there is none, or the last attempt was a moment ago.
        """
        if self._connection is not None:
            return
        if self._closed:
            raise StoreError(f"{self}: closed")
        if self._connecting is None:
            if self._loop.time() < self._retry_s:
                raise StoreError(self._error)
            self._connecting = asyncio.create_task(self._connect())
        error = await asyncio.shield(self._connecting)
        if error is not None:
            raise StoreError(str(error)) from error

    async def call(self, commands: Sequence[tuple[Part, ...]]) -> list[Any]:
        """The replies to commands. A reply that is an error is returned as a ResponseError.

        Raises:
            StoreError: there was no reply to all of them in time, or too much waits already.
        """
        if self._connection is None:
            await self.connect()
            if self._connection is None:
                raise StoreError(self._error)
        data = b"".join(map(_pack, commands))
        if self._calls and (self._commands + len(commands) > COMMANDS_MAX or self._out_octets + len(data) > OCTETS_MAX):
            raise StoreError(f"{self}: {self._commands} commands wait already")
        call = _Call(self._loop.create_future(), len(commands), self._loop.time())
        self._calls.append(call)
        self._commands += call.count
        self._out.append(data)
        self._out_octets += len(data)
        self._to_write.set()
        if self._checking is None:
            self._check_later()
        return await call.future

    async def close(self) -> None:
        """End the connection; what waits fails."""
        self._closed = True
        if self._connecting is not None:
            await asyncio.shield(self._connecting)
        self.drop("closed")
        await asyncio.gather(*self._ends)

    def drop(self, reason: str) -> None:
        """Give the connection up. All that waits for it fails."""
        if self._connection is None:
            return
        end = asyncio.create_task(_end(self._connection, self._tasks))
        self._ends.add(end)
        end.add_done_callback(self._ends.discard)
        self._connection = None
        self._tasks = []
        self._error = f"{self}: {reason}"
        self._retry_s = self._loop.time() + self._backoff.next_s()
        calls, self._calls, self._commands = self._calls, deque(), 0
        self._out, self._out_octets = [], 0
        for call in calls:
            if not call.future.done():
                call.future.set_exception(StoreError(self._error))
        self._lost()

    async def _connect(self) -> StoreError | None:
        try:
            connection = await self._connections.open(*self.server)
        except StoreError as error:
            self._error = str(error)
            self._retry_s = self._loop.time() + self._backoff.next_s()
            return error
        finally:
            self._connecting = None
        self._connection = connection
        self._tasks = [
            asyncio.create_task(self._run(self._read, connection)),
            asyncio.create_task(self._run(self._write, connection)),
        ]
        if self._was_connected:
            self._connected()
        self._was_connected = True
        return None

    async def _run(self, work: Callable[[Connection], Awaitable[None]], connection: Connection) -> None:
        try:
            await work(connection)
        except FAILURES as error:
            if self._connection is connection:
                self.drop(describe(error))

    async def _read(self, connection: Connection) -> None:
        while True:
            try:
                reply = await connection.read_response(timeout=math.inf)
            except ResponseError as error:
                reply = error
            self._heard_s = self._loop.time()
            self._backoff.reset()
            self._commands -= 1
            if not self._calls:
                raise InvalidResponse("a reply to no command")
            call = self._calls[0]
            call.replies.append(reply)
            if len(call.replies) == call.count:
                self._calls.popleft()
                if not call.future.done():
                    call.future.set_result(call.replies)

    async def _write(self, connection: Connection) -> None:
        while True:
            await self._to_write.wait()
            self._to_write.clear()
            data = b"".join(self._out)
            self._out.clear()
            await connection.send_packed_command(data, check_health=False)
            self._out_octets -= len(data)

    def _check(self) -> None:
        """Fail what has waited for too long, and give up a server that replied to nothing meanwhile."""
        self._checking = None
        late = self._loop.time() > self._check_s + self._timeout_s / _CHECKS_PER_TIMEOUT
        if late and not self._was_late:
            self._was_late = True
            self._check_later()  # the event loop may have replies that it has not read yet
            return
        self._was_late = False
        since_s = self._loop.time() - self._timeout_s
        overdue = False
        for call in self._calls:
            if call.at_s > since_s:
                break
            overdue = True
            if not call.future.done():
                call.future.set_exception(StoreError(f"{self}: no answer within {self._timeout_s:g} s"))
        if overdue and self._heard_s < since_s:
            self.drop(f"no answer within {self._timeout_s:g} s")
        elif self._calls:
            self._check_later()

    def _check_later(self) -> None:
        self._check_s = self._loop.time() + self._timeout_s / _CHECKS_PER_TIMEOUT
        self._checking = self._loop.call_at(self._check_s, self._check)


async def _end(connection: Connection, tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await connection.disconnect(nowait=True)
