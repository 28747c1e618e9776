# SPDX-License-Identifier: Apache-2.0
"""In front of gRPC: passes octets on, and limits connections in octets, in seconds and in number before gRPC sees them.
gRPC itself reads header blocks without an end (HTTP/2 CONTINUATION) and has no limit on what a connection may send.

When all places are taken, a new connection has that of the oldest one of the address with most, which is closed. So
neither few addresses nor connections that stand still keep others out, and many devices behind one address get in.
"""

import asyncio
import contextlib
import itertools
import socket
from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from airbound.core.addresses import IPV4_OCTETS, IPV6_OCTETS, Address, address_from_text, unmapped

Cause = Literal["octets", "seconds", "displaced"]
"""Why a connection was closed; `displaced`: all places were taken."""

CAUSES: tuple[Cause, ...] = ("octets", "seconds", "displaced")
READ_OCTETS = 16_384
IPV6_PREFIX_OCTETS = 8


class FrontLimits(NamedTuple):
    """Of a connection, and how many at once. An enrolment takes some 10 kB and less than a second."""

    octets: int = 65_536
    seconds: float = 20.0
    connections: int = 256


@dataclass(slots=True, eq=False)
class _Connection:
    task: asyncio.Task[None]
    network: Address
    cause: Cause | None = None


class Front:
    """Passes on to an abstract Unix socket, from one whose name has the peer's address and port: see `remote_of`."""

    def __init__(self, behind: str, limits: FrontLimits | None = None) -> None:
        self.limits = limits or FrontLimits()
        self.taken = 0
        self.closed = Counter[Cause]()
        self._behind = behind
        self._closed_of: dict[Cause, Counter[str]] = {cause: Counter() for cause in CAUSES}
        self._open: dict[_Connection, None] = {}  # the oldest first
        self._of_network = Counter[Address]()
        self._numbers = itertools.count()

    async def listen(self, listening: socket.socket) -> asyncio.Server:
        """Take connections from now on."""
        return await asyncio.start_server(self._connected, sock=listening, limit=READ_OCTETS)

    def most(self) -> dict[Cause, tuple[str, int]]:
        """Since the last time: the address of which most connections were closed, by cause."""
        found = {cause: counter.most_common(1)[0] for cause, counter in self._closed_of.items() if counter}
        for counter in self._closed_of.values():
            counter.clear()
        return found

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        task, peer = asyncio.current_task(), writer.get_extra_info("peername")
        if not peer:  # gone already
            writer.transport.abort()
            return
        host, port = peer[:2]
        address = unmapped(address_from_text(host.partition("%")[0]))
        network = address if len(address) == IPV4_OCTETS else address[:IPV6_PREFIX_OCTETS]
        if task is None:
            raise AssertionError("asyncio calls this in a task")
        connection = _Connection(task, network)
        self.taken += 1
        if len(self._open) >= self.limits.connections:
            self._displace()
        self._open[connection] = None
        self._of_network[network] += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._pass_on(connection, reader, writer, address, port)
        except TimeoutError:
            connection.cause = connection.cause or "seconds"
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # it is gone, its place was taken, or the process stops
        finally:
            writer.transport.abort()
            self._forget(connection)
            if connection.cause is not None:
                self.closed[connection.cause] += 1
                self._closed_of[connection.cause][host] += 1

    def _displace(self) -> None:
        (network, _), *_ = self._of_network.most_common(1)
        oldest = next(connection for connection in self._open if connection.network == network)
        oldest.cause = "displaced"
        oldest.task.cancel()
        self._forget(oldest)

    def _forget(self, connection: _Connection) -> None:
        if connection in self._open:
            del self._open[connection]
            self._of_network[connection.network] -= 1
            if not self._of_network[connection.network]:
                del self._of_network[connection.network]

    async def _pass_on(
        self,
        connection: _Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: Address,
        port: int,
    ) -> None:
        own = socket.socket(socket.AF_UNIX)
        own.settimeout(0)
        try:
            own.bind(f"\0{self._behind}/{address.hex()}/{port}/{next(self._numbers)}")
            await asyncio.get_running_loop().sock_connect(own, f"\0{self._behind}")
        except BaseException:
            own.close()
            raise
        behind_reader, behind = await asyncio.open_unix_connection(sock=own, limit=READ_OCTETS)
        answers = asyncio.create_task(_copy(behind_reader, writer))
        asks = asyncio.create_task(self._take(connection, reader, behind))
        try:
            await asyncio.wait({answers, asks}, return_when=asyncio.FIRST_COMPLETED)
            if answers.done() and connection.cause is None:
                writer.close()
                await writer.wait_closed()  # what gRPC has said last, such as why it ends the connection
        finally:
            for task in (answers, asks):
                task.cancel()
            behind.transport.abort()
            await asyncio.gather(answers, asks, return_exceptions=True)

    async def _take(self, connection: _Connection, reader: asyncio.StreamReader, behind: asyncio.StreamWriter) -> None:
        """Pass on what the peer sends, up to the limit."""
        left = self.limits.octets
        while octets := await reader.read(READ_OCTETS):
            left -= len(octets)
            if left < 0:
                connection.cause = "octets"
                return
            behind.write(octets)
            await behind.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what gRPC answers."""
    with contextlib.suppress(OSError):
        while octets := await reader.read(READ_OCTETS):
            writer.write(octets)
            await writer.drain()


def remote_of(peer: str) -> tuple[Address, int]:
    """Whom gRPC's name of a peer stands for, that of the socket which a front has connected from.

    Raises:
        ValueError: it is no front's.
    """
    _, _, rest = peer.partition("/")
    address, port, _ = rest.split("/")
    octets = bytes.fromhex(address)
    if len(octets) not in {IPV4_OCTETS, IPV6_OCTETS}:
        raise ValueError(f"{peer} has no address")
    return octets, int(port)
