# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import edca_trace
from airbound_lab.edca_trace import QueueSetting
from airbound_lab.errors import LabError

ZERO_US = 5_000_000
ZERO_NS = ZERO_US * 1000
EVENT = 741
FORMAT = f"""name: drv_conf_tx
ID: {EVENT}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char wiphy_name[32];	offset:8;	size:32;	signed:0;
	field:__data_loc char[] vif_name;	offset:40;	size:4;	signed:0;
	field:u16 ac;	offset:44;	size:2;	signed:0;
	field:u16 txop;	offset:46;	size:2;	signed:0;
	field:u16 cw_min;	offset:48;	size:2;	signed:0;
	field:u16 cw_max;	offset:50;	size:2;	signed:0;
	field:u8 aifs;	offset:52;	size:1;	signed:0;

print fmt: "%s"
"""
NAME_AT = 56


def record(setting: QueueSetting, event: int = EVENT) -> bytes:
    """The event's bytes, whole words."""
    name = setting.interface.encode() + b"\0"
    location = NAME_AT | len(name) << 16
    numbers = (edca_trace.CATEGORIES.index(setting.category), setting.txop_limit, setting.cw_min, setting.cw_max)
    head = struct.pack("=HHi32sIHHHHB3x", event, 0, 1, b"phy0", location, *numbers, setting.aifsn)
    return head + name + b"\0" * (-len(head + name) % 4)


def short(data: bytes, delta_ns: int = 0) -> bytes:
    """A record whose header has its length."""
    return struct.pack("=I", len(data) // 4 | delta_ns << 5) + data


def long(data: bytes, delta_ns: int = 0, kind: int = 0) -> bytes:
    """A record whose length follows its header."""
    return struct.pack("=II", kind | delta_ns << 5, len(data) + 4) + data


def page(*records: bytes, time_ns: int = ZERO_NS, flags: int = 0) -> bytes:
    """A page of the ring buffer."""
    data = b"".join(records)
    return (struct.pack("=QQ", time_ns, len(data) | flags) + data).ljust(edca_trace.PAGE_BYTES, b"\0")


def parse(*pages: bytes) -> list[QueueSetting]:
    return edca_trace.parse(b"".join(pages), FORMAT, ZERO_US)


FIRST = QueueSetting(0.0, "wlan0", "BE", 4, 15, 1023, 0)
SECOND = QueueSetting(0.001, "wlan13", "VO", 2, 3, 7, 47)


def test_each_setting_has_its_time_its_queue_and_its_values() -> None:
    assert parse(page(short(record(FIRST)), short(record(SECOND), 1_000_000))) == [FIRST, SECOND]
    assert FIRST.parameters == (4, 15, 1023, 0)


def test_a_record_may_have_its_length_after_its_header() -> None:
    assert parse(page(long(record(FIRST)), long(record(SECOND), 1_000_000))) == [FIRST, SECOND]


def test_pages_follow_one_another_each_with_its_own_time() -> None:
    assert parse(page(short(record(FIRST))), page(short(record(SECOND)), time_ns=ZERO_NS + 1_000_000)) == [
        FIRST, SECOND,
    ]  # fmt: skip
    assert parse() == parse(page()) == []


@given(st.integers(0, 2**59 - 1))
def test_long_pauses_are_added_and_stamps_replace_the_time(pause_ns: int) -> None:
    halves = struct.pack("=II", 30 | (pause_ns & (2**27 - 1)) << 5, pause_ns >> 27 & (2**32 - 1))
    [setting] = parse(page(halves, short(record(FIRST), 7)))
    assert setting.t_s == (pause_ns + 7) // 1000 / 1e6
    stamp = struct.pack("=II", 31 | (pause_ns & (2**27 - 1)) << 5, pause_ns >> 27 & (2**32 - 1))
    [setting] = parse(page(stamp, short(record(FIRST), 7)))
    assert setting.t_s == ((pause_ns + 7) // 1000 - ZERO_US) / 1e6


def test_padding_is_skipped_with_its_time_and_ends_a_page_without_one() -> None:
    padding = long(b"\xff" * 12, 400_000, kind=29)
    assert parse(page(short(record(FIRST)), padding, short(record(SECOND), 600_000))) == [FIRST, SECOND]
    assert parse(page(short(record(FIRST)), struct.pack("=I", 29), b"\xff" * 8)) == [FIRST]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        (b"\0" * 100, "100 bytes are no pages of 4096"),
        (page(short(record(FIRST)), flags=1 << 31), "page 0: records before it are missing"),
        (page() + page(flags=4081), "page 1: 4081 bytes of data do not fit"),
        (page(short(record(FIRST)), struct.pack("=I", 20)), "page 0: a record goes beyond the page's data"),
        (page(struct.pack("=II", 0, 3)), "page 0: a record of 3 bytes"),
        (page(short(record(FIRST, event=742))), "page 0: a record of event 742"),
        (page(short(record(FIRST)[:44])), "page 0: a record of 44 bytes without ac"),
        (page(short(record(FIRST)[:44] + b"\4\0" + record(FIRST)[46:])), "page 0: a record of queue 4"),
    ],
)
def test_what_is_no_record_is_refused(pages: bytes, message: str) -> None:
    with pytest.raises(LabError) as raised:
        parse(pages)
    assert str(raised.value) == f"EDCA trace: {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("u16 ac;", "u16 queue;", "has no ac as"),
        ("field:u8 aifs;	offset:52;	size:1;", "field:u16 aifs;	offset:52;	size:2;", "has no aifs as"),
        ("ID: ", "Id: ", "has no ID as"),
    ],
)
def test_another_kernels_format_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        edca_trace.parse(b"", FORMAT.replace(old, new), ZERO_US)


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_bytes_are_read_or_refused(data: bytes, length: int) -> None:
    try:
        settings = parse((struct.pack("=QQ", ZERO_NS, length) + data).ljust(edca_trace.PAGE_BYTES, b"\0"))
    except LabError:
        return
    assert all(setting.category in edca_trace.CATEGORIES for setting in settings)


@given(st.binary(min_size=56, max_size=112))
def test_a_record_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    whole = struct.pack("=H", EVENT) + data[2:] + b"\0" * (-len(data) % 4)
    try:
        [setting] = parse(page(short(whole)))
    except LabError:
        return
    assert 0 <= setting.aifsn < 2**8
    assert max(setting.cw_min, setting.cw_max, setting.txop_limit) < 2**16
