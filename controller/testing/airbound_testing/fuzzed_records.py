# SPDX-License-Identifier: Apache-2.0
"""TLS of a hostile peer, below any library: records and ClientHellos that are whole, cut off, of wrong lengths, or in
the wrong place (RFC 8446), and octets that are no TLS. All of it follows from the random numbers that are given.
"""

import struct
from random import Random
from typing import TYPE_CHECKING

from airbound_testing.abuse import PREFACE
from airbound_testing.fuzzed_frames import flipped

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA, HEARTBEAT = 20, 21, 22, 23, 24
HELLO_REQUEST, CLIENT_HELLO, CERTIFICATE, FINISHED, KEY_UPDATE = 0, 1, 11, 20, 24
TLS10, TLS12, TLS13 = 0x0301, 0x0303, 0x0304
RECORD_OCTETS_MAX = 16_384
_SUITES = (0x1301, 0x1302, 0x1303, 0xC02B, 0xC02F, 0x002F, 0x0000, 0x5600, 0x00FF, 0xFFFF)
_LENGTHS = (0, 1, 2, 255, 16_385, 65_535)


def record(kind: int, octets: bytes, version: int = TLS12, length: int | None = None) -> bytes:
    """A record; its length may be another one than that of its octets."""
    return struct.pack(">BHH", kind, version, len(octets) if length is None else length) + octets


def handshake(kind: int, octets: bytes, length: int | None = None) -> bytes:
    """A message of the handshake."""
    return bytes([kind]) + (len(octets) if length is None else length).to_bytes(3, "big") + octets


def _listed(octets: bytes, width: int = 2) -> bytes:
    return len(octets).to_bytes(width, "big") + octets


def _extension(kind: int, octets: bytes) -> bytes:
    return struct.pack(">H", kind) + _listed(octets)


def client_hello(dice: Random) -> bytes:
    """A ClientHello that a server may answer, most of the time."""
    odd: tuple[Callable[[], bytes], ...] = (
        lambda: _extension(42, b""),  # early data, without a key
        lambda: _extension(41, _listed(_listed(dice.randbytes(32)) + bytes(4)) + _listed(_listed(bytes(32), 1))),
        lambda: _extension(35, dice.randbytes(dice.randrange(300))),  # a ticket
        lambda: _extension(0xFF01, dice.randbytes(dice.randrange(5))),  # a renegotiation
        lambda: _extension(15, b"\x01"),  # heartbeats
        lambda: _extension(1, dice.randbytes(1)),  # the largest fragment
        lambda: _extension(28, dice.randbytes(2)),  # the largest record
        lambda: _extension(21, bytes(dice.randrange(2_000))),
        lambda: _extension(44, _listed(dice.randbytes(20))),  # a cookie that nobody gave
        lambda: _extension(dice.randrange(65_536), dice.randbytes(dice.randrange(100))),
        lambda: _extension(43, b"\x02" + struct.pack(">H", dice.choice((0x0300, TLS12, 0x7F1C, 0xFFFF)))),
        lambda: _extension(51, _listed(struct.pack(">H", 29) + _listed(dice.randbytes(dice.choice((0, 31, 32, 33)))))),
    )
    extensions = [
        _extension(0, _listed(b"\x00" + _listed(dice.choice((b"x", b"controller.airbound", b"\xff" * 300, b""))))),
        _extension(43, _listed(struct.pack(">HH", TLS13, TLS12), 1)),
        _extension(10, _listed(struct.pack(">HH", 29, 23))),
        _extension(13, _listed(struct.pack(">HHH", 0x0403, 0x0804, 0x0807))),
        _extension(51, _listed(struct.pack(">H", 29) + _listed(dice.randbytes(32)))),
        _extension(16, _listed(_listed(dice.choice((b"h2", b"http/1.1", b"", b"x" * 255)), 1))),
    ]
    for _ in range(dice.choice((0, 0, 1, 3, 30))):
        extensions.insert(dice.randrange(len(extensions) + 1), dice.choice(odd)())
    suites = b"".join(struct.pack(">H", dice.choice(_SUITES)) for _ in range(dice.choice((1, 3, 10, 300))))
    session = dice.randbytes(dice.choice((0, 32, 32, 33)))
    body = struct.pack(">H", TLS12) + dice.randbytes(32) + _listed(session, 1)
    body += _listed(struct.pack(">H", 0x1301) + suites) + b"\x01\x00" + _listed(b"".join(extensions))
    return handshake(CLIENT_HELLO, body)


def _hellos(dice: Random) -> bytes:
    """A ClientHello in records, with something wrong about it or not."""
    hello = client_hello(dice)
    cut = dice.randrange(1, len(hello))
    whole = record(HANDSHAKE, hello, TLS10)
    return dice.choice((
        whole,
        whole,
        whole[: 1 + cut],
        flipped(dice, whole),
        record(HANDSHAKE, flipped(dice, hello), TLS10),
        record(HANDSHAKE, hello, TLS10, dice.choice((*_LENGTHS, len(hello) - 1, len(hello) + 1))),
        record(HANDSHAKE, handshake(CLIENT_HELLO, hello[4:], dice.choice((0, 1, len(hello), 2**24 - 1))), TLS10),
        record(HANDSHAKE, hello[:cut], TLS10) + record(HANDSHAKE, hello[cut:], TLS10),
        b"".join(record(HANDSHAKE, bytes([octet]), TLS10) for octet in hello),
        record(HANDSHAKE, hello[:cut], TLS10) + record(ALERT, b"\x01\x00") + record(HANDSHAKE, hello[cut:], TLS10),
        record(HANDSHAKE, b"", TLS10) * dice.randrange(1, 100) + whole,
        record(HANDSHAKE, hello * 3, TLS10),
        record(HANDSHAKE, hello, dice.choice((0, 0x0200, 0x0300, 0x0305, 0xFFFF))),
        b"\x80\x2e\x01\x00\x02" + dice.randbytes(44),  # SSL 2
    ))  # fmt: skip


def _others(dice: Random) -> bytes:
    """Records that have no place there."""
    garbage = dice.randbytes(dice.choice((0, 1, 2, 16, 17, 300, RECORD_OCTETS_MAX)))
    count = dice.randrange(1, 100)
    return dice.choice((
        record(ALERT, bytes([dice.choice((0, 1, 2, 255)), dice.randrange(256)])),
        record(ALERT, b"\x01" + bytes([dice.randrange(1, 256)])) * count,
        record(ALERT, garbage[:300]),
        record(CHANGE_CIPHER_SPEC, b"\x01") * count,
        record(CHANGE_CIPHER_SPEC, garbage[:300]),
        record(APPLICATION_DATA, garbage),
        record(APPLICATION_DATA, b"") * count,
        record(APPLICATION_DATA, garbage, length=dice.choice(_LENGTHS)),
        record(HANDSHAKE, handshake(HELLO_REQUEST, b"")) * count,
        record(HANDSHAKE, client_hello(dice)),  # once more
        record(HANDSHAKE, handshake(dice.choice((CERTIFICATE, FINISHED, KEY_UPDATE, 255)), garbage[:300])),
        record(HEARTBEAT, b"\x01\xff\xff" + garbage[:16]),
        record(dice.randrange(256), garbage, dice.randrange(65_536)),
    ))  # fmt: skip


def no_tls(dice: Random) -> list[bytes]:
    """What a connection sends that is no TLS."""
    return [dice.choice((
        b"",
        dice.randbytes(dice.randrange(1, 5_000)),
        bytes(dice.randrange(1, 5_000)),
        PREFACE + dice.randbytes(50),
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + record(HANDSHAKE, client_hello(dice), TLS10),
        b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + dice.randbytes(12) + record(HANDSHAKE, client_hello(dice), TLS10),
        b"*1\r\n$4\r\nPING\r\n",
        b"\x16" * dice.randrange(1, 9),
    ))]  # fmt: skip


def records(dice: Random) -> list[bytes]:
    """What a connection sends that looks like TLS."""
    return [_hellos(dice), *(_others(dice) for _ in range(dice.randrange(5)))]
