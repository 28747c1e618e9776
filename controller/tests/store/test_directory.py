# SPDX-License-Identifier: Apache-2.0
"""What every store does about stations and terminals."""

import asyncio
from typing import Any

import pytest

from airbound.core.addresses import Mac
from airbound.store.types import Place, Token
from airbound_testing.stores import Site

pytestmark = pytest.mark.long

MAC = bytes.fromhex("020000000001")
CELL, NEXT_CELL = bytes.fromhex("020000000100"), bytes.fromhex("020000000200")
LONG_MS = 60_000


def macs(count: int) -> list[Mac]:
    return [bytes([2, 0, 0, 2]) + number.to_bytes(2, "big") for number in range(count)]


async def test_whoever_comes_second_finds_the_first(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    assert await one.store.place([(MAC, Place(CELL, Token(7, "one"), 5_000))], ttl_ms=LONG_MS) == [frozenset()]
    ((place,),) = await two.store.arrive([MAC], ttl_ms=LONG_MS)
    assert (place.bssid, place.token) == (CELL, Token(7, "one"))
    assert 5_000 <= place.age_ms < 60_000
    assert await one.store.place([(MAC, place)], ttl_ms=LONG_MS) == [{"two"}]
    assert await one.store.arrive([MAC, macs(1)[0]], ttl_ms=LONG_MS) != []
    assert await one.store.place([(MAC, place)], ttl_ms=LONG_MS) == [{"one", "two"}]


async def test_the_latest_association_is_first(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    await one.store.place([(MAC, Place(CELL, Token(7, "one"), 90_000))], ttl_ms=LONG_MS)
    await two.store.place([(MAC, Place(NEXT_CELL, Token(8, "two"), 30_000))], ttl_ms=LONG_MS)
    (places,) = await two.store.arrive([MAC], ttl_ms=LONG_MS)
    assert [(place.bssid, place.token) for place in places] == [(NEXT_CELL, Token(8, "two")), (CELL, Token(7, "one"))]
    await one.store.place([(MAC, Place(CELL, Token(7, "one"), 10))], ttl_ms=LONG_MS)  # it came back
    (places,) = await two.store.arrive([MAC], ttl_ms=LONG_MS)
    assert [place.bssid for place in places] == [CELL, NEXT_CELL]


async def test_many_are_placed_in_one_call(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    every = macs(200)
    token = Token(7, "one")
    assert await two.store.arrive(every[::2], ttl_ms=LONG_MS) == [()] * 100
    found = await one.store.place([(mac, Place(CELL, token, 0)) for mac in every], ttl_ms=LONG_MS)
    assert found == [{"two"}, frozenset()] * 100
    await two.store.depart(every[:100])
    found = await one.store.place([(mac, Place(CELL, token, 0)) for mac in every], ttl_ms=LONG_MS)
    assert found == [frozenset()] * 100 + [{"two"}, frozenset()] * 50
    await one.store.displace(every[::2], CELL, token)
    places = await two.store.arrive(every, ttl_ms=LONG_MS)
    assert [len(replicas) for replicas in places] == [0, 1] * 100


async def test_an_owner_displaces_its_own_entry(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    await one.store.place([(MAC, Place(CELL, Token(7, "one"), 0))], ttl_ms=LONG_MS)
    await two.store.place([(MAC, Place(CELL, Token(8, "two"), 0))], ttl_ms=LONG_MS)  # took the cell over
    await one.store.displace([MAC], CELL, Token(7, "one"))
    await one.store.displace([MAC], NEXT_CELL, Token(8, "two"))
    (places,) = await one.store.arrive([MAC], ttl_ms=LONG_MS)
    assert [place.token for place in places] == [Token(8, "two")]
    await two.store.displace([MAC], CELL, Token(8, "two"))
    assert await one.store.arrive([MAC], ttl_ms=LONG_MS) == [()]


async def test_a_late_owner_does_not_place(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    await two.store.arrive([MAC], ttl_ms=LONG_MS)
    await two.store.place([(MAC, Place(CELL, Token(8, "two"), 50))], ttl_ms=LONG_MS)
    assert await one.store.place([(MAC, Place(CELL, Token(7, "one"), 0))], ttl_ms=LONG_MS) == [{"two"}]
    (places,) = await one.store.arrive([MAC], ttl_ms=LONG_MS)
    assert [place.token for place in places] == [Token(8, "two")]


async def test_entries_end_each_at_its_time(site: Site[Any]) -> None:
    one, two, three = [await site.replica(name) for name in ("one", "two", "three")]
    await one.store.place([(MAC, Place(CELL, Token(9, "one"), 0))], ttl_ms=200)
    await one.store.place([(MAC, Place(NEXT_CELL, Token(7, "one"), 0))], ttl_ms=LONG_MS)
    await two.store.arrive([MAC], ttl_ms=200)
    await three.store.arrive([MAC], ttl_ms=LONG_MS)
    await asyncio.sleep(0.3)
    (places,) = await three.store.arrive([MAC], ttl_ms=LONG_MS)
    assert [place.bssid for place in places] == [NEXT_CELL]
    # An entry that has ended is in nobody's way, whatever its epoch was.
    assert await one.store.place([(MAC, Place(CELL, Token(8, "one"), 0))], ttl_ms=LONG_MS) == [{"three"}]
    (places,) = await three.store.arrive([MAC], ttl_ms=LONG_MS)
    assert {place.token for place in places} == {Token(8, "one"), Token(7, "one")}


async def test_a_replica_departs_for_itself(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    await one.store.arrive([MAC], ttl_ms=LONG_MS)
    await two.store.arrive([MAC], ttl_ms=LONG_MS)
    await two.store.depart([MAC])
    await two.store.depart([])
    assert await one.store.place([(MAC, Place(CELL, Token(7, "one"), 0))], ttl_ms=LONG_MS) == [{"one"}]
