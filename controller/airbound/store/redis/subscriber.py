# SPDX-License-Identifier: Apache-2.0
"""The channel on which a replica receives, by sharded pub/sub: a Cluster does not repeat the messages to every server.

A connection that only subscribes notices little. When its hash slot moves, it gets an unasked `sunsubscribe` and then
nothing; when its server becomes a replica, not even that; when the network is cut, nothing. So twice a second an empty
message is published to the channel, the way that others publish: if nobody received it, if the channel is at another
server by then, or if nothing came for three seconds, the channel is subscribed to again, on the server that has it.

Until that is done the one at another server goes on to be read: there may be messages in it that count as received.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine
from typing import Any

from redis.asyncio import Connection
from redis.exceptions import ResponseError

from airbound.store.redis.backoff import Backoff
from airbound.store.redis.connections import FAILURES, Connections, describe
from airbound.store.redis.messages import publication
from airbound.store.redis.nodes import Nodes
from airbound.store.redis.slots import Server
from airbound.store.types import Handler, StoreError

PROBE_S = 0.5
SILENCE_S = 3.0


class Subscriber:
    """Receives what is sent to one replica. `subscribed` is called when it does so again."""

    def __init__(
        self,
        tag: bytes,
        channel: str,
        nodes: Nodes,
        connections: Connections,
        timeout_s: float,
        *,
        handler: Handler,
        subscribed: Callable[[], None],
    ) -> None:
        self._tag, self._channel = tag, channel
        self._nodes, self._connections = nodes, connections
        self._timeout_s = timeout_s
        self._handler, self._subscribed = handler, subscribed
        self._loop = asyncio.get_running_loop()
        self._server = nodes.seed
        self._connection: Connection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._elsewhere = asyncio.Event()  # the channel is at another server, as far as is known
        self._heard_s = 0.0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Subscribe, and stay subscribed.

        Raises:
            StoreError: it cannot be done now.
        """
        reading = await self._subscribe()
        self._task = asyncio.create_task(self._keep(reading))

    async def close(self) -> None:
        """Receive nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._end_subscription()

    def check(self) -> None:
        """The servers have changed: subscribe again if the channel is at another one now."""
        with contextlib.suppress(StoreError):
            if self._nodes.master(self._tag) != self._server:
                self._elsewhere.set()

    async def _keep(self, reading: asyncio.Task[None]) -> None:
        backoff = Backoff()
        while True:
            await self._listen(reading)
            while True:
                self._nodes.refresh()
                await asyncio.sleep(backoff.next_s())
                try:
                    reading = await self._subscribe()
                except StoreError:
                    continue
                break
            backoff.reset()
            self._subscribed()

    async def _subscribe(self) -> asyncio.Task[None]:
        """Subscribe at the server that has the channel now, and end the subscription that there was; what reads it."""
        server = self._nodes.master(self._tag)
        if server == self._server:  # two at one server would receive each message twice
            await self._end_subscription()
        connection = await self._connections.open(*server)
        try:
            await self._confirm(server, connection)
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        reading = asyncio.create_task(self._read(connection))
        ended = self._end_subscription()
        self._server, self._connection, self._reading = server, connection, reading
        self._heard_s = self._loop.time()
        self._elsewhere.clear()
        await ended
        self.check()
        return reading

    async def _confirm(self, server: Server, connection: Connection) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await connection.send_command("SSUBSCRIBE", self._channel)
                await connection.read_response(timeout=math.inf)
        except ResponseError as error:
            raise self._nodes.refused(server, error) from error
        except FAILURES as error:
            raise StoreError(f"{server}: {describe(error)}") from error

    def _end_subscription(self) -> Coroutine[Any, Any, None]:
        """End the present subscription, whichever is the present one when that is done."""
        return _end(self._reading, self._connection)

    async def _listen(self, reading: asyncio.Task[None]) -> None:
        """Returns when nothing is received any more, or nothing will be."""
        moved = asyncio.create_task(self._elsewhere.wait())
        try:
            while True:
                await asyncio.wait({reading, moved}, timeout=PROBE_S, return_when=asyncio.FIRST_COMPLETED)
                if reading.done() or moved.done() or not await self._is_heard():
                    return
        finally:
            moved.cancel()

    async def _is_heard(self) -> bool:
        try:
            heard = await self._nodes.run(publication(self._tag, self._channel, b""))
            if not heard or self._nodes.master(self._tag) != self._server:
                return False
        except StoreError:
            pass  # what cannot be published cannot be received either; the silence decides
        return self._loop.time() - self._heard_s < SILENCE_S

    async def _read(self, connection: Connection) -> None:
        while True:
            kind, _, message = await connection.read_response(timeout=math.inf)
            if kind != b"smessage":
                return  # sunsubscribe: the slot has gone to another server
            self._heard_s = self._loop.time()
            if message:
                self._loop.call_soon(self._handler, message)


async def _end(reading: asyncio.Task[None] | None, connection: Connection | None) -> None:
    try:
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    finally:
        if connection is not None:
            await connection.disconnect(nowait=True)
