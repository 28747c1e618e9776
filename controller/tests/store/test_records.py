# SPDX-License-Identifier: Apache-2.0
"""What every store does with records."""

import asyncio
from typing import Any

import pytest

from airbound_testing.stores import PATIENCE_S, Site

pytestmark = [
    pytest.mark.long,
    pytest.mark.parametrize("site", ["memory", "file", "redis", "cluster"], indirect=True),
]

VALUES = [b"", b"value", b"\x00\xff\r\n" * 1000]


@pytest.mark.parametrize("value", VALUES, ids=["empty", "text", "binary"])
async def test_a_record_is_what_was_written(site: Site[Any], value: bytes) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    assert await one.store.get("choice", "mode") is None
    await one.store.put("choice", "mode", value)
    assert await two.store.get("choice", "mode") == value
    assert await two.store.get("choice", "Mode") is None
    assert await two.store.get("choices", "mode") is None
    await two.store.put("choice", "mode", b"later")
    assert await one.store.get("choice", "mode") == b"later"


async def test_records_of_a_kind_are_listed(site: Site[Any]) -> None:
    store = (await site.replica("one")).store
    assert await store.records("pin") == {}
    records = {f"name {number}: ü": b"%d" % number for number in range(60)}
    for name, value in records.items():
        await store.put("pin", name, value)
    await store.put("other", "name", b"value")
    assert await store.records("pin") == records


async def test_a_record_is_added_once(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    answers = await asyncio.gather(
        *(replica.store.add("token", "a", value) for replica in (one, two) for value in (b"1", b"2", b"3"))
    )
    assert len(set(answers)) == 1
    assert await one.store.get("token", "a") == answers[0]


async def test_a_record_is_replaced_if_it_is_as_it_was(site: Site[Any]) -> None:
    store = (await site.replica("one")).store
    assert not await store.replace("token", "a", b"", b"new")
    assert await store.get("token", "a") is None
    await store.put("token", "a", b"old")
    assert not await store.replace("token", "a", b"other", b"new")
    assert await store.get("token", "a") == b"old"
    assert await store.replace("token", "a", b"old", b"new")
    assert await store.get("token", "a") == b"new"


async def test_of_many_that_replace_one_succeeds(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    await one.store.put("token", "a", b"unused")
    answers = await asyncio.gather(
        *(replica.store.replace("token", "a", b"unused", b"used") for replica in (one, two) for _ in range(10))
    )
    assert answers.count(True) == 1


async def test_a_record_is_removed(site: Site[Any]) -> None:
    store = (await site.replica("one")).store
    assert not await store.remove("choice", "mode")
    await store.put("choice", "mode", b"observe")
    assert await store.remove("choice", "mode")
    assert not await store.remove("choice", "mode")
    assert await store.get("choice", "mode") is None
    assert await store.records("choice") == {}


async def test_a_record_ends_with_its_time(site: Site[Any]) -> None:
    store = (await site.replica("one")).store
    await store.put("replica", "short", b"1", ttl_ms=200)
    await store.put("replica", "long", b"2", ttl_ms=60_000)
    await store.put("replica", "for ever", b"3")
    assert await store.get("replica", "long") == b"2"
    await asyncio.sleep(0.3)
    assert await store.get("replica", "short") is None
    assert await store.records("replica") == {"long": b"2", "for ever": b"3"}
    assert not await store.remove("replica", "short")
    assert not await store.replace("replica", "short", b"1", b"2")
    assert await store.add("replica", "short", b"4") == b"4"


async def test_the_last_write_says_when_a_record_ends(site: Site[Any]) -> None:
    store = (await site.replica("one")).store
    for name in ("put", "put for ever"):
        await store.put("replica", name, b"1", ttl_ms=900)
    await store.put("replica", "put", b"1", ttl_ms=60_000)
    async with asyncio.timeout(PATIENCE_S):
        replaced = False
        while not replaced:  # on a busy machine it may have ended before that
            await store.put("replica", "replaced", b"1", ttl_ms=900)
            replaced = await store.replace("replica", "replaced", b"1", b"2", ttl_ms=60_000)
    await store.put("replica", "put for ever", b"1")
    await store.put("replica", "shorter", b"1")
    await store.put("replica", "shorter", b"1", ttl_ms=200)
    await asyncio.sleep(1)
    assert await store.records("replica") == {"put": b"1", "replaced": b"2", "put for ever": b"1"}
