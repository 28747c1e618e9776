# SPDX-License-Identifier: Apache-2.0
"""Peers that mean harm, by hand: below gRPC, whose own client does nothing of the kind. For tests, and as a process of
its own for the benchmark:

    python -m airbound_testing.abuse KIND TARGET COUNT SECONDS [FILES]

FILES is a directory with the certificate that the abuser has (certificate.pem, key.pem, authorities.pem).
"""

import asyncio
import contextlib
import json
import os
import ssl
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

from airbound.core.addresses import mac_from_text
from airbound.v1 import terminal_pb2

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
ACK, END_HEADERS = 1, 4
INITIAL_WINDOW_SIZE = 4
CLIENT_HELLO_BEGINS = bytes.fromhex("16030102000100")  # a record of 512 octets, of which these are two
AT_ONCE = 50
ALL_WITHIN = 4  # times the seconds that are given, for those of which so many are wanted in all
SLOW_READERS_MAC = "02:00:00:00:09:09"
PATH = "/airbound.v1.TerminalService/Connect"

Connected = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def call(path: str, stream: int = 1) -> bytes:
    """The header of a gRPC call: literal fields that are not indexed (RFC 7541, 6.2.2)."""
    fields = {
        ":method": "POST", ":scheme": "https", ":path": path, ":authority": "x", "te": "trailers",
        "content-type": "application/grpc",
    }  # fmt: skip
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )
    return frame(HEADERS, block, END_HEADERS, stream)


def message(octets: bytes, stream: int = 1) -> bytes:
    """A gRPC message in one frame."""
    return frame(DATA, struct.pack(">BI", 0, len(octets)) + octets, 0, stream)


def report(mac: str, sequence: int = 1) -> bytes:
    """A terminal's report."""
    made = terminal_pb2.TerminalReport(mac=mac_from_text(mac), sequence=sequence, monotonic_us=sequence)
    return terminal_pb2.TerminalServiceConnectRequest(report=made).SerializeToString()


def settings(window: int | None = None) -> bytes:
    """The client's first frame; with a window for each stream."""
    return frame(SETTINGS, b"" if window is None else struct.pack(">HI", INITIAL_WINDOW_SIZE, window))


def context(files: Path | None) -> ssl.SSLContext:
    """TLS with the certificate that is in a directory, or with none; nobody is verified."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if files is not None:
        made.load_cert_chain(files / "certificate.pem", files / "key.pem")
    made.set_alpn_protocols(["h2"])
    return made


class Abuser:
    """Opens connections to one port. `did` counts what was done, and what came of it."""

    def __init__(self, target: str, files: Path | None = None) -> None:
        host, _, port = target.rpartition(":")
        self._at = host.strip("[]"), int(port)
        self._files = files
        self.did = Counter[str]()
        self.open: list[asyncio.StreamWriter] = []

    async def plain(self, first: bytes = b"") -> Connected:
        """A TCP connection that sends so much and no more."""
        reader, writer = await asyncio.open_connection(*self._at)
        self._opened(writer)
        writer.write(first)
        return reader, writer

    async def secured(self, first: bytes = b"", *, certificate: bool = True) -> Connected:
        """The same after a TLS handshake; without a certificate it is the controller that ends it."""
        made = context(self._files if certificate else None)
        reader, writer = await asyncio.open_connection(*self._at, ssl=made)
        self._opened(writer)
        writer.write(first)
        return reader, writer

    def _opened(self, writer: asyncio.StreamWriter) -> None:
        self.did["opened"] += 1
        self.open.append(writer)

    async def half_open(self, number: int) -> Connected:
        """A connection that stops on the way to a call, in one of four places."""
        match number % 4 if self._files else number % 2:
            case 0:
                return await self.plain()
            case 1:
                return await self.plain(CLIENT_HELLO_BEGINS)
            case 2:
                return await self.secured()
            case _:
                return await self.secured(PREFACE + settings())

    async def handshake(self, _: int = 0) -> Connected:
        """A whole handshake that ends because no certificate was shown; TLS 1.3 has its client find out afterwards."""
        reader, writer = await self.secured(certificate=False)
        with contextlib.suppress(OSError):
            await reader.read()
        self.close(writer)
        return reader, writer

    async def garbage(self, number: int) -> Connected:
        """Octets that are no TLS, no HTTP/2 in TLS, or no message in a call."""
        noise, waits_s = os.urandom(2000), 10.0
        match number % 3 if self._files else 0:
            case 0:
                reader, writer = await self.plain(noise)
            case 1:
                reader, writer = await self.secured(noise)
                waits_s = 0.2  # gRPC waits for more until `handshake_s`
            case _:
                no_message = b"\xff" * 50
                reader, writer = await self.secured(PREFACE + settings() + call(PATH) + message(no_message))
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(waits_s):
                while (octets := await reader.read(65_536)) and b"grpc-status" not in octets:
                    pass
        self.close(writer)
        return reader, writer

    async def stream(self, _: int = 0) -> Connected:
        """A call without a report."""
        return await self.secured(PREFACE + settings() + call(PATH))

    async def slow_reader(self, _: int = 0) -> Connected:
        """A terminal that reports once, and grants no window for what it is sent."""
        return await self.secured(PREFACE + settings(0) + call(PATH) + message(report(SLOW_READERS_MAC)))

    async def many(self, kind: Callable[[int], Awaitable[Connected]], count: int, first: int = 0) -> None:
        """So many of a kind, some at once. What fails is counted: that it does is what the controller is for."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with slots:
                try:
                    async with asyncio.timeout(20):
                        await kind(number)
                except (OSError, TimeoutError) as error:
                    self.did[type(error).__name__] += 1

        await asyncio.gather(*(one(first + number) for number in range(count)))

    def ended(self) -> int:
        """How many of the open connections the controller has ended; they are closed here as well."""
        over = [writer for writer in self.open if _at_end(writer)]
        for writer in over:
            self.close(writer)
        self.did["ended by the controller"] += len(over)
        return len(over)

    def close(self, writer: asyncio.StreamWriter) -> None:
        """End one."""
        if writer in self.open:
            self.open.remove(writer)
        writer.transport.abort()

    def close_all(self) -> None:
        """End what is open."""
        for writer in list(self.open):
            self.close(writer)


def _at_end(writer: asyncio.StreamWriter) -> bool:
    reader: asyncio.StreamReader | None = getattr(writer.transport.get_protocol(), "_stream_reader", None)
    return writer.is_closing() or reader is None or reader.at_eof() or reader.exception() is not None


async def keep_up(abuser: Abuser, kind: str, count: int, seconds: float) -> None:
    """So many at any time (half-open, stream, slow-reader), or so many in all (handshake, garbage)."""
    kinds: dict[str, Callable[[int], Awaitable[Connected]]] = {
        "half-open": abuser.half_open, "stream": abuser.stream, "slow-reader": abuser.slow_reader,
        "handshake": abuser.handshake, "garbage": abuser.garbage,
    }  # fmt: skip
    end_s = time.monotonic() + seconds
    if kind in {"handshake", "garbage"}:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ALL_WITHIN * seconds):
                await abuser.many(kinds[kind], count)
        return
    first = 0
    while time.monotonic() < end_s:
        abuser.ended()
        missing = count - len(abuser.open)
        await abuser.many(kinds[kind], missing, first)
        first += missing
        await asyncio.sleep(0.5)


async def main(kind: str, target: str, count: int, seconds: float, files: Path | None) -> None:
    """One kind of abuse; prints what was done as JSON."""
    abuser = Abuser(target, files)
    await keep_up(abuser, kind, count, seconds)
    sys.stdout.write(json.dumps(abuser.did | {"open at the end": len(abuser.open)}) + "\n")
    abuser.close_all()


if __name__ == "__main__":
    files = Path(sys.argv[5]) if len(sys.argv) > 5 else None  # noqa: PLR2004  # see above
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), files))
