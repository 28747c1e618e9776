# SPDX-License-Identifier: Apache-2.0
"""The engine in an event loop: gives it events with the time, does what it asks for, wakes it at its deadlines.

Everything from a report to the commands that it causes happens in one turn of the loop. There is no periodic timer: the
one timer is set for the engine's next deadline, at least `TIMER_STEP_US` ahead, so that what is due at nearly the same
time is done in one turn.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Protocol

from airbound.core.addresses import Address, Mac
from airbound.core.effects import (
    Arrived,
    CellChanged,
    CellForgotten,
    CloseStream,
    Command,
    Effect,
    Note,
    RenewLease,
    SetBounds,
    SetEdca,
    SetFlows,
    SetReporting,
    SetStationFlows,
    SetStationRules,
    SetWindows,
    StationsChanged,
    refusal,
    repeated_level,
)
from airbound.core.engine import Engine
from airbound.core.events import ClassSet, Disconnected, Event, Exempted, ModeSet, Tick
from airbound.core.parameters import Mode
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.runtime import log
from airbound.runtime.choices import Choices
from airbound.runtime.counts import Counts
from airbound.runtime.history import History
from airbound.runtime.measures import Measures
from airbound.runtime.stream_limits import STREAMS_MAX, StreamLimits

TIMER_STEP_US = 20_000
NEVER_US = 2**63
LEASE_MAX_MS = 60_000  # that an agent accepts


def monotonic_us() -> int:
    """The clock of a controller."""
    return time.monotonic_ns() // 1000


class Session(Protocol):
    """What a runner needs of a stream."""

    stream: Stream

    def send(self, command: Command) -> None:
        """Have a command written."""

    def close(self, reason: Reason) -> None:
        """End the stream."""


CellsListener = Callable[[StationsChanged | CellForgotten], None]
"""Who wants to know which stations came and left."""


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
        streams_per_name_max: int = 0,
        clock_us: Callable[[], int] = monotonic_us,
        history: History | None = None,
    ) -> None:
        self.engine = engine
        self.history = history or History()
        self.counts = Counts()
        self.measures = Measures()
        self.choices = Choices()
        self._limits = StreamLimits(streams_max, streams_per_address_max, streams_per_name_max)
        self.now_us = clock_us  # the time that events are handled at
        self._numbers = itertools.count(1)
        self._sessions: dict[int, Session] = {}
        self._ports: dict[int, Session] = {}  # where commands go: to most streams by their connections
        self.cells_changed: CellsListener | None = None
        self.lease_extra_ms = 0  # beyond what is configured: another controller may have to take over
        self.awake: Callable[[], None] | None = None  # called before each event
        self._watchers: set[CellWatcher] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_us = NEVER_US  # when the timer goes off, on the engine's clock
        self._stopped = False

    @property
    def reports_total(self) -> int:
        """Reports that arrived, refused ones included."""
        return self.measures.reports.total()

    @property
    def commands_total(self) -> int:
        """Commands for streams that were open."""
        return self.measures.commands.total()

    # Streams

    @property
    def streams(self) -> int:
        """Open streams of agents."""
        return len(self._sessions)

    def refuse_stream(self, principal: Principal, address: Address) -> Reason | None:
        """Why a stream is not taken; counted."""
        if self._stopped:
            return Reason(Code.STOPPING)
        reason = self._limits.refusal(principal, address)
        if reason is not None:
            self._refused(reason, refusal(principal, reason))
        return reason

    def refuse(self, who: str, reason: Reason) -> None:
        """Count a peer that is turned away; the first one of a reason is logged, the second, the fourth and so on."""
        self._refused(reason, Note("warning", "refused", who, (reason,)))

    def _refused(self, reason: Reason, note: Note) -> None:
        count = self.counts.totals["refused_total", reason.code] + 1
        self.note(note._replace(level=repeated_level(count)))

    def next_stream(self) -> int:
        """The number of a new stream."""
        return next(self._numbers)

    def open(self, session: Session) -> None:
        """A stream has begun."""
        self._sessions[session.stream.number] = self._ports[session.stream.number] = session
        self._limits.opened(session.stream)
        self.measures.streams[session.stream.principal.role] += 1
        self.measures.streams_opened[session.stream.principal.role] += 1

    def close(self, session: Session) -> None:
        """A stream has ended."""
        if self._sessions.pop(session.stream.number, None) is not None:
            self._ports.pop(session.stream.number, None)
            self.measures.streams[session.stream.principal.role] -= 1
            self._limits.closed(session.stream)
            self.submit(Disconnected(session.stream))
            self.counts.terminals.pop(session.stream.number, None)

    def attach(self, port: Session) -> None:
        """Serve a stream without a connection of its own: its terminal's is at another replica, or came back from
        there.
        """
        self._ports[port.stream.number] = port

    def detach(self, port: Session, *, moved: bool) -> None:
        """No longer serve such a stream, or that of a connection whose terminal goes on at another replica."""
        if self._ports.pop(port.stream.number, None) is not None:
            self.submit(Disconnected(port.stream, moved=moved))
            self.counts.terminals.pop(port.stream.number, None)

    def port(self, stream: Stream) -> Session | None:
        """Where the commands of a stream go."""
        return self._ports.get(stream.number)

    # Events

    def submit(self, event: Event, now_us: int | None = None) -> None:
        """Have the engine handle an event and do what it asks for; `now_us` is when a report arrived."""
        if self.awake is not None:
            self.awake()
        reported, now_us = now_us is not None, self.now_us() if now_us is None else now_us
        effects = self.engine.handle(event, now_us)
        if effects:
            decided_us, commanded = self.now_us(), False
            for effect in effects:
                commanded |= self._do(effect)
            if reported and commanded:
                self.measures.decision.observe((decided_us - now_us) / 1e6)
        self._set_timer(now_us)

    def mode(self, bssid: Mac = b"") -> Mode:
        """The mode of a cell, which need not be connected, or of the controller."""
        return self.engine.mode_of(bssid) if bssid else self.engine.settings.mode

    def set_mode(self, mode: Mode | None, bssid: Mac = b"") -> Mode:
        """An operator switches the mode of the controller or of a cell, with none to what is configured.

        Returns the mode before.
        """
        previous = self.mode(bssid)
        self.submit(ModeSet(mode, bssid))
        self.choices.mode_set(self.engine.modes, mode, bssid)
        return previous

    def set_exempt(self, name: str, *, exempt: bool) -> bool:
        """An operator exempts terminals of a name or a cell, or ends that; whether they were exempt before."""
        previous = self.engine.is_exempt(name)
        self.submit(Exempted(name, exempt))
        self.choices.exempted(name, exempt=exempt)
        return previous

    def set_class(self, name: str, uid: int | None, application_class: int | None) -> int | None:
        """An operator chooses the class of a terminal's applications, or of one; with none what the terminal has.

        Returns the class that was chosen before; none if none was.
        """
        previous = self.engine.class_choices.all.get((name, uid))
        self.submit(ClassSet(name, uid, application_class))
        self.choices.class_set(name, uid, application_class)
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

    def note(self, note: Note) -> None:
        """Count an event, keep it, and log it."""
        self.counts.count(note)
        if note.level != "counted":
            self.history.append(note)
            log.write(note)

    def _do(self, effect: Effect) -> bool:
        """Do what is asked for; whether it was a command."""
        match effect:
            case (
                SetBounds()
                | RenewLease()
                | SetReporting()
                | Arrived()
                | SetFlows()
                | SetEdca()
                | SetWindows()
                | SetStationFlows()
                | SetStationRules()
            ):
                self.counts.count(effect)
                port = self._ports.get(effect.stream.number)
                if port is not None:
                    self.measures.commands[type(effect).__name__] += 1
                    port.send(self._lengthened(effect))
                    return True
            case CellChanged():
                for watcher in self._watchers:
                    watcher.changed(effect.bssid)
            case Note():
                self.note(effect)
            case StationsChanged() | CellForgotten():
                self.counts.count(effect)
                if self.cells_changed is not None:
                    self.cells_changed(effect)
            case CloseStream():
                self.counts.count(effect)
                port = self._ports.get(effect.stream.number)
                if port is not None:
                    port.close(effect.reason)
        return False

    def _lengthened(self, command: Command) -> Command:
        if isinstance(command, SetReporting | Arrived) or not self.lease_extra_ms:
            return command
        return command._replace(lease_ms=min(command.lease_ms + self.lease_extra_ms, LEASE_MAX_MS))

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
        due_us = self._timer_at_us
        self._timer, self._timer_at_us = None, NEVER_US
        self.measures.timer_delay.observe(max(0, self.now_us() - due_us) / 1e6)
        try:
            self.submit(Tick())
        finally:
            self._set_timer(self.now_us())  # also after an error: the other leases must be renewed
