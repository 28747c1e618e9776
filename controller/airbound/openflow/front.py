# SPDX-License-Identifier: Apache-2.0
"""Where switches connect to: ends TLS, finds out whose switch it is, and passes on to os-ken what may be taken, over a
connection of the loopback interface that os-ken takes from nobody else.

os-ken's own TLS is not used: it reads and writes one connection from two threads, which Python's ssl does not allow
(docs/decisions/0022-openflow.md). Here all of it is in one event loop.
"""

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.switch_reports import datapath_text, own_datapath
from airbound.openflow import frames
from airbound.openflow.frames import Type
from airbound.openflow.switch import Totals
from airbound.pki.certificates import Certificate
from airbound.pki.identities import IdentityError
from airbound.runtime.rate_limit import RateLimit

READ_BYTES = 1 << 17
HANDSHAKE_S = 10.0
FEATURES_WITHIN_S = 10.0  # from the hello to who it is
WRITE_WAITS_S = 10.0
MESSAGES_PER_S, STATISTICS_PER_S = 1_000, 200  # 8,192 flows are 13 messages of statistics a second
TIMER_MAX_S = 86_400.0


class FrontLimits(NamedTuple):
    """What peers may take."""

    connections: int = 256
    connections_of_address: int = 16
    copies_per_s: int = 200


@dataclass(slots=True, eq=False)
class Link:
    """One switch's connection. `name` is its certificate's, empty in plain text."""

    address: str
    name: str
    port: int = 0  # of the connection to os-ken
    datapath_id: int = 0
    totals: Totals = field(default_factory=Totals)
    close: Callable[[], None] = lambda: None

    @property
    def who(self) -> str:
        """For a person."""
        return f"switch/{self.name} at {self.address}" if self.name else f"switch at {self.address}"

    @property
    def identity(self) -> str:
        """A new connection with the same one may take the place of this connection."""
        return self.name or self.address.rpartition(":")[0]


class Front:
    """`refused` is called with who and why; `ended` with the link of a switch that was passed on and is gone."""

    def __init__(
        self,
        os_ken_port: int,
        limits: FrontLimits,
        *,
        tls: ssl.SSLContext | None,
        trust_domain: str,
        refused: Callable[[str, Reason], None],
        ended: Callable[[Link], None],
    ) -> None:
        self.links: dict[int, Link] = {}  # by the port that os-ken sees
        self.refusals = Counter[Code]()
        self._os_ken_port = os_ken_port
        self._limits = limits
        self._tls = tls
        self._trust_domain = trust_domain
        self._refused = refused
        self._ended = ended
        self._by_datapath: dict[int, Link] = {}
        self._of_address = Counter[str]()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Take switches from now on.

        Raises:
            OSError: the address is taken, or not ours.
        """
        return await asyncio.start_server(self._connected, host, port, limit=READ_BYTES)

    def accepts(self, port: int) -> bool:
        """Whether a connection to os-ken is ours; called in its threads."""
        return port in self.links

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        host, port, *_ = writer.get_extra_info("peername") or ("?", 0)
        link = Link(f"{host}:{port}", "")
        self._of_address[host] += 1
        try:
            self._check_number(host)
            await self._identify(link, writer)
            await self._pass_on(link, reader, writer)
        except RefusedError as error:
            link.totals.malformed += 1
            self._refuse(link, error.reason)
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            pass  # it is gone, its connection is of no use, or the process stops
        finally:
            self._of_address[host] -= 1
            if not self._of_address[host]:
                del self._of_address[host]
            writer.transport.abort()
            if self._by_datapath.get(link.datapath_id) is link:
                del self._by_datapath[link.datapath_id]
            if self.links.pop(link.port, None) is not None:
                self._ended(link)

    def _refuse(self, link: Link, reason: Reason) -> None:
        self.refusals[reason.code] += 1
        count = self.refusals[reason.code]
        if not count & (count - 1):
            self._refused(link.who, reason)

    def _check_number(self, host: str) -> None:
        if self._of_address.total() > self._limits.connections:
            raise RefusedError(Reason(Code.TOO_MANY_STREAMS, limit=self._limits.connections))
        if self._of_address[host] > self._limits.connections_of_address:
            raise RefusedError(Reason(Code.TOO_MANY_STREAMS, host, limit=self._limits.connections_of_address))

    async def _identify(self, link: Link, writer: asyncio.StreamWriter) -> None:
        """Do the handshake; who it is."""
        if self._tls is None:
            return
        try:
            await writer.start_tls(self._tls, ssl_handshake_timeout=HANDSHAKE_S)
        except (ssl.SSLError, ConnectionError) as error:
            raise RefusedError(Reason(Code.NO_CERTIFICATE, str(error)[:100])) from error
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        pem = ssl.DER_cert_to_PEM_cert(der or b"").encode()
        try:
            certificate = Certificate.of_pem(pem, self._trust_domain)
        except IdentityError as error:
            raise RefusedError(Reason(Code.NO_IDENTITY, str(error))) from error
        if certificate.identity.role != "switch":
            raise RefusedError(Reason(Code.WRONG_ROLE, str(certificate.identity)))
        link.name = certificate.identity.name
        left_s = certificate.not_after_s - time.time()
        asyncio.get_running_loop().call_later(min(max(0.0, left_s), TIMER_MAX_S), writer.transport.abort)

    async def _pass_on(self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect it with os-ken."""
        behind_reader, behind = await asyncio.open_connection("127.0.0.1", self._os_ken_port, limit=READ_BYTES)
        try:
            link.port = behind.get_extra_info("sockname")[1]
            link.close = writer.transport.abort
            self.links[link.port] = link
            back = asyncio.create_task(_copy(behind_reader, writer))
            try:
                await self._take(link, reader, behind)
            finally:
                back.cancel()
                await asyncio.gather(back, return_exceptions=True)
        finally:
            behind.transport.abort()

    async def _take(self, link: Link, reader: asyncio.StreamReader, behind: asyncio.StreamWriter) -> None:
        """Pass on what the switch sends."""
        copies = RateLimit(self._limits.copies_per_s)
        messages, statistics = RateLimit(MESSAGES_PER_S), RateLimit(STATISTICS_PER_S)
        first = True
        async with asyncio.timeout(FEATURES_WITHIN_S) as deadline:
            while True:
                octets = await reader.readexactly(frames.HEADER_BYTES)
                head = frames.header(octets, first=first)
                octets += await reader.readexactly(head.length - frames.HEADER_BYTES)
                first, now_us = False, time.monotonic_ns() // 1000
                if head.type is Type.PACKET_IN:
                    if not copies.take(now_us):
                        link.totals.copies += 1
                        link.totals.copies_dropped += 1
                        continue
                elif head.type is Type.MULTIPART_REPLY:
                    if not statistics.take(now_us):
                        raise RefusedError(Reason(Code.RATE_LIMITED, limit=STATISTICS_PER_S))
                elif not messages.take(now_us):
                    raise RefusedError(Reason(Code.RATE_LIMITED, limit=MESSAGES_PER_S))
                elif head.type is Type.FEATURES_REPLY:
                    self._take_datapath(link, frames.datapath_id(octets))
                    deadline.reschedule(None)
                behind.write(octets)
                async with asyncio.timeout(WRITE_WAITS_S):
                    await behind.drain()

    def _take_datapath(self, link: Link, datapath_id: int) -> None:
        """The switch said who it is. The name of a switch's certificate is its datapath, so that none can be another;
        in plain text the first connection stays, unless the same address connects again.
        """
        own = own_datapath(link.name)
        if (link.name and own != datapath_id) or link.datapath_id not in {0, datapath_id}:
            raise RefusedError(Reason(Code.SWITCH_NOT_ITS_OWN, datapath_text(datapath_id)))
        before = self._by_datapath.get(datapath_id)
        if before is not None and before is not link:
            if before.identity != link.identity:
                raise RefusedError(Reason(Code.SWITCH_CLAIMED, before.who))
            self._refuse(before, Reason(Code.REPLACED))
            before.close()
        link.datapath_id = datapath_id
        self._by_datapath[datapath_id] = link


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what os-ken sends, until it ends the connection or the switch does not read."""
    with contextlib.suppress(OSError, EOFError, TimeoutError):
        while octets := await reader.read(READ_BYTES):
            writer.write(octets)
            async with asyncio.timeout(WRITE_WAITS_S):
                await writer.drain()
    writer.transport.abort()
