# SPDX-License-Identifier: Apache-2.0
"""The events of all replicas: each keeps its own, and whichever is asked collects them.

Those of others are asked for once a second by a follower, so that they come later than one's own. The order is that of
the replicas' clocks, as far as what has arrived can be ordered.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airbound.grpc.events_service import LOOKED_AT, EventsService
from airbound.replica.questions import RefusedAnswerError
from airbound.v1 import events_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from airbound.replica.questions import Questions
    from airbound.runtime.history import History

FOLLOW_OTHERS_S = 1.0

Response = events_pb2.ListEventsResponse


class ReplicatedEvents(EventsService):
    """The service for events of several replicas."""

    def __init__(self, history: History, replica: str, questions: Questions) -> None:
        super().__init__(history, replica)
        self._questions = questions

    async def ListEvents(self, request: events_pb2.ListEventsRequest, context: Any) -> AsyncIterator[Response]:
        """Those that are kept."""
        events, whole = list[events_pb2.Event](), Response()
        async for page in super().ListEvents(request, context):
            events += page.events
            whole.position.CopyFrom(page.position)
            whole.left_out += page.left_out
        places = _Places(request.after_others)
        found, left_out = await self._of_others(request, places)
        whole.left_out += left_out
        whole.others.extend(places.positions())
        events = _ordered(events + found)[-request.limit :]  # all of them if the limit is 0
        yield whole
        for start in range(0, len(events), LOOKED_AT):
            page = Response(events=events[start : start + LOOKED_AT], position=whole.position, others=whole.others)
            yield page
            await asyncio.sleep(0)

    async def FollowEvents(
        self, request: events_pb2.FollowEventsRequest, context: Any
    ) -> AsyncIterator[events_pb2.FollowEventsResponse]:
        """Those that are kept, then each as it happens; ends with the controller."""
        places = _Places(request.after_others)
        kept = events_pb2.ListEventsRequest(
            filter=request.filter, limit=request.limit, after=request.after, after_others=request.after_others
        )
        position = events_pb2.EventPosition()
        async for page in self.ListEvents(kept, context):
            position.CopyFrom(page.position)
            places.take(page.others)
            yield events_pb2.FollowEventsResponse(
                events=page.events, position=position, others=places.positions(), left_out=page.left_out
            )
        # One at a time: a client that reads slowly stops both, and then finds some gone.
        queue = asyncio.Queue[events_pb2.FollowEventsResponse | None](1)
        later = events_pb2.FollowEventsRequest(filter=request.filter, after=position)
        tasks = [
            asyncio.create_task(self._follow_own(later, context, queue)),
            asyncio.create_task(self._follow_others(request.filter, places, queue)),
        ]
        try:
            while (response := await queue.get()) is not None:
                if response.HasField("position"):
                    position = response.position
                response.position.CopyFrom(position)
                del response.others[:]
                response.others.extend(places.positions())
                yield response
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow_own(
        self, request: events_pb2.FollowEventsRequest, context: Any, queue: asyncio.Queue[Any]
    ) -> None:
        async for response in super().FollowEvents(request, context):
            if response.events or response.left_out:
                await queue.put(response)
        await queue.put(None)  # the controller is stopping

    async def _follow_others(self, filter_: events_pb2.EventFilter, places: _Places, queue: asyncio.Queue[Any]) -> None:
        while True:
            await asyncio.sleep(FOLLOW_OTHERS_S)
            events, left_out = await self._of_others(events_pb2.ListEventsRequest(filter=filter_), places)
            if events or left_out:
                await queue.put(events_pb2.FollowEventsResponse(events=_ordered(events), left_out=left_out))

    async def _of_others(
        self, request: events_pb2.ListEventsRequest, places: _Places
    ) -> tuple[list[events_pb2.Event], int]:
        """What the other replicas have after those places, which move on, and how much of it is gone."""
        asked, events, left_out = events_pb2.ListEventsRequest(), list[events_pb2.Event](), 0
        asked.CopyFrom(request)
        del asked.after_others[:]
        asked.after_others.extend(places.positions())
        try:
            async for octets in self._questions.ask("ListEvents", asked):
                page = Response.FromString(octets)
                events += page.events
                left_out += page.left_out
                places.take([page.position])
        except RefusedAnswerError:  # of an older version, all of them
            return [], 0
        return events, left_out


class _Places:
    """A place in each of the other replicas' histories. Those of replicas that are gone are dropped, the oldest
    first.
    """

    MOST = 100

    def __init__(self, positions: Iterable[events_pb2.EventPosition]) -> None:
        self._by_history: dict[int, int] = {}
        self.take(positions)

    def take(self, positions: Iterable[events_pb2.EventPosition]) -> None:
        """Move on."""
        for position in positions:
            self._by_history.pop(position.history, None)
            self._by_history[position.history] = position.sequence
        while len(self._by_history) > self.MOST:
            del self._by_history[next(iter(self._by_history))]

    def positions(self) -> list[events_pb2.EventPosition]:
        """All of them."""
        return [
            events_pb2.EventPosition(history=history, sequence=sequence)
            for history, sequence in self._by_history.items()
        ]


def _ordered(events: list[events_pb2.Event]) -> list[events_pb2.Event]:
    return sorted(events, key=lambda event: (event.time_us, event.replica, event.sequence))
