# SPDX-License-Identifier: Apache-2.0
"""The last events: what was noted, numbered, with the time. Memory is bounded in events and in octets; the oldest go
first. Nothing is made for people or for the wire until somebody asks.

A follower has a place in the history and nothing else: if it reads more slowly than events happen, the oldest are gone,
and it gets their number.

Events may be added by any thread.
"""

import asyncio
import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from airbound.core.effects import Note

KEPT, BYTES_MAX = 10_000, 32 << 20
# What CPython takes for an entry, and for each of its parts, with what only they refer to; a test measures it.
_ENTRY_OCTETS, _REASON_OCTETS, _BOUND_OCTETS, _QUEUE_OCTETS, _WINDOW_OCTETS, _CHARACTER_OCTETS = (
    700,
    300,
    200,
    200,
    200,
    4,
)


class Entry(NamedTuple):
    """One event. `time_us` is the time of day, whose clock may be set; `at_us` that of a clock which never is."""

    sequence: int
    time_us: int
    at_us: int
    note: Note
    text: str  # what no code says
    octets: int


class History:
    """The events of one run of a controller, numbered from 1."""

    def __init__(
        self,
        kept: int = KEPT,
        bytes_max: int = BYTES_MAX,
        *,
        wall_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        clock_us: Callable[[], int] = lambda: time.monotonic_ns() // 1000,
    ) -> None:
        self.identity = int.from_bytes(os.urandom(7))  # positions in the history of another run differ by it
        self.last = 0  # sequence number of the last event
        self.octets = 0  # of those that are kept
        self.stopped = False
        self.clock_us = clock_us
        self._kept, self._bytes_max, self._wall_us = kept, bytes_max, wall_us
        self._entries: deque[Entry] = deque()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._lock = threading.Lock()

    @property
    def before_first(self) -> int:
        """Sequence number of the last event that is no longer kept; 0 if all are."""
        return self.last - len(self._entries)

    def append(self, note: Note, text: str = "") -> None:
        """Take in an event; `text` is what no code of it says."""
        octets = _ENTRY_OCTETS + len(text) * _CHARACTER_OCTETS
        for reason in note.reasons:
            octets += _REASON_OCTETS + len(reason.subject) * _CHARACTER_OCTETS
        if note.bounds:
            octets += len(note.bounds) * _BOUND_OCTETS
        if note.queues:
            octets += len(note.queues) * _QUEUE_OCTETS
        if note.windows:
            octets += len(note.windows) * _WINDOW_OCTETS
        time_us, at_us = self._wall_us(), self.clock_us()
        with self._lock:
            self.last += 1
            self.octets += octets
            entries = self._entries
            entries.append(Entry(self.last, time_us, at_us, note, text, octets))
            while entries and (len(entries) > self._kept or self.octets > self._bytes_max):
                self.octets -= entries.popleft().octets
        if self._waiting:
            self._wake()

    def after(self, sequence: int, most: int) -> tuple[int, list[Entry]]:
        """How many events after that one are no longer kept, and the first ones of those that are."""
        with self._lock:
            before_first = self.before_first
            start = max(0, sequence - before_first)
            return max(0, before_first - sequence), list(itertools.islice(self._entries, start, start + most))

    async def changed(self, sequence: int) -> None:
        """Wait until there is an event after that one, or the controller stops."""
        loop = asyncio.get_running_loop()
        waiting = loop, loop.create_future()
        with self._lock:
            if self.last > sequence or self.stopped:
                return
            self._waiting.append(waiting)
        try:
            await waiting[1]
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._waiting.remove(waiting)

    def stop(self) -> None:
        """No more events are waited for."""
        self.stopped = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            with contextlib.suppress(RuntimeError):  # its loop is closed
                loop.call_soon_threadsafe(_done, future)


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
