# SPDX-License-Identifier: Apache-2.0
"""A single server that is killed, paused, flushed, or not there."""

import asyncio
import time

import pytest

from airbound.core.addresses import Mac
from airbound.store.options import StoreOptions
from airbound.store.redis import link
from airbound.store.redis.store import RedisStore
from airbound.store.types import Claim, Place, StoreError, Token
from airbound_testing.ports import free_port
from airbound_testing.redis_servers import RedisCluster, RedisServer
from airbound_testing.stores import PATIENCE_S, Replica, Site, eventually

CELL = bytes.fromhex("020000000100")
MAC = bytes.fromhex("020000000001")
LONG_MS = 60_000
TIMEOUT_S = 1.0
PAUSED_S = 8.0  # a subscriber notices within 4 s, or later on a busy machine


async def claim_once_possible(store: RedisStore, cell: Mac = CELL) -> Claim:
    """A claim, as soon as the store answers again."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            (claim,) = await store.claim([cell], ttl_ms=LONG_MS)
        except StoreError:
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.05)
        else:
            assert claim is not None
            return claim


async def send_once_possible(sender: Replica[RedisStore], to: str, message: bytes) -> None:
    """Send until the replica listens."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            if await sender.store.send(to, message):
                return
        except StoreError:
            pass
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.05)


async def test_a_server_that_was_killed(on_server: Site[RedisStore], server: RedisServer) -> None:
    one, two = await on_server.replica("one"), await on_server.replica("two")
    first = await claim_once_possible(one.store)
    server.kill()
    with pytest.raises(StoreError, match=f"127.0.0.1:{server.port}: "):
        await one.store.claim([CELL], ttl_ms=LONG_MS)
    with pytest.raises(StoreError):
        await one.store.put("choice", "mode", b"observe")
    assert (one.reconnections, two.reconnections) == (0, 0)
    server.start()
    second = await claim_once_possible(two.store)  # the server came back empty
    assert second.mine
    assert second.token.epoch > first.token.epoch
    await eventually(lambda: one.reconnections > 0 and two.reconnections > 0, "both are to look again")
    await send_once_possible(one, "two", b"message")
    await two.received(b"message")


async def test_a_server_that_is_paused(on_server: Site[RedisStore], server: RedisServer) -> None:
    one, two = await on_server.replica("one"), await on_server.replica("two")
    server.pause()
    paused_s, failures = time.monotonic(), 0
    while failures < 3 or time.monotonic() - paused_s < PAUSED_S:
        with pytest.raises(StoreError, match=f"127.0.0.1:{server.port}: no answer"):
            await one.store.claim([CELL], ttl_ms=LONG_MS)
        failures += 1
        await asyncio.sleep(0.1)
    server.resume()
    assert (await claim_once_possible(one.store)).mine
    await eventually(lambda: one.reconnections > 0 and two.reconnections > 0, "both are to look again")
    await send_once_possible(one, "two", b"message")
    await two.received(b"message")


async def test_a_call_fails_in_time(on_server: Site[RedisStore], server: RedisServer) -> None:
    one = await on_server.replica("one")
    server.pause()
    calls = [
        one.store.claim([CELL], ttl_ms=LONG_MS),
        one.store.place([(MAC, Place(CELL, Token(1, "one"), 0))], ttl_ms=LONG_MS),
        one.store.records("choice"),
        one.store.send("one", b"message"),
    ]
    before_s = time.monotonic()
    failures = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(failure, StoreError) for failure in failures)
    assert TIMEOUT_S / 2 < time.monotonic() - before_s < 30 * TIMEOUT_S


async def test_callers_that_wait_are_bounded(
    on_server: Site[RedisStore], server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "COMMANDS_MAX", 50)
    one = await on_server.replica("one")
    await one.store.claim([CELL], ttl_ms=LONG_MS)
    server.pause()
    waiting = [asyncio.create_task(one.store.get("choice", "mode")) for _ in range(100)]
    failures = await asyncio.gather(*waiting, return_exceptions=True)
    texts = [str(failure) for failure in failures]
    assert sum("commands wait already" in text for text in texts) == 50
    assert sum("no answer" in text for text in texts) == 50
    server.resume()
    await claim_once_possible(one.store)


async def test_a_caller_that_is_cancelled_disturbs_nobody(on_server: Site[RedisStore]) -> None:
    one = await on_server.replica("one")
    await one.store.put("choice", "mode", b"observe")
    for turns in range(20):
        cancelled = asyncio.create_task(one.store.get("choice", "other"))
        other = asyncio.create_task(one.store.get("choice", "mode"))
        for _ in range(turns % 7):
            await asyncio.sleep(0)
        cancelled.cancel()
        assert await other == b"observe"
    assert one.reconnections == 0


async def test_an_event_loop_that_was_late_is_not_the_servers_fault(on_server: Site[RedisStore]) -> None:
    one = await on_server.replica("one")
    call = asyncio.create_task(one.store.get("choice", "mode"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    time.sleep(1.5 * TIMEOUT_S)  # noqa: ASYNC251  # blocks the event loop
    assert await call is None
    assert one.reconnections == 0


async def test_a_server_whose_scripts_were_flushed(on_server: Site[RedisStore], server: RedisServer) -> None:
    one = await on_server.replica("one")
    cells = [bytes([2, 0, 0, 1, 0, number]) for number in range(100)]
    first = await one.store.claim(cells, ttl_ms=LONG_MS)
    server.command("SCRIPT", "FLUSH")
    assert await one.store.claim(cells, ttl_ms=LONG_MS) == first
    server.command("SCRIPT", "FLUSH")
    assert await asyncio.gather(*(one.store.get("choice", "mode") for _ in range(10))) == [None] * 10
    assert one.reconnections == 0


@pytest.mark.parametrize("kind", ["normal", "pubsub"])
async def test_a_connection_that_the_server_ends(on_server: Site[RedisStore], server: RedisServer, kind: str) -> None:
    one = await on_server.replica("one")
    await one.store.claim([CELL], ttl_ms=LONG_MS)
    server.command("CLIENT", "KILL", "TYPE", kind)
    await eventually(lambda: one.reconnections > 0, "one is to look again")
    await send_once_possible(one, "one", b"message")
    await one.received(b"message")


async def test_a_server_that_is_not_there(server: RedisServer, prefix: str) -> None:
    port = free_port()
    store = RedisStore(StoreOptions(url=f"redis://127.0.0.1:{port}", prefix=prefix))
    with pytest.raises(StoreError, match=f"127.0.0.1:{port}"):
        await store.start("one", lambda _: None, lambda: None)
    with pytest.raises(StoreError, match="closed"):
        await store.get("choice", "mode")
    server.kill()
    store = RedisStore(StoreOptions(url=server.url, prefix=prefix))
    with pytest.raises(StoreError):
        await store.start("one", lambda _: None, lambda: None)
    server.start()
    await store.start("one", lambda _: None, lambda: None)
    assert await store.get("choice", "mode") is None
    await store.close()


async def test_a_server_of_the_other_kind(server: RedisServer, cluster: RedisCluster, prefix: str) -> None:
    store = RedisStore(StoreOptions(url=server.url, cluster=True, prefix=prefix))
    with pytest.raises(StoreError, match="cluster support disabled"):
        await store.start("one", lambda _: None, lambda: None)
    store = RedisStore(StoreOptions(url=cluster.servers[0].url, prefix=prefix))

    async def use() -> None:
        await store.start("one", lambda _: None, lambda: None)
        for number in range(20):  # some of them are at another server than this one
            await store.claim([bytes([2, 0, 0, 1, 0, number])], ttl_ms=1)

    with pytest.raises(StoreError, match="set cluster = true"):
        await use()
    await store.close()


async def test_a_lease_from_before_the_clock_was_set_back_has_ended(
    on_server: Site[RedisStore], server: RedisServer
) -> None:
    one, two = await on_server.replica("one"), await on_server.replica("two")
    first = await claim_once_possible(one.store)
    (key,) = [key for key in server.keys("airbound-") if key.endswith(":owner")]
    server.command("PEXPIRE", key, 3_600_000)  # what is left of a minute after a step of an hour
    second = await claim_once_possible(two.store)
    assert second.mine
    assert second.token.epoch > first.token.epoch
