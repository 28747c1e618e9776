# SPDX-License-Identifier: Apache-2.0
"""Events of a controller as lines for people, and as the fields of the JSON log.

A line: `12:03:04.120   bounds        192.0.2.7          1..12 segs to 198.51.100.1: active senders 4 -> 5`. An
exclamation mark stands before the kind of a warning.
"""

import datetime
import textwrap
from typing import Any, NamedTuple

from airbound import log_fields, log_text
from airbound.core.edca import Category
from airbound.operator import color
from airbound.operator.printable import printable
from airbound.operator.values import queue_fields, reason_fields
from airbound.v1 import events_pb2

KIND_WIDTH, SUBJECT_WIDTH = 12, 17  # "disconnected", a BSSID
TEXT_WIDTH_MIN = 30  # a terminal that leaves less than that is not wrapped for
_STYLES = {
    "bounds": color.GREEN, "edca": color.GREEN, "windows": color.GREEN, "flows": color.GREEN,
    "senders": color.CYAN, "cell": color.CYAN, "mode": color.BOLD, "class": color.BOLD,
    "exempt": color.BOLD, "not_exempt": color.BOLD, "failed": color.RED,
}  # fmt: skip


class Line(NamedTuple):
    """What is to be seen of one event, or of one change of a cell."""

    at: datetime.datetime
    warning: bool
    kind: str
    subject: str
    what: str  # what is in force now
    why: str
    replica: str = ""


def line(event: events_pb2.Event, zone: datetime.tzinfo | None = None) -> Line:
    """One event, at the time of a zone; the local one if it is none."""
    at = datetime.datetime.fromtimestamp(event.time_us // 1_000_000, datetime.UTC)
    at = at.replace(microsecond=event.time_us % 1_000_000).astimezone(zone)
    decided, warning = _decided(event), event.level >= events_pb2.EVENT_LEVEL_WARNING
    what = printable(log_text.what(decided))
    why = printable(": ".join(filter(None, [log_text.why(decided), event.text])))  # in words, and what no code says
    return Line(at, warning, event.kind, printable(event.subject), what, why, printable(event.replica))


def fields(event: events_pb2.Event) -> dict[str, Any]:
    """The event as docs/logs.md describes it."""
    made = line(event, datetime.UTC)
    shown: dict[str, Any] = {
        "sequence": event.sequence,
        "time": f"{made.at:%Y-%m-%dT%H:%M:%S}.{made.at.microsecond // 1000:03d}Z",
        "level": "warning" if made.warning else "info",
        "kind": event.kind,
        "subject": event.subject,
    }
    shown |= {name: value for name in ("replica", "terminal", "cell") if (value := getattr(event, name))}
    return shown | _decided(event) | {"why": made.why}


def _decided(event: events_pb2.Event) -> dict[str, Any]:
    """The fields of the event's reasons, and of what was sent."""
    shown: dict[str, Any] = {}
    if event.reasons:
        shown["reasons"] = list(map(reason_fields, event.reasons))
    if event.HasField("bounds"):
        shown["bounds"] = [
            log_fields.bound(
                bound.destination, bound.min_segs, bound.max_segs, bound.uid if bound.HasField("uid") else None
            )
            for bound in event.bounds.bounds
        ]
    if event.HasField("queues"):
        shown["queues"] = list(map(queue_fields, event.queues.queues))
        if event.queues.stations:
            shown["announced"] = list(map(queue_fields, event.queues.stations))
    if event.HasField("windows"):
        shown["windows"] = [
            log_fields.window(limit.station, limit.destination, limit.max_bytes) for limit in event.windows.limits
        ]
    if event.HasField("flows"):
        shown["flows"] = list(map(_flow_fields, event.flows.flows))
    return shown


def _flow_fields(flow: events_pb2.FlowSent) -> dict[str, Any]:
    known = flow.category in set(map(int, Category))
    return log_fields.flow(
        flow.uid if flow.HasField("uid") else None,
        flow.destination,
        log_fields.category_name(flow.category) if known else "",
        flow.admitted_us_per_s,
        flow.udp_bps,
    )


class Writer:
    """Makes aligned lines, one after the other; a line with the date where it changes."""

    def __init__(self, *, colored: bool, width: int = 0, today: datetime.date | None = None) -> None:
        self._colored, self._width, self._day = colored, width, today
        self._subject_width = SUBJECT_WIDTH

    def lines(self, line: Line) -> list[str]:
        """One event; more than one line where the terminal has `width` columns and that is too few."""
        made = []
        if self._day is not None and line.at.date() != self._day:
            made.append(self._paint(f"{line.at:%Y-%m-%d}", color.BOLD))
        self._day = line.at.date()
        self._subject_width = max(self._subject_width, len(line.subject))
        time = f"{line.at:%H:%M:%S}.{line.at.microsecond // 1000:03d}"
        subject = line.subject.ljust(self._subject_width)
        indent = len(time) + 3 + KIND_WIDTH + 2 + self._subject_width + 2
        kind = line.kind.ljust(KIND_WIDTH)
        head = (
            f"{self._paint(time, color.DIM)} {self._paint('!' if line.warning else ' ', color.YELLOW)} "
            f"{self._paint(kind, color.YELLOW if line.warning else _STYLES.get(line.kind, ''))}  {subject}  "
        )
        text = ": ".join(filter(None, [line.what, line.why]))
        if line.replica:
            text = f"{text} [{line.replica}]".lstrip()
        wide = self._width - indent
        parts = textwrap.wrap(text, wide) if wide >= TEXT_WIDTH_MIN else [text]
        first, *others = parts or [""]
        if line.what and first.startswith(line.what):
            first = self._paint(line.what, color.BOLD) + first[len(line.what) :]
        return [*made, f"{head}{first}".rstrip(), *(" " * indent + part for part in others)]

    def left_out(self, count: int) -> str:
        """Instead of events that are no longer kept."""
        return self._paint(f"{count} events left out", color.YELLOW)

    def _paint(self, text: str, style: str) -> str:
        return color.paint(text, style) if self._colored else text
