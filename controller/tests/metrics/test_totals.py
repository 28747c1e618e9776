# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.metrics.totals import PARTS_KEPT, Totals

PARTS = st.dictionaries(st.integers(0, 3), st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=3)


def test_a_total_begins_at_0_and_adds_what_its_parts_grow_by() -> None:
    totals = Totals(1)
    assert totals.update([("a", (1000,))]) == (0,)
    assert totals.update([("a", (1010,))]) == (10,)
    assert totals.update([("a", (1010,)), ("b", (5,))]) == (15,)
    assert totals.update([("b", (6,))]) == (16,)


def test_a_part_that_begins_again_goes_on_in_the_total() -> None:
    totals = Totals(2)
    totals.update([("a", (100, 100))])
    assert totals.update([("a", (110, 100))]) == (10, 0)
    assert totals.update([("a", (7, 101))]) == (17, 1)


def test_what_is_known_to_begin_again_counts_whole_although_it_is_larger() -> None:
    totals = Totals(1)
    totals.update([("a", (100,))])
    totals.begin_again()
    assert totals.update([("a", (150,))]) == (150,)


def test_a_part_that_was_away_is_not_counted_twice() -> None:
    totals = Totals(1)
    totals.update([("a", (100,)), ("b", (1,))])
    totals.update([("b", (1,))])
    assert totals.update([("a", (110,)), ("b", (1,))]) == (10,)


def test_what_began_in_this_process_counts_from_the_start() -> None:
    totals = Totals(1, whole=True)
    assert totals.update([("a", (3,))]) == (3,)
    assert totals.update([("b", (2,))]) == (5,)


def test_parts_that_are_gone_are_forgotten_when_they_are_many() -> None:
    totals = Totals(1)
    for number in range(10 * PARTS_KEPT):
        totals.update([(number, (1,))])
    assert totals._parts is not None
    assert len(totals._parts) <= PARTS_KEPT
    assert totals.counts == (10 * PARTS_KEPT - 1,)


def test_parts_that_are_there_are_not_forgotten_however_many() -> None:
    totals, parts = Totals(1), [(number, (1,)) for number in range(3 * PARTS_KEPT)]
    totals.update(parts)
    assert totals.update(parts) == (0,)
    assert totals.update(parts) == (0,)


@given(st.lists(st.tuples(PARTS, st.booleans()), max_size=20))
def test_no_total_ever_falls(history: list[tuple[dict[int, tuple[int, int]], bool]]) -> None:
    totals = Totals(2)
    before = totals.counts
    for parts, begins_again in history:
        if begins_again:
            totals.begin_again()
        now = totals.update(list(parts.items()))
        assert all(new >= old for new, old in zip(now, before, strict=True))
        before = now
