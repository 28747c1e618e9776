# SPDX-License-Identifier: Apache-2.0
"""Messages to other replicas, gathered over a few milliseconds: a publication costs as much as a report, whatever it
carries.
"""

import asyncio
from collections.abc import Callable

from airbound.store.types import Store, StoreError
from airbound.v1 import replica_pb2

GATHER_S = 0.005
WAITING_MAX = 10_000  # messages to one replica; more mean that the store is gone, and what was sent is stale by now


class Outbox:
    """What waits for each replica. `lost` is called with the name of a replica that did not get what it was sent."""

    def __init__(self, store: Store, sender: str, lost: Callable[[str], None]) -> None:
        self.messages_total = 0
        self.dropped_total = 0
        self._store = store
        self._sender = sender
        self._lost = lost
        self._waiting: dict[str, list[replica_pb2.ReplicaMessage]] = {}
        self._task: asyncio.Task[None] | None = None

    def send(self, replica: str, message: replica_pb2.ReplicaMessage) -> None:
        """Have a message sent; those to one replica stay in order."""
        waiting = self._waiting.setdefault(replica, [])
        if len(waiting) >= WAITING_MAX:
            self.dropped_total += len(waiting)
            waiting.clear()
        waiting.append(message)
        self.messages_total += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def drain(self) -> None:
        """Wait until all is sent, or lost."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _write(self) -> None:
        try:
            await asyncio.sleep(GATHER_S)
            while self._waiting:
                replica, messages = next(iter(self._waiting.items()))
                del self._waiting[replica]
                batch = replica_pb2.ReplicaMessages(sender=self._sender, messages=messages)
                try:
                    heard = await self._store.send(replica, batch.SerializeToString())
                except StoreError:
                    heard = False
                if not heard:
                    self.dropped_total += len(messages)
                    self._lost(replica)
        finally:
            self._task = None
