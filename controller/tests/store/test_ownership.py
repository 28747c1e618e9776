# SPDX-License-Identifier: Apache-2.0
"""What every store does about owners of cells."""

import asyncio
from typing import Any

import pytest

from airbound.core.addresses import Mac
from airbound.store.types import Claim, FencedError, Token
from airbound_testing.stores import Replica, Site

CELL = bytes.fromhex("020000000100")
LONG_MS = 60_000


def cells(count: int) -> list[Mac]:
    return [bytes([2, 0, 0, 1]) + number.to_bytes(2, "big") for number in range(count)]


async def claimed(replica: Replica[Any], cell: Mac = CELL, ttl_ms: int = LONG_MS) -> Claim:
    (claim,) = await replica.store.claim([cell], ttl_ms=ttl_ms)
    assert isinstance(claim, Claim)
    return claim


async def test_a_cell_has_one_owner(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    first = await claimed(one)
    assert first.mine
    assert first.token.replica == "one"
    assert await claimed(two) == Claim(first.token, mine=False)
    assert await claimed(one) == first


async def test_of_many_who_claim_at_once_one_gets_the_cell(site: Site[Any]) -> None:
    replicas = [await site.replica(f"replica {number}") for number in range(5)]
    claims = await asyncio.gather(*(claimed(replica) for replica in replicas))
    assert len({claim.token for claim in claims}) == 1
    assert [claim.mine for claim in claims].count(True) == 1


async def test_many_cells_are_claimed_in_one_call(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    assert await one.store.claim([], ttl_ms=LONG_MS) == []
    every = cells(200)
    odd = await two.store.claim(every[1::2], ttl_ms=LONG_MS)
    claims = await one.store.claim(every, ttl_ms=LONG_MS)
    assert [claim.mine for claim in claims] == [True, False] * 100
    assert [claim.token for claim in claims[1::2]] == [claim.token for claim in odd]


async def test_a_lease_ends_and_the_next_epoch_is_greater(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    first = await claimed(one, ttl_ms=200)
    await asyncio.sleep(0.3)
    second = await claimed(two, ttl_ms=200)
    assert second.mine
    assert second.token.epoch > first.token.epoch
    await asyncio.sleep(0.3)
    third = await claimed(two, ttl_ms=200)  # its own lease was over as well
    assert third.mine
    assert third.token.epoch > second.token.epoch


async def test_a_lease_is_extended(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    first = await claimed(one, ttl_ms=LONG_MS // 2)
    assert await claimed(one, ttl_ms=LONG_MS) == first
    assert not await two.store.release(CELL, first.token, if_left_ms=LONG_MS // 2)
    assert await claimed(two) == Claim(first.token, mine=False)


async def test_a_cell_is_released_by_its_owner(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    first = await claimed(one)
    assert not await two.store.release(CELL, Token(first.token.epoch, "two"))
    assert not await two.store.release(CELL, Token(first.token.epoch + 1, "one"))
    assert await one.store.release(CELL, first.token)
    assert not await one.store.release(CELL, first.token)
    second = await claimed(two)
    assert second.mine
    assert second.token.epoch > first.token.epoch
    assert not await one.store.release(CELL, first.token)
    assert await claimed(one) == Claim(second.token, mine=False)


async def test_a_lease_that_was_extended_meanwhile_is_not_ended_by_another(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    first = await claimed(one, ttl_ms=LONG_MS // 2)
    assert not await two.store.release(CELL, first.token, if_left_ms=LONG_MS // 4)
    assert await claimed(one, ttl_ms=LONG_MS) == first
    assert not await two.store.release(CELL, first.token, if_left_ms=LONG_MS // 2)
    assert await claimed(two) == Claim(first.token, mine=False)
    assert await two.store.release(CELL, first.token, if_left_ms=LONG_MS)
    assert (await claimed(two)).mine
    assert not await two.store.release(CELL, first.token, if_left_ms=LONG_MS)


async def test_a_late_writer_is_fenced(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    first = await claimed(one)
    await one.store.write_state(CELL, first.token, b"of one", ttl_ms=LONG_MS)
    assert await claimed(one, ttl_ms=200) == first
    await asyncio.sleep(0.3)
    with pytest.raises(FencedError, match="02:00:00:00:01:00"):
        await one.store.write_state(CELL, first.token, b"late", ttl_ms=LONG_MS)
    second = await claimed(two)
    assert await two.store.read_state(CELL) == b"of one"
    await two.store.write_state(CELL, second.token, b"of two", ttl_ms=LONG_MS)
    with pytest.raises(FencedError):
        await one.store.write_state(CELL, first.token, b"late", ttl_ms=LONG_MS)
    with pytest.raises(FencedError):
        await one.store.write_state(CELL, Token(second.token.epoch, "one"), b"made up", ttl_ms=LONG_MS)
    assert await one.store.read_state(CELL) == b"of two"


async def test_a_state_ends_with_its_time(site: Site[Any]) -> None:
    one = await site.replica("one")
    assert await one.store.read_state(CELL) is None
    claim = await claimed(one)
    await one.store.write_state(CELL, claim.token, b"\x00state", ttl_ms=LONG_MS)
    assert await one.store.read_state(CELL) == b"\x00state"
    await one.store.write_state(CELL, claim.token, b"\x00state", ttl_ms=200)
    await asyncio.sleep(0.3)
    assert await one.store.read_state(CELL) is None


async def test_names_of_replicas_may_have_any_characters(site: Site[Any]) -> None:
    names = ["a:b", "a b", "ü", "{x}", "%d"]
    for number, name in enumerate(names):
        replica = await site.replica(name)
        claim = await claimed(replica, cells(10)[number])
        assert claim.token.replica == name
        assert await claimed(replica, cells(10)[number]) == claim
