# SPDX-License-Identifier: Apache-2.0
"""Whether `airbound-phone io`, in the same run, has the requests of the kernel's own text, request by request; pure.

Compared are the times of issue and completion, kind, FUA, metadata, sector and length, over all phases and in between:
from the first request of a phase or the first that `io` has, whichever comes first, to the end of the record.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from airbound_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound_lab.io_study.records import Request

SECTOR_BYTES = 512
NS_PER_US = 1000
SHOWN = 3


class Seen(NamedTuple):
    """A request as both records have it."""

    issued_us: int
    completed_us: int
    kind: str
    forced: bool
    metadata: bool
    sector: int
    sectors: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many requests both have, and which only one has."""

    both: int
    only_text: tuple[Seen, ...]
    only_io: tuple[Seen, ...]

    def check(self) -> None:
        """Raise LabError if they differ, or if nothing was compared."""
        if not self.both and not self.only_text and not self.only_io:
            raise LabError("airbound-phone io and the kernel's text have no request")
        for whose, other, requests in (
            ("the kernel's text", "airbound-phone io", self.only_text),
            ("airbound-phone io", "the kernel's text", self.only_io),
        ):
            if requests:
                shown = "; ".join(map(str, requests[:SHOWN]))
                raise LabError(f"{len(requests)} requests of {whose} are not in {other}, {self.both} are: {shown}")


def compare(text: Sequence[Request], io_lines: Iterable[str]) -> Agreement:
    """Compare the requests of the kernel's text with the lines of JSON of `airbound-phone io`.

    Raises:
        LabError: a line is no record, or `io` has lost events.
    """
    of_io = sorted(seen for number, line in enumerate(io_lines, start=1) for seen in _of_line(number, line))
    from_us = min(
        [request.issued_us for request in text if request.phase] + [seen.issued_us for seen in of_io[:1]], default=0
    )
    of_text = Counter(_of_request(request) for request in text if request.issued_us >= from_us)
    counted = Counter(of_io)
    return Agreement(
        both=(of_text & counted).total(),
        only_text=tuple(sorted((of_text - counted).elements())),
        only_io=tuple(sorted((counted - of_text).elements())),
    )


def _of_request(request: Request) -> Seen:
    return Seen(
        request.issued_us, request.completed_us, request.kind.value, request.forced, request.metadata, request.sector,
        request.sectors,
    )  # fmt: skip


def _of_line(number: int, line: str) -> list[Seen]:
    """Return the request of a line, none if it is an fsync."""
    try:
        record = json.loads(line)
        event, flags = record["event"], record["flags"].split("+")
        issued_ns, length_bytes = int(record["time_ns"]), int(record["bytes"])
        ended_ns = issued_ns + int(record["latency_ns"])
        seen = Seen(
            _us(issued_ns), _us(ended_ns), record["kind"], "fua" in flags, "metadata" in flags, int(record["sector"]),
            length_bytes // SECTOR_BYTES,
        )  # fmt: skip
        whole = record["seen"] == "whole"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LabError(f"line {number} of airbound-phone io is no record ({error!r}): {line.rstrip()!r}") from error
    if event == "fsync":
        return []
    if event != "request" or not whole:
        raise LabError(f"line {number} of airbound-phone io is a gap, or a part of a request: {line.rstrip()!r}")
    return [seen]


def _us(at_ns: int) -> int:
    """As the kernel prints it (ns2usecs)."""
    return (at_ns + NS_PER_US // 2) // NS_PER_US
