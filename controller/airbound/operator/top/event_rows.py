# SPDX-License-Identifier: Apache-2.0
"""The tables of events, the newest first."""

import datetime
from collections.abc import Iterable

from airbound.operator import event_text
from airbound.operator.top.table import Column, Row
from airbound.v1 import events_pb2

COLUMNS = (
    Column("time", "TIME", 12),
    Column("mark", "", 1),
    Column("kind", "EVENT", 12),
    Column("subject", "OF", 17),
    Column("why", "WHAT AND WHY", 20, flexible=True),
)

_STYLES = {"bounds": "green", "edca": "green", "senders": "cyan", "failed": "red"}


def rows(events: Iterable[events_pb2.Event], zone: datetime.tzinfo | None, wanted: str = "") -> list[Row]:
    """The events whose line contains what is wanted."""
    made = (_row(event, zone) for event in events)
    return [row for row in made if not wanted or wanted.lower() in " ".join(row.cells.values()).lower()]


def _row(event: events_pb2.Event, zone: datetime.tzinfo | None) -> Row:
    line = event_text.line(event, zone)
    cells = {
        "time": f"{line.at:%H:%M:%S}.{line.at.microsecond // 1000:03d}",
        "mark": "!" if line.warning else "",
        "kind": line.kind,
        "subject": line.subject,
        "why": ": ".join(filter(None, [line.what, line.why])),
    }
    styles = {"time": "dim", "kind": "yellow" if line.warning else _STYLES.get(line.kind, "")}
    return Row(str(event.sequence), cells, styles=styles)
