# SPDX-License-Identifier: Apache-2.0
"""Tokens, certificates and revocations over gRPC, as a device and an operator use them."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from airbound.core.reasons import Code
from airbound.grpc.security import Security
from airbound.grpc.session import REASON_KEY
from airbound.pki.authority import new_key
from airbound.pki.enrollment import Lifetimes
from airbound.pki.identities import server_name
from airbound.pki.tokens import EnrollmentToken
from airbound.store.types import StoreError
from airbound.v1 import (
    enrollment_pb2,
    enrollment_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    pki_pb2,
    pki_pb2_grpc,
)
from airbound_testing.agents import WAIT_S, FakePhone, channel
from airbound_testing.live import LOOPBACK, MACS, LiveController, upload
from airbound_testing.pki import Client, Site, nobody, request

HOUR = datetime.timedelta(hours=1)
KEYS = [new_key() for _ in range(3)]


def csr(key: ec.EllipticCurvePrivateKey) -> bytes:
    return request(key, hashes.SHA256())


class World:
    """A controller with TLS, and what is asked of it."""

    def __init__(self, site: Site, security: Security, live: LiveController) -> None:
        self.site, self.security, self.live = site, security, live
        self.admin: Any = pki_pb2_grpc.EnrollmentAdminServiceStub(live.channel_of_operator())

    def refused(self, code: Code) -> int:
        return self.live.runner.counts.totals["refused_total", code]

    async def token(self, name: str = "phone-1", role: str = "terminal", **more: int) -> str:
        return str((await self.admin.IssueToken(pki_pb2.IssueTokenRequest(role=role, name=name, **more))).token)

    async def enroll(self, token: str, octets: bytes, role: str = "") -> enrollment_pb2.Credentials:
        async with channel(self.live.running.enrollment, nobody(self.site.authority)) as to:
            stub: Any = enrollment_pb2_grpc.EnrollmentServiceStub(to)
            message = enrollment_pb2.EnrollRequest(token=token, request=octets, role=role)
            answer = await stub.Enroll(message, timeout=WAIT_S)
            credentials: enrollment_pb2.Credentials = answer.credentials
            return credentials

    def client(self, credentials: enrollment_pb2.Credentials, key: ec.EllipticCurvePrivateKey) -> Client:
        return Client(self.site.authority, x509.load_der_x509_certificate(credentials.certificate), key)

    async def renew(self, target: str, client: Client, octets: bytes) -> enrollment_pb2.Credentials:
        async with channel(target, client.secured()) as to:
            stub: Any = enrollment_pb2_grpc.CertificateServiceStub(to)
            answer = await stub.Renew(enrollment_pb2.RenewRequest(request=octets), timeout=WAIT_S)
            credentials: enrollment_pb2.Credentials = answer.credentials
            return credentials

    async def refusal(self, token: str, octets: bytes, role: str = "") -> tuple[grpc.StatusCode, str]:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.enroll(token, octets, role)
        return caught.value.code(), reason_of(caught.value)


def reason_of(error: grpc.aio.AioRpcError) -> str:
    return dict(error.trailing_metadata() or ()).get(REASON_KEY, "")  # type: ignore[arg-type,return-value]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    site = Site(tmp_path / "ca")
    socket = f"unix:{tmp_path}/airbound.sock"
    async with (
        site.security(lifetimes=Lifetimes(HOUR, HOUR)) as security,
        LiveController(
            security=security,
            secured=lambda role, name: site.client(role, name).secured(),
            operators=[LOOPBACK, socket],
        ) as live,
    ):
        yield World(site, security, live)


async def test_a_phone_enrols_and_connects_and_renews_while_its_stream_goes_on(world: World) -> None:
    token = await world.token()
    first = world.client(await world.enroll(token, csr(KEYS[0])), KEYS[0])
    async with FakePhone(world.live.target, MACS[0], first.secured()) as phone:
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.reporting.interval_ms != 0)
        assert [terminal.name for terminal in await world.live.terminals()] == ["phone-1"]
        second = world.client(await world.renew(world.live.target, first, csr(KEYS[1])), KEYS[1])
        async with FakePhone(world.live.target, MACS[0], second.secured()) as again:
            await again.report(upload(), monotonic_us=1)
            await again.until(lambda: again.reporting.interval_ms != 0)
        assert phone.error is None
    (enrolled,) = [
        found
        async for page in world.admin.ListEnrolled(pki_pb2.ListEnrolledRequest(role="terminal"))
        for found in page.enrolled
    ]
    assert (enrolled.name, [item.origin for item in enrolled.certificates]) == (
        "phone-1",
        [pki_pb2.CERTIFICATE_ORIGIN_TOKEN, pki_pb2.CERTIFICATE_ORIGIN_RENEWAL],
    )


async def test_a_lost_answer(world: World) -> None:
    token = await world.token()
    first, again = [await world.enroll(token, csr(KEYS[0])) for _ in range(2)]
    assert first == again
    assert await world.refusal(token, csr(KEYS[1])) == (grpc.StatusCode.PERMISSION_DENIED, "TOKEN_USED")
    assert world.refused(Code.TOKEN_USED) == 1


async def test_tokens_that_are_not_good(world: World) -> None:
    token = await world.token(lifetime_s=60)
    world.site.ahead_s = 60
    assert await world.refusal(token, csr(KEYS[0])) == (grpc.StatusCode.PERMISSION_DENIED, "TOKEN_EXPIRED")
    other = EnrollmentToken.new(world.site.authority.fingerprint).text()
    for unknown in (other, "", "x" * 5000):
        assert await world.refusal(unknown, csr(KEYS[0])) == (grpc.StatusCode.PERMISSION_DENIED, "TOKEN_UNKNOWN")
    assert (world.refused(Code.TOKEN_EXPIRED), world.refused(Code.TOKEN_UNKNOWN)) == (1, 3)


async def test_a_token_for_another_role(world: World) -> None:
    token = await world.token()
    expected = (grpc.StatusCode.PERMISSION_DENIED, "TOKEN_OF_ANOTHER_ROLE")
    assert await world.refusal(token, csr(KEYS[0]), "access-point") == expected
    assert world.refused(Code.TOKEN_OF_ANOTHER_ROLE) == 1
    await world.enroll(token, csr(KEYS[0]), "terminal")  # the token was not used


async def test_requests_that_are_not_good(world: World) -> None:
    token = await world.token()
    for octets, reason in (
        (b"", "REQUEST_INVALID"),
        (csr(KEYS[0])[:-1] + b"\x00", "REQUEST_INVALID"),
        (request(ec.generate_private_key(ec.SECP384R1()), hashes.SHA256()), "KEY_UNSUITABLE"),
        (bytes(5000), "TOO_LARGE"),
    ):
        assert await world.refusal(token, octets) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
    assert (await world.refusal(token, bytes(9000)))[0] is grpc.StatusCode.RESOURCE_EXHAUSTED  # gRPC's own limit
    await world.enroll(token, csr(KEYS[0]))  # the token was not used


async def test_what_a_request_asks_for_is_ignored(world: World) -> None:
    names = x509.SubjectAlternativeName(
        [
            x509.UniformResourceIdentifier("spiffe://airbound.internal/operator/root"),
            x509.DNSName(server_name("airbound.internal")),
        ]
    )
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    octets = builder.sign(KEYS[0], hashes.SHA256()).public_bytes(Encoding.DER)
    first = world.client(await world.enroll(await world.token(), octets), KEYS[0])
    second = world.client(await world.renew(world.live.target, first, octets), KEYS[0])
    for client in (first, second):
        extensions = client.certificate.extensions
        got = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uri = x509.UniformResourceIdentifier("spiffe://airbound.internal/terminal/phone-1")
        assert got == x509.SubjectAlternativeName([uri])
        assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca


async def test_one_address_may_not_ask_all_the_time(world: World) -> None:
    """Five a second and ten at once; the clock of the limits stands still."""
    token = await world.token()
    for _ in range(10):
        assert await world.refusal(token, b"") == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID")
    assert await world.refusal(token, csr(KEYS[0])) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ENROLLMENTS")
    world.live.now_us += 200_000
    await world.enroll(token, csr(KEYS[0]))
    assert world.refused(Code.TOO_MANY_ENROLLMENTS) == 1


async def test_nothing_else_is_served_without_a_certificate(world: World) -> None:
    async with channel(world.live.running.enrollment, nobody(world.site.authority)) as to:
        for stub, method, message in (
            (operations_pb2_grpc.OperationsServiceStub, "GetController", operations_pb2.GetControllerRequest()),
            (pki_pb2_grpc.EnrollmentAdminServiceStub, "IssueToken", pki_pb2.IssueTokenRequest()),
            (enrollment_pb2_grpc.CertificateServiceStub, "Renew", enrollment_pb2.RenewRequest()),
        ):
            made: Any = stub(to)  # type: ignore[no-untyped-call]
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await getattr(made, method)(message, timeout=WAIT_S)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_operators_renew_where_they_connect_to(world: World) -> None:
    client = world.site.client("operator", "alice")
    credentials = await world.renew(world.live.operators, client, csr(KEYS[0]))
    certificate = x509.load_der_x509_certificate(credentials.certificate)
    assert certificate.public_key() == KEYS[0].public_key()


async def test_a_terminal_renews_nothing_on_the_operators_port(world: World) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await world.renew(world.live.operators, world.site.client("terminal", "x"), csr(KEYS[0]))
    assert reason_of(caught.value) == "WRONG_ROLE"


async def test_the_file_system_decides_about_the_unix_socket(world: World) -> None:
    async with grpc.aio.insecure_channel(world.live._operators[1]) as to:
        admin: Any = pki_pb2_grpc.EnrollmentAdminServiceStub(to)
        answer = await admin.IssueToken(pki_pb2.IssueTokenRequest(role="operator", name="alice"), timeout=WAIT_S)
        assert answer.enrollment == world.live.running.enrollment
        await world.enroll(answer.token, csr(KEYS[0]))
        certificates: Any = enrollment_pb2_grpc.CertificateServiceStub(to)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await certificates.Renew(enrollment_pb2.RenewRequest(request=csr(KEYS[0])), timeout=WAIT_S)
        assert reason_of(caught.value) == "TLS_VERSION"


@pytest.mark.parametrize(
    ("message", "code", "complaint"),
    [
        (pki_pb2.IssueTokenRequest(role="controller", name="x"), "INVALID_ARGUMENT", "'controller' is no role"),
        (pki_pb2.IssueTokenRequest(role="terminal", name="a/b"), "INVALID_ARGUMENT", "'a/b' is no name"),
        (pki_pb2.IssueTokenRequest(role="terminal", name="x" * 10**5), "INVALID_ARGUMENT", "is no name"),
        (pki_pb2.IssueTokenRequest(role="terminal", name="x", uses=10**6), "INVALID_ARGUMENT", "uses = 1000000"),
        (pki_pb2.ListEnrolledRequest(role="admin"), "INVALID_ARGUMENT", "'admin' is no role"),
        (pki_pb2.RevokeRequest(identity="terminal/x"), "NOT_FOUND", "no certificate or token of terminal/x"),
        (pki_pb2.RevokeRequest(identity="controller/x"), "INVALID_ARGUMENT", "it ends within days"),
        (pki_pb2.RevokeRequest(serial="xyz"), "INVALID_ARGUMENT", "'xyz' is no serial number"),
        (pki_pb2.RevokeRequest(), "INVALID_ARGUMENT", "'' is no identity"),
        (
            pki_pb2.RevokeRequest(identity="terminal/x", reason="\x1b[31mx\ny"),
            "INVALID_ARGUMENT",
            r"reason = '\x1b[31mx\ny': not printable",
        ),
    ],
)
async def test_what_operators_are_refused(world: World, message: Any, code: str, complaint: str) -> None:
    method = type(message).__name__.removesuffix("Request")
    call = getattr(world.admin, method)(message, timeout=WAIT_S)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (call.read() if method == "ListEnrolled" else call)
    assert caught.value.code().name == code
    assert complaint in (caught.value.details() or "")


async def test_the_authority_as_operators_see_it(world: World) -> None:
    answer = await world.admin.GetAuthority(pki_pb2.GetAuthorityRequest())
    authority = world.site.authority
    assert (answer.trust_domain, answer.can_sign) == ("airbound.internal", True)
    assert answer.fingerprint == authority.fingerprint.hex()
    assert EnrollmentToken.of_text(await world.token()).authority.hex() == answer.fingerprint
    assert list(answer.authorities) == [answer.certificate] == authority.trusted_der
    server = world.security.certificates.identity.certificate
    assert answer.server_not_after_s == server.not_after_s
    assert int(answer.server_serial, 16) == server.serial


async def test_a_token_for_a_name_that_has_certificates(world: World) -> None:
    request_ = pki_pb2.IssueTokenRequest(role="terminal", name="phone-1")
    answer = await world.admin.IssueToken(request_)
    assert answer.valid_certificates == 0
    await world.enroll(answer.token, csr(KEYS[0]))
    assert (await world.admin.IssueToken(request_)).valid_certificates == 1


async def test_a_long_list_comes_in_pages(world: World) -> None:
    token = [await world.token(f"p{number:03}") for number in range(60)]
    for number, text in enumerate(token):
        world.live.now_us += 200_000
        await world.enroll(text, csr(KEYS[number % 3]))
    pages = [page async for page in world.admin.ListEnrolled(pki_pb2.ListEnrolledRequest(role="terminal"))]
    assert [len(page.enrolled) for page in pages] == [50, 10]
    names = [enrolled.name for page in pages for enrolled in page.enrolled]
    assert names == [f"p{number:03}" for number in range(60)]


async def test_a_store_that_fails_is_no_reason_to_give_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    token = await world.token()
    client = world.site.client("terminal", "x")

    async def fails(*_: object, **__: object) -> None:
        await asyncio.sleep(0)
        raise StoreError("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(world.security.enrollment, "_store", type("Failing", (), {"get": fails, "records": fails}))
        assert (await world.refusal(token, csr(KEYS[0])))[0] is grpc.StatusCode.UNAVAILABLE
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await world.renew(world.live.target, client, csr(KEYS[0]))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await world.admin.Revoke(pki_pb2.RevokeRequest(identity="terminal/x"))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        await world.live.uploading(1)  # streams need no store
    await world.enroll(token, csr(KEYS[0]))
