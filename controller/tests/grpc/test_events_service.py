# SPDX-License-Identifier: Apache-2.0
"""The history of events over real gRPC."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, Note, WindowLimit
from airbound.core.reasons import Code, Reason
from airbound.runtime.history import History
from airbound.v1 import events_pb2 as wire
from airbound.v1 import events_pb2_grpc, reason_pb2
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, MACS, LiveController

CELL, OTHER_CELL = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController() as controller:
        yield controller


@pytest.fixture
async def events(live: LiveController) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(live.operators) as channel:
        yield events_pb2_grpc.EventsServiceStub(channel)


def fill(history: History, count: int, *, what: str = "connected", cell: bytes = b"", terminal: str = "") -> None:
    for _ in range(count):
        history.append(Note("info", what, "x", cell=cell, terminal=terminal))


async def listed(events: Any, limit: int = 0, after: Any = None, **conditions: Any) -> list[wire.Event]:
    request = wire.ListEventsRequest(filter=wire.EventFilter(**conditions), limit=limit, after=after)
    return [event async for page in events.ListEvents(request) for event in page.events]


async def numbers(events: Any, **request: Any) -> list[int]:
    return [event.sequence for event in await listed(events, **request)]


async def test_what_the_engine_notes_is_listed_with_its_reasons(live: LiveController, events: Any) -> None:
    await live.uploading(1)
    await live.report(idle=(MACS[0],))

    async def noted() -> bool:
        return len(live.runner.history.after(0, 99)[1]) > 3

    await live.until(noted)  # nothing of it need be sent to the phone
    found = {event.kind: event for event in reversed(await listed(events))}
    assert list(found) == ["senders", "bounds", "connected"]
    bounds = found["bounds"]
    assert (bounds.terminal, bounds.subject, bounds.cell) == ("127.0.0.1", "127.0.0.1", BSSID)
    assert bounds.level == wire.EVENT_LEVEL_INFO
    assert [reason.code for reason in bounds.reasons] == [reason_pb2.REASON_CODE_STARTED_SENDING]
    (bound,) = bounds.bounds.bounds
    assert (bound.destination, bound.min_segs, bound.max_segs) == ("10.0.4.1", 250, 555)
    assert not bounds.HasField("queues")
    senders = found["senders"]
    assert (senders.subject, senders.cell, senders.terminal) == (BSSID, BSSID, "")
    assert not senders.HasField("bounds")
    assert senders.reasons[0].HasField("before")
    assert senders.time_us > 1_600_000_000_000_000


async def test_a_release_differs_from_no_bounds_and_queues_are_shown(live: LiveController, events: Any) -> None:
    queue = Edca(Category.BEST_EFFORT, 4, 15, 1023, 0)
    reason = Reason(Code.OBSERVE_MODE)
    for note in (
        Note("info", "bounds", "x", (reason,), (Bound(b"", 1, 2),)),
        Note("info", "bounds", "x", (reason,), ()),
        Note("info", "edca", "x", (reason,), queues=(queue,)),
        Note("info", "edca", "x", (reason,), queues=()),
        Note("info", "windows", "x", (reason,), windows=(WindowLimit(bytes(6), bytes([10, 0, 4, 1]), 28_960),)),
        Note("info", "windows", "x", (reason,), windows=()),
    ):
        live.runner.history.append(note)
    live.runner.history.append(Note("warning", "not exempt", "y"), "free text")
    everyone, nobody, set_, own, limited, unlimited, other = await listed(events)
    assert everyone.bounds.bounds[0].destination == ""
    assert nobody.HasField("bounds")
    assert set_.queues.queues[0].aifsn == 4
    assert own.HasField("queues")
    assert (limited.windows.limits[0].destination, limited.windows.limits[0].max_bytes) == ("10.0.4.1", 28_960)
    assert unlimited.HasField("windows")
    assert not other.HasField("windows")
    assert (other.kind, other.level, other.text) == ("not_exempt", wire.EVENT_LEVEL_WARNING, "free text")
    assert not other.HasField("bounds")
    assert not other.HasField("queues")


async def test_a_filter_selects_what_meets_all_of_its_conditions(live: LiveController, events: Any) -> None:
    history = live.runner.history
    now_us = 5_000_000
    history.clock_us = lambda: now_us
    fill(history, 1, cell=CELL, terminal="a")
    fill(history, 1, cell=OTHER_CELL, terminal="a", what="not exempt")
    now_us += 10_000_000
    history.append(Note("warning", "refused", "b", (Reason(Code.REPEATED), Reason(Code.TOO_LARGE)), terminal="b"))
    assert await numbers(events) == [1, 2, 3]
    assert await numbers(events, cell=BSSID) == await numbers(events, cell=BSSID.upper().replace(":", "-")) == [1]
    assert await numbers(events, terminal="a") == [1, 2]
    assert await numbers(events, kinds=["refused", "not_exempt"]) == [2, 3]
    assert await numbers(events, codes=[Code.TOO_LARGE]) == [3]
    assert await numbers(events, codes=[Code.STOPPING]) == []
    assert await numbers(events, level=wire.EVENT_LEVEL_INFO) == [1, 2, 3]
    assert await numbers(events, level=wire.EVENT_LEVEL_WARNING) == [3]
    assert await numbers(events, since_ms=10_000) == [1, 2, 3]
    assert await numbers(events, since_ms=9_999) == [3]
    assert await numbers(events, terminal="a", kinds=["connected"], cell=BSSID) == [1]
    assert await numbers(events, terminal="b", kinds=["connected"]) == []


async def test_a_limit_leaves_the_newest(live: LiveController, events: Any) -> None:
    for number in range(1_300):
        fill(live.runner.history, 1, what="even" if number % 2 else "odd")
    assert await numbers(events, limit=2) == [1299, 1300]
    assert await numbers(events, limit=2, kinds=["odd"]) == [1297, 1299]
    assert (await numbers(events, limit=600, kinds=["odd"]))[0] == 101
    assert len(await numbers(events, limit=700, kinds=["odd"])) == 650
    assert len(await numbers(events)) == 1_300


async def test_a_client_goes_on_from_where_it_was(live: LiveController, events: Any) -> None:
    fill(live.runner.history, 3)
    pages = [page async for page in events.ListEvents(wire.ListEventsRequest())]
    position = pages[0].position
    assert [page.position for page in pages] == [position] * len(pages)
    assert await listed(events, after=position) == []
    fill(live.runner.history, 2)
    assert await numbers(events, after=position) == [4, 5]
    assert await numbers(events, after=position, limit=1) == [5]
    elsewhere = wire.EventPosition(history=position.history ^ 1, sequence=4)
    assert await numbers(events, after=elsewhere) == [1, 2, 3, 4, 5]


async def test_what_is_no_longer_kept_is_counted() -> None:
    async with LiveController(history=History(kept=10)) as live, grpc.aio.insecure_channel(live.operators) as channel:
        events: Any = events_pb2_grpc.EventsServiceStub(channel)
        fill(live.runner.history, 5)
        (first,) = [page async for page in events.ListEvents(wire.ListEventsRequest(limit=1))][:1]
        assert (first.position.sequence, first.left_out) == (5, 0)
        fill(live.runner.history, 17)
        request = wire.ListEventsRequest(after=first.position)
        pages = [page async for page in events.ListEvents(request)]
        assert pages[0].left_out == 7
        assert [event.sequence for page in pages for event in page.events] == list(range(13, 23))
        stream = events.FollowEvents(wire.FollowEventsRequest(after=first.position))
        assert (await stream.read()).left_out == 7


async def test_a_cell_that_is_none_is_refused(events: Any) -> None:
    for call in (
        events.ListEvents(wire.ListEventsRequest(filter=wire.EventFilter(cell="here"))),
        events.FollowEvents(wire.FollowEventsRequest(filter=wire.EventFilter(cell="x" * 100_000))),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert (caught.value.details() or "").startswith("cell: ")


async def test_a_follower_gets_what_is_kept_and_then_each_event(live: LiveController, events: Any) -> None:
    fill(live.runner.history, 3)
    stream = events.FollowEvents(wire.FollowEventsRequest(limit=2, filter=wire.EventFilter(kinds=["connected"])))
    seen = list[int]()
    begun = await asyncio.wait_for(stream.read(), WAIT_S)
    assert begun.position.sequence == 1
    while len(seen) < 2:
        seen += [event.sequence for event in (await asyncio.wait_for(stream.read(), WAIT_S)).events]
    fill(live.runner.history, 1, what="other")
    fill(live.runner.history, 1)
    page = await asyncio.wait_for(stream.read(), WAIT_S)
    assert ([*seen, *(event.sequence for event in page.events)], page.position.sequence) == ([2, 3, 5], 5)
    assert page.left_out == 0


async def test_a_follower_that_does_not_read_finds_events_left_out_and_costs_no_memory() -> None:
    async with LiveController(history=History(kept=1_000)) as live:
        options = [("grpc.http2.lookahead_bytes", 16_384), ("grpc.http2.bdp_probe", 0)]
        async with grpc.aio.insecure_channel(live.operators, options=options) as channel:
            events: Any = events_pb2_grpc.EventsServiceStub(channel)
            history = live.runner.history
            stream = events.FollowEvents(wire.FollowEventsRequest())
            await asyncio.wait_for(stream.read(), WAIT_S)
            long = Note("info", "refused", "x" * 2_000)
            for _ in range(200):  # 40 MB of events, which nobody reads
                for _ in range(100):
                    history.append(long)
                await asyncio.sleep(0.001)
            assert history.last - history.before_first == 1_000
            position, left_out, count = 0, 0, 0
            while position < history.last:
                page = await asyncio.wait_for(stream.read(), WAIT_S)
                position, left_out, count = page.position.sequence, left_out + page.left_out, count + len(page.events)
            assert left_out > 0
            assert left_out + count == history.last == 20_000


async def test_followers_end_with_the_controller() -> None:
    async with LiveController() as live, grpc.aio.insecure_channel(live.operators) as channel:
        events: Any = events_pb2_grpc.EventsServiceStub(channel)
        stream = events.FollowEvents(wire.FollowEventsRequest())
        await asyncio.wait_for(stream.read(), WAIT_S)
        await live.running.stop()
        assert await asyncio.wait_for(stream.read(), WAIT_S) is grpc.aio.EOF
