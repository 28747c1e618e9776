# SPDX-License-Identifier: Apache-2.0
"""The service that shows the history of events. Whatever a client asks for, the event loop looks at a page of events
at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from airbound.grpc import events_convert as convert
from airbound.runtime.history import Entry, History
from airbound.v1 import events_pb2, events_pb2_grpc

EVENTS_SERVICE = events_pb2.DESCRIPTOR.services_by_name["EventsService"].full_name
LOOKED_AT = 500  # events in one turn of the loop
BATCH_S = 0.05  # how long an event may wait for others: a client that follows costs at most so many messages


class EventsService(events_pb2_grpc.EventsServiceServicer):
    """Shows one history, that of a replica if it has a name."""

    def __init__(self, history: History, replica: str = "") -> None:
        self._history = history
        self._replica = replica

    async def ListEvents(
        self, request: events_pb2.ListEventsRequest, context: Any
    ) -> AsyncIterator[events_pb2.ListEventsResponse]:
        """Those that are kept."""
        selects = await self._selector(request.filter, context)
        last, after = self._history.last, self._after(request.after, *request.after_others)
        left_out = max(0, self._history.before_first - after)
        position = await self._start(selects, after, request.limit)
        end = self._position(last)
        yield events_pb2.ListEventsResponse(position=end, left_out=left_out)
        while position < last:
            _, entries = self._history.after(position, min(LOOKED_AT, last - position))
            if not entries:
                break
            position = entries[-1].sequence
            events = [
                convert.event(entry, self._replica) for entry in entries if entry.sequence <= last and selects(entry)
            ]
            if events:
                yield events_pb2.ListEventsResponse(events=events, position=end)
            await asyncio.sleep(0)

    async def FollowEvents(
        self, request: events_pb2.FollowEventsRequest, context: Any
    ) -> AsyncIterator[events_pb2.FollowEventsResponse]:
        """Those that are kept, then each as it happens; ends with the controller."""
        selects = await self._selector(request.filter, context)
        history = self._history
        after = self._after(request.after, *request.after_others)
        left_out = max(0, history.before_first - after)
        position = await self._start(selects, after, request.limit)
        yield events_pb2.FollowEventsResponse(position=self._position(position), left_out=left_out)
        while not history.stopped or history.last > position:
            if history.last <= position:
                await history.changed(position)
                await asyncio.sleep(BATCH_S)
                continue
            left_out, entries = history.after(position, LOOKED_AT)
            position = entries[-1].sequence if entries else history.last
            events = [convert.event(entry, self._replica) for entry in entries if selects(entry)]
            if events or left_out:
                yield events_pb2.FollowEventsResponse(
                    events=events, position=self._position(position), left_out=left_out
                )
            await asyncio.sleep(0)

    def _position(self, sequence: int) -> events_pb2.EventPosition:
        return events_pb2.EventPosition(history=self._history.identity, sequence=sequence)

    def _after(self, *positions: events_pb2.EventPosition) -> int:
        """The sequence number to go on after; 0 if the positions are in other histories."""
        return next((position.sequence for position in positions if position.history == self._history.identity), 0)

    async def _start(self, selects: Callable[[Entry], bool], after: int, limit: int) -> int:
        """Where to begin, so that at most `limit` (0: any number) of the kept events are selected. It is found from the
        newest event on backwards.
        """
        history = self._history
        position, wanted = history.last, limit
        first = max(after, history.before_first)
        while position > first and limit:
            start = max(first, position - LOOKED_AT)
            _, entries = history.after(start, position - start)
            for entry in reversed(entries):
                wanted -= entry.sequence <= position and selects(entry)
                if not wanted:
                    return entry.sequence - 1
            position = start
            await asyncio.sleep(0)
        return first

    async def _selector(self, event_filter: events_pb2.EventFilter, context: Any) -> Callable[[Entry], bool]:
        try:
            return convert.selector(event_filter, self._history.clock_us())
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"cell: {error}"[:300])
            raise
