# SPDX-License-Identifier: Apache-2.0
"""The scheduler of a guest with `time-travel=ext:SOCKET`: User Mode Linux asks it for each step of its time.

The protocol is include/uapi/linux/um_timetravel.h: messages of 16 bytes, each answered by an ACK with the same number.
The guest asks for a moment (REQUEST), reports that nothing is left to do before (WAIT), and goes on at RUN. FREE_UNTIL,
sent before RUN, lets it go on by itself up to a moment, so it asks once in a quantum at most.
"""

from __future__ import annotations

import enum
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.live.pacing import Grant, Pace

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = struct.Struct("=IIQ")
"""op, number, time in nanoseconds"""
SELECT_MAX_S = 3600.0
"""A guest without any timer asks for the end of time."""


class Op(enum.IntEnum):
    """Kinds of messages, as in the kernel's header."""

    ACK = 0
    START = 1
    REQUEST = 2
    WAIT = 3
    GET = 4
    UPDATE = 5
    RUN = 6
    FREE_UNTIL = 7
    GET_TOD = 8


@dataclass(frozen=True, slots=True)
class Lateness:
    """How well a guest's time keeps to real time."""

    guest_s: float
    """Guest time since its start."""
    behind_max_ms: float
    """How late the guest was at most since the last reading."""
    lost_s: float
    """By how much its clock is behind for good."""


class Scheduler:
    """Paces one guest, in a thread of its own, until the guest ends or close() is called."""

    def __init__(self, path: Path) -> None:
        """Listen at a path.

        Raises:
            OSError: the socket cannot be made there.
        """
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._guest: socket.socket | None = None
        self._pace: Pace | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="time", daemon=True)
        self._thread.start()

    def lateness(self) -> Lateness | None:
        """Return how the guest keeps to real time; None before it has started."""
        with self._lock:
            if self._pace is None:
                return None
            now_ns = time.monotonic_ns()
            return Lateness(
                guest_s=(self._pace.guest_ns(now_ns) - self._pace.behind_ns) / 1e9,
                behind_max_ms=self._pace.take_behind_max_ns() / 1e6,
                lost_s=self._pace.lost_ns / 1e9,
            )

    def close(self) -> None:
        """End the thread; a guest that still runs panics."""
        for end in (self._listener, self._guest):
            if end is not None:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        try:
            self._guest, _ = self._listener.accept()
        except OSError:
            return
        with self._guest:
            try:
                Session(self._guest, self).run()
            except (EOFError, ConnectionError):
                return

    def start(self) -> None:
        """Begin to pace: the guest's time is 0."""
        with self._lock:
            self._pace = Pace(time.monotonic_ns())

    def grant(self, wanted_ns: int) -> Grant:
        """Return when the guest may go on."""
        with self._lock:
            if self._pace is None:
                raise ConnectionError("the guest asks for time before it starts")
            return self._pace.grant(wanted_ns, time.monotonic_ns())


class Session:
    """The conversation with one guest."""

    def __init__(self, guest: socket.socket, scheduler: Scheduler) -> None:
        """Say nothing yet: the guest begins."""
        self._guest = guest
        self._scheduler = scheduler
        self._number = 0
        self._wanted_ns = 0
        self._time_ns = 0

    def run(self) -> None:
        """Answer the guest until it ends.

        Raises:
            EOFError, ConnectionError: the guest has ended.
        """
        while True:
            if self._answer(*self._read()) == Op.WAIT:
                self._let_run()

    def _let_run(self) -> None:
        """Wait until the guest may go on, and let it; meanwhile it may ask for another moment."""
        while True:
            grant = self._scheduler.grant(self._wanted_ns)
            left_s = (grant.at_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                break
            if select.select([self._guest], [], [], min(left_s, SELECT_MAX_S))[0]:
                self._answer(*self._read())
            elif left_s <= SELECT_MAX_S:
                break
        self._call(Op.FREE_UNTIL, grant.free_until_ns)
        self._time_ns = self._wanted_ns
        self._call(Op.RUN, self._wanted_ns)

    def _answer(self, op: int, number: int, time_ns: int) -> int:
        answer_ns = 0
        match op:
            case Op.START:
                self._scheduler.start()
            case Op.REQUEST:
                self._wanted_ns = time_ns
            case Op.GET:
                answer_ns = self._time_ns
            case Op.UPDATE:
                self._time_ns = time_ns
            case Op.GET_TOD:
                answer_ns = time.time_ns()
        self._send(Op.ACK, number, answer_ns)
        return op

    def _call(self, op: Op, time_ns: int) -> None:
        self._number += 1
        self._send(op, self._number, time_ns)
        while (message := self._read())[0] != Op.ACK:
            self._answer(*message)

    def _send(self, op: Op, number: int, time_ns: int) -> None:
        self._guest.sendall(MESSAGE.pack(op, number, time_ns))

    def _read(self) -> tuple[int, int, int]:
        data = b""
        while len(data) < MESSAGE.size:
            more = self._guest.recv(MESSAGE.size - len(data))
            if not more:
                raise EOFError
            data += more
        op, number, time_ns = MESSAGE.unpack(data)
        return op, number, time_ns
