# SPDX-License-Identifier: Apache-2.0
"""Messages to other replicas, gathered: a publication costs as much as a report, whatever it carries. What changes
something goes out within milliseconds, what only keeps something alive with the next of those, or in a fifth of a
second.

Messages to each replica are numbered. One that is sent again keeps its number, and the other side's `inbox` takes it
once: no answer of the store, or no subscriber at the server that was asked, does not mean that it was not received.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from airbound.store.types import Store, StoreError
from airbound.v1 import replica_pb2

GATHER_S, PATIENT_S = 0.005, 0.2
AGAIN_S = 0.1
# For this long messages wait for a replica that does not listen. When a Redis Cluster elects a master, a sender may
# reach it before the other replica has subscribed there: a set of bounds that is lost then costs half a lease.
KEPT_S = 4.0
WAITING_MAX = 10_000  # messages to one replica; more mean that the store is gone, and what was sent is stale by now


@dataclass(slots=True)
class _Waiting:
    number: int  # of the first message; the others have the next ones
    messages: list[replica_pb2.ReplicaMessage] = field(default_factory=list)

    @property
    def next(self) -> int:
        return self.number + len(self.messages)


class Outbox:
    """What waits for each replica. `lost` is called with the name of a replica that does not listen, at each try."""

    def __init__(self, store: Store, sender: str, lost: Callable[[str], None]) -> None:
        self._silent_since_s: dict[str, float] = {}  # replicas that do not listen, by the event loop's clock
        self.answered_at_s = -math.inf  # when the store last took messages, by the event loop's clock
        self.messages_total = 0
        self.dropped_total = 0
        self._store = store
        self._sender = sender
        self._lost = lost
        self._waiting: dict[str, _Waiting] = {}
        # The next number for each replica that was ever sent to. Forgotten, it would begin at 1 again, and a replica
        # that was only cut off would take that for messages which come again. A start of a process costs 100 octets.
        self._next: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._again_at_s: dict[str, float] = {}  # when those that wait are sent again, by the event loop's clock
        self._urgent = asyncio.Event()
        self._draining = False

    def send(self, replica: str, message: replica_pb2.ReplicaMessage, *, batch: bool = False) -> None:
        """Have a message sent; those to one replica stay in order. With `batch` it waits for others to go with."""
        waiting = self._waiting.get(replica)
        if waiting is not None and len(waiting.messages) >= WAITING_MAX:
            self.dropped_total += len(waiting.messages)
            waiting = None
        if waiting is None:
            waiting = self._waiting[replica] = _Waiting(self._next.get(replica, 1))
        waiting.messages.append(message)
        self._next[replica] = waiting.next
        self.messages_total += 1
        if not batch:
            self._urgent.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    def silent_s(self, replica: str) -> float:
        """For how long, as far as was tried, nobody has listened for a replica."""
        since_s = self._silent_since_s.get(replica)
        return 0.0 if since_s is None else asyncio.get_running_loop().time() - since_s

    async def drain(self) -> None:
        """Wait until all is sent; what a replica does not listen for now is dropped."""
        self._draining = True
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
                for replica in self._due():
                    await self._deliver(replica)
                if self._waiting:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(AGAIN_S):
                            await self._urgent.wait()
                    await asyncio.sleep(GATHER_S)
                self._urgent.clear()
        finally:
            self._task = None

    def _due(self) -> list[str]:
        """Replicas to be sent to: those that did not get the last messages every AGAIN_S, whatever comes for them."""
        now_s = asyncio.get_running_loop().time()
        return [replica for replica in self._waiting if self._again_at_s.get(replica, 0.0) <= now_s]

    async def _deliver(self, replica: str) -> None:
        """Send what waits for a replica. If the store does not answer, or the replica does not listen, it goes on
        waiting for a while: sent late it does no harm, lost it does.
        """
        sent = self._waiting.pop(replica)
        self._again_at_s.pop(replica, None)
        batch = replica_pb2.ReplicaMessages(sender=self._sender, number=sent.number, messages=sent.messages)
        try:
            heard = await self._store.send(replica, batch.SerializeToString())
        except StoreError:
            self._keep(replica, sent)
            return
        self.answered_at_s = asyncio.get_running_loop().time()
        if heard:
            self._silent_since_s.pop(replica, None)
            return
        self._silent_since_s.setdefault(replica, asyncio.get_running_loop().time())
        if self._draining or self.silent_s(replica) >= KEPT_S:
            self.dropped_total += len(sent.messages)
        else:
            self._keep(replica, sent)
        self._lost(replica)

    def _keep(self, replica: str, sent: _Waiting) -> None:
        """Have messages wait, before those that came meanwhile."""
        later = self._waiting.pop(replica, _Waiting(sent.next))
        if later.number != sent.next:  # too many came: those in between were dropped, and so are the older ones
            self.dropped_total += len(sent.messages)
            sent = later
        else:
            sent.messages += later.messages
        if len(sent.messages) < WAITING_MAX:
            self._waiting[replica] = sent
            self._again_at_s[replica] = asyncio.get_running_loop().time() + AGAIN_S
        else:
            self.dropped_total += len(sent.messages)
