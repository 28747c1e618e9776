# SPDX-License-Identifier: Apache-2.0
"""Values of a controller's answers as text for people: rates, times, reasons, modes, tables."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from airbound import log_fields, reason_text
from airbound.core import edca
from airbound.core.class_choices import CLASS_WORDS
from airbound.core.reasons import Code
from airbound.operator import duration
from airbound.operator.printable import printable
from airbound.operator.table import lines as table_lines
from airbound.operator.table import width_of_terminal
from airbound.v1 import access_point_pb2, operations_pb2, reason_pb2

NO_ACCESS_POINT = (
    "no access point has reported. To have one: `airbound enroll access-point NAME`, then airbound-ap there"
)
NO_CELLS = f"N{NO_ACCESS_POINT[1:]}."
"""Stands where a table of cells would be."""
_CATEGORIES = {category.value: category.name.lower() for category in edca.Category}
_CODES = frozenset(code.value for code in Code)
_MODES = {operations_pb2.MODE_OBSERVE: "observe", operations_pb2.MODE_CONTROL: "control"}
CAPACITY_SOURCES = {
    operations_pb2.CAPACITY_SOURCE_DEFAULT: "default",
    operations_pb2.CAPACITY_SOURCE_BITRATE: "PHY rate",
    operations_pb2.CAPACITY_SOURCE_BUSY_TIME: "busy time",
    operations_pb2.CAPACITY_SOURCE_THROUGHPUT: "throughput",
}


def own_settings(cell: operations_pb2.Cell) -> str:
    """Where a cell's settings come from if they are not the controller's."""
    return f" ({', '.join(settings_sources(cell))})" if settings_sources(cell) else ""


def settings_sources(cell: operations_pb2.Cell) -> list[str]:
    """Which settings of a cell are its own; empty if it goes by the controller's."""
    override = [f"{cell.override.name}, {printable(cell.override.matched)}"] if cell.HasField("override") else []
    return [*override, *(["mode by an operator"] if cell.mode_by_operator else [])]


def reason_words(message: reason_pb2.Reason) -> str:
    """A reason's code in words, for a narrow column."""
    if message.code not in _CODES:
        return reason(message)
    return Code(message.code).name.lower().replace("_", " ")


def reason(message: reason_pb2.Reason) -> str:
    """A reason for a person, also one whose code this program does not know."""
    return printable(reason_text.sentence(reason_fields(message)))


def reason_fields(message: reason_pb2.Reason) -> dict[str, Any]:
    """A reason as docs/logs.md describes it."""
    values = {name: getattr(message, name) for name in log_fields.VALUES if message.HasField(name)}
    return log_fields.reason(_code(message.code), message.subject, values)


def code_name(code: int) -> str:
    """A reason's code; empty for none, its number if this program does not know it."""
    return _code(code) if code else ""


def _code(code: int) -> str:
    return Code(code).name.lower() if code in _CODES else str(code)


def queue_text(message: access_point_pb2.Edca) -> str:
    """EDCA parameters of one queue."""
    return edca.text(**queue_fields(message))


def queue_fields(message: access_point_pb2.Edca) -> dict[str, Any]:
    """The same as docs/logs.md describes them."""
    category = _CATEGORIES.get(message.category, str(message.category))
    return log_fields.queue(
        category,
        message.aifsn,
        message.cw_min,
        message.cw_max,
        message.txop_limit,
        admission=message.admission,
    )


def mode_name(value: int) -> str:
    """`observe`, `control` or `?`."""
    return next((name for mode, name in _MODES.items() if mode == value), "?")


def class_word(number: int) -> str:
    """A class's word; ? for one of a later version."""
    return CLASS_WORDS[number] if number < len(CLASS_WORDS) else "?"


def terminal_state(terminal: operations_pb2.Terminal) -> str:
    """Whether it sends, and whether it is exempt."""
    words = ["sending" if terminal.active_sender else "idle"]
    if terminal.exempt:
        words.append("exempt")
    return ", ".join(words)


def bounds_text(bounds: Iterable[operations_pb2.BoundSent | operations_pb2.Decision]) -> str:
    """Destinations and ranges in segments; "10.0.4.1/uid 10073" is of one application."""
    return ", ".join(f"{_whose(bound)} {bound.min_segs}..{bound.max_segs}" for bound in bounds) or "none"


def _whose(bound: operations_pb2.BoundSent | operations_pb2.Decision) -> str:
    if isinstance(bound, operations_pb2.BoundSent) and bound.HasField("uid"):
        return f"{bound.destination}/uid {bound.uid}"
    return bound.destination or "all"


def mbps(bps: int) -> str:
    """A rate of bits per second, in Mb/s."""
    return f"{bps / 1e6:.1f} Mb/s"


def phy_rates(station: operations_pb2.StationView) -> str:
    """Those of a station's last frames, up and down, in Mb/s."""
    known = (f"{kbps / 1000:g}" if kbps else "-" for kbps in (station.rx_bitrate_kbps, station.tx_bitrate_kbps))
    return "/".join(known)


def number_of(number: int, thing: str) -> str:
    """So many of what has a regular plural."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def ms(us: int) -> str:
    """A time of microseconds, in milliseconds; 0 is none."""
    return f"{us / 1000:.1f} ms" if us else "none"


def seconds(ms: int) -> str:
    """A time of milliseconds, in seconds."""
    return f"{ms / 1000:.1f} s"


def unlimited_for(station: operations_pb2.StationView) -> str:
    """For how long a station has been without a limit, to stand after what says that it is; empty if not known."""
    return f" for {duration.text(station.unlimited_for_ms / 1000)}" if station.HasField("unlimited_for_ms") else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads, as wide as they must be."""
    head, *lines = table_lines(heads, rows, width_of_terminal())
    return "\n".join([bold(head), *lines])


def bold(text: str) -> str:
    """The same, bold on a terminal that is to have colours."""
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\x1b[1m{text}\x1b[0m"
    return text
