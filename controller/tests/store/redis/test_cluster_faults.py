# SPDX-License-Identifier: Apache-2.0
"""A Cluster that loses a master, moves a hash slot, or changes roles."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from redis.exceptions import MovedError

from airbound.core.addresses import Mac, mac_text
from airbound.replica import inbox, outbox
from airbound.replica.inbox import Inbox
from airbound.replica.outbox import Outbox
from airbound.store.redis.messages import publication
from airbound.store.redis.slots import slot
from airbound.store.redis.store import RedisStore
from airbound.store.types import Claim, FencedError, Place, StoreError, Token
from airbound.v1 import replica_pb2
from airbound_testing.redis_servers import RedisCluster
from airbound_testing.stores import PATIENCE_S, Replica, Site, eventually

CELL = bytes.fromhex("020000000100")
CELLS = [bytes([2, 0, 0, 1, 0, number]) for number in range(30)]
LONG_MS = 60_000


def tag(cell: Mac) -> bytes:
    return mac_text(cell).encode()


def owner_key(prefix: str) -> str:
    return f"{prefix}:cell:{{{mac_text(CELL)}}}:owner"


class Talk:
    """Messages from one replica to another, one every 20 ms, until some were received that were sent after `mark`: by
    way of an outbox and an inbox, as replicas talk.
    """

    def __init__(self, sender: Replica[RedisStore], receiver: Replica[RedisStore]) -> None:
        self.outbox = Outbox(sender.store, sender.name, lambda _: None)
        self.inbox = Inbox()
        self.numbers: list[int] = []  # what was received, in order
        self._to, self._receiver = receiver.name, receiver
        self._marked = 0
        self.sent = 0
        self._task = asyncio.create_task(self._talk())

    def mark(self) -> None:
        self._marked = self.sent

    async def begins(self) -> None:
        """Wait until messages are received."""
        await eventually(lambda: self._received() > 5, "messages are received")

    async def goes_on(self) -> None:
        """Wait until messages that were sent after the mark are received."""
        await eventually(lambda: self._received() >= self._marked + 10, "messages are received again")
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        assert self.numbers == sorted(set(self.numbers))  # each once, in order

    async def was_complete(self) -> None:
        """After `goes_on`: wait until all that was sent is received."""
        await eventually(lambda: self._received() == self.sent - 1, "all messages are received")
        assert self.numbers == list(range(self.sent))
        assert (self.inbox.counts.missing_total, self.outbox.dropped_total) == (0, 0)

    def _received(self) -> int:
        now_s = asyncio.get_running_loop().time()
        while self._receiver.messages:
            batch = replica_pb2.ReplicaMessages.FromString(self._receiver.messages.pop(0))
            self._take(self.inbox.take(batch, now_s))
        for late in self.inbox.overdue(now_s):
            self._take(late.messages)
        return self.numbers[-1] if self.numbers else -1

    def _take(self, messages: Sequence[replica_pb2.ReplicaMessage]) -> None:
        self.numbers += [message.asked.question for message in messages]

    async def _talk(self) -> None:
        while True:
            self.outbox.send(self._to, replica_pb2.ReplicaMessage(asked=replica_pb2.Asked(question=self.sent)))
            self.sent += 1
            await asyncio.sleep(0.02)


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine drops no message, and takes none for missing."""
    monkeypatch.setattr(outbox, "KEPT_S", 3600.0)
    monkeypatch.setattr(inbox, "MISSING_S", 3600.0)


async def all_claimed(store: RedisStore, cells: list[Mac]) -> list[Claim]:
    """Claims of all cells, as soon as all servers answer."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < deadline_s
        try:
            claims = await store.claim(cells, ttl_ms=LONG_MS)
        except StoreError:
            claims = []
        found = [claim for claim in claims if claim is not None]
        if len(found) == len(cells):
            return found
        await asyncio.sleep(0.05)


async def listens(sender: Replica[RedisStore], to: str) -> None:
    """Wait until the server that has the channel reports that the replica listens."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not await sender.store.send(to, b"anybody there?"):
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.05)


async def in_thread(work: Callable[[], None]) -> None:
    """What an administrator does meanwhile."""
    await asyncio.to_thread(work)


@pytest.mark.parametrize("how", ["kill", "pause"])
async def test_a_master_is_lost(on_cluster: Site[RedisStore], cluster: RedisCluster, how: str) -> None:
    one, two = await on_cluster.replica("one"), await on_cluster.replica("two")
    before = await all_claimed(one.store, CELLS)
    talk = Talk(one, two)
    await talk.begins()
    lost = cluster.master(b"two")
    kept = [cell for cell in CELLS if cluster.master(tag(cell)) is not lost]
    assert 0 < len(kept) < len(CELLS)
    replica = cluster.replica(lost)
    replica.command("CONFIG", "SET", "cluster-replica-no-failover", "yes")  # not before the claim, however late that is
    lost.kill() if how == "kill" else lost.pause()
    talk.mark()
    claims = await one.store.claim(CELLS, ttl_ms=LONG_MS)
    replica.command("CONFIG", "SET", "cluster-replica-no-failover", "no")
    assert {cell for cell, claim in zip(CELLS, claims, strict=True) if claim is None} == set(CELLS) - set(kept)
    after = await all_claimed(one.store, CELLS)
    for cell, was, now in zip(CELLS, before, after, strict=True):
        assert now.mine
        assert now.token == was.token if cell in kept else now.token.epoch >= was.token.epoch
    await talk.goes_on()
    await eventually(lambda: one.reconnections > 0 and two.reconnections > 0, "both are to look again")
    await listens(one, "two")


@pytest.mark.usefixtures("_patient")
async def test_a_hash_slot_moves(on_cluster: Site[RedisStore], cluster: RedisCluster) -> None:
    one, two = await on_cluster.replica("one"), await on_cluster.replica("two")
    talk = Talk(one, two)
    await talk.begins()
    source = cluster.master(b"two")
    target = next(master for master in cluster.masters() if master is not source)
    await in_thread(lambda: cluster.move_slot(slot(b"two"), source, target))
    talk.mark()
    await talk.goes_on()
    await talk.was_complete()
    await eventually(lambda: two.reconnections > 0, "two is to look again")
    await in_thread(lambda: cluster.move_slot(slot(b"two"), target, source))
    await eventually(lambda: two.reconnections > 1, "two is to look again")


async def test_calls_during_a_move(on_cluster: Site[RedisStore], cluster: RedisCluster) -> None:
    one, two = await on_cluster.replica("one"), await on_cluster.replica("two")
    (claim,) = await all_claimed(one.store, [CELL])
    await one.store.write_state(CELL, claim.token, b"state", ttl_ms=LONG_MS)
    await one.store.place([(CELL, Place(CELL, claim.token, 0))], ttl_ms=LONG_MS)
    source = cluster.master(tag(CELL))
    target = next(master for master in cluster.masters() if master is not source)
    ids = {server: server.command("CLUSTER", "MYID") for server in (source, target)}
    number = slot(tag(CELL))

    async def works() -> None:
        assert await two.store.claim([CELL], ttl_ms=LONG_MS) == [Claim(claim.token, mine=False)]
        assert await one.store.claim([CELL], ttl_ms=LONG_MS) == [claim]
        await one.store.write_state(CELL, claim.token, b"state", ttl_ms=LONG_MS)
        with pytest.raises(FencedError):
            await two.store.write_state(CELL, Token(claim.token.epoch + 1, "two"), b"late", ttl_ms=LONG_MS)
        assert await two.store.read_state(CELL) == b"state"
        ((place,),) = await two.store.arrive([CELL], ttl_ms=LONG_MS)
        assert place.token == claim.token

    target.command("CLUSTER", "SETSLOT", number, "IMPORTING", ids[source])
    source.command("CLUSTER", "SETSLOT", number, "MIGRATING", ids[target])
    await works()
    keys = source.command("CLUSTER", "GETKEYSINSLOT", number, 100)
    source.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5_000, "KEYS", *keys)
    await works()  # ASK
    for server in (target, source, *cluster.masters()):
        server.command("CLUSTER", "SETSLOT", number, "NODE", ids[target])
    await works()  # MOVED
    await in_thread(lambda: cluster.move_slot(number, target, source))
    await works()


async def test_keys_that_are_on_both_servers_for_a_moment(
    on_cluster: Site[RedisStore], cluster: RedisCluster, prefix: str
) -> None:
    one = await on_cluster.replica("one")
    (claim,) = await all_claimed(one.store, [CELL])
    source = cluster.master(tag(CELL))
    target = next(master for master in cluster.masters() if master is not source)
    number = slot(tag(CELL))
    target.command("CLUSTER", "SETSLOT", number, "IMPORTING", source.command("CLUSTER", "MYID"))
    source.command("CLUSTER", "SETSLOT", number, "MIGRATING", target.command("CLUSTER", "MYID"))
    assert source.command("MIGRATE", "127.0.0.1", target.port, owner_key(prefix), 0, 5_000) == b"OK"
    with pytest.raises(StoreError, match="TRYAGAIN"):  # until the time is over
        await one.store.claim([CELL], ttl_ms=LONG_MS)
    patient = Replica("one", RedisStore(replace(one.store._options, timeout_s=10.0)))  # the move takes milliseconds
    await patient.start()
    claiming = asyncio.create_task(patient.store.claim([CELL], ttl_ms=LONG_MS))
    await asyncio.sleep(0.1)
    await in_thread(lambda: cluster.move_slot(number, source, target))
    assert await claiming == [claim]
    await patient.store.close()
    await in_thread(lambda: cluster.move_slot(number, target, source))


@pytest.mark.usefixtures("_patient")
async def test_roles_change_without_a_loss(on_cluster: Site[RedisStore], cluster: RedisCluster) -> None:
    one, two = await on_cluster.replica("one"), await on_cluster.replica("two")
    before = await all_claimed(one.store, CELLS)
    talk = Talk(one, two)
    await talk.begins()
    for _ in range(2):  # there and back
        reconnections = two.reconnections
        await in_thread(lambda: cluster.fail_over(b"two"))
        assert await all_claimed(one.store, CELLS) == before
        await eventually(lambda seen=reconnections: two.reconnections > seen, "two is to look again")  # type: ignore[misc]
        talk.mark()
    await talk.goes_on()
    await talk.was_complete()
    await listens(one, "two")


async def test_a_master_that_became_a_replica_takes_no_message(
    on_cluster: Site[RedisStore], cluster: RedisCluster, prefix: str
) -> None:
    """To the bare SPUBLISH it answers 0: a sender would not learn that the channel is elsewhere."""
    two = await on_cluster.replica("two")
    command = publication(*two.store._channel("two"), b"message")
    replica = cluster.replica(cluster.master(b"two"))
    assert f"{prefix}:replica:{{two}}" in command.parts
    assert replica.command("SPUBLISH", f"{prefix}:replica:{{two}}", "message") == 0
    with pytest.raises(MovedError):
        replica.command(*command.parts)
    assert cluster.master(b"two").command(*command.parts) == 1
    await eventually(lambda: bool(two.messages), "the message is received")
    assert set(two.messages) == {b"message"}


async def test_no_epoch_is_given_twice_over_a_failover(
    on_cluster: Site[RedisStore], cluster: RedisCluster, prefix: str
) -> None:
    one, two, three = [await on_cluster.replica(name) for name in ("one", "two", "three")]
    master = cluster.master(tag(CELL))
    replica = cluster.replica(master)
    (first,) = await one.store.claim([CELL], ttl_ms=500)
    assert first is not None
    # It may have ended by the time that anybody looks. WAIT is about what its own connection wrote.
    assert master.command("SET", f"{owner_key(prefix)}:next", "", "PX", LONG_MS)
    assert master.command("WAIT", 1, 0) == 1
    replica.pause()
    master.command("CLIENT", "KILL", "TYPE", "replica")  # what is in the socket already would be read later
    await asyncio.sleep(0.6)
    (second,) = await two.store.claim([CELL], ttl_ms=LONG_MS)
    assert second is not None
    assert second.mine
    master.kill()  # with the second claim, which nobody else has
    replica.resume()
    (third,) = await all_claimed(three.store, [CELL])
    assert third.mine
    assert first.token.epoch < second.token.epoch < third.token.epoch
    for late in (one, two):
        await all_claimed(late.store, [CELL])  # it has found the new master
        with pytest.raises(FencedError):
            await late.store.write_state(CELL, second.token, b"late", ttl_ms=LONG_MS)
    await three.store.write_state(CELL, third.token, b"state", ttl_ms=LONG_MS)
    assert await all_claimed(two.store, [CELL]) == [Claim(third.token, mine=False)]


async def test_the_server_that_was_named_first_is_gone(on_cluster: Site[RedisStore], cluster: RedisCluster) -> None:
    one = await on_cluster.replica("one")
    await all_claimed(one.store, CELLS)
    assert f"{cluster.servers[0].port}," in cluster.url
    cluster.servers[0].kill()
    two = Replica("two", RedisStore(one.store._options))
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            await two.start()
        except StoreError:  # its channel may have been there
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.1)
        else:
            break
    await all_claimed(two.store, CELLS)
    await two.store.close()


async def test_scripts_are_flushed_on_every_master(on_cluster: Site[RedisStore], cluster: RedisCluster) -> None:
    one = await on_cluster.replica("one")
    before = await all_claimed(one.store, CELLS)
    for master in cluster.masters():
        master.command("SCRIPT", "FLUSH")
    assert await one.store.claim(CELLS, ttl_ms=LONG_MS) == before
    assert one.reconnections == 0
