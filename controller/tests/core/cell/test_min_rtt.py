# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.min_rtt import ADDRESSES_MAX, MinRttTable

AGE_US = 600_000_000
CELL = "02:00:00:00:00:01"


def test_the_smallest_of_all_counts() -> None:
    table = MinRttTable(AGE_US)
    assert table.smallest_us(CELL, "10.0.0.1", 0) == 0
    assert table.observe(CELL, "10.0.0.1", 700, 0)
    assert not table.observe(CELL, "10.0.0.1", 900, 1)
    assert table.observe(CELL, "10.0.0.1", 256, 2)
    assert table.smallest_us(CELL, "10.0.0.1", 3) == 256
    assert table.smallest_us(CELL, "10.0.0.2", 3) == 0
    assert table.smallest_us("02:00:00:00:00:02", "10.0.0.1", 3) == 0


def test_zero_is_no_sample() -> None:
    table = MinRttTable(AGE_US)
    assert not table.observe(CELL, "10.0.0.1", 0, 0)
    assert len(table) == 0


def test_a_minimum_not_seen_again_ages_out_and_the_next_takes_over() -> None:
    table = MinRttTable(AGE_US)
    table.observe(CELL, "10.0.0.1", 100, 0)
    table.observe(CELL, "10.0.0.1", 300, AGE_US // 2)
    assert table.smallest_us(CELL, "10.0.0.1", AGE_US) == 100
    assert table.smallest_us(CELL, "10.0.0.1", AGE_US + 1) == 300
    assert table.smallest_us(CELL, "10.0.0.1", 2 * AGE_US) == 0
    assert len(table) == 0


def test_a_minimum_seen_again_stays() -> None:
    table = MinRttTable(AGE_US)
    for at_us in range(0, 3 * AGE_US, AGE_US // 3):
        table.observe(CELL, "10.0.0.1", 100, at_us)
    assert table.smallest_us(CELL, "10.0.0.1", 3 * AGE_US) == 100


def test_expire_forgets_destinations_nobody_asks_for() -> None:
    table = MinRttTable(AGE_US)
    table.observe(CELL, "10.0.0.1", 100, 0)
    table.expire(AGE_US + 1)
    assert len(table) == 0


@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, AGE_US // 4)), min_size=1, max_size=60))
def test_never_above_what_was_seen_lately_nor_below_what_was_seen_at_all(samples: list[tuple[int, int]]) -> None:
    table, now_us, seen = MinRttTable(AGE_US), 0, list[tuple[int, int]]()
    for value, pause_us in samples:
        now_us += pause_us
        seen.append((value, now_us))
        table.observe(CELL, "10.0.0.1", value, now_us)
        window = [value for value, at_us in seen if now_us - at_us <= AGE_US]
        surely = [value for value, at_us in seen if now_us - at_us <= AGE_US - AGE_US // 16]
        assert min(window) <= table.smallest_us(CELL, "10.0.0.1", now_us) <= min(surely)
        assert sum(len(kept) for kept in table._samples.values()) <= 18


def test_made_up_addresses_do_not_fill_the_memory_and_push_out_the_oldest() -> None:
    table = MinRttTable(max_age_us=10**9)
    table.observe(CELL, "old", 10, 0)
    table.observe(CELL, "used", 20, 0)
    for number in range(ADDRESSES_MAX - 1):
        table.observe(CELL, "used", 20, 1)
        table.observe(CELL, f"made up {number}", 30, 1)
    assert len(table) == ADDRESSES_MAX
    assert table.smallest_us(CELL, "old", 1) == 0
    assert table.smallest_us(CELL, "used", 1) == 20
