# SPDX-License-Identifier: Apache-2.0
"""Values that no replica has written, in each key: an operator's mistake, another program, a hostile neighbour."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from airbound.core.addresses import mac_text
from airbound.replica import ownership
from airbound.replica.ownership import OtherOwner, Ownership
from airbound.runtime.runner import monotonic_us
from airbound.store.redis.ownership import EPOCH_MAX
from airbound.store.redis.store import RedisStore
from airbound.store.types import Place, StoreError, Token
from airbound_testing.redis_servers import RedisServer
from airbound_testing.stores import Site, eventually

CELL, MAC = bytes.fromhex("020000000100"), bytes.fromhex("020000000001")
LONG_MS = 60_000
TEXTS: tuple[bytes, ...] = (
    b"", b"garbage", b"7:", b":one", b"007:ghost", b"7:\xff\xfe", b"7:gh\nost", b"7:ghost", b"9" * 400 + b":ghost",
    str(EPOCH_MAX + 1).encode(), b"inf", b"nan", b"-1", b"0x10", b"1e308", b"\x00" * 1_000,
)  # fmt: skip
TYPES: tuple[tuple[str, ...], ...] = (("HSET", "a", "b"), ("RPUSH", "a"), ("SADD", "a"), ("ZADD", "1", "a"))


@dataclass(frozen=True, slots=True)
class Garbage:
    """What is written over a key."""

    text: bytes = b""
    other_type: tuple[str, ...] = ()

    def write(self, server: RedisServer, key: str) -> None:
        """Write it."""
        server.command("DEL", key)
        if self.other_type:
            server.command(self.other_type[0], key, *self.other_type[1:])
        else:
            server.command("SET", key, self.text)

    def __str__(self) -> str:
        return " ".join(self.other_type) or repr(self.text[:20])


GARBAGE = Garbage(b"garbage")
ALL = [*(Garbage(text) for text in TEXTS), *(Garbage(other_type=parts) for parts in TYPES)]


class Owner:
    """A replica that owns the cell and renews its lease often."""

    def __init__(self, store: RedisStore) -> None:
        self.store = store
        self.ownership = Ownership(
            store,
            monotonic_us,
            owned=lambda *_: None,
            doubted=lambda _: None,
            lost=lambda *_: None,
            refused=lambda *_: OtherOwner(0.0, 0),
        )

    @property
    def epoch(self) -> int:
        return self.ownership.cells[CELL].token.epoch

    async def owns_after(self, epoch: int, what: object) -> None:
        """Wait until the cell may be commanded under a lease of now. Its access point reports meanwhile."""
        asked_us = monotonic_us()

        def confirmed() -> bool:
            token = self.ownership.token(CELL, monotonic_us())
            if token is None:
                self.ownership.want(CELL)
                return False
            lease = self.ownership.cells[CELL]
            since_us = lease.until_us - ownership.LEASE_MS * 1000 + ownership.MARGIN_US
            return asked_us < since_us and epoch <= token.epoch <= EPOCH_MAX

        await eventually(confirmed, f"the cell is owned again after {what}")


@pytest.fixture
async def owner(on_server: Site[RedisStore], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Owner]:
    monkeypatch.setattr(ownership, "RENEW_S", 0.01)
    monkeypatch.setattr(ownership, "RETRY_S", 0.01)
    made = Owner((await on_server.replica("one")).store)
    made.ownership.start()
    await made.owns_after(0, "the start")
    yield made
    await made.ownership.stop()


def key_of(prefix: str, end: str) -> str:
    return f"{prefix}:cell:{{{mac_text(CELL)}}}:{end}"


async def test_garbage_as_owner_orphans_no_cell(owner: Owner, server: RedisServer, prefix: str) -> None:
    for garbage in ALL:
        before = owner.epoch
        garbage.write(server, key_of(prefix, "owner"))
        await owner.owns_after(before, garbage)


async def test_garbage_as_epoch_orphans_no_cell(owner: Owner, server: RedisServer, prefix: str) -> None:
    for garbage in ALL:
        before = owner.epoch
        garbage.write(server, key_of(prefix, "epoch"))
        server.command("DEL", key_of(prefix, "owner"))
        await owner.owns_after(before, garbage)


async def test_garbage_as_state_keeps_no_cell_from_its_next_owner(
    owner: Owner, server: RedisServer, prefix: str
) -> None:
    for garbage in ALL:
        before = owner.epoch
        garbage.write(server, key_of(prefix, "state"))
        await owner.ownership.give(CELL, None)
        await owner.owns_after(before, garbage)
        await owner.store.write_state(CELL, owner.ownership.cells[CELL].token, b"state", ttl_ms=LONG_MS)
        assert await owner.store.read_state(CELL) == b"state"


async def test_garbage_as_station_hides_no_station(
    on_server: Site[RedisStore], server: RedisServer, prefix: str
) -> None:
    store = (await on_server.replica("one")).store
    places = [(MAC, Place(CELL, Token(1, "one"), 0))]
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: store.place(places, ttl_ms=LONG_MS),
        lambda: store.arrive([MAC], ttl_ms=LONG_MS),
        lambda: store.displace([MAC], CELL, Token(2, "one")),
        lambda: store.depart([MAC]),
    )
    await calls[0]()
    (key,) = server.keys(prefix)
    for garbage, call in itertools.product(ALL, calls):
        garbage.write(server, key)
        await call()
        await store.place(places, ttl_ms=LONG_MS)
        (found,) = await store.arrive([MAC], ttl_ms=LONG_MS)
        assert [place.bssid for place in found or ()] == [CELL], garbage


async def test_garbage_among_the_entries_of_a_station_hides_no_other_entry(
    on_server: Site[RedisStore], server: RedisServer, prefix: str
) -> None:
    store = (await on_server.replica("one")).store
    await store.place([(MAC, Place(CELL, Token(1, "one"), 0))], ttl_ms=LONG_MS)
    (key,) = server.keys(prefix)
    lives = f"{int(server.command('TIME')[0]) * 1000 + LONG_MS} {LONG_MS}".encode()
    fields = (b"c:02:00:00:00:00:09", b"c:", b"c:zz", b"c:\xff", b"h:\xff", b"h:", b"", b"x")
    values = [*TEXTS, b"9" * 400 + b" 1 1 1:one", b"9 9 9", b"1 " * 1_000]
    values += [lives + b" 1 " + text for text in TEXTS] + [lives + b" " + b"9" * 400 + b" 1:one"]
    for field, value in itertools.product(fields, values):
        server.command("HSET", key, field, value)
        await store.place([(MAC, Place(CELL, Token(1, "one"), 0))], ttl_ms=LONG_MS)
        (places,) = await store.arrive([MAC], ttl_ms=LONG_MS)
        assert CELL in {place.bssid for place in places or ()}, (field, value)
        server.command("HDEL", key, field)


@pytest.mark.parametrize("key", ["values", "ends"])
async def test_another_type_among_records_is_an_error_that_names_their_kind(
    on_server: Site[RedisStore], server: RedisServer, prefix: str, key: str
) -> None:
    """Records are kept nowhere else: only an operator removes such a key."""
    store = (await on_server.replica("one")).store
    await store.put("choice", "mode", b"observe", ttl_ms=LONG_MS)
    GARBAGE.write(server, f"{prefix}:records:{{choice}}:{key}")
    with pytest.raises(StoreError, match=r"WRONGTYPE .*\(a key of \{choice\}\)"):
        await store.records("choice")
    assert await store.records("pin") == {}


async def test_a_record_whose_name_is_no_text_hides_no_other_record(
    on_server: Site[RedisStore], server: RedisServer, prefix: str
) -> None:
    one = await on_server.replica("one")
    await one.store.put("choice", "mode", b"observe")
    (key,) = server.keys(prefix)
    server.command("HSET", key, b"\xff", b"garbage")
    assert await one.store.records("choice") == {"mode": b"observe", "\\xff": b"garbage"}
