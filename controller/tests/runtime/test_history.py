# SPDX-License-Identifier: Apache-2.0

import asyncio
import gc
import threading
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, Note, WindowLimit
from airbound.core.reasons import Code, Reason
from airbound.runtime.history import History
from airbound_testing.agents import WAIT_S

NOTE = Note("info", "connected", "192.0.2.7")


def sequences(history: History, after: int = 0, most: int = 100) -> tuple[int, list[int]]:
    left_out, entries = history.after(after, most)
    return left_out, [entry.sequence for entry in entries]


def test_events_are_numbered_and_have_both_clocks() -> None:
    history = History(wall_us=lambda: 7, clock_us=lambda: 9)
    history.append(NOTE)
    history.append(NOTE, "why")
    _, entries = history.after(0, 10)
    assert [entry[:5] for entry in entries] == [(1, 7, 9, NOTE, ""), (2, 7, 9, NOTE, "why")]
    assert sequences(history, after=1) == (0, [2])
    assert sequences(history, after=2) == sequences(history, after=99) == (0, [])
    assert sequences(history, most=1) == (0, [1])


def test_the_oldest_go_first_and_are_counted() -> None:
    history = History(kept=3)
    for _ in range(10):
        history.append(NOTE)
    assert (history.last, history.before_first) == (10, 7)
    assert sequences(history) == (7, [8, 9, 10])
    assert sequences(history, after=5) == (2, [8, 9, 10])
    assert sequences(history, after=8) == (0, [9, 10])


def test_a_history_may_keep_nothing() -> None:
    for history in (History(kept=0), History(bytes_max=0)):
        history.append(NOTE)
        assert sequences(history) == (1, [])
        assert history.octets == 0


def test_positions_of_two_histories_differ() -> None:
    assert History().identity != History().identity


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.text(max_size=200)), max_size=60))
def test_octets_are_those_of_what_is_kept(sizes: list[tuple[int, int, str]]) -> None:
    history = History(kept=20, bytes_max=50_000)
    for reasons, bounds, text in sizes:
        history.append(
            Note("info", "bounds", "x", (Reason(Code.MALFORMED, text),) * reasons, (Bound(b"", 1, 2),) * bounds), text
        )
        _, entries = history.after(0, 100)
        assert history.octets == sum(entry.octets for entry in entries) <= 50_000
        assert len(entries) == history.last - history.before_first <= 20


def large(number: int) -> tuple[Note, str]:
    """An event that shares nothing with others."""
    return (
        Note(
            "info",
            "bounds",
            f"2001:db8::{number:x}",
            tuple(
                Reason(Code.MIN_RTT, f"2001:db8::{number:x}:{part:x}", 5e9 + number, 6e9 + part) for part in range(8)
            ),
            tuple(Bound(number.to_bytes(15) + bytes([part]), 1000 + number, 2000 + number) for part in range(8)),
            (Edca(Category.BEST_EFFORT, 1000 + number, 2000 + number, 3000, 4000),),
            f"name-{number}",
            number.to_bytes(6),
            tuple(
                WindowLimit(number.to_bytes(6), number.to_bytes(15) + bytes([part]), 10**9 + number)
                for part in range(8)
            ),
        ),
        f"text \U0001f4f6 {number}",
    )


def small(number: int) -> tuple[Note, str]:
    return Note("info", "connected", f"192.0.2.{number}", (), terminal=f"192.0.2.{number}", cell=number.to_bytes(6)), ""


@pytest.mark.parametrize("make", [large, small])
def test_memory_is_at_most_what_is_counted(make: Any) -> None:
    history = History(kept=2_000, wall_us=lambda: 1_800_000_000_000_000 + history.last, bytes_max=1 << 30)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(4_000):
            history.append(*make(number))
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.3 * history.octets < taken < history.octets


async def test_whoever_waits_is_woken_by_the_next_event_of_any_thread() -> None:
    history = History()
    await history.changed(-1)
    for _ in range(3):
        waiting = [asyncio.create_task(history.changed(history.last)) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        thread = threading.Thread(target=history.append, args=(NOTE,))
        thread.start()
        await asyncio.wait_for(asyncio.gather(*waiting), WAIT_S)
        thread.join()
    assert history._waiting == []


async def test_whoever_gives_up_waits_no_longer() -> None:
    history = History()
    waiting = asyncio.create_task(history.changed(0))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert history._waiting == []
    history.append(NOTE)


async def test_a_controller_that_stops_ends_waiting() -> None:
    history = History()
    waiting = asyncio.create_task(history.changed(0))
    await asyncio.sleep(0)
    history.stop()
    await asyncio.wait_for(waiting, WAIT_S)
    await history.changed(0)


def test_an_event_for_a_loop_that_is_closed_is_kept() -> None:
    history = History()
    loop = asyncio.new_event_loop()
    task = loop.create_task(history.changed(0))
    loop.run_until_complete(asyncio.sleep(0))
    held = history._waiting[:]
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))
    loop.close()
    history._waiting = held
    history.append(NOTE)
    assert sequences(history) == (0, [1])
