# SPDX-License-Identifier: Apache-2.0
"""The process: switches on the one side, a stream to the controller for each on the other."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from airbound import __version__
from airbound.core.addresses import Mac
from airbound.core.effects import Note
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.switch_reports import StationRule, datapath_text
from airbound.endpoints import host_and_port
from airbound.openflow import flows
from airbound.openflow.controller_stream import ControllerStream
from airbound.openflow.front import Front, FrontLimits, Link
from airbound.openflow.os_ken_app import Down, Event, OpenFlow, Up
from airbound.openflow.switch import Limits, Rules, Switch
from airbound.runtime import log

if TYPE_CHECKING:
    from airbound.operator.tls_files import ClientIdentity, TlsFiles

TICK_S = 0.05
FILES_READ_EVERY_S = 60.0
STOP_S = 0.3  # for the last messages to the switches


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the process is given. Without `tls` it is in plain text, on both sides."""

    listen: str
    controller: str
    tls: "TlsFiles | None"
    bridges: dict[int, Mac] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    front: FrontLimits = field(default_factory=FrontLimits)


@dataclass(slots=True)
class _Session:
    switch: Switch
    stream: ControllerStream
    link: Link


class Process:
    """For one event loop."""

    def __init__(self, options: Options, identity: "ClientIdentity | None") -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[int, _Session] = {}  # by the port that os-ken sees
        self._unread_total = 0
        self._closing = set[asyncio.Task[None]]()
        self._tls = None if identity is None else server_context(options)
        self._os_ken_port = _free_port()
        self.front = Front(
            self._os_ken_port,
            options.front,
            tls=self._tls,
            trust_domain="" if identity is None else identity.server_name.partition(".")[2],
            refused=lambda who, reason: log.write(Note("warning", "refused", who, (reason,))),
            ended=lambda link: self._down(link.port),
        )
        self._openflow = OpenFlow(self._loop, self._heard, self.front.accepts)

    def _unread(self, error: BaseException | None) -> None:
        """A thread of os-ken ended with an error: a message that only looked like one. Its connection is closed."""
        self._unread_total += 1
        if not self._unread_total & (self._unread_total - 1):
            log.write(
                Note("warning", "refused", "switch", (Reason(Code.MALFORMED, f"{type(error).__name__}: {error}"),))
            )

    async def run(self, listens: Callable[[int], None] = lambda _: None) -> None:
        """Until SIGTERM or SIGINT.

        Raises:
            OSError: the address cannot be listened on.
        """
        host, port = host_and_port(self._options.listen)
        threading.excepthook = lambda failure: self._unread(failure.exc_value)
        self._openflow.start(self._os_ken_port)
        server = await self.front.listen(host, port)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, stop.set)
        listens(server.sockets[0].getsockname()[1])
        tasks = [self._loop.create_task(self._tick()), self._loop.create_task(self._read_files())]
        await stop.wait()
        for task in tasks:
            task.cancel()
        server.close()
        for port_, session in self._sessions.items():
            self._openflow.send(port_, session.switch.stopped())
        await asyncio.sleep(STOP_S)
        await asyncio.gather(*(session.stream.close() for session in self._sessions.values()))

    # Switches

    def _heard(self, event: Event) -> None:
        """From os-ken, in the event loop."""
        match event:
            case Up():
                self._up(event)
            case Down():
                link = self.front.links.get(event.port)
                if link is not None:
                    link.close()  # whatever comes of it is `ended`
            case _:
                session = self._sessions.get(event.port)
                if session is not None:
                    self._openflow.send(event.port, session.switch.answered(event.answer, now_us()))

    def _up(self, event: Up) -> None:
        link = self.front.links.get(event.port)
        if link is None or link.datapath_id != event.datapath_id:
            self._openflow.close(event.port)
            return
        connection = secrets.randbelow(flows.CONNECTIONS)
        switch = Switch(event.datapath_id, connection, self._options.limits, now_us(), link.totals)
        name = datapath_text(event.datapath_id)
        log.event("info", "switch", name, link.who)
        stream = ControllerStream(
            self._options.controller,
            self._identify,
            lambda generation, rules, lease_ms: self._rules(event.port, generation, rules, lease_ms),
            lambda error: self._refused(event.port, error),
            lambda state: log.event("info", "controller", name, state),
        )
        self._sessions[event.port] = _Session(switch, stream, link)
        self._openflow.send(event.port, switch.connected())

    def _down(self, port: int) -> None:
        self._openflow.close(port)
        session = self._sessions.pop(port, None)
        if session is None:
            return
        log.event("info", "switch gone", datapath_text(session.switch.datapath_id), session.link.who)
        task = self._loop.create_task(session.stream.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _tick(self) -> None:
        """Statistics, timeouts, reports."""
        while True:
            await asyncio.sleep(TICK_S)
            for port, session in list(self._sessions.items()):
                self._openflow.send(port, session.switch.due(now_us()))
                report = session.switch.report(
                    bssid=self._options.bridges.get(session.switch.datapath_id, b""),
                    peer=session.link.address,
                    agent_version=__version__,
                )
                if report is not None:
                    session.stream.submit(report)

    # The controller

    def _rules(self, port: int, generation: int, rules: tuple[StationRule, ...], lease_ms: int) -> None:
        session = self._sessions.get(port)
        if session is None:
            return
        try:
            self._openflow.send(port, session.switch.set_rules(Rules(generation, rules, lease_ms), now_us()))
        except RefusedError as error:
            self._log_refused(session, error.reason)

    def _refused(self, port: int, error: RefusedError) -> None:
        session = self._sessions.get(port)
        if session is not None:
            session.switch.totals.refused += 1
            self._log_refused(session, error.reason)

    def _log_refused(self, session: _Session, reason: Reason) -> None:
        count = session.switch.totals.refused
        if not count & (count - 1):
            log.write(Note("warning", "refused", "controller", (reason,)))

    # Certificates

    def _identify(self) -> "ClientIdentity | None":
        return None if self._options.tls is None else _load(self._options.tls)

    async def _read_files(self) -> None:
        """Take over a renewed certificate for switches that connect later."""
        while True:
            await asyncio.sleep(FILES_READ_EVERY_S)
            if self._tls is not None and self._options.tls is not None:
                try:
                    _read_into(self._tls, self._options.tls.path)
                except (OSError, ssl.SSLError) as error:
                    log.event("warning", "certificate", str(self._options.tls.path), str(error))


def now_us() -> int:
    """The clock of the process."""
    return time.monotonic_ns() // 1000


def server_context(options: Options) -> ssl.SSLContext:
    """TLS for switches: 1.2 or later, since Open vSwitch 2.17 has no 1.3 by default; their certificate is required.

    Raises:
        OSError, ssl.SSLError: the files cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    if options.tls is not None:
        _read_into(context, options.tls.path)
    return context


def _read_into(context: ssl.SSLContext, path: Path) -> None:
    context.load_cert_chain(path / "certificate.pem", path / "key.pem")
    context.load_verify_locations(path / "authorities.pem")


def _load(tls: "TlsFiles") -> "ClientIdentity":
    import datetime  # noqa: PLC0415

    return tls.load(datetime.datetime.now(datetime.UTC))


def _free_port() -> int:
    """For os-ken, which must be told a number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def serve(options: Options) -> None:
    """Run until a signal.

    Raises:
        PkiError: the certificate cannot be used, or is not one of role switch.
        OSError: the address cannot be listened on.
    """
    identity = None
    if options.tls is not None:
        identity = _load(options.tls)
        if identity.certificate.identity.role != "switch":
            from airbound.pki.errors import PkiError  # noqa: PLC0415

            raise PkiError(
                f"{options.tls.path}: {identity.certificate.identity}: a certificate of role switch is needed"
            )
    process = Process(options, identity)
    host = options.listen.rpartition(":")[0]

    def listens(port: int) -> None:
        log.event("info", "listening", f"{host}:{port}", f"OpenFlow 1.3; controller {options.controller}")
        if identity is None:
            log.event("warning", "plain-text", f"{host}:{port}", "no TLS: switches are not authenticated")

    await process.run(listens)


def leave(code: int) -> NoReturn:
    """End the process: os-ken's threads are no daemons, and some of them wait for ever."""
    with contextlib.suppress(OSError):
        import sys  # noqa: PLC0415

        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
