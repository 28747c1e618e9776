# SPDX-License-Identifier: Apache-2.0
"""Replicas at one store, for tests: what each was sent, and how often it had to look again."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from airbound.store.types import Store

S = TypeVar("S", bound=Store)

PATIENCE_S = 120.0  # only a failure takes that long


async def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true.

    Raises:
        AssertionError: it does not become true in a time that is long for any machine.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"not within {PATIENCE_S:.0f} s: {what}")
        await asyncio.sleep(0.01)


@dataclass(slots=True)
class Replica(Generic[S]):
    """A started store and what came through it."""

    name: str
    store: S
    messages: list[bytes] = field(default_factory=list)
    reconnections: int = 0

    async def start(self) -> None:
        """Start the store."""
        await self.store.start(self.name, self.messages.append, self._reconnected)

    def _reconnected(self) -> None:
        self.reconnections += 1

    async def received(self, *messages: bytes) -> None:
        """Wait until exactly these messages came, in this order."""
        wanted = list(messages)
        await eventually(lambda: self.messages == wanted, f"{self.name} received {wanted}")


class Site(Generic[S]):
    """Any number of replicas with stores of one kind."""

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._replicas: list[Replica[S]] = []

    async def replica(self, name: str) -> Replica[S]:
        """One more replica, started."""
        replica = Replica(name, self._make())
        await replica.start()
        self._replicas.append(replica)
        return replica

    async def close(self) -> None:
        """Close all stores."""
        for replica in self._replicas:
            await replica.store.close()
