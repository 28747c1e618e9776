# SPDX-License-Identifier: Apache-2.0
"""Two replicas whose messages are lost or repeated on the way."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from airbound.replica import inbox
from airbound.replica.node import Node
from airbound.store.memory.store import Memory, MemoryStore
from airbound.v1 import replica_pb2
from airbound_testing.live import PATIENT, LiveController
from airbound_testing.stores import eventually


class _Lossy(MemoryStore):
    """Reports that a message was received, and loses those to one replica while it is to."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.loses_to = ""
        self.times = 1  # that a message arrives

    async def send(self, replica: str, message: bytes) -> bool:
        heard = True
        for _ in range(0 if replica == self.loses_to else self.times):
            heard = await super().send(replica, message)
        return heard


class _Pair:
    """Replicas "a" and "b"; the store of "a" can be made to lose or repeat messages."""

    def __init__(self, a: LiveController, b: LiveController, store: _Lossy) -> None:
        self.a, self.b, self.store = a, b, store

    def node(self, controller: LiveController) -> Node:
        assert controller.node is not None
        return controller.node

    async def choose(self, mode: str) -> None:
        """An operator chooses a mode at "a", which has "b" read it."""
        choices = self.node(self.a).choices
        assert choices is not None
        await choices.set_mode(mode)  # type: ignore[arg-type]


@pytest.fixture
async def pair() -> AsyncIterator[_Pair]:
    memory = Memory()
    store = _Lossy(memory)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(LiveController(PATIENT, replica="a", store=store))
        b = await stack.enter_async_context(LiveController(PATIENT, replica="b", store=MemoryStore(memory)))
        made = _Pair(a, b, store)
        await eventually(lambda: "b" in made.node(a).members.by_name, "a knows b")
        yield made


async def test_after_a_message_that_did_not_come_a_replica_looks_again(
    pair: _Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "MISSING_S", 0.05)
    a, b = pair.node(pair.a), pair.node(pair.b)
    a.outbox.send("b", replica_pb2.ReplicaMessage(choices_changed=replica_pb2.ChoicesChanged()))
    await eventually(lambda: b.inbox.counts.received_total == 1, "the first message is received")
    pair.store.loses_to = "b"
    await pair.choose("observe")
    await eventually(lambda: a.outbox.messages_total == 2 and a.outbox._task is None, "the choice's message is lost")
    assert pair.b.runner.engine.settings.mode == "control"
    pair.store.loses_to = ""
    a.outbox.send("b", replica_pb2.ReplicaMessage(revoked=replica_pb2.Revoked()))  # which has nothing read
    await eventually(lambda: pair.b.runner.engine.settings.mode == "observe", "b reads the choice")
    counts = b.message_counts()
    assert (counts["received"], counts["missing"], counts["repeated"]) == (2, 1, 0)


async def test_a_message_that_comes_twice_is_handled_once(pair: _Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = pair.node(pair.a), pair.node(pair.b)
    handled: list[str] = []
    monkeypatch.setitem(b._handlers, "choices_changed", lambda sender, _: handled.append(sender))
    pair.store.times = 2
    await pair.choose("observe")
    await eventually(lambda: b.message_counts()["repeated"] == 1, "the message came twice")
    assert handled == ["a"]
    assert a.message_counts()["sent"] == b.message_counts()["received"] == 1
