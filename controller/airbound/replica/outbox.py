# SPDX-License-Identifier: Apache-2.0
"""Messages to other replicas, gathered: a publication costs as much as a report, whatever it carries. What changes
something goes out within milliseconds, what only keeps something alive with the next of those, or in a fifth of a
second.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable

from airbound.store.types import Store, StoreError
from airbound.v1 import replica_pb2

GATHER_S, PATIENT_S = 0.005, 0.2
AGAIN_S = 0.1
WAITING_MAX = 10_000  # messages to one replica; more mean that the store is gone, and what was sent is stale by now


class Outbox:
    """What waits for each replica. `lost` is called with the name of a replica that nobody listens for."""

    def __init__(self, store: Store, sender: str, lost: Callable[[str], None]) -> None:
        self._silent_since_s: dict[str, float] = {}  # replicas that do not listen, by the event loop's clock
        self.answered_at_s = -math.inf  # when the store last took messages, by the event loop's clock
        self.messages_total = 0
        self.dropped_total = 0
        self._store = store
        self._sender = sender
        self._lost = lost
        self._waiting: dict[str, list[replica_pb2.ReplicaMessage]] = {}
        self._task: asyncio.Task[None] | None = None
        self._urgent = asyncio.Event()

    def send(self, replica: str, message: replica_pb2.ReplicaMessage, *, patient: bool = False) -> None:
        """Have a message sent; those to one replica stay in order. A patient one waits for others."""
        waiting = self._waiting.setdefault(replica, [])
        if len(waiting) >= WAITING_MAX:
            self.dropped_total += len(waiting)
            waiting.clear()
        waiting.append(message)
        self.messages_total += 1
        if not patient:
            self._urgent.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    def silent_s(self, replica: str) -> float:
        """For how long, as far as was tried, nobody has listened for a replica."""
        since_s = self._silent_since_s.get(replica)
        return 0.0 if since_s is None else asyncio.get_running_loop().time() - since_s

    async def drain(self) -> None:
        """Wait until all is sent, or lost."""
        while self._task is not None:
            self._urgent.set()
            await asyncio.wait([self._task])

    async def _write(self) -> None:
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENT_S):
                    await self._urgent.wait()
            await asyncio.sleep(GATHER_S)
            self._urgent.clear()
            while self._waiting:
                for replica in list(self._waiting):
                    await self._deliver(replica)
        finally:
            self._task = None

    async def _deliver(self, replica: str) -> None:
        """Send what waits for a replica. If the store does not answer it goes on waiting, for a moment at a time: sent
        twice it does no harm, lost it does.
        """
        messages = self._waiting.pop(replica)
        batch = replica_pb2.ReplicaMessages(sender=self._sender, messages=messages)
        try:
            heard = await self._store.send(replica, batch.SerializeToString())
        except StoreError:
            messages += self._waiting.get(replica, [])
            if len(messages) < WAITING_MAX:
                self._waiting[replica] = messages
            else:
                self.dropped_total += len(messages)
            await asyncio.sleep(AGAIN_S)
            return
        self.answered_at_s = asyncio.get_running_loop().time()
        if heard:
            self._silent_since_s.pop(replica, None)
            return
        self.dropped_total += len(messages)
        self._silent_since_s.setdefault(replica, asyncio.get_running_loop().time())
        self._lost(replica)
