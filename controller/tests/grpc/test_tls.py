# SPDX-License-Identifier: Apache-2.0
"""Mutual TLS over loopback: real certificates, real handshakes; each way in which a peer is turned away or its stream
is ended.
"""

import asyncio
import datetime
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from airbound.core.reasons import Code
from airbound.grpc.security import Security
from airbound.grpc.session import REASON_KEY
from airbound.metrics.exporter import Exporter
from airbound.metrics.hooks import Hooks
from airbound.metrics.options import Metrics
from airbound.pki import files
from airbound.pki.authority import create, new_key
from airbound.pki.certificates import serial_text
from airbound.pki.directory import Directory
from airbound.pki.enrollment import Lifetimes
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, CertificateRole
from airbound.store.memory import Memory, MemoryStore
from airbound.v1 import (
    enrollment_pb2,
    enrollment_pb2_grpc,
    events_pb2,
    events_pb2_grpc,
    live_pb2,
    live_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    pki_pb2,
    pki_pb2_grpc,
)
from airbound_testing.agents import WAIT_S, FakeAccessPoint, FakePhone, Secured, channel
from airbound_testing.live import BSSID, LOOPBACK, MACS, LiveController, upload
from airbound_testing.pki import Client, Site, nobody, request
from airbound_testing.processes import haproxy_program
from airbound_testing.scrapes import scrape

HOUR = datetime.timedelta(hours=1)
SECOND = datetime.timedelta(seconds=1)
LIFETIMES = Lifetimes(agents=HOUR, operators=HOUR)
DAY_S = 86_400


class World:
    """A controller with TLS, its authority, its clock."""

    def __init__(self, site: Site, security: Security, live: LiveController) -> None:
        self.site, self.security, self.live = site, security, live

    def refused(self, code: Code) -> int:
        return self.live.runner.counts.totals["refused_total", code]

    def ask(self, secured: Secured, stack: AsyncExitStack) -> Any:
        made = channel(self.live.operators, secured)
        stack.push_async_callback(made.close)
        return made

    async def enroll(self, token: str, octets: bytes) -> enrollment_pb2.Credentials:
        async with channel(self.live.running.enrollment, nobody(self.site.authority)) as open_channel:
            stub: Any = enrollment_pb2_grpc.EnrollmentServiceStub(open_channel)
            answer = await stub.Enroll(enrollment_pb2.EnrollRequest(token=token, request=octets), timeout=WAIT_S)
            return enrollment_pb2.Credentials.FromString(answer.credentials.SerializeToString())

    async def renew(self, client: Client, octets: bytes) -> enrollment_pb2.Credentials:
        async with channel(self.live.target, client.secured()) as open_channel:
            stub: Any = enrollment_pb2_grpc.CertificateServiceStub(open_channel)
            answer = await stub.Renew(enrollment_pb2.RenewRequest(request=octets), timeout=WAIT_S)
            return enrollment_pb2.Credentials.FromString(answer.credentials.SerializeToString())

    def admin(self) -> Any:
        return pki_pb2_grpc.EnrollmentAdminServiceStub(self.live.channel_of_operator())


@pytest.fixture(params=["grpc", "haproxy"])
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    """Agents' connections end at gRPC, or at HAProxy: what they find is the same."""
    return Site(tmp_path / "ca", front=haproxy_program() if request.param == "haproxy" else "")


@pytest.fixture
async def world(site: Site) -> AsyncIterator[World]:
    async with site.security(lifetimes=LIFETIMES) as security, controller(site, security) as live:
        yield World(site, security, live)


def controller(site: Site, security: Security, **more: Any) -> LiveController:
    return LiveController(security=security, secured=lambda role, name: site.client(role, name).secured(), **more)


async def ended(agent: FakePhone | FakeAccessPoint) -> grpc.aio.AioRpcError:
    await asyncio.wait_for(agent.ended.wait(), WAIT_S)
    assert agent.error is not None
    return agent.error


def reason_of(error: grpc.aio.AioRpcError) -> str:
    return dict(error.trailing_metadata() or ()).get(REASON_KEY, "")  # type: ignore[arg-type,return-value]


def check_refusal(
    site: Site, error: grpc.aio.AioRpcError, status: grpc.StatusCode, reason: str = "", details: str = ""
) -> None:
    """Before version 3.2 HAProxy ends a stream that was refused with another error behind the answer, which gRPC's C
    core takes for the status; agents are of Go, which takes the answer's
    (https://github.com/haproxy/haproxy/issues/1219).
    """
    assert reason_of(error) == reason
    if not site.front:
        assert error.code() is status
        assert details in (error.details() or "")


async def failure(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(call, WAIT_S)
    return caught.value


# Who is let in


async def test_a_cell_works_and_names_are_those_of_the_certificates(world: World) -> None:
    await world.live.uploading(2)
    assert {terminal.name for terminal in await world.live.terminals()} == {"phone0", "phone1"}
    assert [cell.access_point for cell in await world.live.cells()] == ["ap"]
    streams = [terminal.stream for terminal in world.live.runner.engine.terminals()]
    assert {stream.address for stream in streams} == {bytes([127, 0, 0, 1])}
    assert len(world.security.streams) == 3


async def test_handshakes_are_counted(world: World) -> None:
    await world.live.uploading(2)

    async def all_of_them() -> bool:  # HAProxy is asked every 5 s
        return world.security.connections.handshakes()["agents"] >= 3

    await world.live.until(all_of_them)


async def test_a_name_has_so_many_streams_whatever_others_of_its_address_have(site: Site) -> None:
    async with site.security() as security, controller(site, security, streams_per_name_max=1) as live:
        client = site.client("terminal", "phone0")
        async with FakePhone(live.target, MACS[0], client.secured()) as first:
            await first.report(upload(), monotonic_us=1)
            await first.until(lambda: first.reporting.interval_ms != 0)
            async with FakePhone(live.target, MACS[0], client.secured()) as second:
                error = await ended(second)
            details = "more than 1 streams from terminal/phone0"
            check_refusal(site, error, grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS", details)
            other = await live.phone(1)
            await other.report(upload(), monotonic_us=1)
            await other.until(lambda: other.reporting.interval_ms != 0)


@pytest.mark.parametrize("who", ["plain text", "no certificate", "another authority", "over", "for servers only"])
async def test_whom_the_handshake_turns_away(world: World, who: str) -> None:
    """gRPC has no status for it: the client sees a connection that fails, the controller sees nothing."""
    site = world.site
    other = create(DEFAULT_TRUST_DOMAIN, site.now())
    secured: dict[str, Callable[[], Secured | None]] = {
        "plain text": lambda: None,
        "no certificate": lambda: nobody(site.authority),
        "another authority": lambda: site.client("terminal", "phone0", by=other).secured(),
        "over": lambda: site.client("terminal", "phone0", -SECOND).secured(),
        "for servers only": lambda: _for_servers(site).secured(),
    }
    async with FakePhone(world.live.target, MACS[0], secured[who]()) as phone:
        error = await ended(phone)
        assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert world.live.runner.reports_total == 0
    await world.live.uploading(1)  # others are served


def _for_servers(site: Site) -> Client:
    """A certificate of our authority with nothing but serverAuth."""
    key, authority = new_key(), site.authority
    assert authority.key is not None
    certificate = (
        x509.CertificateBuilder()
        .serial_number(1)
        .issuer_name(authority.certificate.subject)
        .subject_name(x509.Name([]))
        .not_valid_before(site.now() - HOUR)
        .not_valid_after(site.now() + HOUR)
        .public_key(key.public_key())
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.UniformResourceIdentifier(f"spiffe://{DEFAULT_TRUST_DOMAIN}/terminal/phone0")]
            ),
            critical=True,
        )
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Client(authority, certificate, key)


@pytest.mark.parametrize("role", ["access-point", "operator", "switch", "controller"])
async def test_another_role_is_no_terminal(world: World, role: CertificateRole) -> None:
    async with FakePhone(world.live.target, MACS[0], world.site.client(role, "x").secured()) as phone:
        error = await ended(phone)
    details = f"the certificate is for {role}/x, not for this service"
    check_refusal(world.site, error, grpc.StatusCode.PERMISSION_DENIED, "WRONG_ROLE", details)
    assert world.refused(Code.WRONG_ROLE) == 1


async def test_a_terminal_is_no_access_point(world: World) -> None:
    secured = world.site.client("terminal", "x").secured()
    async with FakeAccessPoint(world.live.target, secured) as access_point:
        assert reason_of(await ended(access_point)) == "WRONG_ROLE"


async def test_a_certificate_without_an_identity_of_the_trust_domain(world: World) -> None:
    """Signed by the authority, but for a name of another trust domain."""
    stranger = world.site.client("terminal", "x", by=replace(world.site.authority, trust_domain="other.example"))
    async with FakePhone(world.live.target, MACS[0], stranger.secured()) as phone:
        error = await ended(phone)
    check_refusal(world.site, error, grpc.StatusCode.PERMISSION_DENIED, "NO_IDENTITY")
    assert world.refused(Code.NO_IDENTITY) == 1


async def test_a_certificate_that_is_over_by_our_clock(world: World) -> None:
    """TLS may resume a session without looking at the certificate again: the stream's start does."""
    client = world.site.client("terminal", "x", 60 * SECOND)
    world.site.ahead_s = 60
    async with FakePhone(world.live.target, MACS[0], client.secured()) as phone:
        error = await ended(phone)
    check_refusal(world.site, error, grpc.StatusCode.UNAUTHENTICATED, "CERTIFICATE_EXPIRED")
    assert world.refused(Code.CERTIFICATE_EXPIRED) == 1


async def test_operators_only_are_served_on_the_operators_port(world: World) -> None:
    async with AsyncExitStack() as stack:
        for role in ("terminal", "access-point", "switch", "controller"):
            open_channel = world.ask(world.site.client(role, "x").secured(), stack)  # type: ignore[arg-type]
            for call in (
                operations_pb2_grpc.OperationsServiceStub(open_channel).SetMode(  # type: ignore[no-untyped-call]
                    operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE)
                ),
                pki_pb2_grpc.EnrollmentAdminServiceStub(open_channel).IssueToken(  # type: ignore[no-untyped-call]
                    pki_pb2.IssueTokenRequest(role="operator", name="x")
                ),
            ):
                error = await failure(call)
                assert reason_of(error) == "WRONG_ROLE"
                assert error.code() is grpc.StatusCode.PERMISSION_DENIED  # their requests are whole: no other error
            stub: Any = operations_pb2_grpc.OperationsServiceStub(open_channel)
            events: Any = events_pb2_grpc.EventsServiceStub(open_channel)  # type: ignore[no-untyped-call]
            live: Any = live_pb2_grpc.LiveServiceStub(open_channel)  # type: ignore[no-untyped-call]
            for pages in (
                stub.WatchCells(operations_pb2.WatchCellsRequest()),
                events.ListEvents(events_pb2.ListEventsRequest()),
                events.FollowEvents(events_pb2.FollowEventsRequest()),
                live.ListRttRatios(live_pb2.ListRttRatiosRequest()),
                live.ListDestinations(live_pb2.ListDestinationsRequest(bssid=BSSID)),
            ):
                assert reason_of(await failure(pages.read())) == "WRONG_ROLE"
        nobody_there: Any = operations_pb2_grpc.OperationsServiceStub(world.ask(nobody(world.site.authority), stack))
        error = await failure(nobody_there.GetController(operations_pb2.GetControllerRequest()))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert world.live.runner.engine.settings.mode == "control"
    assert world.refused(Code.WRONG_ROLE) == 28


async def test_a_client_does_not_take_a_terminal_for_a_controller(world: World) -> None:
    """Another server with a certificate of the same authority, of a role that is not a controller's."""
    client = world.site.client("terminal", "x")
    server = grpc.aio.server()
    credentials = grpc.ssl_server_credentials([(files.key_pem(client.key), files.pem([client.certificate]))])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        async with FakePhone(f"127.0.0.1:{port}", MACS[0], world.site.client("terminal", "y").secured()) as phone:
            error = await ended(phone)
    finally:
        await server.stop(0)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert re.search("Hostname Verification Check failed|unsupported certificate purpose", error.details() or "")


# TLS 1.2, by hand: gRPC's own client takes the newest version

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, END_STREAM, END_HEADERS = 1, 4, 1, 4


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def call_of(path: str) -> bytes:
    """A gRPC call without a message: literal header fields that are not indexed (RFC 7541, 6.2.2)."""
    fields = {
        ":method": "POST", ":scheme": "https", ":path": path, ":authority": "x", "te": "trailers",
        "content-type": "application/grpc",
    }  # fmt: skip
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )
    return PREFACE + frame(SETTINGS) + frame(HEADERS, block, END_HEADERS, 1)


@pytest.mark.parametrize(
    ("version", "refusals"), [(ssl.TLSVersion.TLSv1_2, 1), (ssl.TLSVersion.TLSv1_3, 0)], ids=["1.2", "1.3"]
)
async def test_a_connection_of_an_older_tls(
    world: World, version: ssl.TLSVersion, refusals: int, tmp_path: Path
) -> None:
    client = world.site.client("terminal", "x")
    certificate, key = tmp_path / "c", tmp_path / "k"
    files.write(certificate, files.pem([client.certificate]))
    files.write(key, files.key_pem(client.key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=files.pem([world.site.authority.certificate]).decode())
    context.load_cert_chain(certificate, key)
    context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    host, _, port = world.live.target.rpartition(":")
    front = world.live.running.front
    if front is not None and refusals:
        with pytest.raises(ssl.SSLError, match="protocol version"):
            await asyncio.open_connection(host, int(port), ssl=context)

        async def counted() -> bool:
            return front.failures == {"tls_version": 1}

        await world.live.until(counted)
        return
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    writer.write(call_of("/airbound.v1.TerminalService/Connect"))

    async def settled() -> bool:
        return world.refused(Code.TLS_VERSION) + len(world.security.streams) == 2  # one is the access point's

    await world.live.until(settled)
    assert world.refused(Code.TLS_VERSION) == refusals
    writer.transport.abort()


async def test_enrolment_over_an_older_tls(world: World) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=files.pem([world.site.authority.certificate]).decode())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    host, _, port = world.live.running.enrollment.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    message = frame(0, bytes(5), END_STREAM, 1)  # an empty request
    writer.write(call_of("/airbound.v1.EnrollmentService/Enroll") + message)

    async def refused() -> bool:
        return world.refused(Code.TLS_VERSION) == 1

    await world.live.until(refused)
    writer.transport.abort()


# Streams end with their certificates


async def test_a_revoked_certificate_ends_its_open_stream_and_no_other(world: World) -> None:
    phones = await world.live.uploading(2)
    thief = world.site.client("terminal", "thief")
    async with FakePhone(world.live.target, MACS[2], thief.secured()) as phone:
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.reporting.interval_ms != 0)
        serial = serial_text(thief.certificate.serial_number)
        done = await world.admin().Revoke(pki_pb2.RevokeRequest(serial=serial, reason="stolen"))
        assert (list(done.serials), done.streams) == ([serial], 1)
        error = await ended(phone)
        details = f"the certificate {serial} is revoked"
        check_refusal(world.site, error, grpc.StatusCode.PERMISSION_DENIED, "CERTIFICATE_REVOKED", details)
        await phone.connect_again(world.live.target)
        assert reason_of(await ended(phone)) == "CERTIFICATE_REVOKED"
    assert world.refused(Code.CERTIFICATE_REVOKED) == 1
    error = await failure(world.renew(thief, request(new_key(), hashes.SHA256())))
    assert reason_of(error) == "CERTIFICATE_REVOKED"
    assert [phone.error for phone in phones] == [None, None]
    assert world.live.access_point.error is None


async def test_a_revocation_of_another_replica_ends_streams_here(world: World) -> None:
    (phone,) = await world.live.uploading(1)
    (certificate,) = {found for found, _ in world.security.streams._open.values() if found.identity.name == "phone0"}
    assert world.security.revocations.revoked([certificate.serial]) == 1
    assert reason_of(await ended(phone)) == "CERTIFICATE_REVOKED"


async def test_a_revocation_reaches_every_replica_at_once(site: Site) -> None:
    """Two replicas of one store, each with a stream of the same phone; an operator asks the first."""
    memory = Memory()
    thief = site.client("terminal", "thief")
    async with AsyncExitStack() as stack:
        replicas = []
        for name in ("one", "two"):
            security = await stack.enter_async_context(site.security(memory=memory))
            live = controller(site, security, replica=name, store=MemoryStore(memory))
            replicas.append(await stack.enter_async_context(live))
        first, second = replicas
        await first.until(lambda: _sees(first, "two"))
        phones = [await stack.enter_async_context(FakePhone(r.target, MACS[0], thief.secured())) for r in replicas]
        for phone in phones:
            await phone.report(upload(), monotonic_us=1)
            await phone.until(lambda phone=phone: phone.reporting.interval_ms != 0)  # type: ignore[misc]
        admin: Any = pki_pb2_grpc.EnrollmentAdminServiceStub(first.channel_of_operator())
        serial = serial_text(thief.certificate.serial_number)
        done = await admin.Revoke(pki_pb2.RevokeRequest(serial=serial))
        assert done.streams == 1
        assert [reason_of(await ended(phone)) for phone in phones] == ["CERTIFICATE_REVOKED"] * 2
        assert second.access_point.error is None


async def _sees(live: LiveController, other: str) -> bool:
    return live.node is not None and other in live.node.members.others()


async def test_revocations_survive_in_the_store(site: Site) -> None:
    memory = Memory()
    client = site.client("terminal", "x")
    async with site.security(memory=memory) as before:
        await before.enrollment.revoke_serial(client.certificate.serial_number, "")
    async with site.security(memory=memory) as after:
        assert after.revocations.is_revoked(client.certificate.serial_number)


async def test_an_open_stream_ends_with_its_certificate(world: World) -> None:
    client = world.site.client("terminal", "x", 60 * SECOND)
    async with FakePhone(world.live.target, MACS[0], client.secured()) as phone:
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.reporting.interval_ms != 0)
        world.security.streams.check()
        assert phone.error is None
        world.site.ahead_s = 61
        world.security.streams.check()
        error = await ended(phone)
    details = "the certificate ended at"
    check_refusal(world.site, error, grpc.StatusCode.UNAUTHENTICATED, "CERTIFICATE_EXPIRED", details)
    assert world.live.access_point.error is None


async def test_an_operator_who_watches_is_ended_with_the_certificate(world: World) -> None:
    await world.live.senders(1)
    alice = world.site.client("operator", "alice")
    async with AsyncExitStack() as stack:
        stub: Any = operations_pb2_grpc.OperationsServiceStub(world.ask(alice.secured(), stack))
        watch = stub.WatchCells(operations_pb2.WatchCellsRequest())
        assert (await watch.read()).cell.stations == 1
        pages = [page async for page in world.admin().ListEnrolled(pki_pb2.ListEnrolledRequest(role="operator"))]
        assert "alice" in [found.name for page in pages for found in page.enrolled]  # recorded when it was used
        done = await world.admin().Revoke(pki_pb2.RevokeRequest(identity="operator/alice", reason="left"))
        assert done.streams == 1
        error = await failure(_to_the_end(watch))
        check_refusal(world.site, error, grpc.StatusCode.PERMISSION_DENIED, "CERTIFICATE_REVOKED")


async def _to_the_end(call: Any) -> None:
    while await call.read() is not grpc.aio.EOF:
        pass
    raise AssertionError(f"it ended well: {await call.code()}")


async def test_a_new_server_certificate_does_not_disturb_open_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller was started five days ago; its certificate lasts for seven."""
    monkeypatch.setattr("airbound.grpc.security.REFRESHED_EVERY_S", 600)  # it is the test that has it read again
    site = Site(tmp_path / "ca", ahead_s=-5 * DAY_S)
    async with site.security() as security:
        site.ahead_s = -1 * DAY_S
        assert not security.certificates.refresh()
        site.ahead_s = 0
        async with controller(site, security) as live:
            (phone,) = await live.uploading(1)
            targets = live.target, live.operators, live.running.enrollment
            before = {await _shown(target) for target in targets}
            await security.refresh()
            after = {await _shown(target) for target in targets}
            assert (len(before), len(after), len(before | after)) == (1, 1, 2)
            await _connects(live, site.client("terminal", "new"))
            sets = phone.sets
            await live.report(*MACS[:3])
            await live.report(*MACS[:3])
            await phone.until(lambda: phone.sets > sets)
            assert phone.error is None


async def _connects(live: LiveController, client: Client) -> None:
    async with FakePhone(live.target, MACS[1], client.secured()) as phone:
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.reporting.interval_ms != 0)


async def _shown(target: str) -> str:
    """The serial number of the certificate that a server shows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    host, _, port = target.rpartition(":")

    def connect() -> bytes:
        with (
            socket.create_connection((host, int(port)), WAIT_S) as plain,
            context.wrap_socket(plain) as secured,
        ):
            return secured.getpeercert(binary_form=True) or b""

    certificate = await asyncio.to_thread(connect)
    return serial_text(x509.load_der_x509_certificate(certificate).serial_number)


async def test_an_authority_that_replaces_another(world: World, tmp_path: Path) -> None:
    """Clients of the next one are accepted as soon as the file says so; open streams go on."""
    (phone,) = await world.live.uploading(1)
    after = Directory(tmp_path / "next").init(DEFAULT_TRUST_DOMAIN, world.site.now())
    client = world.site.client("terminal", "x", by=after)
    async with FakePhone(world.live.target, MACS[1], client.secured()) as early:
        await ended(early)
    files.write(world.site.directory.also_trusted, files.pem([after.certificate]))
    await world.security.refresh()
    await _connects(world.live, client)
    key = new_key()
    credentials = await world.renew(world.site.client("terminal", "y"), request(key, hashes.SHA256()))
    assert list(credentials.authorities) == [
        certificate.public_bytes(Encoding.DER) for certificate in (world.site.authority.certificate, after.certificate)
    ]
    assert phone.error is None


# Whose a cell is


async def test_a_cell_stays_with_the_access_point_that_reported_it_first(world: World) -> None:
    live = world.live
    await live.senders(1)
    first, secured = live.access_point, world.site.client("access-point", "other").secured()
    async with FakeAccessPoint(live.target, secured) as other:
        live.access_point = other
        await live.report(MACS[0])

        async def refused() -> bool:
            return world.refused(Code.CELL_PINNED) > 0

        await live.until(refused)
        assert [cell.access_point for cell in await live.cells()] == ["ap"]
        await first.done_writing()
        moved = await world.admin().MoveCell(pki_pb2.MoveCellRequest(bssid=BSSID, access_point="other"))
        assert moved.previous_access_point == "ap"

        async def is_others() -> bool:
            await live.report(MACS[0])
            return [cell.access_point for cell in await live.cells()] == ["other"]

        await live.until(is_others)


@pytest.mark.parametrize(("bssid", "name"), [("x", "ap"), (BSSID, "a b"), (BSSID, "x" * 65)])
async def test_a_cell_is_moved_to_names_only(world: World, bssid: str, name: str) -> None:
    error = await failure(world.admin().MoveCell(pki_pb2.MoveCellRequest(bssid=bssid, access_point=name)))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_cell_of_nobody_is_the_next_ones(world: World) -> None:
    await world.live.senders(1)
    moved = await world.admin().MoveCell(pki_pb2.MoveCellRequest(bssid=BSSID))
    assert moved.previous_access_point == "ap"
    assert await world.security.pins.claim(bytes.fromhex(BSSID.replace(":", "")), "other") == "other"


async def test_metrics_have_when_certificates_end(world: World) -> None:
    authority: Any = await world.admin().GetAuthority(pki_pb2.GetAuthorityRequest())
    ends = {"authority": authority.not_after_s, "server": authority.server_not_after_s}
    assert world.security.certificates_end() == ends
    hooks = Hooks(certificates_end=world.security.certificates_end)
    exporter = Exporter(world.live.runner, Metrics(listen=LOOPBACK), hooks)
    exporter.start()
    try:
        samples = await scrape(exporter.port)
    finally:
        exporter.stop()
    for name, at_s in ends.items():
        assert samples.value("airbound_certificate_not_after_timestamp_seconds", certificate=name) == at_s
