# SPDX-License-Identifier: Apache-2.0
"""The channel on which a replica receives, by sharded pub/sub: a Cluster does not repeat the messages to every server.

A connection that only subscribes notices little. When its hash slot moves, it gets an unasked `sunsubscribe` and then
nothing; when its server becomes a replica, not even that; when the network is cut, nothing. So every second an empty
message is published to the channel, the way that others publish: if nobody received it, or if nothing came for three
seconds, the channel is subscribed to again, on the server that has it by then.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable

from redis.asyncio import Connection
from redis.exceptions import ResponseError

from airbound.store.redis.backoff import Backoff
from airbound.store.redis.connections import FAILURES, Connections, describe
from airbound.store.redis.nodes import Nodes
from airbound.store.redis.script import Command
from airbound.store.types import Handler, StoreError

PROBE_S = 1.0
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
        self._heard_s = 0.0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Subscribe, and stay subscribed.

        Raises:
            StoreError: it cannot be done now.
        """
        connection = await self._subscribe()
        self._task = asyncio.create_task(self._keep(connection))

    async def close(self) -> None:
        """Receive nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._disconnect()

    def check(self) -> None:
        """The servers have changed: subscribe again if the channel is at another one now."""
        with contextlib.suppress(StoreError):
            if self._reading is not None and self._nodes.master(self._tag) != self._server:
                self._reading.cancel()

    async def _keep(self, connection: Connection) -> None:
        backoff = Backoff()
        while True:
            await self._listen(connection)
            while True:
                self._nodes.refresh()
                await asyncio.sleep(backoff.next_s())
                try:
                    connection = await self._subscribe()
                except StoreError:
                    continue
                break
            backoff.reset()
            self._subscribed()

    async def _subscribe(self) -> Connection:
        await self._disconnect()
        self._server = self._nodes.master(self._tag)
        connection = self._connection = await self._connections.open(*self._server)
        try:
            async with asyncio.timeout(self._timeout_s):
                await connection.send_command("SSUBSCRIBE", self._channel)
                await connection.read_response(timeout=math.inf)
        except ResponseError as error:
            raise self._nodes.refused(self._server, error) from error
        except FAILURES as error:
            raise StoreError(f"{self._server}: {describe(error)}") from error
        return connection

    async def _disconnect(self) -> None:
        if self._connection is not None:
            await self._connection.disconnect(nowait=True)

    async def _listen(self, connection: Connection) -> None:
        """Returns when nothing is received any more."""
        self._heard_s = self._loop.time()
        reading = self._reading = asyncio.create_task(self._read(connection))
        try:
            while True:
                await asyncio.wait({reading}, timeout=PROBE_S)
                if reading.done() or not await self._is_heard():
                    return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _is_heard(self) -> bool:
        try:
            heard = await self._nodes.run(Command(self._tag, ("SPUBLISH", self._channel, b"")))
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
