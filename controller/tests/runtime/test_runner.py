# SPDX-License-Identifier: Apache-2.0
"""The engine in an event loop; the streams are lists of what was sent."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from airbound.core.effects import Effect, RenewLease, SetBounds, SetReporting
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, Refused, TerminalReported
from airbound.core.parameters import Parameters
from airbound.core.principals import Principal, Role, Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import AccessPointReport, Agent, Station, TerminalReport
from airbound.runtime.runner import TIMER_STEP_US, Runner
from airbound_testing.agents import WAIT_S
from airbound_testing.scenario import BSSID, OTHER_BSSID, mac, upload

RENEWED_AFTER_US = 2_000_000


class Clock:
    def __init__(self) -> None:
        self.now_us = 1_000_000_000

    def __call__(self) -> int:
        return self.now_us


class FakeSession:
    """A stream that keeps what it was sent."""

    def __init__(self, runner: Runner, role: Role, name: str = "192.0.2.7") -> None:
        self.stream = Stream(runner.next_stream(), Principal(role, name))
        self.sent: list[SetBounds | RenewLease | SetReporting] = []
        self.closed: Reason | None = None
        runner.open(self)

    def send(self, command: SetBounds | RenewLease | SetReporting) -> None:
        self.sent.append(command)

    def close(self, reason: Reason) -> None:
        self.closed = self.closed or reason

    def kinds(self) -> list[type]:
        return [type(command) for command in self.sent]


def cell_report(runner: Runner, session: FakeSession, second: int, bssid: bytes = BSSID) -> None:
    station = Station(mac=mac(0), rx_bytes=10**6 * second, connected_time_ms=10_000)
    report = AccessPointReport(bssid=bssid, sequence=second, monotonic_us=second * 10**6, stations=(station,))
    runner.submit(AccessPointReported(session.stream, report))


def phone_report(runner: Runner, session: FakeSession, sequence: int = 1) -> None:
    report = TerminalReport(
        mac=mac(0), sequence=sequence, monotonic_us=sequence, destinations=(upload(),), agent=Agent()
    )
    runner.submit(TerminalReported(session.stream, report))


def bound_phone(clock: Clock) -> tuple[Runner, FakeSession]:
    """A runner in which one phone was just given bounds."""
    runner = Runner(Engine(Parameters(policy="paper")), clock_us=clock)
    access_point, phone = FakeSession(runner, "access-point"), FakeSession(runner, "terminal")
    for second in (1, 2):
        cell_report(runner, access_point, second)
    phone_report(runner, phone)
    return runner, phone


async def until(condition: Callable[[], bool], busy: Callable[[], object] = lambda: None) -> None:
    """Wait for something, and be busy meanwhile."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            busy()
            await asyncio.sleep(TIMER_STEP_US / 1e7)


async def test_commands_are_sent_in_the_turn_of_the_report() -> None:
    runner, phone = bound_phone(Clock())
    assert phone.kinds() == [SetReporting, SetBounds]
    assert runner.commands_total == 2


async def test_the_timer_is_set_for_the_deadline_and_an_event_may_move_it() -> None:
    clock, loop = Clock(), asyncio.get_running_loop()
    runner, phone = bound_phone(clock)
    timer = runner._timer
    assert timer is not None
    before_s = loop.time()
    assert timer.when() <= before_s + RENEWED_AFTER_US / 1e6
    # Nothing that is due later moves it.
    runner.set_exempt("192.0.2.99", exempt=True)
    phone_report(runner, phone, 2)
    assert runner._timer is timer
    # What is due at once is done after the shortest wait.
    clock.now_us += RENEWED_AFTER_US
    runner.set_exempt("192.0.2.99", exempt=False)
    assert runner._timer is not None
    assert runner._timer is not timer
    assert timer.cancelled()
    assert runner._timer.when() <= loop.time() + TIMER_STEP_US / 1e6


async def test_the_timer_renews_the_lease() -> None:
    clock = Clock()
    runner, phone = bound_phone(clock)
    clock.now_us += RENEWED_AFTER_US
    runner._set_timer(clock.now_us)
    await until(lambda: phone.kinds()[-1] is RenewLease)
    assert phone.kinds() == [SetReporting, SetBounds, RenewLease]


async def test_events_do_not_put_the_timer_off() -> None:
    clock = Clock()
    runner, phone = bound_phone(clock)
    clock.now_us += RENEWED_AFTER_US
    # The other phones of a full cell report all the time.
    await until(lambda: phone.kinds()[-1] is RenewLease, busy=lambda: runner.set_exempt("192.0.2.99", exempt=True))


async def test_a_runner_without_a_deadline_has_no_timer() -> None:
    runner = Runner(Engine(Parameters()), clock_us=Clock())
    runner.set_exempt("192.0.2.99", exempt=True)
    assert runner._timer is None
    runner._wake()
    assert runner._timer is None


async def test_an_error_of_ours_does_not_stop_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    runner, phone = bound_phone(clock)
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))
    handle = runner.engine.handle

    def fail_once(*_: object) -> list[Effect]:
        monkeypatch.setattr(runner.engine, "handle", handle)
        raise ZeroDivisionError

    clock.now_us += RENEWED_AFTER_US
    monkeypatch.setattr(runner.engine, "handle", fail_once)
    runner._set_timer(clock.now_us)
    await until(lambda: phone.kinds()[-1] is RenewLease)
    assert [type(error) for error in errors] == [ZeroDivisionError]


async def test_what_operators_choose_reaches_the_engine() -> None:
    runner = Runner(Engine(Parameters()), clock_us=Clock())
    assert runner.set_mode("observe") == "control"
    assert runner.set_mode("control") == "observe"
    assert not runner.set_exempt("192.0.2.7", exempt=True)
    assert runner.set_exempt("192.0.2.7", exempt=True)
    assert runner.engine.settings.exempt == {"192.0.2.7"}
    assert runner.set_exempt("192.0.2.7", exempt=False)
    assert not runner.set_exempt("192.0.2.7", exempt=False)
    assert runner.engine.settings.exempt == set()


async def test_a_stream_that_ended_is_sent_nothing() -> None:
    runner, phone = bound_phone(Clock())
    assert runner._sessions[phone.stream.number] is phone
    runner.close(phone)
    assert phone.stream.number not in runner._sessions
    assert runner.streams == 1
    assert runner.engine.terminals() == []
    runner.close(phone)
    runner.set_mode("observe")
    assert phone.kinds() == [SetReporting, SetBounds]


async def test_a_stream_that_the_engine_ends_is_closed() -> None:
    runner, _ = bound_phone(Clock())
    access_point = runner._sessions[1]
    assert isinstance(access_point, FakeSession)
    cell_report(runner, access_point, 3, OTHER_BSSID)
    assert access_point.closed is not None
    assert access_point.closed.code is Code.OTHER_CELL


async def test_after_the_stop_nothing_is_timed_and_no_stream_is_taken() -> None:
    runner, phone = bound_phone(Clock())
    runner.stop()
    assert phone.closed == Reason(Code.STOPPING)
    assert phone.kinds() == [SetReporting, SetBounds]  # what it has, ends with its lease
    assert runner._timer is not None
    assert runner._timer.cancelled()
    assert runner.refuse_stream(Principal("terminal", "192.0.2.8"), b"") == Reason(Code.STOPPING)
    runner.close(phone)
    assert runner._timer.cancelled()


async def test_streams_beyond_the_limit_are_refused_counted_and_logged_ever_more_rarely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    runner = Runner(Engine(Parameters()), streams_max=1, clock_us=Clock())
    who = Principal("terminal", "192.0.2.8")
    assert runner.refuse_stream(who, b"") is None
    FakeSession(runner, "terminal")
    assert [runner.refuse_stream(who, b"") for _ in range(9)] == [Reason(Code.TOO_MANY_STREAMS, limit=1)] * 9
    assert runner.counts.totals["refused_total", Code.TOO_MANY_STREAMS] == 9
    assert [record.__dict__["subject"] for record in caplog.records] == ["terminal 192.0.2.8"] * 4


async def test_what_was_refused_of_a_stream_is_counted() -> None:
    runner, phone = bound_phone(Clock())
    runner.submit(Refused(phone.stream, Reason(Code.MALFORMED, "mac")))
    (terminal,) = runner.engine.terminals()
    assert terminal.refused_total == 1
    assert runner.counts.totals["refused_total", Code.MALFORMED] == 1


async def test_watchers_are_given_every_cell_and_then_each_that_changed() -> None:
    runner, _ = bound_phone(Clock())
    access_point = runner._sessions[1]
    assert isinstance(access_point, FakeSession)
    cells = runner.changed_cells()
    assert await anext(cells) == [BSSID]
    waiting = asyncio.ensure_future(anext(cells))
    await asyncio.sleep(0)
    assert not waiting.done()
    cell_report(runner, access_point, 3)
    cell_report(runner, access_point, 4)
    assert await asyncio.wait_for(waiting, WAIT_S) == [BSSID]  # a slow watcher is given the newest, once
    assert len(runner._watchers) == 1
    await cells.aclose()  # type: ignore[attr-defined]
    assert runner._watchers == set()


async def test_watchers_end_with_the_runner() -> None:
    runner = Runner(Engine(Parameters()), clock_us=Clock())
    ended = asyncio.ensure_future(_all(runner))
    await asyncio.sleep(0)
    assert not ended.done()
    runner.stop()
    await asyncio.wait_for(ended, WAIT_S)
    assert runner._watchers == set()


async def _all(runner: Runner) -> None:
    async for _ in runner.changed_cells():
        pass


class StepClock(Clock):
    """A millisecond later each time it is asked."""

    def __call__(self) -> int:
        self.now_us += 1000
        return self.now_us


async def test_the_time_from_a_report_to_the_commands_that_it_leads_to_is_measured() -> None:
    clock = StepClock()
    runner, phone = bound_phone(clock)
    assert runner.measures.decision.distribution().cumulative[-1] == 0  # these were no arrivals from a stream
    report = TerminalReport(mac=mac(0), sequence=2, monotonic_us=2, destinations=(upload(),), agent=Agent())
    runner.submit(TerminalReported(phone.stream, report), clock())
    unchanged = runner.measures.decision.distribution()
    assert unchanged.cumulative[-1] == 0  # nor did this lead to a command
    report = TerminalReport(mac=mac(0), sequence=3, monotonic_us=3)
    clock.now_us += 10_000_000
    runner.submit(TerminalReported(phone.stream, report), clock())
    measured = runner.measures.decision.distribution()
    assert (measured.cumulative[-1], measured.sum_s) == (1, 0.001)


async def test_streams_and_commands_are_counted_by_their_kinds() -> None:
    runner, phone = bound_phone(Clock())
    measures = runner.measures
    assert measures.streams == measures.streams_opened == {"access-point": 1, "terminal": 1}
    assert measures.commands == {"SetReporting": 1, "SetBounds": 1}
    runner.close(phone)
    runner.close(phone)
    assert (measures.streams["terminal"], measures.streams_opened["terminal"]) == (0, 1)


async def test_how_late_the_timer_is_is_measured() -> None:
    clock = Clock()
    runner, _ = bound_phone(clock)
    due_us = runner._timer_at_us
    clock.now_us = due_us + 30_000
    runner._wake()
    measured = runner.measures.timer_delay.distribution()
    assert (measured.cumulative[-1], measured.sum_s) == (1, 0.03)
