# SPDX-License-Identifier: Apache-2.0
"""What was set on the radios' transmit queues in a run, from the kernel's trace event drv_conf_tx; pure.

The guest stores the pages of the kernel's ring buffer, and the event's format (guest/edca_trace.py). A page, as
include/linux/ring_buffer.h and events/header_page in tracefs have it, in the machine's own byte order:

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

from airbound_lab.errors import LabError

PAGE_BYTES = 4096
PAGE_HEADER = struct.Struct("=QQ")
WORD = struct.Struct("=I")
TYPE_BITS, TIME_BITS = 5, 27
LENGTH_FOLLOWS, LARGEST_SHORT, PADDING, TIME_EXTEND, TIME_STAMP = 0, 28, 29, 30, 31
LENGTH_MASK = (1 << 20) - 1
"""The flags are above: records before this page were overwritten."""

CATEGORIES = ("VO", "VI", "BE", "BK")
"""By mac80211's number."""

FIELD = re.compile(r"^\s*field:[^;]*?(\w+)(?:\[\w*\])?;\s*offset:(\d+);\s*size:(\d+);", re.MULTILINE)
SIZES = {"common_type": 2, "vif_name": 4, "ac": 2, "txop": 2, "cw_min": 2, "cw_max": 2, "aifs": 1}
"""What is read, and how many bytes it has. For vif_name, where the name is: offset in the lower half, length above."""

NS_PER_US, US_PER_S = 1000, 1e6


@dataclass(frozen=True, slots=True)
class QueueSetting:
    """One queue's EDCA parameters, as they were given to the driver."""

    t_s: float
    interface: str
    category: str
    aifsn: int
    cw_min: int
    cw_max: int
    txop_limit: int
    """In units of 32 us."""

    @property
    def parameters(self) -> tuple[int, int, int, int]:
        """AIFSN, CWmin, CWmax and TXOP limit."""
        return self.aifsn, self.cw_min, self.cw_max, self.txop_limit


def parse(pages: bytes, event_format: str, time_zero_us: int) -> list[QueueSetting]:
    """Read the stored pages; LabError if they are not such pages, or records are missing.

    `time_zero_us` is the run's time zero on the monotonic clock.
    """
    offsets = _offsets(event_format)
    if len(pages) % PAGE_BYTES:
        raise LabError(f"EDCA trace: {len(pages)} bytes are no pages of {PAGE_BYTES}")
    settings = []
    for at in range(0, len(pages), PAGE_BYTES):
        try:
            for time_ns, record in _records(pages[at : at + PAGE_BYTES]):
                t_s = (time_ns // NS_PER_US - time_zero_us) / US_PER_S
                settings.append(_setting(t_s, record, offsets))
        except (struct.error, ValueError, IndexError) as error:
            raise LabError(f"EDCA trace: page {at // PAGE_BYTES}: {error}") from error
    return settings


def _offsets(event_format: str) -> dict[str, int]:
    """Where each field is, and under "ID" the event's number."""
    identifier = re.search(r"^ID: (\d+)$", event_format, re.MULTILINE)
    fields = {name: (int(offset), int(size)) for name, offset, size in FIELD.findall(event_format)}
    wrong = [name for name, size in SIZES.items() if fields.get(name, (0, 0))[1] != size]
    if wrong or identifier is None:
        raise LabError(f"EDCA trace: the event's format has no {', '.join(wrong) or 'ID'} as it is read here")
    return {name: fields[name][0] for name in SIZES} | {"ID": int(identifier[1])}


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


def _setting(t_s: float, record: bytes, offsets: dict[str, int]) -> QueueSetting:
    def field(name: str) -> int:
        start = offsets[name]
        if start + SIZES[name] > len(record):
            raise ValueError(f"a record of {len(record)} bytes without {name}")
        return int.from_bytes(record[start : start + SIZES[name]], sys.byteorder)

    if field("common_type") != offsets["ID"]:
        raise ValueError(f"a record of event {field('common_type')}")
    if field("ac") >= len(CATEGORIES):
        raise ValueError(f"a record of queue {field('ac')}")
    where, length = field("vif_name") & 0xFFFF, field("vif_name") >> 16
    return QueueSetting(
        t_s,
        interface=record[where : where + length].split(b"\0")[0].decode("ascii"),
        category=CATEGORIES[field("ac")],
        aifsn=field("aifs"),
        cw_min=field("cw_min"),
        cw_max=field("cw_max"),
        txop_limit=field("txop"),
    )
