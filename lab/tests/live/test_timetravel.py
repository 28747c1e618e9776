# SPDX-License-Identifier: Apache-2.0
"""The scheduler, with a guest that speaks the protocol as arch/um/kernel/time.c does."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest

from airbound_lab.live.timetravel import MESSAGE, Op, Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MS = 1_000_000


class Guest:
    """User Mode Linux's side of the conversation."""

    def __init__(self, path: Path) -> None:
        """Connect."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        self._socket.connect(str(path))
        self._number = 0
        self.time_ns = 0
        self.free_until_ns = 0

    def request(self, op: Op, time_ns: int = 0) -> int:
        """Send a message; return the time in its ACK."""
        self._number += 1
        self._socket.sendall(MESSAGE.pack(op, self._number, time_ns))
        while True:
            got, number, answer_ns = self._read()
            if got == Op.ACK:
                assert number == self._number
                return answer_ns
            self._handle(got, number, answer_ns)

    def sleep_until(self, time_ns: int) -> None:
        """Sleep as the idle task does."""
        if time_ns < self.free_until_ns:
            self.time_ns = time_ns
            return
        self.request(Op.REQUEST, time_ns)
        self.request(Op.WAIT)
        while self._handle(*self._read()) != Op.RUN:
            pass

    def ask_again(self, time_ns: int) -> None:
        """Ask for another moment while it waits, as an interrupt may."""
        self.request(Op.REQUEST, time_ns)

    def wait(self) -> None:
        """Report that nothing is left to do."""
        self.request(Op.WAIT)

    def resume(self) -> None:
        """Wait until it may go on."""
        while self._handle(*self._read()) != Op.RUN:
            pass

    def close(self) -> None:
        """End."""
        self._socket.close()

    def _handle(self, op: int, number: int, time_ns: int) -> int:
        if op == Op.RUN:
            assert time_ns >= self.time_ns
            self.time_ns = time_ns
        elif op == Op.FREE_UNTIL:
            self.free_until_ns = time_ns
        self._socket.sendall(MESSAGE.pack(Op.ACK, number, 0))
        return op

    def _read(self) -> tuple[int, int, int]:
        data = self._socket.recv(MESSAGE.size, socket.MSG_WAITALL)
        assert len(data) == MESSAGE.size
        op, number, time_ns = MESSAGE.unpack(data)
        return op, number, time_ns


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    made = Scheduler(tmp_path / "time")
    yield made
    made.close()


@pytest.fixture
def guest(scheduler: Scheduler, tmp_path: Path) -> Iterator[Guest]:
    made = Guest(tmp_path / "time")
    assert scheduler.lateness() is None
    made.request(Op.START, 1)
    yield made
    made.close()


def test_the_guest_sleeps_in_real_time(guest: Guest, scheduler: Scheduler) -> None:
    began_ns = time.monotonic_ns()
    for number in range(1, 31):
        guest.sleep_until(number * 10 * MS)
        assert guest.time_ns == number * 10 * MS
    lateness = scheduler.lateness()
    assert lateness is not None
    # Whatever this machine has to do besides: the guest's time and what it lost are real time.
    assert time.monotonic_ns() - began_ns >= 300 * MS - 10 * MS + round(lateness.lost_s * 1e9)


def test_short_sleeps_need_no_question(guest: Guest) -> None:
    guest.sleep_until(1)
    asked = guest._number
    guest.sleep_until(min(2 * MS, guest.free_until_ns - 1))
    assert guest._number == asked


def test_the_date_is_that_of_the_machine(guest: Guest) -> None:
    assert abs(guest.request(Op.GET_TOD) - time.time_ns()) < 3600 * 1_000_000_000


def test_the_time_is_what_was_granted_or_reported(guest: Guest) -> None:
    guest.sleep_until(20 * MS)
    assert guest.request(Op.GET) == 20 * MS
    guest.request(Op.UPDATE, 21 * MS)
    assert guest.request(Op.GET) == 21 * MS


def test_a_guest_that_waits_may_ask_for_an_earlier_moment(guest: Guest) -> None:
    guest.request(Op.REQUEST, 3_600_000 * MS)
    guest.wait()
    guest.ask_again(30 * MS)
    guest.resume()
    assert guest.time_ns == 30 * MS


def test_a_stopped_guest_loses_the_time(guest: Guest, scheduler: Scheduler) -> None:
    guest.sleep_until(10 * MS)
    time.sleep(0.5)
    guest.sleep_until(20 * MS)
    lateness = scheduler.lateness()
    assert lateness is not None
    assert lateness.lost_s >= 0.4
    assert lateness.behind_max_ms >= 400


def test_a_guest_that_ends_ends_the_thread(guest: Guest, scheduler: Scheduler) -> None:
    guest.sleep_until(10 * MS)
    guest.close()
    scheduler._thread.join(30)
    assert not scheduler._thread.is_alive()


def test_a_scheduler_without_a_guest_ends(tmp_path: Path) -> None:
    Scheduler(tmp_path / "other").close()
