# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError
from airbound_lab.records import edca_trace, ring_buffer
from airbound_lab.records.edca_trace import QueueSetting

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


def record(setting: QueueSetting) -> bytes:
    """The event's bytes, whole words."""
    name = setting.interface.encode() + b"\0"
    location = NAME_AT | len(name) << 16
    numbers = (edca_trace.CATEGORIES.index(setting.category), setting.txop_limit, setting.cw_min, setting.cw_max)
    head = struct.pack("=HHi32sIHHHHB3x", EVENT, 0, 1, b"phy0", location, *numbers, setting.aifsn)
    return head + name + b"\0" * (-len(head + name) % 4)


def short(data: bytes, delta_ns: int = 0) -> bytes:
    """A record whose header has its length."""
    return struct.pack("=I", len(data) // 4 | delta_ns << 5) + data


def page(*records: bytes) -> bytes:
    """A page of the ring buffer."""
    data = b"".join(records)
    return (struct.pack("=QQ", ZERO_NS, len(data)) + data).ljust(ring_buffer.PAGE_BYTES, b"\0")


def parse(page: bytes) -> list[QueueSetting]:
    return edca_trace.parse(page, FORMAT, ZERO_US)


FIRST = QueueSetting(0.0, "wlan0", "BE", 4, 15, 1023, 0)
SECOND = QueueSetting(0.001, "wlan13", "VO", 2, 3, 7, 47)


def test_each_setting_has_its_time_its_queue_and_its_values() -> None:
    assert parse(page(short(record(FIRST)), short(record(SECOND), 1_000_000))) == [FIRST, SECOND]
    assert FIRST.parameters == (4, 15, 1023, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (record(FIRST)[:44], "a record of 44 bytes without ac"),
        (record(FIRST)[:44] + b"\4\0" + record(FIRST)[46:], "a record of queue 4"),
    ],
)
def test_what_is_no_setting_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(LabError) as raised:
        parse(page(short(data)))
    assert str(raised.value) == f"EDCA trace: page 0: {message}"


def test_another_kernels_format_is_refused() -> None:
    with pytest.raises(LabError, match="has no aifs as"):
        edca_trace.parse(
            b"", FORMAT.replace("u8 aifs;	offset:52;	size:1;", "u16 aifs;	offset:52;	size:2;"), ZERO_US
        )


@given(st.binary(min_size=56, max_size=112))
def test_a_record_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    whole = struct.pack("=H", EVENT) + data[2:] + b"\0" * (-len(data) % 4)
    try:
        [setting] = parse(page(short(whole)))
    except LabError:
        return
    assert 0 <= setting.aifsn < 2**8
    assert max(setting.cw_min, setting.cw_max, setting.txop_limit) < 2**16
