# SPDX-License-Identifier: Apache-2.0
"""Connections of a fuzzer at a controller's ports: what each sends follows from a seed and its number, so that one of
them can be made again alone. Only the randomness of TLS itself and the controller's answers differ between runs.
"""

import asyncio
import contextlib
import hashlib
import ssl
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from socket import SO_LINGER, SOL_SOCKET
from typing import Literal, get_args

from airbound_testing.abuse import context
from airbound_testing.fuzzed_frames import conversation
from airbound_testing.fuzzed_records import no_tls, records

Port = Literal["agents", "operators", "enrollment"]
PORTS: tuple[Port, ...] = get_args(Port)
Layer = Literal["tcp", "tls", "http2"]
LAYERS: tuple[Layer, ...] = ("tcp", "tls", "http2", "http2", "http2", "http2")
CERTIFICATES: dict[Port, tuple[str, ...]] = {
    "agents": ("terminal", "access-point", "switch", "terminal", "access-point", "operator", ""),
    "operators": ("operator", "operator", "terminal", ""),
    "enrollment": ("", "", "terminal"),
}
SERVICES: dict[Port, tuple[str, ...]] = {
    "agents": (".TerminalService", ".AccessPointService", ".SwitchService", ".CertificateService", ".Health"),
    "operators": (
        ".OperationsService", ".EventsService", ".LiveService", ".ReplicasService", ".EnrollmentAdminService",
        ".CertificateService", ".Health",
    ),
    "enrollment": (".EnrollmentService",),
}  # fmt: skip
OCTETS_MAX = 256 * 1024  # of a connection: floods have a benchmark of their own, abuse
PIECES_MAX = 12
LINGERS_S = (0.0, 0.02, 0.1, 0.3)
CONNECTED_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What one connection does: `certificate` is the role of the one that it shows, `pieces` are written one by one."""

    number: int
    port: Port
    layer: Layer
    certificate: str
    path: str
    pieces: tuple[bytes, ...]
    linger_s: float  # between the last piece and the end, unless the controller ends it
    resets: bool  # instead of closing

    @property
    def name(self) -> str:
        """For a count of them."""
        return f"{self.port}, {self.layer}" + (f", {self.certificate or 'no'} certificate" * (self.layer == "http2"))


def plan(seed: int, number: int, ports: tuple[Port, ...] = PORTS) -> Plan:
    """What the connection of this number does."""
    dice = Random(f"{seed}/{number}")  # noqa: S311  # no secret
    port, layer = dice.choice(ports), dice.choice(LAYERS)
    path, certificate = "", ""
    if layer == "http2":
        certificate = dice.choice(CERTIFICATES[port])
        path, parts = conversation(dice, SERVICES[port])
    else:
        parts = no_tls(dice) if layer == "tcp" else records(dice)
    octets = b"".join(parts)[:OCTETS_MAX]
    if dice.random() < 0.2:  # noqa: PLR2004
        octets = octets[: dice.randrange(len(octets) + 1)]
    cuts = sorted(dice.randrange(len(octets) + 1) for _ in range(dice.choice((0, 0, 1, PIECES_MAX - 1))))
    pieces = tuple(octets[start:end] for start, end in zip([0, *cuts], [*cuts, len(octets)], strict=True))
    return Plan(
        number, port, layer, certificate, path, pieces, dice.choice(LINGERS_S), resets=dice.random() < 0.5  # noqa: PLR2004
    )  # fmt: skip


def digest(plans: Iterable[Plan]) -> str:
    """The same for the same plans."""
    made = hashlib.sha256()
    for one in plans:
        made.update(repr(one).encode())
    return made.hexdigest()[:16]


class Fuzzer:
    """Has connections do what is planned, some at once. `did` counts how each ended, by kind."""

    def __init__(self, targets: Mapping[Port, str], files: Mapping[str, Path]) -> None:
        """`files` are directories with certificates, by role."""
        self._targets = {
            port: (text.rpartition(":")[0], int(text.rpartition(":")[2])) for port, text in targets.items()
        }
        self._contexts = {role: context(path) for role, path in files.items()} | {"": context(None)}
        self.did: dict[str, Counter[str]] = {}
        self.connections = 0
        self.octets = 0

    async def run(self, plans: Iterator[Plan], at_once: int, until_s: float | None = None) -> None:
        """All plans, or those that begin before the event loop's clock is at `until_s`."""
        loop = asyncio.get_running_loop()

        async def worker() -> None:
            for one in plans:
                await self.connect(one)
                if until_s is not None and loop.time() >= until_s:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())

    async def connect(self, one: Plan) -> None:
        """One connection; what comes of it is counted."""
        self.connections += 1
        try:
            outcome = await self._connect(one)
        except (OSError, TimeoutError) as error:
            outcome = "handshake failed" if isinstance(error, ssl.SSLError) else type(error).__name__
        self.did.setdefault(one.name, Counter())[outcome] += 1

    async def _connect(self, one: Plan) -> str:
        secured = self._contexts[one.certificate] if one.layer == "http2" else None
        async with asyncio.timeout(CONNECTED_WITHIN_S):
            reader, writer = await asyncio.open_connection(*self._targets[one.port], ssl=secured)
        ended, socket = asyncio.create_task(_ended(reader)), writer.get_extra_info("socket")
        try:
            for piece in one.pieces:
                if ended.done() or writer.is_closing():
                    break
                writer.write(piece)
                self.octets += len(piece)
                async with asyncio.timeout(CONNECTED_WITHIN_S):
                    await writer.drain()
                await asyncio.sleep(0)
            await asyncio.wait([ended], timeout=one.linger_s)
            return "ended by the controller" if ended.done() else "ended by us"
        finally:
            ended.cancel()
            if one.resets and socket is not None:
                with contextlib.suppress(OSError):
                    socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


async def _ended(reader: asyncio.StreamReader) -> None:
    """Read to the end."""
    with contextlib.suppress(OSError):
        while await reader.read(65_536):
            pass
