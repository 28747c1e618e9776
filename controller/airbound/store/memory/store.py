# SPDX-License-Identifier: Apache-2.0
"""The store within one process.

`Memory` has what is kept, `MemoryStore` is a replica's access to it: several can share one in a process, as tests do.
Records that live for a minute at least go to the file before they count; shorter ones are written again by the replica
that wrote them. Owners, states of cells and the directory are rebuilt within a lease, so that they need no file.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from airbound.core.addresses import Mac
from airbound.store.memory.directory import Directory
from airbound.store.memory.expiring import NEVER, Expiring
from airbound.store.memory.file import RecordFile
from airbound.store.memory.ownership import Ownership
from airbound.store.types import Claim, Handler, Place, StoreError, Token

T = TypeVar("T")

FILE_TTL_MIN_MS = 60_000


@dataclass(frozen=True, slots=True)
class _Record:
    value: bytes
    in_file: bool


class Memory:
    """What a process keeps. The clocks are parameters: one that only goes forward, and the time of day."""

    def __init__(
        self,
        file: RecordFile | None = None,
        now_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
        time_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.ownership = Ownership(now_ms, time_us)
        self.directory = Directory(now_ms)
        self.handlers: dict[str, Callable[[bytes], None]] = {}
        self._file = file
        self._now_ms, self._time_us = now_ms, time_us
        self._kinds: dict[str, Expiring[str, _Record]] = {}
        self._changing = asyncio.Lock()

    async def open(self) -> None:
        """Read the file, if there is one and it was not read yet.

        Raises:
            StoreError: it cannot be used.
        """
        async with self._changing:
            if self._file is None or not await self._file.open():
                return
            time_ms = self._time_us() // 1000
            for record in await self._file.read(time_ms):
                ends_ms = self._now_ms() + record.ends_at_ms - time_ms if record.ends_at_ms else NEVER
                self._kind(record.kind).set(record.name, _Record(record.value, in_file=True), ends_ms)
            self.ownership.epoch = max(self.ownership.epoch, await self._file.read_epoch())

    async def close(self) -> None:
        """Close the file."""
        async with self._changing:
            if self._file is not None:
                await self._file.close()

    def get(self, kind: str, name: str) -> bytes | None:
        """A record."""
        record = self._kind(kind).get(name)
        return None if record is None else record.value

    def records(self, kind: str) -> dict[str, bytes]:
        """All records of a kind."""
        return {name: record.value for name, record in self._kind(kind).items()}

    async def change(
        self, kind: str, name: str, value: bytes | None, ttl_ms: int, when: Callable[[bytes | None], bool]
    ) -> bytes | None:
        """Write a record, or remove it if there is no value, where what is there is as asked; what was there.

        Raises:
            StoreError: the file could not be written; nothing is changed.
        """

        async def locked() -> bytes | None:
            async with self._changing:
                was = self.get(kind, name)
                if when(was):
                    await self._write(kind, name, value, ttl_ms)
                return was

        return await _to_its_end(locked())

    async def _write(self, kind: str, name: str, value: bytes | None, ttl_ms: int) -> None:
        records = self._kind(kind)
        was = records.get(name)
        to_file = self._file is not None and value is not None and (not ttl_ms or ttl_ms >= FILE_TTL_MIN_MS)
        if self._file is not None and (to_file or (was is not None and was.in_file)):
            time_ms = self._time_us() // 1000
            ends_at_ms = time_ms + ttl_ms if ttl_ms else 0
            written = value if to_file else None
            await self._file.write(kind, name, written, ends_at_ms=ends_at_ms, time_ms=time_ms)
        if value is None:
            records.remove(name)
        else:
            records.set(name, _Record(value, to_file), self._now_ms() + ttl_ms if ttl_ms else NEVER)

    async def claim(self, cells: Sequence[Mac], replica: str, ttl_ms: int) -> list[Claim | None]:
        """Claims of all cells at one time. A new epoch goes to the file first; if it cannot be written, the clock alone
        has to see to it that epochs grow over a restart: cells without an owner would be worse.
        """
        before = self.ownership.epoch
        claims: list[Claim | None] = [self.ownership.claim(cell, replica, ttl_ms) for cell in cells]
        if self._file is not None and self.ownership.epoch != before:
            with contextlib.suppress(StoreError):
                await self._file.write_epoch(self.ownership.epoch)
        return claims

    def purge(self) -> int:
        """Remove what has ended; how many entries are left."""
        left = sum(kind.purge() for kind in self._kinds.values())
        return left + self.ownership.purge() + self.directory.purge()

    def _kind(self, kind: str) -> Expiring[str, _Record]:
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = Expiring(self._now_ms)
        return found


async def _to_its_end(change: Coroutine[Any, Any, T]) -> T:
    """A caller that is cancelled must not leave file and memory different."""
    return await asyncio.shield(asyncio.ensure_future(change))


class MemoryStore:
    """A replica's access to a memory."""

    kind = "memory"

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._replica = ""
        self._handle: Callable[[bytes], None] | None = None

    async def start(self, replica: str, handler: Handler, reconnected: Callable[[], None]) -> None:  # noqa: ARG002
        """Read the file, if there is one. Nothing is ever lost within a process: `reconnected` is not called."""
        await self._memory.open()
        loop = asyncio.get_running_loop()
        self._replica = replica

        def handle(message: bytes) -> None:
            if self._handle is handle:
                handler(message)

        def deliver(message: bytes) -> None:
            loop.call_soon(handle, message)

        self._handle = handle
        self._memory.handlers[replica] = deliver

    async def close(self) -> None:
        """End; the last one closes the file."""
        self._handle = None
        self._memory.handlers.pop(self._replica, None)
        if not self._memory.handlers:
            await self._memory.close()

    async def get(self, kind: str, name: str) -> bytes | None:
        """A record; none if there is none or its time is over."""
        return self._memory.get(kind, name)

    async def put(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> None:
        """Write a record."""
        await self._memory.change(kind, name, value, ttl_ms, lambda _: True)

    async def add(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> bytes:
        """Write a record if there is none; the record that is there now."""
        was = await self._memory.change(kind, name, value, ttl_ms, lambda was: was is None)
        return value if was is None else was

    async def replace(self, kind: str, name: str, before: bytes, value: bytes, *, ttl_ms: int = 0) -> bool:
        """Write a record if it still is as it was; whether it was."""
        return await self._memory.change(kind, name, value, ttl_ms, lambda was: was == before) == before

    async def remove(self, kind: str, name: str) -> bool:
        """Remove a record; whether there was one."""
        return await self._memory.change(kind, name, None, 0, lambda was: was is not None) is not None

    async def records(self, kind: str) -> dict[str, bytes]:
        """All records of a kind, by name."""
        return self._memory.records(kind)

    async def claim(self, cells: Sequence[Mac], *, ttl_ms: int) -> list[Claim | None]:
        """Take cells that nobody owns and extend the leases of our own."""
        return await self._memory.claim(cells, self._replica, ttl_ms)

    async def release(self, cell: Mac, token: Token, *, if_left_ms: int | None = None) -> bool:
        """End the ownership of a token; whether it was in force."""
        return self._memory.ownership.release(cell, token, if_left_ms)

    async def write_state(self, cell: Mac, token: Token, state: bytes, *, ttl_ms: int) -> None:
        """Keep what the next owner needs."""
        self._memory.ownership.write_state(cell, token, state, ttl_ms)

    async def read_state(self, cell: Mac) -> bytes | None:
        """What was kept last."""
        return self._memory.ownership.read_state(cell)

    async def place(self, stations: Sequence[tuple[Mac, Place]], *, ttl_ms: int) -> list[frozenset[str] | None]:
        """Write where stations are; for each, the replicas that have a stream of its terminal."""
        return [self._memory.directory.place(mac, place, ttl_ms) for mac, place in stations]

    async def displace(self, stations: Sequence[Mac], bssid: Mac, token: Token) -> None:
        """The cell no longer reports these stations."""
        for mac in stations:
            self._memory.directory.displace(mac, bssid, token)

    async def arrive(self, terminals: Sequence[Mac], *, ttl_ms: int) -> list[tuple[Place, ...] | None]:
        """Write that we have streams of these terminals; for each, where its station is."""
        return [self._memory.directory.arrive(mac, self._replica, ttl_ms) for mac in terminals]

    async def depart(self, terminals: Sequence[Mac]) -> None:
        """We have no stream of these terminals any more."""
        for mac in terminals:
            self._memory.directory.depart(mac, self._replica)

    async def send(self, replica: str, message: bytes) -> bool:
        """Send a message; whether the replica listens."""
        if not message:
            raise ValueError("an empty message")
        deliver = self._memory.handlers.get(replica)
        if deliver is not None:
            deliver(message)
        return deliver is not None
