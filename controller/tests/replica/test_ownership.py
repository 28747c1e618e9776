# SPDX-License-Identifier: Apache-2.0
"""Claims that are given up while they are under way, and leases that a part of the store does not renew."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from airbound.core.addresses import Mac, mac_from_text
from airbound.core.cell.memory import CellMemory
from airbound.replica import ownership
from airbound.replica.ownership import OtherOwner, Owned, Ownership
from airbound.runtime.runner import monotonic_us
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import Claim, StoreError, Token
from airbound_testing.agents import WAIT_S

T = TypeVar("T")

CELL, OTHER = (mac_from_text(f"02:00:00:00:00:0{number}") for number in (1, 2))


class SlowStore(MemoryStore):
    """A store that answers claims when the test lets it, and has no answer for the cells of `silent`."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.claimed = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()
        self.silent = set[Mac]()

    async def claim(self, cells: Sequence[Mac], *, ttl_ms: int) -> list[Claim | None]:
        """As the store does, at the time that the test chooses."""
        claims = await super().claim(cells, ttl_ms=ttl_ms)
        self.claimed.set()
        await self.answers.wait()
        return [None if cell in self.silent else claim for cell, claim in zip(cells, claims, strict=True)]


class NoStates(SlowStore):
    """A store that does not take or have what is learnt of cells."""

    async def write_state(self, cell: Mac, token: Token, state: bytes, *, ttl_ms: int) -> None:
        """Fail."""
        del cell, token, state, ttl_ms
        raise StoreError("OOM command not allowed when used memory > 'maxmemory'.")

    async def read_state(self, cell: Mac) -> bytes | None:
        """Fail."""
        del cell
        raise StoreError("no answer within 1 s")


class Clock:
    """A clock that a test moves, for leases and for the store."""

    now_us = 1_000_000_000

    def __call__(self) -> int:
        return self.now_us


class Replica:
    """Ownership of one replica and what it reported."""

    def __init__(
        self, memory: Memory, clock_us: Callable[[], int] = monotonic_us, store: type[SlowStore] = SlowStore
    ) -> None:
        self.store = store(memory)
        self.owned = asyncio.Queue[Mac]()
        self.lost = asyncio.Queue[Mac]()
        self.ownership = Ownership(
            self.store,
            clock_us,
            owned=self._owned,
            doubted=lambda _: None,
            lost=self._lost,
            refused=self._refused,
        )

    def _owned(self, cell: Mac, lease: Owned, learnt: CellMemory | None) -> None:
        del lease, learnt
        self.owned.put_nowait(cell)

    def _lost(self, cell: Mac, claim: Claim | None) -> None:
        del claim
        self.lost.put_nowait(cell)

    def _refused(self, cell: Mac, token: Token) -> OtherOwner:
        del cell, token
        return OtherOwner(0.0, 0)


async def started(
    memory: Memory, name: str, clock_us: Callable[[], int] = monotonic_us, store: type[SlowStore] = SlowStore
) -> Replica:
    """A replica whose store answers."""
    replica = Replica(memory, clock_us, store)
    await replica.store.start(name, lambda _: None, lambda: None)
    return replica


async def soon(awaited: Awaitable[T]) -> T:
    """What is awaited, unless it does not come."""
    return await asyncio.wait_for(awaited, WAIT_S)


async def test_a_cell_that_is_wanted_no_more_while_it_is_claimed_is_given_back() -> None:
    memory = Memory()
    a, b = await started(memory, "a"), await started(memory, "b")
    a.store.answers.clear()
    a.ownership.want(CELL)
    await soon(a.store.claimed.wait())
    a.ownership.unwant(CELL)
    a.store.answers.set()
    b.ownership.want(CELL)
    await soon(b.owned.get())
    assert a.owned.empty()
    assert not a.ownership.cells
    await a.ownership.stop()
    await b.ownership.stop()


async def test_a_cell_that_is_wanted_again_while_it_is_claimed_is_ours() -> None:
    a = await started(Memory(), "a")
    a.store.answers.clear()
    a.ownership.want(CELL)
    await soon(a.store.claimed.wait())
    a.ownership.unwant(CELL)
    a.ownership.want(CELL)
    a.store.answers.set()
    assert await soon(a.owned.get()) == CELL
    await a.ownership.stop()


async def test_a_cell_that_was_given_away_is_claimed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    a, b = await started(memory, "a"), await started(memory, "b")
    a.ownership.want(CELL)
    await soon(a.owned.get())
    monkeypatch.setattr(ownership, "RETRY_S", 3600.0)
    b.ownership.want(CELL)
    await soon(b.store.claimed.wait())
    await a.ownership.give(CELL, None)
    b.ownership.try_now(CELL)
    await soon(b.owned.get())
    await a.ownership.stop()
    await b.ownership.stop()


async def test_a_cell_whose_part_of_the_store_does_not_answer_is_ours_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "RENEW_S", 0.001)
    clock = Clock()
    a = await started(Memory(now_ms=lambda: clock() // 1000, time_us=clock), "a", clock)
    a.ownership.want(CELL)
    a.ownership.want(OTHER)
    a.ownership.start()
    assert {await soon(a.owned.get()), await soon(a.owned.get())} == {CELL, OTHER}
    a.store.silent.add(OTHER)
    async with asyncio.timeout(WAIT_S):
        while a.lost.empty():
            clock.now_us += 500_000
            renewed_us = clock() + ownership.LEASE_MS * 1000 - ownership.MARGIN_US
            while a.ownership.cells[CELL].until_us < renewed_us:  # noqa: ASYNC110  # what the clock's step leads to
                await asyncio.sleep(0.001)
    assert clock.now_us > Clock.now_us + ownership.LEASE_MS * 1000 - ownership.MARGIN_US - 500_000
    assert a.lost.get_nowait() == OTHER
    assert list(a.ownership.cells) == [CELL]
    await a.ownership.stop()


async def test_what_was_learnt_of_a_cell_keeps_nobody_from_owning_it_or_giving_it() -> None:
    """A cell without an owner is worse than one whose owner has to learn again."""
    memory = Memory()
    a, b = await started(memory, "a", store=NoStates), await started(memory, "b", store=NoStates)
    a.ownership.want(CELL)
    assert await soon(a.owned.get()) == CELL
    await a.ownership.give(CELL, CellMemory(access_point="ap"))
    b.ownership.want(CELL)  # its lease has not ended
    assert await soon(b.owned.get()) == CELL
    await a.ownership.stop()
    await b.ownership.stop()


async def test_a_cell_of_which_the_store_has_lost_the_owner_is_in_doubt_and_claimed_again() -> None:
    """Lost, its access point would be sent to another replica, and its phones' leases end meanwhile."""
    a = await started(Memory(), "a")
    a.ownership.want(CELL)
    await soon(a.owned.get())
    a.ownership.start()
    token = a.ownership.cells[CELL].token
    await a.store.release(CELL, token)
    await a.ownership.keep([(CELL, CellMemory())])
    assert a.ownership.token(CELL, monotonic_us()) is None
    await soon(a.owned.get())
    assert a.ownership.cells[CELL].token.epoch > token.epoch
    assert a.ownership.token(CELL, monotonic_us()) is not None
    assert a.lost.empty()
    await a.ownership.stop()


async def test_a_cell_that_another_replica_has_is_lost_when_what_was_learnt_of_it_is_refused() -> None:
    memory = Memory()
    a, b = await started(memory, "a"), await started(memory, "b")
    a.ownership.want(CELL)
    await soon(a.owned.get())
    a.ownership.start()
    await a.store.release(CELL, a.ownership.cells[CELL].token)
    b.ownership.want(CELL)
    await soon(b.owned.get())
    await a.ownership.keep([(CELL, CellMemory())])
    assert await soon(a.lost.get()) == CELL
    await a.ownership.stop()
    await b.ownership.stop()
