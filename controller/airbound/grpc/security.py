# SPDX-License-Identifier: Apache-2.0
"""What the servers need for TLS, put together; and the task that keeps certificates and revocations current."""

import asyncio
import contextlib
import datetime
import re
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc.aio

from airbound.enrolling.supervisor import Supervisor
from airbound.fronting.configuration import Limits as FrontLimits
from airbound.fronting.supervisor import Supervisor as FrontSupervisor
from airbound.grpc.authentication import Certified
from airbound.grpc.certified_streams import CertifiedStreams
from airbound.grpc.connection_watch import ConnectionWatch
from airbound.grpc.enrollment_admin_service import EnrollmentAdminService
from airbound.grpc.enrollment_service import CertificateService, EnrollmentService
from airbound.grpc.operator_guard import OperatorGuard
from airbound.grpc.peers import Peer
from airbound.grpc.pinned import Pinned
from airbound.grpc.ports import AGENTS, ENROLLMENT, OPERATORS
from airbound.grpc.server_certificates import ServerCertificates
from airbound.pki import files
from airbound.pki.directory import Directory, default_directory
from airbound.pki.enrolled_count import EnrolledCount
from airbound.pki.enrollment import Enrollment, Lifetimes
from airbound.pki.errors import PkiError
from airbound.pki.identities import NAME_MAX_CHARACTERS, CertificateRole
from airbound.pki.options import TlsOptions
from airbound.pki.pins import Pins
from airbound.pki.revocation import Revocations
from airbound.pki.server_identity import FromFiles, Issued, Source
from airbound.runtime import log
from airbound.runtime.address_limits import AddressLimits
from airbound.runtime.connections import Connections
from airbound.runtime.reception import Reception
from airbound.runtime.runner import Runner
from airbound.store.types import Store, StoreError
from airbound.v1 import enrollment_pb2_grpc, pki_pb2_grpc

REFRESHED_EVERY_S = 2.0  # a few calls of stat(2); a server that is to be shown a new certificate waits for it
REVOCATIONS_READ_EVERY_S = 60.0
COUNTED_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Security:
    """Certificates, who may enter, who gets a certificate."""

    options: TlsOptions
    certificates: ServerCertificates
    revocations: Revocations
    streams: CertifiedStreams
    enrollment: Enrollment
    peers: Certified
    fronted_peers: Certified  # of servers behind a front, if there is to be one
    pins: Pins
    connections: ConnectionWatch
    own_store: Store | None  # that nobody else starts and closes
    _enrolled: dict[CertificateRole, EnrolledCount] = field(default_factory=dict)
    _refreshed: list[Callable[[], Awaitable[None]]] = field(default_factory=list)  # when the certificate is another one

    @property
    def trust_domain(self) -> str:
        """Of the authority."""
        return self.certificates.trust_domain

    def described(self) -> tuple[str, str]:
        """The server's certificate, for the log."""
        certificate = self.certificates.identity.certificate
        end = datetime.datetime.fromtimestamp(certificate.not_after_s, datetime.UTC)
        return str(certificate.identity), f"in use until {end:%Y-%m-%d %H:%M:%S} UTC"

    def certificates_end(self) -> dict[str, float]:
        """When the server's certificate and the authority's end, Unix time."""
        authority = self.enrollment.authority.certificate
        return {
            "authority": authority.not_valid_after_utc.timestamp(),
            "server": self.certificates.identity.certificate.not_after_s,
        }

    def enrolled_counts(self) -> dict[str, EnrolledCount]:
        """How many names have a certificate, by role, as counted within the last minute; nothing before."""
        return {str(role): count for role, count in self._enrolled.items()}

    def guards(self, runner: Runner, *, fronted: bool) -> tuple[grpc.aio.ServerInterceptor, ...]:
        """Of a server for operators."""
        return (OperatorGuard(self._peers(fronted=fronted), runner.refuse, self.record),)

    def _peers(self, *, fronted: bool) -> Certified:
        return self.fronted_peers if fronted else self.peers

    def receiving(self, reception: Reception, runner: Runner) -> Reception:
        """A reception that takes reports of a cell from its own access point only."""
        return Pinned(reception, self.pins, runner)

    def add_agents_services(self, server: grpc.aio.Server, runner: Runner) -> None:
        """What the agents' server has with TLS only."""
        self._add_certificates(AGENTS, server, runner, fronted=True)

    def add_operators_services(self, server: grpc.aio.Server, runner: Runner, at: str, *, fronted: bool) -> None:
        """What a server for operators has with TLS only; `at` is where devices use their tokens."""
        self._add_certificates(OPERATORS, server, runner, fronted=fronted)
        admin = EnrollmentAdminService(self.enrollment, self.revocations, self.certificates, at, self.pins)
        pki_pb2_grpc.add_EnrollmentAdminServiceServicer_to_server(admin, server)

    def _add_certificates(self, port: str, server: grpc.aio.Server, runner: Runner, *, fronted: bool) -> None:
        called = partial(self.connections.called, port)
        certificates = CertificateService(self.enrollment, self._peers(fronted=fronted), runner.refuse, called)
        enrollment_pb2_grpc.add_CertificateServiceServicer_to_server(certificates, server)

    def enrolling(self, runner: Runner) -> Supervisor | None:
        """For those who have a token; none where nothing can be signed, or nobody wants it."""
        if not self.options.enrollment or self.enrollment.authority.key is None:
            return None
        limits = AddressLimits(self.options.enrollments_per_address_per_s)
        called = partial(self.connections.connections.called, ENROLLMENT)
        service = EnrollmentService(self.enrollment, limits, runner.now_us, runner.refuse, called)
        supervisor = Supervisor(
            lambda: (self.certificates.identity.key, self.certificates.identity.chain),
            service.answer,
            self.options.enrollments_at_once,
            partial(self.certificates.count_handshakes, ENROLLMENT),
        )
        self._refreshed.append(supervisor.identity_changed)
        return supervisor

    def fronting(self, port: str, limits: FrontLimits) -> FrontSupervisor | None:
        """For the ports of a name; none where gRPC itself ends TLS."""
        if not self.options.front:
            return None
        certificates = self.certificates
        supervisor = FrontSupervisor(
            self.options.front,
            port,
            lambda: (certificates.identity.key, certificates.identity.chain, certificates.identity.roots),
            limits,
            partial(certificates.count_handshakes, port),
        )
        self._refreshed.append(supervisor.identity_changed)
        return supervisor

    @contextlib.asynccontextmanager
    async def kept_current(self) -> AsyncIterator[None]:
        """Within this, certificates and revocations are read again, and connections counted, now and then.

        Raises:
            StoreError: a store of our own cannot be used.
        """
        if self.own_store is not None:
            await self.own_store.start("", lambda _: None, lambda: None)
        tasks = [
            asyncio.create_task(self._keep(read=await self.revocations.load_or_log())),
            asyncio.create_task(self.connections.run()),
            asyncio.create_task(self.connections.octets.run()),
            asyncio.create_task(self._keep_counted()),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            if self.own_store is not None:
                await self.own_store.close()

    async def record(self, peer: Peer) -> None:
        """Write down an operator's certificate that was made by a command."""
        if peer.certificate is not None:
            try:
                await self.enrollment.record(peer.certificate)
            except (StoreError, ValueError) as error:
                log.event("warning", "store", str(peer.certificate.identity), f"not recorded: {error}")

    async def _keep(self, *, read: bool) -> None:
        read_at_s = time.monotonic()
        while True:
            await asyncio.sleep(REFRESHED_EVERY_S)
            await self.refresh()
            if not read or time.monotonic() - read_at_s >= REVOCATIONS_READ_EVERY_S:
                read, read_at_s = await self.revocations.load_or_log(), time.monotonic()

    async def _keep_counted(self) -> None:
        while True:
            with contextlib.suppress(StoreError):  # the count before stays; the store's calls have metrics of their own
                self._enrolled.update(await self.enrollment.counts())
            await asyncio.sleep(COUNTED_EVERY_S)

    async def refresh(self) -> None:
        """See whether the server's certificate is to be another one."""
        try:
            if await asyncio.to_thread(self.certificates.refresh):
                log.event("info", "certificate", *self.described())
                for changed in self._refreshed:
                    await changed()
        except (PkiError, OSError) as error:
            log.event("warning", "certificate", "not read", f"{error}; the one before stays in use")


def secure(
    options: TlsOptions,
    store: Store,
    now_s: Callable[[], float] = time.time,
    lifetimes: Lifetimes | None = None,
    own_store: Store | None = None,
) -> Security:
    """TLS as the options ask for it, with records in a store that others start, or that is `own_store`.

    Raises:
        PkiError: there is no authority, or a file of it cannot be used; the text says which commands help.
    """

    def now() -> datetime.datetime:
        return datetime.datetime.fromtimestamp(now_s(), datetime.UTC)

    def report(what: str) -> None:
        log.event("warning", "store", "certificates", what)

    certificates = ServerCertificates(_source(options, now))
    revocations = Revocations(store, now_s, report)
    streams = CertifiedStreams(now_s)
    enrollment = Enrollment(
        store,
        authority=lambda: certificates.authority,
        revocations=revocations,
        lifetimes=lifetimes or _lifetimes(options),
        now_s=now_s,
        report=report,
    )
    revocations.listen(streams.revoked)
    connections = ConnectionWatch(Connections(certificates.handshakes))
    peers = Certified(lambda: certificates.trust_domain, revocations, streams, connections.called)
    fronted = Certified(
        lambda: certificates.trust_domain, revocations, streams, connections.called, fronted=bool(options.front)
    )
    return Security(
        options, certificates, revocations, streams, enrollment, peers, fronted, Pins(store), connections, own_store
    )


def directory_of(options: TlsOptions) -> Directory:
    """Where the authority is."""
    return Directory(Path(options.directory) if options.directory else default_directory())


def _source(options: TlsOptions, now: Callable[[], datetime.datetime]) -> Source:
    directory = directory_of(options)
    if options.certificate:
        trusted = Path(options.authorities) if options.authorities else directory.certificate
        return FromFiles(Path(options.certificate), Path(options.key), trusted, now)
    if not directory.certificate.exists():
        raise PkiError(
            f"no authority in {directory.path}. To make one, and a certificate for yourself:\n"
            f"  airbound ca init --directory {directory.path}\n"
            f"  airbound ca operator {_host_name()}-admin --directory {directory.path}\n"
            "then start the controller again, and enrol access points and phones with `airbound enroll`"
            " (docs/security.md). In a lab that nobody else reaches: --plain-text"
        )
    passphrase = None
    if options.passphrase_file:
        passphrase = files.passphrase(Path(options.passphrase_file), "tls.passphrase_file")
    authority = directory.load(now(), passphrase)
    if authority.key is None:
        raise PkiError(
            f"{directory.key} is not there: this machine cannot sign its own certificate. Make one where the key is:"
            " airbound ca controller NAME --out DIR; and name its files here: [tls] certificate, key, authorities"
        )
    lifetime = datetime.timedelta(days=options.controller_days)
    return Issued(directory, authority, options.name or _host_name(), lifetime, now)


def _host_name() -> str:
    """The host's name with the characters that a name may have."""
    text = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:NAME_MAX_CHARACTERS]
    return text if text.strip(".") else "controller"


def _lifetimes(options: TlsOptions) -> Lifetimes:
    days = datetime.timedelta(days=1)
    return Lifetimes(options.agent_days * days, options.operator_days * days)
