# SPDX-License-Identifier: Apache-2.0

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.deadlines import Deadlines


@dataclass(eq=False)
class Thing:
    name: str = ""
    due_us: int = 0
    due_number: int = 0


def names(deadlines: Deadlines, now_us: int) -> list[str]:
    return [item.name for item in deadlines.due(now_us) if isinstance(item, Thing)]


def test_items_come_in_the_order_of_their_times_and_once() -> None:
    deadlines = Deadlines()
    for name, at_us in (("c", 30), ("a", 10), ("b", 20)):
        deadlines.at(Thing(name), at_us)
    assert deadlines.next_us() == 10
    assert names(deadlines, 9) == []
    assert names(deadlines, 20) == ["a", "b"]
    assert deadlines.next_us() == 30
    assert names(deadlines, 30) == ["c"]
    assert deadlines.next_us() is None


def test_equal_times_keep_the_order_in_which_they_were_set() -> None:
    deadlines = Deadlines()
    for name in "abc":
        deadlines.at(Thing(name), 5)
    assert names(deadlines, 5) == ["a", "b", "c"]


def test_an_earlier_time_counts_and_the_later_entry_is_skipped() -> None:
    deadlines, item = Deadlines(), Thing("a")
    deadlines.at(item, 30)
    deadlines.at(item, 10)
    assert deadlines.next_us() == 10
    assert names(deadlines, 10) == ["a"]
    assert deadlines.next_us() is None
    assert names(deadlines, 100) == []


def test_a_later_time_waits_for_the_earlier_and_adds_no_entry() -> None:
    deadlines, item = Deadlines(), Thing("a")
    deadlines.at(item, 10)
    for later_us in range(10, 1000):
        deadlines.at(item, later_us)
    assert len(deadlines) == 1
    assert names(deadlines, 10) == ["a"]


def test_asking_for_the_next_time_does_not_change_the_order() -> None:
    orders = []
    for asks in (False, True):
        deadlines, first, second = Deadlines(), Thing("first"), Thing("second")
        deadlines.at(first, 10)
        deadlines.at(second, 10)
        deadlines.at(first, 5)
        assert names(deadlines, 5) == ["first"]
        if asks:
            assert deadlines.next_us() == 10
        deadlines.at(first, 10)  # an entry of it with this time is there already, and does not count
        orders.append(names(deadlines, 10))
    assert orders == [["second", "first"]] * 2


def test_what_is_forgotten_is_not_handed_out() -> None:
    deadlines, item = Deadlines(), Thing("a")
    deadlines.at(item, 10)
    deadlines.forget(item)
    assert deadlines.next_us() is None
    assert names(deadlines, 100) == []
    deadlines.at(item, 20)
    assert names(deadlines, 20) == ["a"]


def test_an_item_that_is_due_again_at_once_waits_for_the_next_time() -> None:
    """A deadline in the past must cost a tick at a time, not the whole of one."""
    deadlines, item = Deadlines(), Thing("a")
    deadlines.at(item, 10)
    for count, due in enumerate(deadlines.due(10)):
        assert count == 0
        deadlines.at(due, 5)
    assert deadlines.next_us() == 5


def test_what_was_not_taken_is_still_due() -> None:
    """An error while one item is handled must not cost the others their deadlines."""
    deadlines, items = Deadlines(), [Thing("a"), Thing("b")]
    for item in items:
        deadlines.at(item, 10)
    for due in deadlines.due(10):
        deadlines.at(due, 5)
        break
    assert deadlines.next_us() == 5
    assert names(deadlines, 10) == ["a", "b"]


@given(st.lists(st.tuples(st.sampled_from(("at", "forget", "due")), st.integers(0, 3), st.integers(1, 100))))
def test_nothing_is_late_and_nothing_comes_twice(steps: list[tuple[str, int, int]]) -> None:
    deadlines, items = Deadlines(), [Thing(str(number)) for number in range(4)]
    expected: dict[int, int] = {}  # the earliest time that was asked for
    now_us = 0
    for what, number, value in steps:
        match what:
            case "at":
                deadlines.at(items[number], now_us + value)
                expected[number] = min(expected.get(number, now_us + value), now_us + value)
            case "forget":
                deadlines.forget(items[number])
                expected.pop(number, None)
            case _:
                now_us += value
                due = {number for number, at_us in expected.items() if at_us <= now_us}
                got = names(deadlines, now_us)
                assert sorted(got) == sorted(map(str, due))
                expected = {number: at_us for number, at_us in expected.items() if number not in due}
        assert deadlines.next_us() == min(expected.values(), default=None)
