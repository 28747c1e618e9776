# SPDX-License-Identifier: Apache-2.0
"""Messages to a replica that does not listen for a while, as after a Redis Cluster elected a master."""

import asyncio
from collections.abc import Callable

import pytest

from airbound.replica import outbox as module
from airbound.replica.outbox import Outbox
from airbound.store.memory.store import Memory, MemoryStore
from airbound.v1 import replica_pb2
from airbound_testing.agents import WAIT_S


def _message(stream: int) -> replica_pb2.ReplicaMessage:
    return replica_pb2.ReplicaMessage(stream_closed=replica_pb2.StreamClosed(stream=stream))


def _streams(batches: list[bytes]) -> list[int]:
    read = [replica_pb2.ReplicaMessages.FromString(batch) for batch in batches]
    return [message.stream_closed.stream for batch in read for message in batch.messages]


class _Site:
    """Replica "a", which sends, and "b" and "c", which listen once they are started."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._store = MemoryStore(self._memory)
        self.lost: list[str] = []
        self.outbox = Outbox(self._store, "a", self.lost.append)

    async def listen(self, replica: str) -> list[bytes]:
        """Start a replica; what is sent to it."""
        heard: list[bytes] = []
        await MemoryStore(self._memory).start(replica, heard.append, lambda: None)
        return heard


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine drops no message."""
    monkeypatch.setattr(module, "KEPT_S", 3600.0)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  # many things are looked at
            await asyncio.sleep(0.01)


async def test_messages_to_a_replica_that_does_not_listen_yet_wait_and_stay_in_order() -> None:
    site = _Site()
    site.outbox.send("b", _message(1))
    await _until(lambda: bool(site.lost))  # who waits for the replica is to know that it does not listen
    site.outbox.send("b", _message(2))
    tries = len(site.lost)
    await _until(lambda: len(site.lost) > tries)
    heard = await site.listen("b")
    site.outbox.send("b", _message(3))
    await _until(lambda: len(_streams(heard)) == 3)
    assert _streams(heard) == [1, 2, 3]
    assert (site.outbox.dropped_total, site.outbox.silent_s("b")) == (0, 0.0)


async def test_messages_to_others_do_not_wait_behind_them() -> None:
    site = _Site()
    heard = await site.listen("c")
    site.outbox.send("b", _message(1))
    await _until(lambda: bool(site.lost))
    site.outbox.send("c", _message(2))
    await _until(lambda: bool(heard))
    assert site.outbox.silent_s("b") < module.KEPT_S


async def test_messages_to_a_replica_that_never_listens_are_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT_S", 0.3)
    site = _Site()
    site.outbox.send("b", _message(1))
    await _until(lambda: site.outbox.dropped_total == 1)
    site.outbox.send("b", _message(2))
    await _until(lambda: site.outbox.dropped_total == 2)
    assert _streams(await site.listen("b")) == []


async def test_a_stop_does_not_wait_for_a_replica_that_does_not_listen() -> None:
    site = _Site()
    heard = await site.listen("c")
    site.outbox.send("b", _message(1))
    await _until(lambda: bool(site.lost))
    site.outbox.send("c", _message(2))
    async with asyncio.timeout(WAIT_S):
        await site.outbox.drain()
    await asyncio.sleep(0)
    assert (_streams(heard), site.outbox.dropped_total) == ([2], 1)
