# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError
from airbound_lab.records import ring_buffer
from airbound_lab.records.ring_buffer import Event, Record

ZERO_NS = 5_000_000_000
NUMBERED = Event("a trace", {"number": 4})
FORMAT = """name: numbered
ID: 741
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u32 number;	offset:8;	size:4;	signed:0;

print fmt: "%u"
"""


def event(number: int, kind: int = 741) -> bytes:
    """The event's bytes, whole words."""
    return struct.pack("=HHiI", kind, 0, 1, number)


def short(data: bytes, delta_ns: int = 0) -> bytes:
    """A record whose header has its length."""
    return struct.pack("=I", len(data) // 4 | delta_ns << 5) + data


def long(data: bytes, delta_ns: int = 0, kind: int = 0) -> bytes:
    """A record whose length follows its header."""
    return struct.pack("=II", kind | delta_ns << 5, len(data) + 4) + data


def page(*records: bytes, time_ns: int = ZERO_NS, flags: int = 0) -> bytes:
    """A page of the ring buffer."""
    data = b"".join(records)
    return (struct.pack("=QQ", time_ns, len(data) | flags) + data).ljust(ring_buffer.PAGE_BYTES, b"\0")


def entry(record: Record) -> tuple[int, int]:
    """Nanoseconds since the first page's time, and the number."""
    return record.time_ns - ZERO_NS, record["number"]


def read(*pages: bytes, event_format: str = FORMAT) -> list[tuple[int, int]]:
    return ring_buffer.read(NUMBERED, b"".join(pages), event_format, entry)


def test_each_event_has_its_time() -> None:
    assert read(page(short(event(7)), short(event(8), 1_000))) == [(0, 7), (1_000, 8)]


def test_a_record_may_have_its_length_after_its_header() -> None:
    assert read(page(long(event(7)), long(event(8), 1_000))) == [(0, 7), (1_000, 8)]


def test_pages_follow_one_another_each_with_its_own_time() -> None:
    assert read(page(short(event(7))), page(short(event(8)), time_ns=ZERO_NS + 9)) == [(0, 7), (9, 8)]
    assert read() == read(page()) == []


@given(st.integers(0, 2**59 - 1))
def test_long_pauses_are_added_and_stamps_replace_the_time(pause_ns: int) -> None:
    halves = struct.pack("=II", 30 | (pause_ns & (2**27 - 1)) << 5, pause_ns >> 27 & (2**32 - 1))
    assert read(page(halves, short(event(1), 7))) == [(pause_ns + 7, 1)]
    stamp = struct.pack("=II", 31 | (pause_ns & (2**27 - 1)) << 5, pause_ns >> 27 & (2**32 - 1))
    assert read(page(stamp, short(event(1), 7))) == [(pause_ns + 7 - ZERO_NS, 1)]


def test_padding_is_skipped_with_its_time_and_ends_a_page_without_one() -> None:
    padding = long(b"\xff" * 12, 400, kind=29)
    assert read(page(short(event(7)), padding, short(event(8), 600))) == [(0, 7), (1_000, 8)]
    assert read(page(short(event(7)), struct.pack("=I", 29), b"\xff" * 8)) == [(0, 7)]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        (b"\0" * 100, "100 bytes are no pages of 4096"),
        (page(short(event(7)), flags=1 << 31), "page 0: records before it are missing"),
        (page() + page(flags=4081), "page 1: 4081 bytes of data do not fit"),
        (page(short(event(7)), struct.pack("=I", 20)), "page 0: a record goes beyond the page's data"),
        (page(struct.pack("=II", 0, 3)), "page 0: a record of 3 bytes"),
        (page(short(event(7, kind=742))), "page 0: a record of event 742"),
        (page(short(event(7)[:8])), "page 0: a record of 8 bytes without number"),
    ],
)
def test_what_is_no_record_is_refused(pages: bytes, message: str) -> None:
    with pytest.raises(LabError) as raised:
        read(pages)
    assert str(raised.value) == f"a trace: {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("u32 number;", "u32 count;", "has no number as"),
        ("offset:8;	size:4;", "offset:8;	size:8;", "has no number as"),
        ("ID: ", "Id: ", "has no ID as"),
    ],
)
def test_another_kernels_format_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        read(event_format=FORMAT.replace(old, new))


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_bytes_are_read_or_refused(data: bytes, length: int) -> None:
    try:
        found = read((struct.pack("=QQ", ZERO_NS, length) + data).ljust(ring_buffer.PAGE_BYTES, b"\0"))
    except LabError:
        return
    assert all(0 <= number < 2**32 for _, number in found)
