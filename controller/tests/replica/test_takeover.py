# SPDX-License-Identifier: Apache-2.0
"""A cell whose owner hangs: it is taken over before its lease ends, and never commanded by two."""

import asyncio
from collections.abc import Callable

import pytest

from airbound.core.addresses import mac_from_text
from airbound.core.cell.memory import CellMemory
from airbound.replica import ownership
from airbound.replica.ownership import OtherOwner, Owned, Ownership
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import Claim, StoreError, Token
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID

CELL = mac_from_text(BSSID)
LONG_MS = 60_000


class Clock:
    """A clock that a test sets, for leases and for the store."""

    def __init__(self) -> None:
        self.now_us = 1_000_000_000

    def __call__(self) -> int:
        return self.now_us

    def now_ms(self) -> int:
        return self.now_us // 1000


class Replica:
    """Ownership alone, of one replica."""

    def __init__(self, name: str, memory: Memory, clock: Clock) -> None:
        self.store = MemoryStore(memory)
        self.name = name
        self.access_point = "ap"  # whose stream is here
        self.heard = 0
        self.refusals = 0
        self.silent_s = 0.0
        self.doubted: list[bytes] = []
        self.lost: list[bytes] = []
        self.ownership = Ownership(
            self.store,
            clock,
            owned=self._owned,
            doubted=self.doubted.append,
            lost=lambda cell, _: self.lost.append(cell),
            refused=self._refused,
        )

    async def start(self) -> "Replica":
        await self.store.start(self.name, lambda _: None, lambda: None)
        return self

    def _refused(self, *_: object) -> OtherOwner:
        self.refusals += 1
        return OtherOwner(self.silent_s, self.heard, self.access_point)

    def _owned(self, cell: bytes, _lease: Owned, _learnt: CellMemory | None) -> None:
        """Nothing more."""

    def token(self, clock: Clock) -> Token | None:
        return self.ownership.token(CELL, clock())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(ownership, "RETRY_S", 0.001)
    monkeypatch.setattr(ownership, "RENEW_S", 0.001)
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Memory:
    return Memory(now_ms=clock.now_ms, time_us=clock)


async def owner(memory: Memory, clock: Clock, access_point: str = "ap") -> Replica:
    """A replica that owns the cell, wrote whose its access point is, and then stops: nothing is renewed."""
    one = await Replica("one", memory, clock).start()
    one.ownership.want(CELL)
    await until(lambda: one.token(clock) is not None)
    await one.ownership.keep([(CELL, CellMemory(access_point=access_point))])
    return one


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  # many things are looked at
            await asyncio.sleep(0.001)


async def tries(replica: Replica) -> None:
    """Wait until it has attempted to get the cell many times more."""
    enough = replica.refusals + 3 * ownership.ASKED
    await until(lambda: replica.refusals >= enough)


async def test_an_owner_that_neither_renews_nor_answers_loses_the_cell(memory: Memory, clock: Clock) -> None:
    one, two = await owner(memory, clock), await Replica("two", memory, clock).start()
    two.ownership.want(CELL)
    await tries(two)
    assert CELL not in two.ownership.cells  # it has renewed a moment ago
    clock.now_us += ownership.UNRENEWED_MS * 1000 - 1000
    two.ownership.stall.start()
    await tries(two)
    assert CELL not in two.ownership.cells
    clock.now_us += 1000
    await until(lambda: two.token(clock) is not None)
    assert clock.now_us < one.ownership.cells[CELL].until_us  # by its lease it could go on
    one.ownership.stall.check()  # the first thing that it does, whatever that is
    assert one.token(clock) is None
    assert one.doubted == [CELL]
    one.ownership.start()
    await until(lambda: one.lost == [CELL])
    await one.ownership.stop()
    await two.ownership.stop()


async def test_an_owner_that_answers_keeps_the_cell(memory: Memory, clock: Clock) -> None:
    await owner(memory, clock)
    two = await Replica("two", memory, clock).start()

    def answers(_cell: bytes, _token: Token) -> OtherOwner:
        two.heard += 1
        return OtherOwner(0.0, two.heard, "ap")

    two.ownership._refused = answers
    clock.now_us += 5_000_000
    two.ownership.stall.start()
    two.ownership.want(CELL)
    await until(lambda: two.heard > 3 * ownership.ASKED)
    assert CELL not in two.ownership.cells
    await two.ownership.stop()


@pytest.mark.parametrize("here", ["", "another"])
async def test_only_the_access_point_that_the_owner_had_takes_the_cell_along(
    memory: Memory, clock: Clock, here: str
) -> None:
    await owner(memory, clock)
    two = await Replica("two", memory, clock).start()
    two.access_point = here
    clock.now_us += 5_000_000
    two.ownership.stall.start()
    two.ownership.want(CELL)
    await tries(two)
    assert CELL not in two.ownership.cells
    clock.now_us += ownership.LEASE_MS * 1000  # its lease has ended
    two.ownership.stall.start()
    await until(lambda: two.token(clock) is not None)
    await two.ownership.stop()


async def test_a_cell_in_doubt_is_commanded_once_a_later_claim_is_confirmed(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await owner(memory, clock)
    one.ownership.doubt(CELL)
    assert one.token(clock) is None
    one.ownership._take(CELL, one.ownership.cells[CELL].token, clock() - 1, None)  # asked for before
    assert one.token(clock) is None

    failures = 0

    async def fails(*_: object, **__: object) -> list[Claim | None]:
        nonlocal failures
        failures += 1
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(one.store, "claim", fails)
        one.ownership.start()
        await until(lambda: failures > 10)
        assert one.token(clock) is None
    clock.now_us += 1
    await until(lambda: one.token(clock) is not None)
    assert one.lost == []
    await one.ownership.stop()


async def test_a_claim_that_was_asked_for_before_a_stall_is_asked_for_again(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await Replica("one", memory, clock).start()
    claim, asked = one.store.claim, list[int]()

    async def slow(cells: list[bytes], *, ttl_ms: int) -> list[Claim | None]:
        asked.append(clock())
        claims = await claim(cells, ttl_ms=ttl_ms)
        if len(asked) == 1:
            clock.now_us += 2_000_000  # stopped between the store's answer and our reading it
        return claims

    monkeypatch.setattr(one.store, "claim", slow)
    one.ownership.want(CELL)
    await until(lambda: one.token(clock) is not None)
    assert len(asked) == 2
    await one.ownership.stop()
