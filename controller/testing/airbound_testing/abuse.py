# SPDX-License-Identifier: Apache-2.0
"""Peers that mean harm, by hand: below gRPC, whose own client does nothing of the kind. For tests, and as a process of
its own for the benchmark:

    python -m airbound_testing.abuse KIND TARGET COUNT SECONDS [FILES]

FILES is a directory with the certificate that the abuser has (certificate.pem, key.pem, authorities.pem).

KIND is half-open, stream, slow-reader, handshake, garbage, or one of the floods: continuation, rapid-reset, settings,
ping, window-update, empty-data. Of a flood COUNT connections write without a pause, and connect again when they are
ended. Or destinations, stations: COUNT streams of an agent that report as many of them, and as often, as they may, the
stations new ones each time.
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

import grpc
import grpc.aio

from airbound.core.addresses import mac_from_text
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, server_name
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.agents import FakeAccessPoint, FakePhone, Secured

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
ACK, END_HEADERS = 1, 4
CANCEL = 8
INITIAL_WINDOW_SIZE = 4
CLIENT_HELLO_BEGINS = bytes.fromhex("16030102000100")  # a record of 512 octets, of which these are two
AT_ONCE = 50
ALL_WITHIN = 4  # times the seconds that are given, for those of which so many are wanted in all
REPORTS_PER_S = 20
SLOW_READERS_MAC = "02:00:00:00:09:09"
PATH = "/airbound.v1.TerminalService/Connect"
ENROLL_PATH = "/airbound.v1.EnrollmentService/Enroll"
FLOODS = ("continuation", "rapid-reset", "settings", "ping", "window-update", "empty-data")
FRAME_HEADER_OCTETS = 9
FLOOD_OCTETS = 16_384  # written at once
FIELDS_OF_A_FRAME = 100
RESETS_OF_A_BLOCK = 100

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


def fields(count: int) -> bytes:
    """Literal fields that are not indexed, of ten octets each."""
    return b"".join(b"\x00\x03%03d\x04%04d" % (number, number) for number in range(count))


def flood(kind: str, path: str = PATH) -> tuple[bytes, Callable[[int], bytes]]:
    """What a flood begins with, and what it goes on with for ever: blocks by their number."""
    opened = PREFACE + settings()
    call_of = call(path)
    match kind:
        case "continuation":
            begins = frame(HEADERS, call_of[FRAME_HEADER_OCTETS:], 0, 1)
            block = _filled(frame(CONTINUATION, fields(FIELDS_OF_A_FRAME), 0, 1))
            return opened + begins, lambda _: block
        case "rapid-reset":
            reset = struct.pack(">I", CANCEL)

            def resets(number: int) -> bytes:
                streams = range(2 * number * RESETS_OF_A_BLOCK + 1, 2 * (number + 1) * RESETS_OF_A_BLOCK, 2)
                return b"".join(call(path, stream) + frame(RST_STREAM, reset, 0, stream) for stream in streams)

            return opened, resets
        case "settings":
            block = _filled(settings(65_535))
        case "ping":
            block = _filled(frame(PING, bytes(8)) + frame(PRIORITY, bytes([0, 0, 0, 0, 1]), 0, 3))
        case "window-update":
            block = _filled(frame(WINDOW_UPDATE, struct.pack(">I", 1)))
        case "empty-data":
            opened += call_of
            block = _filled(frame(DATA, b"", 0, 1))
        case _:
            raise ValueError(f"{kind} is no flood")
    return opened, lambda _: block


def _filled(octets: bytes) -> bytes:
    return octets * (1 + FLOOD_OCTETS // len(octets))


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

    async def flood(self, kind: str, path: str = PATH) -> None:
        """One connection that writes one kind of frames until it is ended."""
        begins, block = flood(kind, path)
        reader, writer = await self.secured(begins, certificate=self._files is not None)
        reads = asyncio.create_task(_discard(reader, writer))
        number = 0
        try:
            while not reads.done() and not writer.is_closing():
                writer.write(block(number))
                number += 1
                self.did["octets"] += FLOOD_OCTETS
                await writer.drain()
                await asyncio.sleep(0)  # a drain of what is written at once gives nobody else a turn
        except OSError:
            pass  # it was ended
        finally:
            reads.cancel()
            self.did["floods ended"] += 1
            self.close(writer)

    async def floods(self, kind: str, count: int, path: str = PATH) -> None:
        """So many connections at any time, each with one kind of frames, until cancelled."""

        async def one() -> None:
            while True:
                try:
                    await self.flood(kind, path)
                except OSError as error:
                    self.did[type(error).__name__] += 1
                await asyncio.sleep(0.05)

        await asyncio.gather(*(one() for _ in range(count)))

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


async def _discard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read to the end, which ends writing as well."""
    with contextlib.suppress(OSError):
        while await reader.read(65_536):
            pass
    writer.transport.abort()


def _at_end(writer: asyncio.StreamWriter) -> bool:
    reader: asyncio.StreamReader | None = getattr(writer.transport.get_protocol(), "_stream_reader", None)
    return writer.is_closing() or reader is None or reader.at_eof() or reader.exception() is not None


async def entries(kind: str, target: str, count: int, files: Path) -> int:
    """As many reports as a stream may send, of the largest kind, until cancelled; how many were sent."""
    pem = [(files / name).read_bytes() for name in ("authorities.pem", "key.pem", "certificate.pem")]
    secured = Secured(grpc.ssl_channel_credentials(*pem), server_name(DEFAULT_TRUST_DOMAIN))
    sent = 0

    async def phone(number: int) -> None:
        nonlocal sent
        destinations = [
            terminal_pb2.Destination(
                address=bytes([10, 9, number, at]), connections=1, connections_sending=1, srtt_us=30_000,
                min_rtt_us=20_000, mss_bytes=1448,
            )
            for at in range(256)
        ]  # fmt: skip
        async with FakePhone(target, SLOW_READERS_MAC, secured) as agent:
            while agent.error is None:
                await agent.report(*destinations, monotonic_us=time.monotonic_ns() // 1000)
                sent += 1
                await asyncio.sleep(1 / REPORTS_PER_S)

    async def access_point(number: int) -> None:
        nonlocal sent
        async with FakeAccessPoint(target, secured) as agent:
            while agent.error is None:
                sent += 1
                stations = [
                    access_point_pb2.Station(
                        mac=struct.pack(">BBHH", 2, number, sent % 65_536, at), connected_time_ms=1
                    )
                    for at in range(2_048)
                ]
                report = access_point_pb2.AccessPointReport(
                    bssid=bytes([2, 0, 0, 9, 0, number]), monotonic_us=time.monotonic_ns() // 1000, stations=stations
                )
                await agent.report(report)
                await asyncio.sleep(1 / REPORTS_PER_S)

    async def again(number: int) -> None:
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await (phone if kind == "destinations" else access_point)(number)
            await asyncio.sleep(0.5)

    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*(again(number) for number in range(count)))
    return sent


async def keep_up(abuser: Abuser, kind: str, count: int, seconds: float, path: str = PATH) -> None:
    """So many at any time (floods, half-open, stream, slow-reader), or so many in all (handshake, garbage)."""
    kinds: dict[str, Callable[[int], Awaitable[Connected]]] = {
        "half-open": abuser.half_open, "stream": abuser.stream, "slow-reader": abuser.slow_reader,
        "handshake": abuser.handshake, "garbage": abuser.garbage,
    }  # fmt: skip
    end_s = time.monotonic() + seconds
    if kind in FLOODS:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await abuser.floods(kind, count, path)
        return
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
    if kind in {"destinations", "stations"} and files is not None:
        sending = asyncio.create_task(entries(kind, target, count, files))
        await asyncio.sleep(seconds)
        sending.cancel()
        abuser.did["reports"] = await sending
    else:
        await keep_up(abuser, kind, count, seconds, PATH if files else ENROLL_PATH)
    sys.stdout.write(json.dumps(abuser.did | {"open at the end": len(abuser.open)}) + "\n")
    abuser.close_all()


if __name__ == "__main__":
    files = Path(sys.argv[5]) if len(sys.argv) > 5 else None  # noqa: PLR2004  # see above
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), files))
