# SPDX-License-Identifier: Apache-2.0

import asyncio
from collections.abc import Callable

import pytest

from airbound.core.effects import Effect, RenewLease, SetBounds
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, TerminalReported
from airbound.core.parameters import Parameters
from airbound.core.reports import AccessPointReport, Station, TerminalReport
from airbound.edges.hub import MIN_TIMER_S, Hub
from airbound.edges.outbox import Outbox
from airbound.edges.store import MemoryStore
from airbound.testing.agents import WAIT_S
from airbound.testing.scenario import BSSID, mac, upload


class Clock:
    def __init__(self) -> None:
        self.now_us = 1_000_000_000

    def __call__(self) -> int:
        return self.now_us


def bound_phone(clock: Clock) -> tuple[Hub, Outbox]:
    """A hub in which one phone was just given bounds, unread."""
    hub = Hub(Engine(Parameters(policy="paper")), MemoryStore(), clock)
    access_point, _ = hub.open_stream()
    terminal, outbox = hub.open_stream()
    for second in (1, 2):
        station = Station(mac=mac(0), rx_bytes=10**6 * second, connected_time_ms=10_000)
        report = AccessPointReport(bssid=BSSID, sequence=second, monotonic_us=second * 10**6, stations=(station,))
        hub.submit(AccessPointReported(access_point, report))
    hub.submit(
        TerminalReported(terminal, TerminalReport(mac=mac(0), sequence=1, monotonic_us=1, destinations=(upload(),)))
    )
    return hub, outbox


async def test_commands_are_out_in_the_turn_of_the_report() -> None:
    _, outbox = bound_phone(Clock())
    command = outbox.get().__await__()
    with pytest.raises(StopIteration) as caught:  # it did not have to wait
        next(command)
    assert isinstance(caught.value.value, SetBounds)


async def until(condition: Callable[[], bool], busy: Callable[[], object] = lambda: None) -> None:
    """Wait for something, and be busy meanwhile."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            busy()
            await asyncio.sleep(MIN_TIMER_S / 10)


async def test_the_timer_is_set_for_the_deadline_and_an_event_may_move_it() -> None:
    clock, loop = Clock(), asyncio.get_running_loop()
    hub, _ = bound_phone(clock)

    def left_s() -> float:
        return hub._timer.when() - loop.time() if hub._timer is not None else 0.0

    assert 0 < left_s() <= MIN_TIMER_S
    await until(lambda: left_s() > MIN_TIMER_S)
    assert left_s() == pytest.approx(2.0, abs=0.2)
    hub.set_exempt(mac(5), exempt=True)
    assert 0 < left_s() <= MIN_TIMER_S


async def test_events_do_not_put_the_timer_off() -> None:
    clock = Clock()
    hub, outbox = bound_phone(clock)
    assert isinstance(await outbox.get(), SetBounds)
    clock.now_us += 2_000_000
    # The other phones of a full cell report all the time.
    await until(lambda: outbox._waiting is not None, busy=lambda: hub.set_exempt(mac(5), exempt=True))
    assert isinstance(await outbox.get(), RenewLease)


async def test_what_is_due_is_not_computed_at_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, _ = bound_phone(Clock())
    asked: list[int] = []
    monkeypatch.setattr(hub.engine, "next_deadline_us", lambda: asked.append(1))
    for number in range(1000):
        hub.set_exempt(mac(number % 100), exempt=True)
    await until(lambda: len(asked) > 0)
    assert len(asked) == 1


async def test_an_error_of_ours_does_not_stop_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    hub, outbox = bound_phone(clock)
    assert isinstance(await outbox.get(), SetBounds)
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))
    handle = hub.engine.handle

    def fail_once(*_: object) -> list[Effect]:
        monkeypatch.setattr(hub.engine, "handle", handle)
        raise ZeroDivisionError

    monkeypatch.setattr(hub.engine, "handle", fail_once)
    clock.now_us += 2_000_000
    assert isinstance(await asyncio.wait_for(outbox.get(), WAIT_S), RenewLease)
    assert [type(error) for error in errors] == [ZeroDivisionError]


async def test_the_timer_renews_the_lease() -> None:
    clock = Clock()
    _, outbox = bound_phone(clock)
    assert isinstance(await outbox.get(), SetBounds)
    clock.now_us += 2_000_000
    assert isinstance(await asyncio.wait_for(outbox.get(), 20), RenewLease)


async def test_what_operators_choose_is_kept_in_the_store() -> None:
    store = MemoryStore()
    hub = Hub(Engine(Parameters()), store, Clock())
    assert hub.set_mode("observe") == "control"
    assert hub.set_mode("control") == "observe"
    assert not hub.set_exempt(mac(1), exempt=True)
    assert hub.set_exempt(mac(1), exempt=True)
    assert (store.mode(), store.exempt()) == ("control", frozenset({mac(1)}))
    hub.set_exempt(mac(1), exempt=False)
    assert store.exempt() == frozenset()


async def test_after_the_stop_nothing_is_timed_and_no_stream_opens() -> None:
    hub, outbox = bound_phone(Clock())
    hub.stop()
    last = await outbox.get()
    assert isinstance(last, SetBounds)
    assert last.bounds == ()
    assert await outbox.get() is None
    assert hub._timer is None or hub._timer.cancelled()
    _, late = hub.open_stream()
    assert await late.get() is None
    assert late.close_reason == "the controller is stopping"
