# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError
from airbound_lab.records.flv import VideoTag, video_tags

HEADER = b"FLV\x01\x01\x00\x00\x00\x09\x00\x00\x00\x00"


def tag(data: bytes, time_ms: int, kind: int = 9) -> bytes:
    times = (time_ms & 0xFFFFFF).to_bytes(3) + (time_ms >> 24).to_bytes(1)
    whole = bytes([kind]) + len(data).to_bytes(3) + times + bytes(3) + data
    return whole + len(whole).to_bytes(4)


def picture(*, key: bool = False, later_ms: int = 0, payload: bytes = b"picture") -> bytes:
    return bytes([(1 if key else 2) << 4 | 7, 1]) + later_ms.to_bytes(3, signed=True) + payload


SEQUENCE_HEADER = bytes([0x17, 0, 0, 0, 0]) + b"parameters"


def test_each_picture_has_where_it_ends_and_when_it_is_shown() -> None:
    parts = [
        HEADER,
        tag(b"script", 0, kind=18),
        tag(SEQUENCE_HEADER, 0),
        tag(picture(key=True), 0),
        tag(b"\xaf\x01sound", 10, kind=8),
        tag(picture(later_ms=80), 40),
        tag(picture(later_ms=-40), 1 << 24),
    ]
    ends = [sum(map(len, parts[: number + 1])) - 4 for number in range(len(parts))]
    assert video_tags(b"".join(parts)) == [
        VideoTag(ends[3], 0, is_key=True),
        VideoTag(ends[5], 120, is_key=False),
        VideoTag(ends[6], (1 << 24) - 40, is_key=False),
    ]


def test_what_is_not_whole_is_left_out() -> None:
    whole = HEADER + tag(picture(key=True), 0) + tag(picture(), 40)
    assert [len(video_tags(whole[:end])) for end in (0, 2, 13, len(whole) - 1, len(whole))] == [0, 0, 0, 1, 2]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"RIFF____AVI ", r"not an FLV file: it begins with 524946465f5f5f5f"),
        (HEADER + tag(b"\x12\x01\x00\x00\x00", 0), r"byte 13: video of codec 2, not 7"),
    ],
)
def test_another_file_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(LabError, match=message):
        video_tags(data)


@given(st.binary(max_size=300))
def test_no_bytes_are_more_than_refused(data: bytes) -> None:
    for found in (data, HEADER + data):
        try:
            tags = video_tags(found)
        except LabError:
            continue
        assert [each.end_bytes for each in tags] == sorted(each.end_bytes for each in tags)
