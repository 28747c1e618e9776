# SPDX-License-Identifier: Apache-2.0
"""Orders of faults at the store and at an access point, around two real replicas in virtual time.

The store is the one in memory, with a fault of its own for each replica. An access point reports once a second; when
its stream ends it connects to the other replica. In every order no cell may have two replicas that command it at one
time, and `RIGHT_S` after the last fault has ended, the replica with the access point has to own the cell, and to go on.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from airbound.replica.ownership import LEASE_MS
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import Store, StoreError, Token
from airbound_testing.two_replicas import CELL, CONNECT_S, NAMES, STEP_S, Replicas
from airbound_testing.virtual_time import VirtualLoop, run

TIMEOUT_S, LATE_S = 1.0, 0.9  # of the store's client, and what is just in time
RECONNECTED_S = 0.5  # a client's back-off
AWAY_S, STOPPED_S, WATCHED_S = 2.0, 3.0, 12.0
RIGHT_S = LEASE_MS / 1000 + 3.0  # a lease whose holder does not know of it, the next report and a try
GAPS_S = (0.3, 2.5, 6.5)  # between faults: shorter than a retry; than a lease; longer than until a replica is cut off

CALLS = ("silent", "unanswered", "late", "read-only", "full", "garbled")  # what becomes of calls until the end
GROWING = frozenset({"put", "add", "replace", "write_state", "place", "arrive"})
WRITES = GROWING | {"remove", "claim", "release", "displace", "depart"}


class FaultyStore:
    """A replica's access to the store in memory; `fault` says what becomes of its calls."""

    def __init__(self, memory: Memory) -> None:
        self.fault = ""
        self._memory = memory
        self._store = MemoryStore(memory)
        self.reconnected: Callable[[], None] = lambda: None

    async def start(self, replica: str, handler: Callable[[bytes], None], reconnected: Callable[[], None]) -> None:
        """As a store does. A replica that is cut off gets no messages, and the store does not notice that."""
        self.reconnected = reconnected

        def handle(message: bytes) -> None:
            if self.fault != "silent":
                handler(message)

        await self._store.start(replica, handle, reconnected)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name == "close" or not callable(method):
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            await self._begin(name)
            answer = await method(*arguments, **named)
            if self.fault == "unanswered":
                await asyncio.sleep(TIMEOUT_S)
                raise StoreError("no answer in time")
            return answer

        return call

    async def _begin(self, name: str) -> None:
        """Wait, or fail, before anything is done."""
        if self.fault == "silent":
            await asyncio.sleep(TIMEOUT_S)
            raise StoreError("no answer in time")
        if self.fault == "late":
            await asyncio.sleep(LATE_S)
        grows = name in GROWING or (name == "claim" and owner(self._memory) is None)
        if (
            self.fault == "garbled"
            or (self.fault == "read-only" and name in WRITES)
            or (self.fault == "full" and grows)
        ):
            raise StoreError(self.fault)


class Site(Replicas):
    """The replicas at a store in memory, in virtual time."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.memory = Memory(None, lambda: loop.now_us() // 1000, loop.now_us)
        self.stores = [FaultyStore(self.memory) for _ in NAMES]
        super().__init__([cast("Store", store) for store in self.stores], loop.now_us)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the calls of some replicas until the end of the order, or something that happens once."""

    name: str
    calls: str = ""
    replicas: tuple[int, ...] = (0, 1)
    once: Callable[[Site], None] | None = None

    def happens(self, site: Site) -> None:
        """Do it."""
        if self.once is not None:
            self.once(site)
        else:
            for number in self.replicas:
                set_fault(site, site.stores[number], self.calls)


def set_fault(site: Site, store: FaultyStore, fault: str) -> None:
    """Change what becomes of calls; a client whose connection was of no use has another one soon."""
    before, store.fault = store.fault, fault
    if before in {"silent", "unanswered", "read-only"} and not fault:
        site.loop.call_later(RECONNECTED_S, store.reconnected)


def owner(memory: Memory) -> Token | None:
    """Who owns the cell, as far as the store knows."""
    claim = memory.ownership.claim(CELL, "nobody", 0)
    return None if claim.mine else claim.token


def _emptied(site: Site) -> None:
    empty = Memory(None, lambda: site.loop.now_us() // 1000, site.loop.now_us)
    site.memory.ownership, site.memory.directory = empty.ownership, empty.directory
    for store in site.stores:
        site.loop.call_later(RECONNECTED_S, store.reconnected)


def _owner(name: str) -> Callable[[Site], None]:
    def happens(site: Site) -> None:
        token = owner(site.memory)
        if token is not None:
            site.memory.ownership.release(CELL, token)
        site.memory.ownership.claim(CELL, name, LEASE_MS)

    return happens


FAULTS = (
    *(
        Fault(f"{calls} {''.join(NAMES[number] for number in who)}", calls, who)
        for calls in CALLS
        for who in ((0, 1), (0,), (1,))
    ),
    Fault("well"),
    Fault("emptied", once=_emptied),
    Fault("owner is a replica that ended", once=_owner("ghost")),
    *(Fault(f"owner is {name}", once=_owner(name)) for name in NAMES),
    Fault("access point moves", once=lambda site: site.leave(1 - site.at, CONNECT_S)),
    Fault("access point returns", once=lambda site: site.leave(site.at, AWAY_S)),
    Fault("both stand still", once=lambda site: site.loop.stand_still(STOPPED_S)),
)
BY_NAME = {fault.name: fault for fault in FAULTS}


def endure(order: Sequence[Fault], gap_s: float) -> list[str]:
    """Have faults happen one after the other, end them, and see; what was wrong, empty if nothing was."""

    async def work(loop: VirtualLoop) -> list[str]:
        site = Site(loop)
        await site.start()
        if not site.is_right():
            raise RuntimeError("the cell has no owner before any fault")
        for fault in order:
            fault.happens(site)
            await asyncio.sleep(gap_s)
        for store in site.stores:
            set_fault(site, store, "")
        ended_s, wrong_s = loop.time(), 0.0
        while loop.time() < ended_s + RIGHT_S + WATCHED_S:
            await asyncio.sleep(STEP_S)
            if not site.is_right():
                wrong_s = loop.time() - ended_s
        if wrong_s > RIGHT_S:
            site.trouble.append(f"not right at {wrong_s:.2f} s after the faults: {site.commanded_by()}")
        await site.stop()
        return site.trouble

    return run(work)
