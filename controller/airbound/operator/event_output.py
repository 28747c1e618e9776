# SPDX-License-Identifier: Apache-2.0
"""Writes events and changes of cells as they come, as lines for people or as JSON lines."""

import datetime
import json
import sys
from collections.abc import Callable, Iterable

from airbound.operator import color, display, event_text, table
from airbound.v1 import events_pb2, operations_pb2


class Output:
    """One command's output; `zone` is that of the times, the local one if it is none."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        as_json: bool = False,
        color_when: color.When = "auto",
        zone: datetime.tzinfo | None = None,
    ) -> None:
        self.written = 0  # events
        self._write, self._as_json, self._zone = write, as_json, zone
        self._begun = False
        self._rows = dict[str, str]()  # of cells, as they were written last
        self._writer = event_text.Writer(
            colored=color.is_wanted(color_when, sys.stdout), width=table.width_of_terminal(), today=self._now().date()
        )

    def events(self, events: Iterable[events_pb2.Event], key: str = "") -> None:
        """Events; as JSON under a key, if there is one."""
        for event in events:
            self.written += 1
            if self._as_json:
                fields = event_text.fields(event)
                self._write(json.dumps({key: fields} if key else fields))
            else:
                self._line(event_text.line(event, self._zone))

    def followed(self, response: events_pb2.FollowEventsResponse, key: str = "") -> None:
        """What a follower is sent. What had been forgotten before it came is nothing that it missed."""
        if self._begun and response.left_out:
            text = self._writer.left_out(response.left_out)
            self._write(json.dumps({"left_out": response.left_out}) if self._as_json else text)
        self._begun = True
        self.events(response.events, key)

    def cell(self, cell: operations_pb2.Cell) -> None:
        """A cell, unless nothing but its age changed."""
        row = display.cell_line(cell, with_age=False)
        if self._rows.get(cell.bssid) == row:
            return
        self._rows[cell.bssid] = row
        if self._as_json:
            self._write(f'{{"cell": {display.as_json_line(cell)}}}')
        else:
            text = row.partition("  ")[2]
            self._line(event_text.Line(self._now(), warning=False, kind="cell", subject=cell.bssid, what="", why=text))

    def _line(self, line: event_text.Line) -> None:
        for text in self._writer.lines(line):
            self._write(text)

    def _now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC).astimezone(self._zone)
