# SPDX-License-Identifier: Apache-2.0
"""What every store does with messages."""

import asyncio
import gc
from typing import Any

import pytest

from airbound_testing.stores import Site, eventually


async def test_a_message_reaches_the_replica_it_is_for(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    assert await one.store.send("two", b"from one")
    assert await two.store.send("one", b"\x00\xff" * 10_000)
    assert await one.store.send("one", b"to myself")
    await two.received(b"from one")
    await one.received(b"\x00\xff" * 10_000, b"to myself")


async def test_nobody_listens(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    assert not await one.store.send("three", b"message")
    await two.store.close()
    deaf = await one.store.send("two", b"message")
    for _ in range(200):  # the server may notice the end of the connection a moment later
        if not deaf:
            break
        await asyncio.sleep(0.05)
        deaf = await one.store.send("two", b"message")
    assert not deaf
    assert two.messages == []


async def test_messages_of_one_replica_stay_in_order(site: Site[Any]) -> None:
    one, two = await site.replica("one"), await site.replica("two")
    messages = [b"%d" % number for number in range(1_000)]
    assert all(await asyncio.gather(*(one.store.send("two", message) for message in messages)))
    await two.received(*messages)


async def test_an_empty_message_is_no_message(site: Site[Any]) -> None:
    one = await site.replica("one")
    with pytest.raises(ValueError, match="empty"):
        await one.store.send("one", b"")


async def test_a_handler_that_fails_stops_nothing(site: Site[Any], caplog: pytest.LogCaptureFixture) -> None:
    one = await site.replica("one")
    loop = asyncio.get_running_loop()
    errors: list[Any] = []
    loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))
    heard: list[bytes] = []

    def handle(message: bytes) -> None:
        heard.append(message)
        raise RuntimeError(message.decode())

    await one.store.close()
    await one.store.start("one again", handle, lambda: None)
    await one.store.send("one again", b"first")
    await one.store.send("one again", b"second")
    await eventually(lambda: heard == [b"first", b"second"], "both were handled")
    assert [str(error) for error in errors] == ["first", "second"]
    gc.collect()
    assert not caplog.records


async def test_a_store_is_closed_twice(site: Site[Any]) -> None:
    one = await site.replica("one")
    await one.store.close()
    await one.store.close()
