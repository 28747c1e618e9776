# SPDX-License-Identifier: Apache-2.0
"""Who had the air when: the attempts of a part of a run, from the medium's trace event dcf_attempt, and as CSV; pure.

A line of the CSV file is an attempt to send one frame:

    start_ns         when it began, nanoseconds since time zero of the run
    head_since_ns    since when the frame was the first of its queue, and contended
    airtime_ns       how long it took: the frame, and after a success SIFS and ACK; with RTS and CTS, if they came first
    station          0 is the access point, 1 the first phone
    category         VO, VI, BE, BK; without WMM always BE
    bytes            length of the frame, MAC header to FCS; of an A-MPDU with its delimiters
    rate_100kbps     540 is 54 Mb/s
    attempt          of this frame, from 1
    outcome          delivered; collision, if another began at the same moment; or loss (by `--loss`, `--distances`,
                     `--interference`, or a hidden station that began in between)
    contenders       how many queues had a frame to send at that moment, this one included
    mpdus            frames in the A-MPDU; 0 if it is one frame by itself
    mpdus_received   how many were received; 0 or 1 of one frame
"""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import astuple, fields, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from airbound_lab.errors import UsageError
from airbound_lab.records import ring_buffer
from airbound_lab.records.edca_trace import CATEGORIES, Category
from airbound_lab.records.ring_buffer import Event
from airbound_lab.settings.validation import explain

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from airbound_lab.records.ring_buffer import Record

EVENT = Event(
    "medium trace",
    {
        "head_since_ns": 8,
        "start_ns": 8,
        "airtime_ns": 4,
        "bytes": 4,
        "station": 2,
        "contenders": 2,
        "rate_100kbps": 2,
        "category": 1,
        "attempt": 1,
        "failed": 1,
        "mpdus": 1,
        "mpdus_received": 1,
    },
)
ACCESS_POINT = 0

Outcome = Literal["delivered", "collision", "loss"]
Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Attempt:
    """An attempt to send a frame; the fields are those of the CSV file."""

    start_ns: int
    head_since_ns: int
    airtime_ns: Count
    station: Annotated[int, Field(ge=0)]
    category: Category
    bytes: Count
    rate_100kbps: Count
    attempt: Count
    outcome: Outcome
    contenders: Count
    mpdus: Annotated[int, Field(ge=0)] = 0
    mpdus_received: Annotated[int, Field(ge=0)] = 0

    @property
    def end_ns(self) -> int:
        """When it was over."""
        return self.start_ns + self.airtime_ns


FIELDS = tuple(field.name for field in fields(Attempt))
_READ = TypeAdapter(Attempt)


def parse(pages: bytes, event_format: str, time_zero_ns: int) -> list[Attempt]:
    """Read the stored pages; LabError if they are not such pages, or records are missing.

    `time_zero_ns` is the run's time zero on the monotonic clock.
    """
    # An attempt is recorded at its end. Those that overlap are of hidden stations, or on two channels.
    recorded = sorted(
        ring_buffer.read(EVENT, pages, event_format, partial(_attempt, time_zero_ns)), key=attrgetter("start_ns")
    )
    return [
        replace(attempt, outcome="collision") if len(together) > 1 else attempt
        for together in accesses(recorded)
        for attempt in together
    ]


def accesses(attempts: Iterable[Attempt]) -> list[list[Attempt]]:
    """Attempts that began at the same moment, together: one station had the air, or several collided."""
    return [list(together) for _, together in itertools.groupby(attempts, key=attrgetter("start_ns"))]


def to_csv(attempts: Iterable[Attempt]) -> str:
    """Write the CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(astuple(attempt) for attempt in attempts)
    return out.getvalue()


def load(path: Path) -> list[Attempt]:
    """Read a CSV file; UsageError names file and line of what is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    rows = list(csv.reader(lines))
    if not rows or tuple(rows[0]) != FIELDS:
        raise UsageError(f"{path}: line 1: not {','.join(FIELDS)}")
    attempts = []
    for number, row in enumerate(rows[1:], start=2):
        try:
            attempts.append(_READ.validate_python(dict(zip(FIELDS, row, strict=True))))
        except (ValidationError, ValueError) as error:
            why = explain(error) if isinstance(error, ValidationError) else f"not {len(FIELDS)} values"
            raise UsageError(f"{path}: line {number}: {why}") from error
    if not attempts:
        raise UsageError(f"{path}: no attempt: nothing was sent in that part of the run")
    return attempts


def _attempt(time_zero_ns: int, record: Record) -> Attempt:
    if record["category"] >= len(CATEGORIES):
        raise ValueError(f"a record of queue {record['category']}")
    return Attempt(
        start_ns=record["start_ns"] - time_zero_ns,
        head_since_ns=record["head_since_ns"] - time_zero_ns,
        airtime_ns=record["airtime_ns"],
        station=record["station"],
        category=CATEGORIES[record["category"]],
        bytes=record["bytes"],
        rate_100kbps=record["rate_100kbps"],
        attempt=record["attempt"],
        outcome="loss" if record["failed"] else "delivered",
        contenders=record["contenders"],
        mpdus=record["mpdus"],
        mpdus_received=record["mpdus_received"],
    )
