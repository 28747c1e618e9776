# SPDX-License-Identifier: Apache-2.0
"""Records of a trace event from pages of the kernel's ring buffer; pure.

The guest stores the pages, and the event's format (guest/event_traces.py). A page, as include/linux/ring_buffer.h and
events/header_page in tracefs have it, in the machine's own byte order:

    u64 time stamp in ns | u64 bytes of data, and flags | data

and its data is a sequence of records, each with a header u32 of which the lowest 5 bits are its type and the others
the time in ns since the record before:

    1..28     an event of 4 times so many bytes
    0         an event; the next u32 is its length, with that u32
    29        padding; without a time, up to the page's end
    30        adds (the next u32 << 27) to the time
    31        the time since the clock's beginning, in the same form
"""

from __future__ import annotations

import re
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from airbound_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAGE_BYTES = 4096
PAGE_HEADER = struct.Struct("=QQ")
WORD = struct.Struct("=I")
TYPE_BITS, TIME_BITS = 5, 27
LENGTH_FOLLOWS, LARGEST_SHORT, PADDING, TIME_EXTEND, TIME_STAMP = 0, 28, 29, 30, 31
LENGTH_MASK = (1 << 20) - 1
"""The flags are above: records before this page were overwritten."""

EVENT = "common_type"
FIELD = re.compile(r"^\s*field:[^;]*?(\w+)(?:\[\w*\])?;\s*offset:(\d+);\s*size:(\d+);", re.MULTILINE)

EntryT = TypeVar("EntryT")


@dataclass(frozen=True, slots=True)
class Record:
    """One event."""

    time_ns: int
    """The time stamp, of the clock that the recording used."""
    data: bytes
    places: Mapping[str, tuple[int, int]]
    """Where each field is, and how many bytes it has."""

    def __getitem__(self, name: str) -> int:
        """Return a number of the record; ValueError if the record is too short."""
        start, size = self.places[name]
        if start + size > len(self.data):
            raise ValueError(f"a record of {len(self.data)} bytes without {name}")
        return int.from_bytes(self.data[start : start + size], sys.byteorder)


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event: its title in messages, and the fields that are read, with how many bytes each has."""

    title: str
    sizes: Mapping[str, int]


def read(event: Event, pages: bytes, event_format: str, make: Callable[[Record], EntryT]) -> list[EntryT]:
    """Make an entry of each record; `make` may raise ValueError.

    Raises:
        LabError: these are no such pages, records are missing, or the event has another format.
    """
    identifier, places = _layout(event, event_format)
    if len(pages) % PAGE_BYTES:
        raise LabError(f"{event.title}: {len(pages)} bytes are no pages of {PAGE_BYTES}")
    entries = []
    for at in range(0, len(pages), PAGE_BYTES):
        try:
            for time_ns, data in _records(pages[at : at + PAGE_BYTES]):
                entries.append(make(_checked(Record(time_ns, data, places), identifier)))
        except (struct.error, ValueError, IndexError) as error:
            raise LabError(f"{event.title}: page {at // PAGE_BYTES}: {error}") from error
    return entries


def _checked(record: Record, identifier: int) -> Record:
    if record[EVENT] != identifier:
        raise ValueError(f"a record of event {record[EVENT]}")
    return record


def _layout(event: Event, event_format: str) -> tuple[int, dict[str, tuple[int, int]]]:
    """The event's number, and where each field is."""
    identifier = re.search(r"^ID: (\d+)$", event_format, re.MULTILINE)
    places = {name: (int(offset), int(size)) for name, offset, size in FIELD.findall(event_format)}
    sizes = {EVENT: 2, **event.sizes}
    wrong = [name for name, size in sizes.items() if places.get(name, (0, 0))[1] != size]
    if wrong or identifier is None:
        raise LabError(f"{event.title}: the event's format has no {', '.join(wrong) or 'ID'} as it is read here")
    return int(identifier[1]), {name: places[name] for name in sizes}


def _records(page: bytes) -> list[tuple[int, bytes]]:
    """Each event of a page with its time; ValueError or struct.error if it is not a page."""
    time_ns, length = PAGE_HEADER.unpack_from(page)
    if length & ~LENGTH_MASK:
        raise ValueError("records before it are missing")
    at, end = PAGE_HEADER.size, PAGE_HEADER.size + length
    if end > len(page):
        raise ValueError(f"{length} bytes of data do not fit")
    records = []
    while at < end:
        (header,) = WORD.unpack_from(page, at)
        at += WORD.size
        kind, delta_ns = header & ((1 << TYPE_BITS) - 1), header >> TYPE_BITS
        if kind == PADDING and not delta_ns:
            break
        if kind in (TIME_EXTEND, TIME_STAMP):
            stamp_ns = (WORD.unpack_from(page, at)[0] << TIME_BITS) + delta_ns
            time_ns = stamp_ns if kind == TIME_STAMP else time_ns + stamp_ns
            at += WORD.size
            continue
        time_ns += delta_ns
        if LENGTH_FOLLOWS < kind <= LARGEST_SHORT:
            start, at = at, at + kind * WORD.size
        else:
            (bytes_,) = WORD.unpack_from(page, at)
            if bytes_ < WORD.size:
                raise ValueError(f"a record of {bytes_} bytes")
            start, at = at + WORD.size, at + bytes_
        if at > end:
            raise ValueError("a record goes beyond the page's data")
        if kind != PADDING:
            records.append((time_ns, page[start:at]))
    return records
