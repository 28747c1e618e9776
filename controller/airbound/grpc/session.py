# SPDX-License-Identifier: Apache-2.0
"""One agent's stream. Reports are read by the handler's own task; commands are written by a task that exists only while
there is something to write: most streams of most cells have nothing to say.

Messages are bytes here: their size costs nothing to know, and one that cannot be read is ours to count.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from airbound import reason_text
from airbound.core.effects import (
    Arrived,
    Command,
    RenewLease,
    SetBounds,
    SetEdca,
    SetFlows,
    SetReporting,
    SetStationFlows,
    SetStationRules,
    SetWindows,
)
from airbound.core.principals import Role, Stream
from airbound.core.reasons import Code, Reason
from airbound.grpc.command_convert import agent_command
from airbound.grpc.switch_convert import switch_command

END_WITHIN_S = 10.0  # of a stream: for what waits to be read
REPORT_BYTES_MAX: dict[Role, int] = {
    # 2,048 stations with 16 addresses each, and 4,096 destinations of theirs: 1.3 MB if every number is as large as can
    # be, some 450 kB in fact.
    "access-point": 3 << 19,
    # 256 destinations: 40 kB, as much again for each class of applications, and five bytes for each uid at each,
    # which the contract does not limit.
    "terminal": 3 << 17,
    # 16,384 entries of traffic: 1.3 MB if every number is as large as can be.
    "switch": 1 << 21,
}


# How long a stream whose reports are to be answered may have been sent nothing when a report arrives. An access point
# reports each second, as a switch does, so each is answered. A terminal with bounds is sent a renewal each third of its
# lease.
ANSWERED_AFTER_S: dict[Role, float] = {"access-point": 0.9, "terminal": 1.9, "switch": 0.9}
ANSWER = b""  # a response without a command


class Session:
    """A stream's two directions, for one event loop."""

    __slots__ = (
        "_answer_due",
        "_answered_after_s",
        "_answers",
        "_arrived",
        "_broken",
        "_closing",
        "_context",
        "_flows",
        "_flows_since_s",
        "_hang_up",
        "_reporting",
        "_slow",
        "_slow_reader_s",
        "_task",
        "_waiting",
        "_waiting_since_s",
        "_windows",
        "_windows_since_s",
        "_writer",
        "_writing_since_s",
        "_written",
        "_wrote_at_s",
        "common",
        "generation",
        "stream",
    )

    def __init__(
        self,
        stream: Stream,
        context: Any,
        written: Callable[[float], None] = lambda _: None,
        *,
        slow_reader_s: float = math.inf,
        slow: Callable[[Reason], None] = lambda _: None,
        hang_up: Callable[[], None] = lambda: None,
        answers: Callable[[], bool] = lambda: False,
    ) -> None:
        """`written` is called with the seconds that a command waited until the stream took it; `slow` once if the peer
        reads nothing for longer than `slow_reader_s` while there is something to read; `hang_up` is to end the
        connection: nothing else ends a stream whose peer does not read. `answers` returns whether reports are
        answered, so that the agent finds out about a controller that hangs while its connection stays open.
        """
        self.stream = stream
        self._context = context
        self._task = asyncio.current_task()
        self._writer: asyncio.Task[None] | None = None
        self.generation = 0  # of the last set of bounds; none is sent with the same or a smaller one
        # Fields that each response has: octets of a message after those of another are both, merged (protobuf).
        self.common = b""
        self._waiting: SetBounds | RenewLease | SetEdca | SetStationRules | None = None
        self._reporting: SetReporting | None = None
        self._arrived: Arrived | None = None
        # Beside the other kind of set that an access point, or a terminal, is sent.
        self._windows: SetWindows | None = None
        self._flows: SetFlows | SetStationFlows | None = None
        # Since when each of these three waits: what is sent later does not make an earlier one younger.
        self._waiting_since_s = self._windows_since_s = self._flows_since_s = 0.0
        self._written = written
        self._writing_since_s = 0.0
        self._slow_reader_s, self._slow, self._hang_up = slow_reader_s, slow, hang_up
        self._broken = False  # a command could not be written: the stream is gone
        self._closing: Reason | None = None
        self._answers = answers
        self._answered_after_s: float | None = None
        self._wrote_at_s = -math.inf  # so that the first report is answered, whatever else is sent
        self._answer_due = False

    def send(self, command: Command) -> None:
        """Have a command written as soon as the stream takes it. A slow reader gets the newest one, not the history: a
        set replaces whatever waits, and a renewal waits only if no set does.
        """
        if self._closing is not None:
            return
        if isinstance(command, SetReporting):
            self._reporting = command
        elif isinstance(command, Arrived):
            self._arrived = command
        elif isinstance(command, SetWindows):
            self._windows, self._windows_since_s = command, time.perf_counter()
        elif isinstance(command, SetFlows | SetStationFlows):
            self._flows, self._flows_since_s = command, time.perf_counter()
        elif isinstance(command, SetBounds | SetEdca | SetStationRules) or not isinstance(self._waiting, SetBounds):
            self._waiting, self._waiting_since_s = command, time.perf_counter()
            if isinstance(command, SetBounds):
                self.generation = command.generation
        self._start_to_write()

    def _start_to_write(self) -> None:
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write())
        elif self._writing_since_s and time.perf_counter() - self._writing_since_s > self._slow_reader_s:
            # No timer: a lease is renewed every few seconds, so that this is found soon enough.
            reason = Reason(Code.SLOW_READER, limit=self._slow_reader_s)
            self._slow(reason)
            self.close(reason)

    def _answer(self) -> None:
        """Answer a report unless something was written a moment ago, which says as much."""
        after_s = self._answered_after_s
        if after_s is None or self._closing is not None:
            return
        if time.perf_counter() - self._wrote_at_s >= after_s:
            self._answer_due = True
            self._start_to_write()

    def close(self, reason: Reason) -> None:
        """End the stream once what waits is written. Nothing that arrives from now on is handed out. If the peer does
        not read, its connection is ended a little later.
        """
        if self._closing is None:
            self._closing = reason
            if self._task is not None and self._task is not asyncio.current_task():
                self._task.cancel()

    def _next(self) -> Command | None:
        """What is written next: that the phone has arrived is of use at once or never."""
        return self._arrived or self._reporting or self._waiting or self._windows or self._flows

    async def _write(self) -> None:
        try:
            while (command := self._next()) is not None or self._answer_due:
                self._wrote_at_s = self._writing_since_s = time.perf_counter()
                if command is None:
                    self._answer_due = False
                    await self._context.write(ANSWER + self.common)
                    continue
                since_s: float | None = None
                if command is self._reporting:
                    self._reporting = None
                elif command is self._arrived:
                    self._arrived = None
                elif command is self._windows:
                    self._windows, since_s = None, self._windows_since_s
                elif command is self._flows:
                    self._flows, since_s = None, self._flows_since_s
                else:
                    self._waiting, since_s = None, self._waiting_since_s
                written = switch_command(command) if isinstance(command, SetStationRules) else agent_command(command)
                await self._context.write(written + self.common)
                if since_s is not None:
                    self._written(time.perf_counter() - since_s)
        except (grpc.aio.BaseError, grpc.aio.InternalError, asyncio.CancelledError):
            # The stream is gone; its reader finds out as well.
            self._waiting = self._reporting = self._arrived = self._windows = self._flows = None
            self._answer_due, self._broken = False, True
        finally:
            self._writer, self._writing_since_s = None, 0.0

    async def read(self, take: Callable[[bytes], None]) -> None:
        """Hand out what comes in until either side ends the stream; this is the handler's task."""
        try:
            answers: Callable[[], bool] | None = self._answers
            while self._closing is None and (data := await self._context.read()) is not grpc.aio.EOF:
                if answers is not None and answers():
                    self._answered_after_s = ANSWERED_AFTER_S[self.stream.principal.role]
                answers = None
                take(data)
                self._answer()
        except asyncio.CancelledError:
            if self._closing is None or self._task is None:
                raise  # the client went away, or the server stops
            self._task.uncancel()
        finally:
            self._task = None
            if self._writer is not None:
                # gRPC sends no status while a message is on its way.
                _, waits = await asyncio.wait([self._writer], timeout=END_WITHIN_S)
                if waits:
                    self._hang_up()
                    await asyncio.wait(waits)
        if self._broken:
            # There is nobody to send a status to. If it was the first command, gRPC would fail in trying that, and log
            # an error: it takes the initial metadata for not sent.
            raise asyncio.CancelledError
        if self._closing is not None:
            await abort(self._context, self._closing)


REASON_KEY = "airbound-reason"


async def abort(context: Any, reason: Reason) -> None:
    """End a call with a reason: a status and a text, and in the trailing metadata the code's name for programs.

    Raises:
        grpc.aio.AbortError: always.
    """
    trailing = ((REASON_KEY, reason.code.name),)
    await context.abort(status_of(reason), reason_text.text(reason), trailing_metadata=trailing)


_STATUS = {
    code: status
    for status, codes in {
        grpc.StatusCode.INVALID_ARGUMENT: (
            Code.MALFORMED,
            Code.TOO_LARGE,
            Code.REQUEST_INVALID,
            Code.KEY_UNSUITABLE,
        ),
        grpc.StatusCode.RESOURCE_EXHAUSTED: (
            Code.TOO_MANY_STREAMS,
            Code.SLOW_READER,
            Code.TOO_MANY_CERTIFICATES,
            Code.TOO_MANY_ENROLLMENTS,
        ),
        grpc.StatusCode.UNAUTHENTICATED: (Code.NO_CERTIFICATE, Code.CERTIFICATE_EXPIRED, Code.TLS_VERSION),
        grpc.StatusCode.PERMISSION_DENIED: (
            Code.CERTIFICATE_REVOKED,
            Code.WRONG_ROLE,
            Code.NO_IDENTITY,
            Code.TOKEN_UNKNOWN,
            Code.TOKEN_EXPIRED,
            Code.TOKEN_USED,
            Code.TOKEN_OF_ANOTHER_ROLE,
        ),
    }.items()
    for code in codes
}


def status_of(reason: Reason) -> grpc.StatusCode:
    """The gRPC status that a stream or a call ends with."""
    return _STATUS.get(reason.code, grpc.StatusCode.UNAVAILABLE)
