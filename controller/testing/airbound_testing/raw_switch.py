# SPDX-License-Identifier: Apache-2.0
"""A switch of which every octet is the test's: for what no switch of good will sends, and for what it answers to."""

import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airbound.core.reasons import Code

VERSION = 4
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY, PACKET_IN, FLOW_MOD = 0, 1, 2, 3, 5, 6, 10, 14
MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 18, 19, 20, 21
FLOW, METER, PORT_DESC = 1, 9, 13
WAIT_S = 120.0  # only a failure takes that long


def message(kind: int, body: bytes = b"", *, version: int = VERSION, length: int | None = None, xid: int = 1) -> bytes:
    """An OpenFlow message; its length may be a lie."""
    return struct.pack("!BBHI", version, kind, 8 + len(body) if length is None else length, xid) + body


def features_reply(datapath_id: int, xid: int = 1) -> bytes:
    """Who it is."""
    return message(FEATURES_REPLY, struct.pack("!QIBB2xII", datapath_id, 0, 254, 0, 0x4F, 0), xid=xid)


def packet_in(octets: bytes) -> bytes:
    """A copy of a packet: no match, no buffer."""
    body = struct.pack("!IHBBQHH4x2x", 0xFFFFFFFF, len(octets), 1, 2, 0, 1, 4) + octets
    return message(PACKET_IN, body)


GREETING = message(HELLO)
ANOTHERS = 0x0000020000000001
"""A datapath that is not that of the switch that sends it."""
HOSTILE: dict[str, tuple[bytes, Code]] = {
    "nothing but noise": (bytes(range(1, 256)) * 16, Code.MALFORMED),
    "version 1.0": (message(HELLO, version=1), Code.SWITCH_VERSION),
    "another version after the hello": (GREETING + message(ECHO_REQUEST, version=6), Code.SWITCH_VERSION),
    "no hello": (features_reply(2), Code.MALFORMED),
    "what a controller sends": (GREETING + message(FLOW_MOD, bytes(48)), Code.MALFORMED),
    "no such type": (GREETING + message(99), Code.MALFORMED),
    "a length below the header's": (GREETING + message(ECHO_REQUEST, length=3), Code.MALFORMED),
    "oversize": (GREETING + message(PACKET_IN, bytes(4_000)), Code.TOO_LARGE),
    "a long echo": (GREETING + message(ECHO_REQUEST, bytes(1_000)), Code.TOO_LARGE),
    "features of no length": (GREETING + message(FEATURES_REPLY, bytes(4)), Code.MALFORMED),
    "datapath 0": (GREETING + features_reply(0), Code.MALFORMED),
    "another's datapath": (GREETING + features_reply(ANOTHERS), Code.SWITCH_NOT_ITS_OWN),
    "two datapaths": (GREETING + features_reply(2) + features_reply(3), Code.SWITCH_NOT_ITS_OWN),
    "a flood of messages": (GREETING + message(ECHO_REPLY) * 5_000, Code.RATE_LIMITED),
    "a flood of statistics": (GREETING + message(MULTIPART_REPLY, bytes(8)) * 2_000, Code.RATE_LIMITED),
}
"""What a switch sends, and why it is refused."""


class RawSwitch:
    """A connection, in plain text unless there are files."""

    def __init__(self, port: int, files: Path | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
        self.flow_mods = 0
        self._octets = b""
        if files is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False  # as Open vSwitch
            context.load_verify_locations(files / "authorities.pem")
            if (files / "certificate.pem").exists():
                context.load_cert_chain(files / "certificate.pem", files / "key.pem")
            self.socket = context.wrap_socket(self.socket)

    def send(self, octets: bytes) -> None:
        """Send; nothing happens if the other end has closed."""
        with suppress(OSError):
            self.socket.sendall(octets)

    def messages(self, seconds: float) -> Iterator[tuple[int, int, bytes]]:
        """Type, xid and body of what comes within a time, until the other end closes."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            self.socket.settimeout(left_s)
            try:
                octets = self.socket.recv(1 << 16)
            except TimeoutError:
                return
            except OSError:
                octets = b""
            if not octets:
                return
            self._octets += octets
            while len(self._octets) >= 8:  # noqa: PLR2004  # a header
                _, kind, length, xid = struct.unpack_from("!BBHI", self._octets)
                if len(self._octets) < length:
                    break
                yield kind, xid, self._octets[8:length]
                self._octets = self._octets[length:]

    def serve(self, datapath_id: int, seconds: float, *, until_flow_mods: int = 0, without: int = -1) -> None:
        """Answer as a switch does that has no flows and no meters; `without` is a multipart that it does not answer."""
        self.send(message(HELLO))
        for kind, xid, body in self.messages(seconds):
            if kind == ECHO_REQUEST:
                self.send(message(ECHO_REPLY, body, xid=xid))
            elif kind == FEATURES_REQUEST:
                self.send(features_reply(datapath_id, xid))
            elif kind == MULTIPART_REQUEST:
                (what,) = struct.unpack_from("!H", body)
                if what == without:
                    continue
                parts = {0: bytes(1056), 11: bytes(16)}  # description, meter features
                self.send(message(MULTIPART_REPLY, struct.pack("!HH4x", what, 0) + parts.get(what, b""), xid=xid))
            elif kind == BARRIER_REQUEST:
                self.send(message(BARRIER_REPLY, xid=xid))
            elif kind == FLOW_MOD:
                self.flow_mods += 1
                if until_flow_mods and self.flow_mods >= until_flow_mods:
                    return

    def is_served(self, seconds: float = WAIT_S) -> bool:
        """Whether it is asked for statistics, as a live switch is each second."""
        for kind, xid, body in self.messages(seconds):
            if kind == ECHO_REQUEST:
                self.send(message(ECHO_REPLY, body, xid=xid))
            if kind == MULTIPART_REQUEST and body[:2] == b"\0\1":
                self.send(message(MULTIPART_REPLY, struct.pack("!HH4x", FLOW, 0), xid=xid))
                return True
        return False

    def is_closed(self, seconds: float = WAIT_S) -> bool:
        """Whether the other end closes within a time."""
        began_s = time.monotonic()
        for _ in self.messages(seconds):
            pass
        return time.monotonic() - began_s < seconds - 0.1

    def close(self) -> None:
        """End it."""
        self.socket.close()


@contextmanager
def raw_switch(port: int, files: Path | None = None) -> Iterator[RawSwitch]:
    """One that is closed in the end."""
    made = RawSwitch(port, files)
    try:
        yield made
    finally:
        made.close()
