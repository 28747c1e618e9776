# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 of a hostile peer: a well-formed call among frames that are not (RFC 9113, RFC 7541), and gRPC messages whose
prefix, compression or content is wrong. All of it follows from the random numbers that are given.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2

from airbound.v1 import (
    access_point_pb2,
    enrollment_pb2,
    events_pb2,
    live_pb2,
    operations_pb2,
    pki_pb2,
    replicas_pb2,
    switch_pb2,
    terminal_pb2,
)
from airbound_testing.abuse import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    FRAME_HEADER_OCTETS,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    call,
    fields,
    frame,
    settings,
)

PUSH_PROMISE, GOAWAY = 5, 7
END_STREAM, PADDED, HAS_PRIORITY = 1, 8, 32
WINDOW_MAX = 2**31 - 1
STREAMS = (0, 1, 1, 1, 2, 3, 5, 2**31 - 1, 2**31)
DEPTH_MAX = 3  # of messages in messages
REPEATED_MAX = 3
FLIPS_MAX = 8

_FILES = (
    access_point_pb2, enrollment_pb2, events_pb2, live_pb2, operations_pb2, pki_pb2, replicas_pb2, switch_pb2,
    terminal_pb2, health_pb2,
)  # fmt: skip
_NO_CALLS = ("/no.such.Service/Call", "", "no slash", "/airbound.v1.TerminalService/Connect\x00")
_CHANGE = {"SetMode", "ExemptTerminal", "SetClass", "IssueToken", "Revoke", "MoveCell"}
"""With an operator's certificate these would do what they are asked to."""


def _calls() -> Iterator[tuple[str, type[Message] | None]]:
    for file in _FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                if method.name not in _CHANGE:
                    yield f"/{service.full_name}/{method.name}", GetMessageClass(method.input_type)
    yield from ((path, None) for path in _NO_CALLS)


CALLS = dict(_calls())
"""Paths, and what is sent there; nothing in particular where there is no such call."""

_INTEGERS = (0, 1, 2, 7, 1_000, 65_535, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, -1, -(2**31), -(2**63))
_FLOATS = (0.0, -1.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", "x", "\x1b[31m\r\n", "\u202e", "x" * 300, "02:00:00:00:00:01", "\x00", "\U0001f600")
_OCTET_LENGTHS = (0, 1, 4, 6, 6, 6, 16, 200)
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1), FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1), FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}  # fmt: skip


def content(dice: Random, path: str) -> bytes:
    """A message for a path, with any values; octets for a path that has none."""
    kind = CALLS[path]
    if kind is None:
        return dice.randbytes(dice.randrange(64))
    made = kind()
    _fill(dice, made, 0)
    octets = made.SerializeToString(deterministic=True)
    return flipped(dice, octets) if dice.random() < 0.5 else octets  # noqa: PLR2004


def _fill(dice: Random, message: Any, depth: int) -> None:
    described: Descriptor = message.DESCRIPTOR
    for field in described.fields:
        if dice.random() < 0.4:  # noqa: PLR2004  # so that a deep one ends
            continue
        name, repeated = field.name, field.label == FieldDescriptor.LABEL_REPEATED
        if field.message_type is None:
            if repeated:
                getattr(message, name).extend(_scalar(dice, field) for _ in range(dice.randrange(REPEATED_MAX + 1)))
            else:
                setattr(message, name, _scalar(dice, field))
        elif field.message_type.GetOptions().map_entry or depth == DEPTH_MAX:
            continue
        elif repeated:
            for _ in range(dice.randrange(REPEATED_MAX + 1)):
                _fill(dice, getattr(message, name).add(), depth + 1)
        else:
            getattr(message, name).SetInParent()
            _fill(dice, getattr(message, name), depth + 1)


def _scalar(dice: Random, field: FieldDescriptor) -> object:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return dice.random() < 0.5  # noqa: PLR2004
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return dice.choice(_FLOATS)
        case FieldDescriptor.CPPTYPE_STRING:
            octets = dice.randbytes(dice.choice(_OCTET_LENGTHS))
            return octets if field.type == FieldDescriptor.TYPE_BYTES else dice.choice(_TEXTS)
        case kind:
            least, most = _RANGES[kind]
            return min(max(dice.choice((*_INTEGERS, dice.randrange(100_000))), least), most)


def flipped(dice: Random, octets: bytes) -> bytes:
    """With some bits changed, and sometimes cut off."""
    changed = bytearray(octets)
    for _ in range(dice.randrange(1, FLIPS_MAX) if octets else 0):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed[: dice.randrange(len(changed) + 1)] if dice.random() < 0.3 else changed)  # noqa: PLR2004


def message(dice: Random, path: str, stream: int = 1) -> bytes:
    """A gRPC message whose prefix may be wrong, in frames of any size."""
    octets = content(dice, path)
    packed = zlib.compress(octets, wbits=31)
    length = dice.choice((len(octets),) * 4 + (0, len(octets) + 1, len(octets) // 2, 2**24, 2**31, 2**32 - 1))
    whole = dice.choice((
        struct.pack(">BI", 0, length) + octets,
        struct.pack(">BI", dice.choice((1, 2, 255)), len(octets)) + octets,
        struct.pack(">BI", 1, len(packed)) + packed,
        struct.pack(">BI", 0, len(octets)) + octets,
        struct.pack(">BI", 0, len(octets))[: dice.randrange(5)],
    ))  # fmt: skip
    flags, cut = dice.choice((0, 0, 0, END_STREAM)), dice.randrange(len(whole) + 1)
    if dice.random() < 0.5:  # noqa: PLR2004
        return frame(DATA, whole, flags, stream)
    return frame(DATA, whole[:cut], 0, stream) + frame(DATA, whole[cut:], flags, stream)


def block(dice: Random, path: str) -> bytes:
    """A header block: that of a call, changed, or none at all."""
    good = call(path)[FRAME_HEADER_OCTETS:]
    name = dice.choice((b":method", b":path", b":status", b":x", b"Upper", b"connection", b"te", b"grpc-encoding", b""))
    value = dice.choice((b"", b"gzip", b"\x00\r\n", b"x" * 100, b"x" * 126, b"/", b"deflate, gzip"))
    literal = b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
    return dice.choice((
        good + literal,
        literal + good,
        good + literal * dice.randrange(100),
        flipped(dice, good),
        good[: dice.randrange(len(good))],
        good * 2,
        dice.randbytes(dice.randrange(200)),
        bytes([0x80 | dice.randrange(128)]) * dice.randrange(1, 100),  # indexed fields
        b"\xff" + b"\x80" * dice.randrange(1, 20) + b"\x01",  # an index without end
        b"\x3f" + b"\xff" * dice.randrange(1, 6) + b"\x0f" + good,  # a dynamic table of any size
        b"\x20" * dice.randrange(1, 50) + good,
        b"\x40\x01a\x7f" + b"\xff" * dice.randrange(1, 6) + b"\x0f",  # a value of any length
        b"\x40\x81" + dice.randbytes(1) + b"\x81" + dice.randbytes(1) + good,  # Huffman's code
        b"".join(b"\x40\x02%02d\x7f\x81\x01" % (number % 100) + b"x" * 256 for number in range(dice.randrange(60))),
    ))  # fmt: skip


def odd(dice: Random, path: str) -> bytes:
    """Frames that no peer should send, or not so many of."""
    stream, count = dice.choice(STREAMS), dice.randrange(1, 200)
    garbage = dice.randbytes(dice.choice((0, 1, 3, 4, 5, 6, 8, 9, 300)))
    update = dice.choice((garbage, struct.pack(">I", dice.choice((0, 1, WINDOW_MAX, 2**31)))))
    one = struct.pack(
        ">HI", dice.choice((*range(10), 65_535)), dice.choice((0, 1, 2**24, WINDOW_MAX, 2**31, 2**32 - 1))
    )
    makes: tuple[Callable[[], bytes], ...] = (
        lambda: frame(dice.randrange(256), garbage, dice.randrange(256), stream),
        lambda: struct.pack(">I", dice.choice((0, 1, 16_385, 2**24 - 1)))[1:]
        + struct.pack(">BBI", dice.randrange(10), dice.randrange(256), stream) + garbage,
        lambda: frame(DATA, garbage, dice.choice((0, END_STREAM, PADDED)), stream),
        lambda: frame(DATA, b"\xff" + garbage, PADDED, 1),
        lambda: frame(DATA, b"", 0, 1) * count,
        lambda: frame(HEADERS, block(dice, path), dice.choice((0, END_HEADERS, END_HEADERS | END_STREAM)), stream),
        lambda: frame(HEADERS, garbage, END_HEADERS | HAS_PRIORITY | PADDED, stream),
        lambda: call(path, dice.choice(STREAMS)) * dice.randrange(1, 4),
        lambda: frame(CONTINUATION, garbage, dice.choice((0, END_HEADERS)), stream),
        lambda: frame(HEADERS, block(dice, path), 0, dice.choice((3, 5)))
        + frame(CONTINUATION, fields(dice.randrange(100)), 0, 3) * (count // 4)
        + frame(CONTINUATION, b"", END_HEADERS, 3),
        lambda: frame(HEADERS, b"", 0, 3) + frame(CONTINUATION, b"", 0, 3) * count,
        lambda: frame(PRIORITY, dice.choice((garbage, struct.pack(">IB", stream, 255))), 0, stream),
        lambda: frame(RST_STREAM, dice.choice((garbage, struct.pack(">I", dice.randrange(20)))), 0, stream),
        lambda: b"".join(
            call(path, number) + frame(RST_STREAM, struct.pack(">I", 8), 0, number)
            for number in range(7, 7 + 2 * count, 2)
        ),
        lambda: frame(SETTINGS, one * dice.randrange(1, 20), dice.choice((0, 0, ACK)), dice.choice((0, 0, stream))),
        lambda: frame(SETTINGS, garbage, dice.choice((0, ACK))),
        lambda: settings(65_535) * count,
        lambda: frame(PUSH_PROMISE, struct.pack(">I", 2) + garbage, END_HEADERS, stream),
        lambda: frame(PING, dice.choice((bytes(8), garbage)), dice.choice((0, ACK)), dice.choice((0, 0, stream))),
        lambda: frame(PING, bytes(8)) * count,
        lambda: frame(GOAWAY, dice.choice((garbage, struct.pack(">II", WINDOW_MAX, 0) + garbage))),
        lambda: frame(WINDOW_UPDATE, update, 0, stream),
        lambda: frame(WINDOW_UPDATE, struct.pack(">I", WINDOW_MAX), 0, dice.choice((0, 1))) * 2,
        lambda: frame(WINDOW_UPDATE, struct.pack(">I", 1), 0, dice.choice((0, 1))) * count,
        lambda: message(dice, path, dice.choice((1, 1, 3))),
        lambda: PREFACE,
    )  # fmt: skip
    return dice.choice(makes)()


def conversation(dice: Random, services: tuple[str, ...]) -> tuple[str, list[bytes]]:
    """The path of a call, most often of one of these services, and what a connection sends: the call with its messages,
    odd frames before, among or after them, or a preface that is none.
    """
    own = tuple(path for path in CALLS if path.split("/")[1:2] and path.split("/")[1].endswith(services))
    path = dice.choice(own if dice.random() < 0.8 else tuple(CALLS))  # noqa: PLR2004
    return path, [octets for octets in _conversation(dice, path) if octets]


def _conversation(dice: Random, path: str) -> Iterator[bytes]:
    if dice.random() < 0.1:  # noqa: PLR2004
        yield dice.choice(
            (flipped(dice, PREFACE), PREFACE[:-1], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", dice.randbytes(50))
        )
    else:
        yield PREFACE
    parts = [settings()] if dice.random() < 0.9 else []  # noqa: PLR2004
    parts.append(call(path))
    parts += [message(dice, path) for _ in range(dice.randrange(4))]
    for _ in range(dice.randrange(4)):
        parts.insert(dice.randrange(len(parts) + 1), odd(dice, path))
    yield from parts
