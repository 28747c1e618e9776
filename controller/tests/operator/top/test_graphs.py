# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.operator.top.graphs import SAMPLES_MAX, Series, bar, sparkline, window_bar


def test_a_sparkline_is_as_wide_as_asked_for_and_ends_with_the_newest_value() -> None:
    series = Series([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert sparkline(series, SAMPLES_MAX, 8.0) == "▁▂▃▄▅▆▇█".rjust(SAMPLES_MAX)
    assert sparkline(series, 0, 8.0) == ""
    assert sparkline(Series(), 5, 1.0) == "     "
    assert sparkline(Series([1.0]), 3, 0.0) == "  ▁"


def test_a_column_without_a_value_is_blank() -> None:
    assert sparkline(Series([1.0, None, 1.0]), SAMPLES_MAX, 1.0).endswith("█ █")


def test_columns_do_not_change_while_they_move() -> None:
    series, before = Series(), list[float | None]()
    for second in range(3 * SAMPLES_MAX):
        series.add(float(second))
        columns = series.columns(50)
        full, each = columns[:-1], SAMPLES_MAX // 50
        if second % each == each - 1 and len(full) == 49:
            assert full[-1] == second - each - (each - 1) / 2
            before = columns
        elif second % each == 0 and before and len(before) == 50:
            assert columns[:-1][-48:] == before[-48:]


@given(st.lists(st.none() | st.floats(0, 1e9, width=32), max_size=700), st.integers(1, 400))
def test_any_series_fits(values: list[float | None], width: int) -> None:
    series = Series(values)
    text = sparkline(series, width, series.largest(), 1.0)
    assert len(text) == width
    assert series.largest() == max((value for value in values[-SAMPLES_MAX:] if value is not None), default=0.0)


@pytest.mark.parametrize(
    ("share", "text"), [(0, "[----]"), (0.5, "[##--]"), (1, "[####]"), (7, "[####]"), (-1, "[----]")]
)
def test_a_bar(share: float, text: str) -> None:
    assert bar(share, 6) == text
    assert bar(share, 1) == "[]"


@pytest.mark.parametrize(
    ("cwnd", "text"),
    [(1, "[#-------] 1"), (9, "[######--] 9"), (12, "[########] 12"), (13, "[########] >13"), (0, "[--------] <0")],
)
def test_a_window_within_its_bounds(cwnd: int, text: str) -> None:
    assert window_bar(1, 12, cwnd, 10) == text


def test_bounds_that_leave_one_window() -> None:
    assert window_bar(2, 2, 2, 6) == "[####] 2"
