# SPDX-License-Identifier: Apache-2.0
"""What only the embedded store does: nothing in it grows for ever."""

from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import Claim, Place


async def test_what_has_ended_is_removed() -> None:
    now_ms = 0
    memory = Memory(None, lambda: now_ms)
    store = MemoryStore(memory)
    await store.start("replica", lambda _: None, lambda: None)
    for second in range(2_000):
        now_ms = second * 1000
        mac = b"\x02\x00" + second.to_bytes(4, "big")
        (claim,) = await store.claim([mac], ttl_ms=10_000)
        assert isinstance(claim, Claim)
        await store.write_state(mac, claim.token, b"state", ttl_ms=20_000)
        await store.place([(mac, Place(mac, claim.token, 0))], ttl_ms=10_000)
        await store.arrive([mac], ttl_ms=10_000)
        await store.put("replica", f"{second}", b"value", ttl_ms=10_000)
    parts = [memory.ownership._owners, memory.ownership._states, memory.directory._stations, memory._kind("replica")]
    assert all(len(part) <= 64 for part in parts)
    assert memory.purge() > 0
    now_ms += 20_000
    assert memory.purge() == 0


async def test_a_mac_that_has_nothing_is_removed() -> None:
    memory = Memory(None, lambda: 0)
    store = MemoryStore(memory)
    await store.start("replica", lambda _: None, lambda: None)
    (claim,) = await store.claim([b"bssid-"], ttl_ms=1_000)
    assert isinstance(claim, Claim)
    await store.release(b"bssid-", claim.token)
    await store.place([(b"mac---", Place(b"bssid-", claim.token, 0))], ttl_ms=1_000)
    await store.arrive([b"mac---"], ttl_ms=1_000)
    await store.depart([b"mac---"])
    await store.displace([b"mac---"], b"bssid-", claim.token)
    assert memory.purge() == 0
