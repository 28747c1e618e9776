# SPDX-License-Identifier: Apache-2.0
"""The engine in an event loop: gives it events with the time, does what it asks for, wakes it at its deadlines.

Everything from a report to the commands that it causes happens in one turn of the loop. There is no periodic timer: the
one timer is set for the engine's next deadline, at least `TIMER_STEP_US` ahead, so that what is due at nearly the same
time is done in one turn.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Protocol

from airbound.core.addresses import Address, Mac, address_text
from airbound.core.effects import (
    CellChanged,
    CloseStream,
    Effect,
    Note,
    RenewLease,
    SetBounds,
    SetEdca,
    SetReporting,
    refusal,
)
from airbound.core.engine import Engine
from airbound.core.events import Disconnected, Event, Exempted, ModeSet, Tick
from airbound.core.parameters import Mode
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.runtime import log
from airbound.runtime.history import History

TIMER_STEP_US = 20_000
NEVER_US = 2**63
STREAMS_MAX = 20_000


def monotonic_us() -> int:
    """The clock of a controller."""
    return time.monotonic_ns() // 1000


class Session(Protocol):
    """What a runner needs of a stream."""

    stream: Stream

    def send(self, command: SetBounds | RenewLease | SetReporting | SetEdca) -> None:
        """Have a command written."""

    def close(self, reason: Reason) -> None:
        """End the stream."""


class CellWatcher:
    """One who wants to know which cells changed since last asked."""

    def __init__(self, bssids: Iterable[Mac]) -> None:
        self._changed = dict.fromkeys(bssids)
        self._news = asyncio.Event()

    def changed(self, bssid: Mac) -> None:
        """Take note of a change."""
        self._changed[bssid] = None
        self._news.set()

    def wake(self) -> None:
        """Have `next` return, with or without a change."""
        self._news.set()

    async def next(self) -> list[Mac]:
        """Wait for a change if there is none; what changed."""
        if not self._changed:
            self._news.clear()
            await self._news.wait()
        changed, self._changed = list(self._changed), {}
        return changed


class Runner:
    """One controller process."""

    def __init__(
        self,
        engine: Engine,
        *,
        streams_max: int = STREAMS_MAX,
        streams_per_address_max: int = 0,  # 0: no such limit
        clock_us: Callable[[], int] = monotonic_us,
        history: History | None = None,
    ) -> None:
        self.engine = engine
        self.history = history or History()
        self.reports_total = 0  # that arrived, refused ones included
        self.commands_total = 0
        self._streams_max = streams_max
        self._streams_per_address_max = streams_per_address_max
        self._streams_from = Counter[Address]()
        self._clock_us = clock_us
        self._numbers = itertools.count(1)
        self._sessions: dict[int, Session] = {}
        self._watchers: set[CellWatcher] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_us = NEVER_US  # when the timer goes off, on the engine's clock
        self._stopped = False

    def now_us(self) -> int:
        """The time that events are handled at."""
        return self._clock_us()

    # Streams

    @property
    def streams(self) -> int:
        """Open streams of agents."""
        return len(self._sessions)

    def refuse_stream(self, principal: Principal, address: Address) -> Reason | None:
        """Why a stream is not taken; counted."""
        if self._stopped:
            return Reason(Code.STOPPING)
        if len(self._sessions) >= self._streams_max:
            reason = Reason(Code.TOO_MANY_STREAMS, limit=self._streams_max)
        elif address and 0 < self._streams_per_address_max <= self._streams_from[address]:
            reason = Reason(Code.TOO_MANY_STREAMS, address_text(address), limit=self._streams_per_address_max)
        else:
            return None
        settings = self.engine.settings
        settings.count("refused_total", reason.code)
        count = settings.counters["refused_total", reason.code]
        if not count & (count - 1):
            self.note(refusal(principal, reason))
        return reason

    def next_stream(self) -> int:
        """The number of a new stream."""
        return next(self._numbers)

    def open(self, session: Session) -> None:
        """A stream has begun."""
        self._sessions[session.stream.number] = session
        self._streams_from[session.stream.address] += 1

    def close(self, session: Session) -> None:
        """A stream has ended."""
        if self._sessions.pop(session.stream.number, None) is not None:
            address = session.stream.address
            self._streams_from[address] -= 1
            if not self._streams_from[address]:
                del self._streams_from[address]
            self.submit(Disconnected(session.stream))

    # Events

    def submit(self, event: Event, now_us: int | None = None) -> None:
        """Have the engine handle an event and do what it asks for; `now_us` is for callers that just read the clock."""
        now_us = self._clock_us() if now_us is None else now_us
        for effect in self.engine.handle(event, now_us):
            self._do(effect)
        self._set_timer(now_us)

    def set_mode(self, mode: Mode) -> Mode:
        """Switch the mode; the mode before."""
        previous = self.engine.settings.mode
        self.submit(ModeSet(mode))
        return previous

    def set_exempt(self, name: str, *, exempt: bool) -> bool:
        """Exempt terminals of a name or a cell, or end that; whether they were exempt before."""
        previous = name in self.engine.settings.exempt
        self.submit(Exempted(name, exempt))
        return previous

    def stop(self) -> None:
        """Take no more streams and end those that are open. Bounds end with their leases: who takes over goes on."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        for session in list(self._sessions.values()):
            session.close(Reason(Code.STOPPING))
        for watcher in self._watchers:
            watcher.wake()
        self.history.stop()

    async def changed_cells(self) -> AsyncIterator[list[Mac]]:
        """The BSSIDs of all cells, then again and again of those that changed meanwhile; ends with the controller."""
        watcher = CellWatcher(self.engine.cells)
        self._watchers.add(watcher)
        try:
            while not self._stopped:
                yield await watcher.next()
        finally:
            self._watchers.discard(watcher)

    # Effects

    def note(self, of: Note) -> None:
        """Keep an event, and log it."""
        self.history.append(of)
        log.write(of)

    def _do(self, effect: Effect) -> None:
        match effect:
            case SetBounds() | RenewLease() | SetReporting() | SetEdca():
                session = self._sessions.get(effect.stream.number)
                if session is not None:
                    self.commands_total += 1
                    session.send(effect)
            case CellChanged():
                for watcher in self._watchers:
                    watcher.changed(effect.bssid)
            case Note():
                self.note(effect)
            case CloseStream():
                session = self._sessions.get(effect.stream.number)
                if session is not None:
                    session.close(effect.reason)

    # Time

    def _set_timer(self, now_us: int) -> None:
        """Set the timer for the engine's next deadline, unless it is set for nearly that time or an earlier one."""
        deadline_us = self.engine.next_deadline_us()
        if deadline_us is None or self._stopped:
            return
        at_us = max(now_us + TIMER_STEP_US, deadline_us)
        if self._timer_at_us + TIMER_STEP_US < now_us:
            at_us = now_us  # the timer is late by the engine's clock: in the next turn of the loop
        elif at_us + TIMER_STEP_US >= self._timer_at_us:
            return  # soon enough; and what is overdue must not put the timer off
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at_us = at_us
        self._timer = asyncio.get_running_loop().call_later((at_us - now_us) / 1e6, self._wake)

    def _wake(self) -> None:
        """Do what is due, and sleep until something is again."""
        self._timer, self._timer_at_us = None, NEVER_US
        try:
            self.submit(Tick())
        finally:
            self._set_timer(self._clock_us())  # also after an error: the other leases must be renewed
