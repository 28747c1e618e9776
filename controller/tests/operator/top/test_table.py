# SPDX-License-Identifier: Apache-2.0
"""The table by itself, in an application that has nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest import mock

import pytest
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown
from textual.geometry import Size
from textual.pilot import Pilot

from airbound.operator.top import cell_rows, event_rows, flow_rows, station_rows
from airbound.operator.top.table import Column, LiveTable, Row, fitting

COLUMNS = (
    Column("name", "NAME", 4, flexible=True),
    Column("value", "VALUE", 6, right=True),
    Column("more", "MORE", 5, needs=40),
)


class Bench(App[None]):
    opened = 0

    def compose(self) -> ComposeResult:
        yield LiveTable(COLUMNS, empty="nothing")

    def on_live_table_opened(self) -> None:
        self.opened += 1


@asynccontextmanager
async def bench(size: tuple[int, int] = (20, 6)) -> AsyncIterator[tuple[LiveTable, Pilot[None]]]:
    app = Bench()
    async with app.run_test(size=size) as pilot:
        table = app.query_one(LiveTable)
        table.focus()
        await pilot.pause()
        yield table, pilot


def rows(*numbers: int) -> list[Row]:
    return [Row(str(number), {"name": f"n{number}", "value": str(number), "more": "more"}) for number in numbers]


def lines(table: LiveTable) -> list[str]:
    return [line.rstrip() for line in table.render().plain.splitlines()]


async def test_columns_take_what_there_is() -> None:
    async with bench() as (table, _):
        assert lines(table) == ["NAME           VALUE", "nothing"]
        table.rows = rows(1, 2)
        assert lines(table) == ["NAME           VALUE", "n1                 1", "n2                 2"]
        table.rows = [Row("x", {"name": "a name that is too long", "value": "123456789"})]
        assert lines(table)[1] == "a name that … 12345…"
    async with bench((40, 6)) as (table, _):
        table.rows = rows(1)
        assert lines(table)[0].endswith("VALUE MORE")
    async with bench((3, 2)) as (table, _):
        table.rows = rows(1)
        assert len(lines(table)) == 2


async def test_the_column_that_is_sorted_by_is_marked() -> None:
    async with bench() as (table, _):
        table.sorted_by = "value"
        assert lines(table)[0] == "NAME          ▲VALUE"
        table.sorted_by, table.descending = "name", True
        assert lines(table)[0] == "NAME▼          VALUE"


async def test_the_cursor_moves_and_the_rows_with_it() -> None:
    async with bench() as (table, pilot):
        table.rows = rows(*range(1000))
        for key, cursor, first in (
            ("down", 1, 0), ("j", 2, 0), ("k", 1, 0), ("up", 0, 0), ("up", 0, 0), ("pagedown", 4, 0), ("down", 5, 1),
            ("end", 999, 995), ("pageup", 995, 995), ("up", 994, 994), ("home", 0, 0),
        ):  # fmt: skip
            await pilot.press(key)
            assert (table.cursor, lines(table)[1].split()[1]) == (str(cursor), str(first)), key


async def test_the_cursor_stays_on_its_row_while_rows_move() -> None:
    async with bench() as (table, pilot):
        table.rows = rows(1, 2, 3)
        await pilot.press("down")
        table.rows = rows(3, 1, 2)
        assert table.cursor == "2"
        table.rows = rows(3, 1)
        assert table.cursor == "1"  # the last one, in its place
        table.rows = []
        table.rows = rows(7, 8)
        assert table.cursor == "7"


async def test_the_mouse_moves_the_cursor_and_opens() -> None:
    async with bench() as (table, pilot):
        table.rows = rows(*range(10))
        await pilot.click(LiveTable, offset=(3, 2))
        assert table.cursor == "1"
        await pilot.click(LiveTable, offset=(3, 2))
        await pilot.pause()
        assert isinstance(pilot.app, Bench)
        assert pilot.app.opened == 1
        await pilot.click(LiveTable, offset=(3, 0))
        await pilot._post_mouse_events([MouseScrollDown], LiveTable)
        assert table.cursor == "4"


async def test_only_a_focused_table_shows_its_cursor() -> None:
    async with bench() as (table, pilot):
        table.rows = rows(1)
        assert any(span.style == "reverse" for span in table.render().spans)
        pilot.app.set_focus(None)
        await pilot.pause()
        assert not any(span.style == "reverse" for span in table.render().spans)


@pytest.mark.parametrize(
    "columns",
    [
        COLUMNS,
        cell_rows.COLUMNS,
        station_rows.STATION_COLUMNS,
        station_rows.TERMINAL_COLUMNS,
        flow_rows.COLUMNS,
        event_rows.COLUMNS,
    ],
    ids=["test", "cells", "stations", "terminals", "flows", "events"],
)
def test_no_width_has_a_broken_row(columns: tuple[Column, ...]) -> None:
    row = Row("x", {column.key: column.key * 10 for column in columns})
    before = 0
    for width in range(60, 201):
        table = LiveTable(columns)
        table.rows = [row]
        with mock.patch.object(LiveTable, "size", Size(width, 3)):
            head, line, *_ = table.render().plain.splitlines()
        shown = fitting(columns, width)
        assert len(head) <= width
        assert len(line) <= width
        # Each column is there whole: its head, or what of it fits into the column, and at least its first character.
        assert all(column.head[: column.width] in head for column in shown)
        assert len(shown) >= before, f"{width} columns show fewer than one less"
        before = len(shown)
    assert len(shown) == len(columns)
