# SPDX-License-Identifier: Apache-2.0
"""The kernel's record of block requests: the text of trace events `block_rq_issue` and `block_rq_complete`; pure.

Format: include/trace/events/block.h of Linux 6.12. A request's kind is in its letters (blk_fill_rwbs): R, W, D
(discard), F before them for a flush, F behind them for FUA, S for one that somebody waits for, M for metadata.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE = re.compile(
    r"^\s*(?P<task>.+)-\d+\s+\[\d+\]\s+\S+\s+(?P<seconds>\d+)\.(?P<micros>\d{6}): (?P<event>\w+): (?P<rest>.*)$"
)
ISSUED = re.compile(r"^\d+,\d+ (?P<kind>[A-Z]+) \d+ \(.*?\) (?P<sector>\d+) \+ (?P<sectors>\d+) ")
COMPLETED = re.compile(r"^\d+,\d+ (?P<kind>[A-Z]+) \(.*?\) (?P<sector>\d+) \+ (?P<sectors>\d+) .*\[(?P<error>-?\d+)\]$")
MARK = re.compile(r"^(?P<edge>begin|end) (?P<phase>[\w-]+)$")


class Kind(Enum):
    """What a request is."""

    READ = "read"
    WRITE = "write"
    FLUSH = "flush"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; times are microseconds since the guest's start."""

    phase: str
    issued_us: int
    completed_us: int
    kind: Kind
    forced: bool
    """FUA: the data is in the medium when the request ends."""
    metadata: bool
    sector: int
    sectors: int
    issuer: str
    """The process that issued it, often a thread of the kernel."""

    @property
    def latency_us(self) -> int:
        """How long it took."""
        return self.completed_us - self.issued_us


def kind_of(letters: str) -> tuple[Kind, bool, bool]:
    """Return the kind, whether it is forced and whether it is metadata.

    Raises:
        LabError: letters of another kernel.
    """
    flush = letters.startswith("F")
    rest = letters[1:] if flush else letters
    if flush and rest in {"F", "FS", ""}:
        return Kind.FLUSH, False, False
    kinds = {"R": Kind.READ, "W": Kind.WRITE, "D": Kind.DISCARD}
    if not rest or rest[0] not in kinds:
        raise LabError(f"a request of kind {letters!r}, which this reader does not know")
    return kinds[rest[0]], "F" in rest[1:], "M" in rest[1:]


def requests(lines: Iterable[str]) -> Iterator[Request]:
    """Yield the requests of phases as `every_request` does; raises as that."""
    return (request for request in every_request(lines) if request.phase)


def every_request(lines: Iterable[str]) -> Iterator[Request]:
    """Yield the requests in the order in which they ended, with the phase in which they were issued, empty between
    phases; what was issued before the record began, or has not ended in it, is left out.

    Raises:
        LabError: a line is of another form, an event is unknown, or a request ended with an error.
    """
    phase = ""
    open_requests: dict[tuple[str, int, int], tuple[int, str, str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith("#") or not line.strip():
            continue
        fields = LINE.match(line)
        if fields is None:
            raise LabError(f"line {number} of the kernel's record is no event: {line.rstrip()!r}")
        at_us = int(fields["seconds"]) * 1_000_000 + int(fields["micros"])
        if fields["event"] == "tracing_mark_write":
            mark = MARK.match(fields["rest"])
            if mark is None:
                raise LabError(f"line {number} of the kernel's record has an unknown mark: {fields['rest']!r}")
            phase = mark["phase"] if mark["edge"] == "begin" else ""
        elif fields["event"] == "block_rq_issue":
            found = _matched(ISSUED, fields["rest"], number)
            open_requests[_key(found)] = at_us, phase, fields["task"].strip()
        elif fields["event"] == "block_rq_complete":
            found = _matched(COMPLETED, fields["rest"], number)
            if found["error"] != "0":
                raise LabError(f"line {number} of the kernel's record: a request failed with error {found['error']}")
            issued = open_requests.pop(_key(found), None)
            if issued is None:
                continue
            issued_us, issued_phase, issuer = issued
            letters, sector, sectors = _key(found)
            yield Request(issued_phase, issued_us, at_us, *kind_of(letters), sector, sectors, issuer)
        else:
            raise LabError(
                f"line {number} of the kernel's record has the event {fields['event']}, which nobody asked for"
            )


def _matched(form: re.Pattern[str], text: str, number: int) -> re.Match[str]:
    found = form.match(text)
    if found is None:
        raise LabError(f"line {number} of the kernel's record is of another form: {text!r}")
    return found


def _key(found: re.Match[str]) -> tuple[str, int, int]:
    # A flush has no place: it is issued with sector 0, and ends with none, 2^64 - 1. There is one at a time.
    sector = 0 if found["sectors"] == "0" else int(found["sector"])
    return found["kind"], sector, int(found["sectors"])
