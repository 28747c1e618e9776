# SPDX-License-Identifier: Apache-2.0
"""Events as lines for people, and as the fields of the JSON log. Both are made from codes, here, where they are read.

A line: `12:03:04.120   bounds        192.0.2.7          1..12 segs to 198.51.100.1: active senders 4 -> 5`. An
exclamation mark stands before the kind of a warning.
"""

import datetime
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from airbound import log_fields, reason_text
from airbound.core.edca import Category
from airbound.core.reasons import Code, Reason
from airbound.operator import color
from airbound.v1 import access_point_pb2, events_pb2, operations_pb2, reason_pb2

SHOWN = 8  # reasons or bounds of one event
KIND_WIDTH, SUBJECT_WIDTH = 12, 17  # "disconnected", a BSSID
TEXT_WIDTH_MIN = 30  # a terminal that leaves less than that is not wrapped for
_CODES = frozenset(code.value for code in Code)
_CATEGORIES = {category.value: category.name.lower() for category in Category}
_STYLES = {
    "bounds": color.GREEN, "edca": color.GREEN, "windows": color.GREEN, "senders": color.CYAN, "cell": color.CYAN,
    "mode": color.BOLD, "exempt": color.BOLD, "not_exempt": color.BOLD, "failed": color.RED,
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
    what = ""
    if event.HasField("bounds"):
        what = _some([_bound(bound) for bound in event.bounds.bounds[:SHOWN]], len(event.bounds.bounds)) or "released"
    elif event.HasField("queues"):
        stations = [f"stations' {_queue(of)}" for of in event.queues.stations]
        what = "; ".join([*map(_queue, event.queues.queues), *stations]) or "released"
    elif event.HasField("windows"):
        limits = event.windows.limits
        what = _some([_window(limit) for limit in limits[:SHOWN]], len(limits)) or "released"
    warning = event.level >= events_pb2.EVENT_LEVEL_WARNING
    return Line(at, warning, event.kind, printable(event.subject), what, why(event), printable(event.replica))


def why(event: events_pb2.Event) -> str:
    """The reasons in words, or what no code says."""
    reasons = _some([reason(of) for of in event.reasons[:SHOWN]], len(event.reasons), "; ")
    return ": ".join(filter(None, [reasons, printable(event.text)]))


def reason(of: reason_pb2.Reason) -> str:
    """A reason for a person, also one whose code this program does not know."""
    if of.code not in _CODES:
        return f"code {of.code}"
    return printable(reason_text.text(Reason(Code(of.code), of.subject, **_values(of))))


def fields(event: events_pb2.Event) -> dict[str, Any]:
    """The event as docs/logs.md describes it."""
    at = line(event, datetime.UTC).at
    shown: dict[str, Any] = {
        "sequence": event.sequence,
        "time": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "level": "warning" if event.level >= events_pb2.EVENT_LEVEL_WARNING else "info",
        "kind": event.kind,
        "subject": event.subject,
    }
    shown |= {name: value for name in ("replica", "terminal", "cell") if (value := getattr(event, name))}
    if event.reasons:
        shown["reasons"] = [log_fields.reason(_code(of.code), of.subject, _values(of)) for of in event.reasons]
    if event.HasField("bounds"):
        shown["bounds"] = [log_fields.bound(of.destination, of.min_segs, of.max_segs) for of in event.bounds.bounds]
    if event.HasField("queues"):
        shown["queues"] = [_queue_fields(of) for of in event.queues.queues]
        if event.queues.stations:
            shown["announced"] = [_queue_fields(of) for of in event.queues.stations]
    if event.HasField("windows"):
        shown["windows"] = [log_fields.window(of.station, of.destination, of.max_bytes) for of in event.windows.limits]
    return shown | {"why": why(event)}


class Writer:
    """Makes aligned lines, one after the other; a line with the date where it changes."""

    def __init__(self, *, colored: bool, width: int = 0, today: datetime.date | None = None) -> None:
        self._colored, self._width, self._day = colored, width, today
        self._subject_width = SUBJECT_WIDTH

    def lines(self, of: Line) -> list[str]:
        """One event; more than one line where the terminal has `width` columns and that is too few."""
        made = []
        if self._day is not None and of.at.date() != self._day:
            made.append(self._paint(f"{of.at:%Y-%m-%d}", color.BOLD))
        self._day = of.at.date()
        self._subject_width = max(self._subject_width, len(of.subject))
        time = f"{of.at:%H:%M:%S}.{of.at.microsecond // 1000:03d}"
        subject = of.subject.ljust(self._subject_width)
        indent = len(time) + 3 + KIND_WIDTH + 2 + self._subject_width + 2
        kind = of.kind.ljust(KIND_WIDTH)
        head = (
            f"{self._paint(time, color.DIM)} {self._paint('!' if of.warning else ' ', color.YELLOW)} "
            f"{self._paint(kind, color.YELLOW if of.warning else _STYLES.get(of.kind, ''))}  {subject}  "
        )
        text = ": ".join(filter(None, [of.what, of.why]))
        if of.replica:
            text = f"{text} [{of.replica}]".lstrip()
        wide = self._width - indent
        parts = textwrap.wrap(text, wide) if wide >= TEXT_WIDTH_MIN else [text]
        first, *others = parts or [""]
        if of.what and first.startswith(of.what):
            first = self._paint(of.what, color.BOLD) + first[len(of.what) :]
        return [*made, f"{head}{first}".rstrip(), *(" " * indent + part for part in others)]

    def left_out(self, count: int) -> str:
        """Instead of events that are no longer kept."""
        return self._paint(f"{count} events left out", color.YELLOW)

    def _paint(self, text: str, style: str) -> str:
        return color.paint(text, style) if self._colored else text


def printable(text: str) -> str:
    """What a peer sent may be anything; control sequences must not reach the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _some(shown: Sequence[str], of: int, separator: str = ", ") -> str:
    more = of - len(shown)
    return separator.join([*shown, f"and {more} more"] if more > 0 else shown)


def _bound(of: operations_pb2.BoundSent) -> str:
    return f"{of.min_segs}..{of.max_segs} segs to {of.destination or 'all'}"


def _window(of: operations_pb2.WindowLimitSent) -> str:
    return f"{of.station} {of.max_bytes} bytes to {of.destination or 'all'}"


def _queue_fields(of: access_point_pb2.Edca) -> dict[str, Any]:
    return log_fields.queue(_category(of), of.aifsn, of.cw_min, of.cw_max, of.txop_limit)


def _queue(of: access_point_pb2.Edca) -> str:
    txop = f", TXOP limit {of.txop_limit * 32} us" if of.txop_limit else ""
    return f"{_category(of).replace('_', ' ')} AIFSN {of.aifsn}, CW {of.cw_min}..{of.cw_max}{txop}"


def _category(of: access_point_pb2.Edca) -> str:
    return _CATEGORIES.get(of.category, str(of.category))


def _code(code: int) -> str:
    return Code(code).name.lower() if code in _CODES else str(code)


def _values(of: reason_pb2.Reason) -> dict[str, float]:
    return {name: getattr(of, name) for name in log_fields.VALUES if of.HasField(name)}
