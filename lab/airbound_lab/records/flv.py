# SPDX-License-Identifier: Apache-2.0
"""Reads what nginx's RTMP module recorded, an FLV file, for where in it each frame of video ends; pure.

Format: Adobe, "Video File Format Specification", version 10: a header of 9 bytes and 4 of the size of no tag; then
tags, each a type, a size (3 bytes), a time in ms (3 bytes, then its highest), a stream (3 bytes), the data, and the
size of all that (4 bytes). Data of AVC begins with the frame's kind and codec, the packet's kind, and by how much the
frame is to be shown later than the tag's time (3 bytes, signed).
"""

from __future__ import annotations

from dataclasses import dataclass

from airbound_lab.errors import LabError

HEADER_BYTES = 13
TAG_HEADER_BYTES, TAG_END_BYTES = 11, 4
VIDEO = 9
KEY_FRAME, AVC = 1, 7
SEQUENCE_HEADER, PICTURE = 0, 1
AVC_HEADER_BYTES = 5


@dataclass(frozen=True, slots=True)
class VideoTag:
    """A frame: where it ends in the file, and when it is to be shown."""

    end_bytes: int
    media_ms: int
    is_key: bool


def video_tags(data: bytes) -> list[VideoTag]:
    """Return the frames of a file; what is not whole at its end is left out.

    Raises:
        LabError: it is no FLV file, or has video that is not AVC.
    """
    if data and not data.startswith(b"FLV"[: len(data)]):
        raise LabError(f"not an FLV file: it begins with {data[:8].hex()}")
    tags, at = list[VideoTag](), HEADER_BYTES
    while at + TAG_HEADER_BYTES <= len(data):
        size_bytes = int.from_bytes(data[at + 1 : at + 4])
        body, end = at + TAG_HEADER_BYTES, at + TAG_HEADER_BYTES + size_bytes + TAG_END_BYTES
        if end > len(data):
            break
        if data[at] == VIDEO and size_bytes >= AVC_HEADER_BYTES:
            if data[body] & 0x0F != AVC:
                raise LabError(f"FLV file, byte {at}: video of codec {data[body] & 0x0F}, not {AVC} (AVC)")
            time_ms = int.from_bytes(data[at + 4 : at + 7]) | data[at + 7] << 24
            if data[body + 1] == PICTURE:
                later_ms = int.from_bytes(data[body + 2 : body + 5], signed=True)
                tags.append(VideoTag(end - TAG_END_BYTES, time_ms + later_ms, data[body] >> 4 == KEY_FRAME))
        at = end
    return tags
