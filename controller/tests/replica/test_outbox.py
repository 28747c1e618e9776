# SPDX-License-Identifier: Apache-2.0
"""Messages to a replica that does not listen for a while, as after a Redis Cluster elected a master."""

import asyncio
from collections.abc import Callable

import pytest

from airbound.replica import outbox as module
from airbound.replica.inbox import Inbox
from airbound.replica.outbox import Outbox
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import StoreError
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


def _numbers(batches: list[bytes]) -> list[tuple[int, int]]:
    """Number and stream of each message."""
    read = [replica_pb2.ReplicaMessages.FromString(batch) for batch in batches]
    return [
        (number, message.stream_closed.stream)
        for batch in read
        for number, message in enumerate(batch.messages, batch.number)
    ]


async def test_messages_to_each_replica_have_numbers_of_their_own() -> None:
    site = _Site()
    heard = {replica: await site.listen(replica) for replica in ("b", "c")}
    for stream in range(3):
        site.outbox.send("b", _message(stream))
        site.outbox.send("c", _message(10 + stream))
        await _until(lambda sent=stream: all(len(_streams(heard[replica])) > sent for replica in heard))  # type: ignore[misc]
    assert _numbers(heard["b"]) == [(1, 0), (2, 1), (3, 2)]
    assert _numbers(heard["c"]) == [(1, 10), (2, 11), (3, 12)]


class _Deaf(MemoryStore):
    """Messages arrive, and the store reports that nobody listens, or does not answer: as many times as it is told."""

    def __init__(self, memory: Memory, answers: list[bool | StoreError]) -> None:
        super().__init__(memory)
        self._answers = answers

    async def send(self, replica: str, message: bytes) -> bool:
        await super().send(replica, message)
        answer = self._answers.pop(0) if self._answers else True
        if isinstance(answer, StoreError):
            raise answer
        return answer


@pytest.mark.parametrize("answers", [[False, False], [StoreError("no answer"), False]])
async def test_a_message_that_is_sent_again_has_the_number_that_it_had(answers: list[bool | StoreError]) -> None:
    site = _Site()
    heard = await site.listen("b")
    outbox = Outbox(_Deaf(site._memory, [True, *answers]), "a", site.lost.append)
    outbox.send("b", _message(1))
    await _until(lambda: len(heard) == 1)
    outbox.send("b", _message(2))
    await _until(lambda: len(heard) == 2)
    outbox.send("b", _message(3))
    await _until(lambda: len(_streams(heard)) >= 5)
    assert set(_numbers(heard)) == {(1, 1), (2, 2), (3, 3)}
    inbox = Inbox()
    taken = [message for batch in heard for message in inbox.take(replica_pb2.ReplicaMessages.FromString(batch), 0.0)]
    assert taken == [_message(1), _message(2), _message(3)]


async def test_messages_that_were_dropped_leave_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_MAX", 3)
    site = _Site()
    site.outbox.send("b", _message(1))
    await _until(lambda: bool(site.lost))
    for stream in range(2, 6):  # 1, 2, 3 are dropped for 4
        site.outbox.send("b", _message(stream))
    heard = await site.listen("b")
    await _until(lambda: len(_streams(heard)) == 2)
    assert _numbers(heard) == [(4, 4), (5, 5)]
    assert site.outbox.dropped_total == 3


class _Slow(MemoryStore):
    """Does not answer to the first message before it is told to, and then with an error."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.asked, self.answer = asyncio.Event(), asyncio.Event()

    async def send(self, replica: str, message: bytes) -> bool:
        if not self.asked.is_set():
            self.asked.set()
            await self.answer.wait()
            raise StoreError("no answer")
        return await super().send(replica, message)


async def test_too_many_messages_while_one_is_sent_leave_no_wrong_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_MAX", 3)
    site = _Site()
    heard = await site.listen("b")
    store = _Slow(site._memory)
    outbox = Outbox(store, "a", site.lost.append)
    outbox.send("b", _message(1))
    async with asyncio.timeout(WAIT_S):
        await store.asked.wait()
    for stream in range(2, 6):  # 2, 3, 4 are dropped for 5; then 1 is, which is older
        outbox.send("b", _message(stream))
    store.answer.set()
    await _until(lambda: bool(heard))
    assert _numbers(heard) == [(5, 5)]
    assert outbox.dropped_total == 4


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
