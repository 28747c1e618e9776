# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.operator import table

HEADS = ("TERMINAL", "BOUNDS", "AGE")
ROWS = [("192.0.2.7", "198.51.100.1 1..12, 198.51.100.2 3..14", "0.1 s"), ("192.0.2.8", "none", "12.0 s")]


def test_a_table_that_fits_is_aligned_and_complete() -> None:
    expected = [
        "TERMINAL   BOUNDS                                  AGE",
        "192.0.2.7  198.51.100.1 1..12, 198.51.100.2 3..14  0.1 s",
        "192.0.2.8  none                                    12.0 s",
    ]
    assert table.lines(HEADS, ROWS, 0) == table.lines(HEADS, ROWS, 57) == expected


def test_long_lists_are_cut_first() -> None:
    assert table.lines(HEADS, ROWS, 50) == [
        "TERMINAL   BOUNDS                           AGE",
        "192.0.2.7  198.51.100.1 1..12, 198.51.100…  0.1 s",
        "192.0.2.8  none                             12.0 s",
    ]


def test_then_columns_are_left_out_from_the_right_and_named() -> None:
    assert table.lines(HEADS, ROWS, 31) == [
        "TERMINAL   BOUNDS",
        "192.0.2.7  198.51.100.1 1..12,…",
        "192.0.2.8  none",
        "(not shown, the terminal is too",
        "narrow: AGE)",
    ]
    assert table.lines(HEADS, ROWS, 5)[1] == "192.0.2.7"


@given(
    st.lists(st.tuples(*[st.text("abc", max_size=60)] * 4), max_size=5),
    st.integers(0, 200),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, ...]], limit: int) -> None:
    heads = ("A", "BB", "CCC", "D")
    lines = table.lines(heads, rows, limit)
    shown = lines[: len(rows) + 1]
    assert all(len(line) <= max(limit, 20) for line in shown) or not limit
    if not limit:
        assert all(line.split() == [text for text in row if text] for line, row in zip(lines[1:], rows, strict=True))
