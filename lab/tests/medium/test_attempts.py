# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError, UsageError
from airbound_lab.medium import attempts
from airbound_lab.medium.attempts import Attempt
from airbound_lab.records import ring_buffer

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import MakeAttempt

ZERO_NS = 5_000_000_000
FORMAT = """name: dcf_attempt
ID: 900
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u64 head_since_ns;	offset:8;	size:8;	signed:0;
	field:u64 start_ns;	offset:16;	size:8;	signed:0;
	field:u32 airtime_ns;	offset:24;	size:4;	signed:0;
	field:u32 bytes;	offset:28;	size:4;	signed:0;
	field:u16 station;	offset:32;	size:2;	signed:0;
	field:u16 contenders;	offset:34;	size:2;	signed:0;
	field:u16 rate_100kbps;	offset:36;	size:2;	signed:0;
	field:u8 category;	offset:38;	size:1;	signed:0;
	field:u8 attempt;	offset:39;	size:1;	signed:0;
	field:u8 failed;	offset:40;	size:1;	signed:0;
	field:u8 mpdus;	offset:41;	size:1;	signed:0;
	field:u8 mpdus_received;	offset:42;	size:1;	signed:0;

print fmt: "..."
"""


def record(attempt: Attempt, *, category: int = 2) -> bytes:
    """The event's bytes with a header."""
    times = (ZERO_NS + attempt.head_since_ns, ZERO_NS + attempt.start_ns, attempt.airtime_ns, attempt.bytes)
    small = (attempt.station, attempt.contenders, attempt.rate_100kbps, category, attempt.attempt)
    small += (attempt.outcome != "delivered", attempt.mpdus, attempt.mpdus_received)
    data = struct.pack("=Hxxi", 900, 0) + struct.pack("=QQII", *times) + struct.pack("=HHHBBBBBx", *small)
    return struct.pack("=I", len(data) // 4) + data


def page(*records: bytes) -> bytes:
    data = b"".join(records)
    return (struct.pack("=QQ", ZERO_NS, len(data)) + data).ljust(ring_buffer.PAGE_BYTES, b"\0")


def test_attempts_are_relative_to_time_zero_and_collide_if_they_begin_together(attempt: MakeAttempt) -> None:
    alone, lost = (
        attempt(100, 3, mpdus=40, mpdus_received=38),
        attempt(900, outcome="loss", attempt=2, rate_100kbps=60, airtime_ns=2_000_000),
    )
    first, second = attempt(500, 0, outcome="loss", bytes=88), attempt(500, 7, outcome="loss", contenders=3)
    pages = page(record(alone), record(first)) + page(record(second), record(lost))
    collided = [replace(one, outcome="collision") for one in (first, second)]
    assert attempts.parse(pages, FORMAT, ZERO_NS) == [alone, *collided, lost]
    assert attempts.accesses([alone, *collided, lost]) == [[alone], collided, [lost]]
    assert alone.end_ns == 400_000


def test_a_broadcast_that_collides_has_no_ack_to_miss(attempt: MakeAttempt) -> None:
    found = attempts.parse(page(record(attempt(1, 0)), record(attempt(1, 1))), FORMAT, ZERO_NS)
    assert [one.outcome for one in found] == ["collision", "collision"]


@pytest.mark.parametrize(
    ("pages", "event_format", "message"),
    [
        (b"\0" * 100, FORMAT, "medium trace: 100 bytes are no pages of 4096"),
        (page(), FORMAT.replace("u8 failed", "u8 missed"), "medium trace: the event's format has no failed"),
    ],
)
def test_what_is_no_recording_is_refused(pages: bytes, event_format: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        attempts.parse(pages, event_format, ZERO_NS)


def test_a_record_of_no_queue_is_refused(attempt: MakeAttempt) -> None:
    with pytest.raises(LabError, match="medium trace: page 0: a record of queue 4"):
        attempts.parse(page(record(attempt(1), category=4)), FORMAT, ZERO_NS)


ANY = st.builds(
    Attempt,
    start_ns=st.integers(0, 2**40),
    head_since_ns=st.integers(-(2**40), 2**40),
    airtime_ns=st.integers(1, 2**32 - 1),
    station=st.integers(0, 127),
    category=st.sampled_from(attempts.CATEGORIES),
    bytes=st.integers(1, 2**32 - 1),
    rate_100kbps=st.integers(1, 8666),
    attempt=st.integers(1, 255),
    outcome=st.sampled_from(["delivered", "collision", "loss"]),
    contenders=st.integers(1, 512),
    mpdus=st.integers(0, 64),
    mpdus_received=st.integers(0, 64),
)


@given(found=st.lists(ANY, min_size=1, max_size=5))
def test_a_file_is_read_back_as_it_was_written(found: list[Attempt], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("medium") / "medium.csv"
    path.write_text(attempts.to_csv(found), encoding="utf-8")
    assert attempts.load(path) == found


HEADER = ",".join(attempts.FIELDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not start_ns,head_since_ns"),
        ("a,b\n", "line 1: not start_ns,head_since_ns"),
        (f"{HEADER}\n", "no attempt"),
        (f"{HEADER}\n1,2\n", "line 2: not 12 values"),
        (f"{HEADER}\nx,0,1,1,BE,1,1,1,delivered,1,0,1\n", "line 2: start_ns: 'x': "),
        (f"{HEADER}\n0,0,1,1,BE,1,1,1,delivered,1,0,1\n0,0,1,1,BE,1,1,1,lost,1,0,0\n", "line 3: outcome: 'lost': "),
        (f"{HEADER}\n0,0,0,1,BE,1,1,1,delivered,1,0,1\n", "line 2: airtime_ns: '0': "),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "medium.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        attempts.load(path)
    assert str(raised.value).startswith(f"{path}: {message}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nowhere"):
        attempts.load(tmp_path / "nowhere")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"cannot read .*bytes"):
        attempts.load(tmp_path / "bytes.csv")
