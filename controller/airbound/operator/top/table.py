# SPDX-License-Identifier: Apache-2.0
"""A table of rows that are replaced once a second. Only the rows that are visible are drawn, however many there are;
the cursor stays on its row while rows move. Colours are the terminal's own, and say nothing that text does not say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `width` in characters. One that is `flexible` takes what is left; one that `needs` a wider table than
    there is, is left out, and so are those on the right that do not fit.
    """

    key: str
    head: str
    width: int
    right: bool = False
    flexible: bool = False
    needs: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its key, and text by column; `style`, and `styles` of single columns, are Rich's."""

    key: str
    cells: dict[str, str]
    style: str = ""
    styles: Mapping[str, str] = field(default_factory=dict)


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that a table so wide shows whole; the first one always."""
    shown = [column for column in columns if column.needs <= width]
    while len(shown) > 1 and sum(column.width for column in shown) + len(shown) - 1 > width:
        shown.pop()
    return shown


class LiveTable(Widget, can_focus=True):
    """The table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
    ]

    class Opened(Message):
        """A row was clicked on that had the cursor already."""

    def __init__(self, columns: Sequence[Column], *, empty: str = "", id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns, self.empty = columns, empty
        self.sorted_by, self.descending = "", False
        self.cursor = ""  # key of its row
        self._rows: Sequence[Row] = ()
        self._first = 0  # of those that are visible

    @property
    def rows(self) -> Sequence[Row]:
        """As they were set."""
        return self._rows

    @rows.setter
    def rows(self, rows: Sequence[Row]) -> None:
        index = self._index()
        self._rows = rows
        if rows and all(row.key != self.cursor for row in rows):
            self.cursor = rows[min(index, len(rows) - 1)].key  # its row is gone: the one that took its place
        self.refresh()

    @property
    def selected(self) -> str:
        """Key of the row under the cursor; empty if there is no row."""
        return self.cursor if any(row.key == self.cursor for row in self._rows) else ""

    def _index(self) -> int:
        return next((index for index, row in enumerate(self._rows) if row.key == self.cursor), 0)

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        if self._rows:
            index = min(len(self._rows) - 1, max(0, self._index() + by))
            self.cursor = self._rows[index].key
            self.refresh()

    def action_page(self, pages: int) -> None:
        """Move it by so many screens."""
        self.action_move(pages * max(1, self.size.height - 2))

    def on_mouse_scroll_down(self, _: events.MouseScrollDown) -> None:
        """Three rows down."""
        self.action_move(3)

    def on_mouse_scroll_up(self, _: events.MouseScrollUp) -> None:
        """Three rows up."""
        self.action_move(-3)

    def on_click(self, event: events.Click) -> None:
        """The cursor comes; if it was there, the row is opened."""
        index = self._first + event.y - 1
        if event.y >= 1 and index < len(self._rows):
            if self._rows[index].key == self.cursor:
                self.post_message(self.Opened())
            self.cursor = self._rows[index].key
            self.refresh()

    def render(self) -> Text:
        """The head and the rows that fit."""
        width, height = self.size.width, self.size.height - 1
        columns = fitting(self.columns, width)
        left = width - sum(column.width for column in columns) - (len(columns) - 1)
        flexible = [column.key for column in columns if column.flexible]
        extra = max(0, left) // len(flexible) if flexible else 0
        widths = {column.key: column.width + (extra if column.flexible else 0) for column in columns}
        index = self._index()
        self._first = max(min(self._first, index), index - height + 1, 0)
        if len(self._rows) - self._first < height:
            self._first = max(0, len(self._rows) - height)
        shown = self._rows[self._first : self._first + height]
        text = Text(no_wrap=True, overflow="crop", end="")
        heads = {column.key: self._head(column) for column in columns}
        self._append(text, Row("", heads, "bold underline"), columns, widths)
        for row in shown:
            text.append("\n")
            start = len(text)
            marked = row.key == self.cursor and self.has_focus
            self._append(text, Row(row.key, row.cells, "reverse") if marked else row, columns, widths)
            text.append(" " * (width - (len(text) - start)), "reverse" if marked else "")
        if not self._rows and self.empty:
            text.append("\n")
            text.append(self.empty[:width], "dim")
        return text

    def _head(self, column: Column) -> str:
        if column.key != self.sorted_by:
            return column.head
        mark = "▼" if self.descending else "▲"
        return f"{mark}{column.head}" if column.right else f"{column.head}{mark}"

    @staticmethod
    def _append(text: Text, row: Row, columns: Sequence[Column], widths: Mapping[str, int]) -> None:
        for number, column in enumerate(columns):
            cell, width = row.cells.get(column.key, ""), widths[column.key]
            if len(cell) > width:
                cell = f"{cell[: width - 1]}…" if width > 1 else cell[:width]
            text.append(" " if number else "", row.style)
            style = row.styles.get(column.key, "")
            text.append(cell.rjust(width) if column.right else cell.ljust(width), f"{row.style} {style}".strip())
