# SPDX-License-Identifier: Apache-2.0
"""The engine in an event loop: gives it events with the time, does what it asks for, wakes it at its deadlines.

Everything from a report to the commands it causes happens in one turn of the loop. There is no periodic timer: the
one timer is set for the engine's next deadline. An event may have moved that, so `MIN_TIMER_S` after the first one the
engine is asked again; not at every event, since the answer is a walk over all terminals.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable

from airbound.config import Config
from airbound.core.effects import CellChanged, CloseStream, Effect, Note, RenewLease, SetBounds
from airbound.core.engine import Engine
from airbound.core.events import Disconnected, Event, Exempted, Kind, ModeSet, Reconfigured, Refused, Stopping, Tick
from airbound.core.parameters import Mode
from airbound.core.reports import ReportRefusedError
from airbound.edges import log
from airbound.edges.outbox import Outbox
from airbound.edges.store import Store

MIN_TIMER_S = 0.25


def monotonic_us() -> int:
    """The clock of a controller."""
    return time.monotonic_ns() // 1000


class Hub:
    """One controller process."""

    def __init__(self, engine: Engine, store: Store, clock_us: Callable[[], int] = monotonic_us) -> None:
        self.engine = engine
        self._store = store
        self._clock_us = clock_us
        self._streams = itertools.count(1)
        self._outboxes: dict[int, Outbox] = {}
        self._changed_cells: dict[asyncio.Event, dict[str, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def now_us(self) -> int:
        """The time that events are handled at."""
        return self._clock_us()

    def open_stream(self) -> tuple[int, Outbox]:
        """A number and an outbox for a new connection."""
        stream, outbox = next(self._streams), Outbox()
        self._outboxes[stream] = outbox
        if self._stopped:
            outbox.close("the controller is stopping")
        return stream, outbox

    def close_stream(self, stream: int) -> None:
        """The connection is over."""
        outbox = self._outboxes.pop(stream, None)
        if outbox is not None:
            outbox.close()
            self.submit(Disconnected(stream))

    def submit(self, event: Event) -> None:
        """Have the engine handle an event and do what it asks for, now."""
        self._handle(event)
        self._wake_within(MIN_TIMER_S)

    def refuse(self, kind: Kind, key: str, refusals: list[ReportRefusedError]) -> None:
        """Count refused reports or entries of them."""
        for error in refusals:
            self.submit(Refused(kind, key, error))

    def set_mode(self, mode: Mode) -> Mode:
        """Switch the mode; the mode before."""
        previous = self.engine.mode
        self._store.set_mode(mode)
        self.submit(ModeSet(mode))
        return previous

    def set_exempt(self, mac: str, *, exempt: bool) -> bool:
        """Take a terminal out of control or back in; whether it was out before."""
        previous = self.engine.is_exempt(mac)
        self._store.set_exempt(mac, exempt=exempt)
        self.submit(Exempted(mac, exempt))
        return previous

    def reconfigure(self, before: Config, after: Config) -> None:
        """Go over to another configuration. What an operator chose meanwhile stays, unless the file changed there."""
        self.submit(Reconfigured(after.parameters))
        if before.parameters.mode != after.parameters.mode:
            self.set_mode(after.parameters.mode)
        for mac in sorted(set(before.exempt) ^ set(after.exempt)):
            self.set_exempt(mac, exempt=mac in after.exempt)

    def stop(self) -> None:
        """Free every terminal and end every stream once that is written."""
        self._stopped = True
        try:
            self.submit(Stopping())
        finally:
            if self._timer is not None:
                self._timer.cancel()
            for outbox in self._outboxes.values():
                outbox.close("the controller is stopping")
            for watcher in self._changed_cells:
                watcher.set()

    async def changed_cells(self) -> AsyncIterator[list[str]]:
        """The BSSIDs of all cells, then again and again of those that changed meanwhile; ends with the controller."""
        news = asyncio.Event()
        self._changed_cells[news] = {view.bssid: None for view in self.engine.cells(self.now_us())}
        try:
            while not self._stopped:
                changed = list(self._changed_cells[news])
                self._changed_cells[news].clear()
                yield changed
                await news.wait()
                news.clear()
        finally:
            del self._changed_cells[news]

    def _do(self, effect: Effect) -> None:
        match effect:
            case SetBounds() | RenewLease():
                outbox = self._outboxes.get(effect.stream)
                if outbox is not None:
                    outbox.put(effect)
            case CloseStream():
                outbox = self._outboxes.get(effect.stream)
                if outbox is not None:
                    outbox.close(effect.reason)
            case CellChanged():
                for news, changed in self._changed_cells.items():
                    changed[effect.bssid] = None
                    news.set()
            case Note():
                log.note(effect)

    def _handle(self, event: Event) -> None:
        for effect in self.engine.handle(event, self._clock_us()):
            self._do(effect)

    def _wake_within(self, delay_s: float) -> None:
        """Set the timer, unless it is set for an earlier time: events must not put it off."""
        loop = asyncio.get_running_loop()
        if self._stopped:
            return
        if self._timer is not None:
            if self._timer.when() <= loop.time() + delay_s:
                return
            self._timer.cancel()
        self._timer = loop.call_later(delay_s, self._wake)

    def _wake(self) -> None:
        """Do what is due, and sleep until something is again."""
        self._timer = None
        try:
            deadline_us = self.engine.next_deadline_us()
            if deadline_us is not None and deadline_us <= self._clock_us():
                self._handle(Tick())
                deadline_us = self.engine.next_deadline_us()
        except Exception:
            self._wake_within(MIN_TIMER_S)  # the engine minds errors of single terminals; this was none
            raise
        if deadline_us is not None:
            self._wake_within(max(MIN_TIMER_S, (deadline_us - self._clock_us()) / 1e6))
