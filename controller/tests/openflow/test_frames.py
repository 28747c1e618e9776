# SPDX-License-Identifier: Apache-2.0

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.reasons import Code, Reason, RefusedError
from airbound.openflow import frames
from airbound.openflow.frames import LENGTH_MAX, Header, Type


def head(version: int = 4, number: int = 10, length: int = 64) -> bytes:
    return struct.pack("!BBHI", version, number, length, 1)


def refusal(octets: bytes, *, first: bool = False) -> Reason:
    with pytest.raises(RefusedError) as caught:
        frames.header(octets, first=first)
    return caught.value.reason


def test_what_a_switch_sends_is_taken() -> None:
    assert frames.header(head(6, 0, 16), first=True) == Header(6, Type.HELLO, 16)
    for kind in Type:
        assert frames.header(head(4, kind, LENGTH_MAX[kind]), first=False).type is kind


@pytest.mark.parametrize(
    ("octets", "first", "reason"),
    [
        (head(4, 10), True, Reason(Code.MALFORMED, "OpenFlow message of type 10 before a hello")),
        (head(1, 0, 8), True, Reason(Code.SWITCH_VERSION, after=1, limit=4)),
        (head(0x84, 0, 8), True, Reason(Code.SWITCH_VERSION, after=0x84, limit=4)),
        (head(1, 10), False, Reason(Code.SWITCH_VERSION, after=1, limit=4)),
        (head(6, 10), False, Reason(Code.SWITCH_VERSION, after=6, limit=4)),
        (head(4, 14), False, Reason(Code.MALFORMED, "OpenFlow message of type 14")),
        (head(4, 200), False, Reason(Code.MALFORMED, "OpenFlow message of type 200")),
        (head(4, 10, 7), False, Reason(Code.MALFORMED, "OpenFlow message of 7 octets")),
        (head(4, 10, 2_049), False, Reason(Code.TOO_LARGE, after=2_049, limit=2_048)),
        (head(4, 2, 257), False, Reason(Code.TOO_LARGE, after=257, limit=256)),
    ],
)
def test_what_is_not_taken(octets: bytes, first: bool, reason: Reason) -> None:  # noqa: FBT001
    assert refusal(octets, first=first) == reason


@given(st.binary(min_size=8, max_size=8), st.booleans())
def test_any_header_is_taken_or_refused(octets: bytes, first: bool) -> None:  # noqa: FBT001
    try:
        found = frames.header(octets, first=first)
    except RefusedError:
        return
    assert 8 <= found.length <= LENGTH_MAX[found.type]


def test_the_datapath_of_a_features_reply() -> None:
    reply = head(4, 6, 32) + struct.pack("!QIBB2xII", 7, 0, 254, 0, 0, 0)
    assert frames.datapath_id(reply) == 7
    for wrong in (reply[:-1], reply[:8] + bytes(24)):
        with pytest.raises(RefusedError):
            frames.datapath_id(wrong)
