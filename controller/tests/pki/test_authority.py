# SPDX-License-Identifier: Apache-2.0
"""The certificates: each field that somebody relies on."""

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

from airbound.core.reasons import Code, RefusedError
from airbound.pki.authority import Authority, check, create, new_key
from airbound.pki.certificates import Certificate, new_serial, serial_of_text, serial_text
from airbound.pki.errors import PkiError
from airbound.pki.identities import Identity, IdentityError

NOW = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
AUTHORITY = create("wifi.example", NOW)


def extension(certificate: x509.Certificate, kind: type) -> x509.Extension[x509.ExtensionType]:
    return certificate.extensions.get_extension_for_class(kind)


def sign(identity: Identity, lifetime: datetime.timedelta = DAY, now: datetime.datetime = NOW) -> x509.Certificate:
    return AUTHORITY.sign(identity, new_key().public_key(), lifetime, now)


def test_the_certificate_of_an_authority() -> None:
    certificate = AUTHORITY.certificate
    constraints = extension(certificate, x509.BasicConstraints)
    assert constraints.critical
    assert constraints.value == x509.BasicConstraints(ca=True, path_length=0)
    usage = extension(certificate, x509.KeyUsage)
    assert usage.critical
    assert isinstance(usage.value, x509.KeyUsage)
    assert usage.value.key_cert_sign
    assert usage.value.crl_sign
    assert not usage.value.digital_signature
    names = extension(certificate, x509.SubjectAlternativeName).value
    assert names == x509.SubjectAlternativeName([x509.UniformResourceIdentifier("spiffe://wifi.example")])
    assert certificate.not_valid_after_utc == NOW + datetime.timedelta(days=3653)
    assert certificate.not_valid_before_utc == NOW - datetime.timedelta(minutes=5)
    certificate.verify_directly_issued_by(certificate)
    assert check(certificate, NOW) == "wifi.example"
    assert AUTHORITY.fingerprint == certificate.fingerprint(hashes.SHA256())


def test_authorities_are_told_apart_by_their_names() -> None:
    assert create("wifi.example", NOW).certificate.subject != AUTHORITY.certificate.subject


def test_a_switchs_own_certificate_is_none_of_a_server() -> None:
    usage = extension(sign(Identity("switch", "0000020000000001")), x509.ExtendedKeyUsage).value
    assert usage == x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])


@pytest.mark.parametrize(
    ("role", "usages", "dns"),
    [
        *((role, [ExtendedKeyUsageOID.CLIENT_AUTH], []) for role in ("access-point", "terminal", "operator")),
        ("switch", [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH], []),
        (
            "controller",
            [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH],
            ["controller.wifi.example"],
        ),
    ],
)
def test_a_certificate_for_each_role(role: str, usages: list[x509.ObjectIdentifier], dns: list[str]) -> None:
    identity = Identity(role, "a.B-1_")  # type: ignore[arg-type]
    certificate = sign(identity)
    names = extension(certificate, x509.SubjectAlternativeName)
    assert names.critical  # the subject is empty
    assert isinstance(names.value, x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.UniformResourceIdentifier) == [f"spiffe://wifi.example/{role}/a.B-1_"]
    assert names.value.get_values_for_type(x509.DNSName) == dns
    assert len(names.value) == 1 + len(dns)
    assert not list(certificate.subject)
    assert extension(certificate, x509.ExtendedKeyUsage).value == x509.ExtendedKeyUsage(usages)
    assert extension(certificate, x509.BasicConstraints).value == x509.BasicConstraints(ca=False, path_length=None)
    usage = extension(certificate, x509.KeyUsage)
    assert usage.critical
    assert isinstance(usage.value, x509.KeyUsage)
    assert usage.value.digital_signature
    assert not usage.value.key_cert_sign
    assert certificate.not_valid_after_utc == NOW + DAY
    certificate.verify_directly_issued_by(AUTHORITY.certificate)
    not_after_s = int((NOW + DAY).timestamp())
    assert Certificate.from_x509(certificate, "wifi.example") == Certificate(
        certificate.serial_number, identity, not_after_s
    )


@pytest.mark.parametrize(
    ("days", "before"),
    [
        (30, datetime.timedelta(days=1)),
        (7, datetime.timedelta(hours=5, minutes=36)),
        (1 / 24, datetime.timedelta(minutes=5)),
    ],
)
def test_a_certificate_is_valid_before_it_was_signed(days: float, before: datetime.timedelta) -> None:
    """Each role's life: a controller whose clock was ahead signs none that is of no use once the clock is right."""
    authority = create("wifi.example", NOW - 30 * DAY)
    certificate = authority.sign(Identity("terminal", "a"), new_key().public_key(), days * DAY, NOW)
    assert certificate.not_valid_before_utc == NOW - before
    assert AUTHORITY.sign(
        Identity("terminal", "a"), new_key().public_key(), 30 * DAY, NOW
    ).not_valid_before_utc == NOW - datetime.timedelta(minutes=5)  # not before its authority


def test_serial_numbers_are_random() -> None:
    numbers = [new_serial() for _ in range(1000)]
    assert len(set(numbers)) == 1000
    assert all(0 < number < 1 << 128 for number in numbers)
    assert sum(number.bit_length() > 120 for number in numbers) > 900


@pytest.mark.parametrize("number", [1, 255, 1 << 127, (1 << 128) - 1])
def test_a_serial_number_survives_its_text(number: int) -> None:
    assert serial_of_text(serial_text(number)) == number
    assert len(serial_text(number)) == 32


@pytest.mark.parametrize("text", ["", "xyz", "-1", "+1", "1_0", " 1", "0" * 41, "\u0661"])
def test_what_is_no_serial_number(text: str) -> None:
    with pytest.raises(ValueError, match="no serial number"):
        serial_of_text(text)


def test_serial_numbers_as_openssl_writes_them() -> None:
    assert serial_of_text("0A:FF") == 0x0AFF


def test_no_certificate_outlives_its_authority() -> None:
    end = AUTHORITY.certificate.not_valid_after_utc
    assert sign(Identity("terminal", "a"), now=end - DAY / 2).not_valid_after_utc == end
    assert sign(Identity("terminal", "a"), 9999 * DAY).not_valid_after_utc == end


def test_without_its_key_nothing_is_signed() -> None:
    there = Authority(AUTHORITY.certificate, "wifi.example")
    with pytest.raises(RefusedError) as caught:
        there.sign(Identity("terminal", "a"), new_key().public_key(), DAY, NOW)
    assert caught.value.reason.code is Code.CANNOT_SIGN


def test_an_identity_of_another_trust_domain_is_none_here() -> None:
    certificate = create("other.example", NOW).sign(Identity("terminal", "a"), new_key().public_key(), DAY, NOW)
    with pytest.raises(IdentityError, match=r"not of the trust domain wifi\.example"):
        Certificate.from_x509(certificate, "wifi.example")


def made_elsewhere(*names: x509.GeneralName) -> x509.Certificate:
    key, someone = new_key(), x509.Name([])
    builder = (
        x509.CertificateBuilder()
        .serial_number(1)
        .issuer_name(someone)
        .subject_name(someone)
        .not_valid_before(NOW)
        .not_valid_after(NOW + DAY)
        .public_key(key.public_key())
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256())


URI = x509.UniformResourceIdentifier("spiffe://wifi.example/terminal/a")


@pytest.mark.parametrize(
    "names",
    [(), (x509.DNSName("a"),), (URI, x509.UniformResourceIdentifier("spiffe://wifi.example/terminal/b")), (URI, URI)],
)
def test_an_identity_is_exactly_one_uri(names: tuple[x509.GeneralName, ...]) -> None:
    with pytest.raises(IdentityError, match="URI"):
        Certificate.from_x509(made_elsewhere(*names), "wifi.example")
    assert Certificate.from_x509(made_elsewhere(URI, x509.DNSName("a")), "wifi.example").identity == Identity(
        "terminal", "a"
    )


def test_no_pem_is_no_identity() -> None:
    with pytest.raises(IdentityError, match="not a certificate"):
        Certificate.of_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "wifi.example")


def test_what_is_no_certificate_of_an_authority() -> None:
    with pytest.raises(PkiError, match="not the certificate of an authority"):
        check(made_elsewhere(URI), NOW)
    with pytest.raises(PkiError, match="may not sign certificates"):
        check(sign(Identity("terminal", "a")), NOW)
    for now in (NOW - DAY, NOW + 4000 * DAY):
        with pytest.raises(PkiError, match="which is not now"):
            check(AUTHORITY.certificate, now)
