# SPDX-License-Identifier: Apache-2.0
"""The events of several replicas, asked of one of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc.aio
import pytest

from airbound.core.addresses import mac_from_text
from airbound.core.effects import Note
from airbound.replica import events_service as replicated
from airbound.runtime.history import History
from airbound.store.memory.store import Memory, MemoryStore
from airbound.v1 import events_pb2, events_pb2_grpc
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, PATIENT, LiveController

CELL = mac_from_text(BSSID)


class Pair:
    """Two replicas, and the service for events of the first."""

    def __init__(self, a: LiveController, b: LiveController, stub: Any) -> None:
        self.a, self.b, self.stub = a.runner.history, b.runner.history, stub

    async def list(self, **request: Any) -> list[events_pb2.ListEventsResponse]:
        """Pages."""
        return [page async for page in self.stub.ListEvents(events_pb2.ListEventsRequest(**request))]


def note(history: History, subject: str) -> None:
    history.append(Note("info", "mode", subject, cell=CELL))


def subjects(pages: list[Any]) -> list[tuple[str, str]]:
    return [(event.replica, event.subject) for page in pages for event in page.events if event.kind == "mode"]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    memory = Memory()
    async with AsyncExitStack() as stack:
        a, b = [
            await stack.enter_async_context(
                LiveController(PATIENT, replica=name, store=MemoryStore(memory), history=History())
            )
            for name in ("a", "b")
        ]

        async def found() -> bool:
            return a.node is not None and a.node.members.others() == ["b"]

        await a.until(found)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(a.operators))
        yield Pair(a, b, events_pb2_grpc.EventsServiceStub(channel))


async def test_events_of_all_replicas_are_listed_by_time(pair: Pair) -> None:
    for history, subject in ((pair.a, "1"), (pair.b, "2"), (pair.a, "3"), (pair.b, "4")):
        note(history, subject)
    pages = await pair.list()
    assert subjects(pages) == [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")]
    assert subjects(await pair.list(limit=2)) == [("a", "3"), ("b", "4")]
    assert subjects(await pair.list(filter=events_pb2.EventFilter(cell="02:00:00:00:00:09"))) == []


async def test_a_client_goes_on_where_it_was_in_each_history(pair: Pair) -> None:
    note(pair.a, "1")
    note(pair.b, "2")
    last = (await pair.list())[-1]
    assert {last.position.history, *(other.history for other in last.others)} == {pair.a.identity, pair.b.identity}
    note(pair.b, "3")
    note(pair.a, "4")
    later = await pair.list(after=last.position, after_others=last.others)
    assert subjects(later) == [("b", "3"), ("a", "4")]
    # Of whichever replica: the client may be connected to another one by now.
    assert subjects(await pair.list(after=last.others[0], after_others=[last.position])) == [("b", "3"), ("a", "4")]


async def test_a_follower_is_sent_what_happens_in_the_others(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicated, "FOLLOW_OTHERS_S", 0.05)
    for subject in ("1", "2", "3"):
        note(pair.b, subject)
    stream = pair.stub.FollowEvents(events_pb2.FollowEventsRequest(limit=1))
    async with asyncio.timeout(WAIT_S):
        pages = [await stream.read(), await stream.read()]
        assert subjects(pages) == [("b", "3")]
        note(pair.b, "4")
        note(pair.a, "5")
        while len(subjects(pages)) < 3:
            pages.append(await stream.read())
    assert set(subjects(pages)[1:]) == {("b", "4"), ("a", "5")}
    await asyncio.sleep(0.2)  # nothing comes twice
    note(pair.a, "6")
    async with asyncio.timeout(WAIT_S):
        while subjects(pages)[-1] != ("a", "6"):
            pages.append(await stream.read())
    assert len(subjects(pages)) == 4
    stream.cancel()


async def test_a_replica_that_comes_later_is_followed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicated, "FOLLOW_OTHERS_S", 0.05)
    stream = pair.stub.FollowEvents(events_pb2.FollowEventsRequest())
    async with asyncio.timeout(WAIT_S):
        pages = [await stream.read()]
        pair.b.identity += 1  # as a process that was started again has
        note(pair.b, "1")
        while not subjects(pages):
            pages.append(await stream.read())
    assert subjects(pages) == [("b", "1")]
    stream.cancel()


async def test_what_is_gone_of_any_history_is_counted(pair: Pair) -> None:
    for _ in range(3):
        note(pair.a, "x")
    before = (await pair.list())[-1]
    pair.b._kept = pair.a._kept = 1
    for history in (pair.a, pair.b):
        for _ in range(5):
            note(history, "y")
    pages = await pair.list(after=before.position, after_others=before.others)
    assert sum(page.left_out for page in pages) == 8
    assert subjects(pages) == [("a", "y"), ("b", "y")]
