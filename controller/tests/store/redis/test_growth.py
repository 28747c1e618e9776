# SPDX-License-Identifier: Apache-2.0
"""Nothing in Redis grows for ever: of what has ended, no key is left."""

import asyncio
from collections.abc import Callable

from airbound.core.addresses import Mac
from airbound.store.options import StoreOptions
from airbound.store.redis.store import RedisStore
from airbound.store.types import Claim, Place, Token
from airbound_testing.redis_servers import RedisCluster, RedisServer
from airbound_testing.stores import Site, eventually

SHORT_MS = 200


def macs(count: int) -> list[Mac]:
    return [bytes([2, 0, 0, 3]) + number.to_bytes(2, "big") for number in range(count)]


async def use(site: Site[RedisStore], keys: Callable[[str], set[str]], prefix: str) -> None:
    """Write some of everything, with short times to live."""
    one, two = await site.replica("one"), await site.replica("two")
    await one.store.put("replica", "seen", b"value", ttl_ms=60_000)
    assert keys(prefix)
    await one.store.remove("replica", "seen")
    for cell in macs(50):
        (claim,) = await one.store.claim([cell], ttl_ms=60_000)
        assert isinstance(claim, Claim)
        await one.store.write_state(cell, claim.token, b"state", ttl_ms=SHORT_MS)
        await one.store.claim([cell], ttl_ms=SHORT_MS)
        await one.store.place([(mac, Place(cell, claim.token, 0)) for mac in macs(3)], ttl_ms=SHORT_MS)
        await one.store.put("replica", f"{cell!r}", b"value", ttl_ms=SHORT_MS)
        await one.store.add("token", f"{cell!r}", b"value", ttl_ms=SHORT_MS)
    await two.store.arrive(macs(50), ttl_ms=SHORT_MS)
    await one.store.send("two", b"message")


async def test_no_key_is_left_on_a_server(on_server: Site[RedisStore], server: RedisServer, prefix: str) -> None:
    await use(on_server, server.keys, prefix)
    await eventually(lambda: not server.keys(prefix), "no key is left")


async def test_no_key_is_left_in_a_cluster(on_cluster: Site[RedisStore], cluster: RedisCluster, prefix: str) -> None:
    await use(on_cluster, cluster.keys, prefix)
    await eventually(lambda: not cluster.keys(prefix), "no key is left")


async def test_records_that_have_ended_are_removed_beside_one_for_ever(
    on_server: Site[RedisStore], server: RedisServer, prefix: str
) -> None:
    one = await on_server.replica("one")
    await one.store.put("token", "for ever", b"value")
    for number in range(2_500):
        await one.store.put("token", f"{number}", b"value", ttl_ms=SHORT_MS)
    await asyncio.sleep(0.3)
    assert await one.store.get("token", "for ever") == b"value"
    values, ends = (f"{prefix}:records:{{token}}:{what}" for what in ("values", "ends"))
    assert (server.command("HLEN", values), server.command("ZCARD", ends)) == (1, 0)
    assert server.command("PTTL", values) == -1
    await one.store.remove("token", "for ever")
    assert not server.keys(prefix)


async def test_an_entry_of_a_station_ends_with_its_last_writer(
    on_server: Site[RedisStore], server: RedisServer, prefix: str
) -> None:
    (mac,) = macs(1)
    for number in range(50):
        replica = await on_server.replica(f"replica {number}")
        await replica.store.arrive([mac], ttl_ms=SHORT_MS)
    await asyncio.sleep(0.3)
    await replica.store.arrive([mac], ttl_ms=60_000)
    (key,) = server.keys(prefix)
    assert server.command("HLEN", key) == 1
    await replica.store.depart([mac])
    assert not server.keys(prefix)


async def test_an_entry_from_before_the_clock_was_set_back_has_ended(
    on_server: Site[RedisStore], server: RedisServer, prefix: str
) -> None:
    one, two = await on_server.replica("one"), await on_server.replica("two")
    (mac,) = macs(1)
    await one.store.arrive([mac], ttl_ms=60_000)
    (key,) = server.keys(prefix)
    seconds, _ = server.command("TIME")
    server.command("HSET", key, "h:one", f"{(int(seconds) + 3_600) * 1000} 60000")
    server.command("HSET", key, f"c:{mac.hex(':')}", f"{(int(seconds) + 3_600) * 1000} 60000 {int(seconds)}000 7:one")
    assert await two.store.arrive([mac], ttl_ms=60_000) == [()]
    assert await two.store.place([(mac, Place(mac, Token(6, "two"), 0))], ttl_ms=60_000) == [{"two"}]


async def test_installations_share_a_server(server: RedisServer, cluster: RedisCluster, prefix: str) -> None:
    for options in (
        StoreOptions(url=server.url, prefix=f"{prefix}a"),
        StoreOptions(url=cluster.url, cluster=True, prefix=f"{prefix}a"),
    ):
        stores = [RedisStore(options), RedisStore(StoreOptions(url=options.url, cluster=options.cluster, prefix="b"))]
        heard: list[bytes] = []
        for store in stores:
            await store.start("one", heard.append, lambda: None)
        await stores[0].put("choice", "mode", b"observe", ttl_ms=60_000)
        assert await stores[1].get("choice", "mode") is None
        await stores[1].send("one", b"message")
        await eventually(lambda heard=heard: heard == [b"message"], "one of them received it")  # type: ignore[misc]
        for store in stores:
            await store.close()
