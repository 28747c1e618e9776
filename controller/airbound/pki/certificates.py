# SPDX-License-Identifier: Apache-2.0
"""Certificates (X.509, RFC 5280) as the authority makes them, and what is read from those that peers show."""

import datetime
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from airbound.core.switch_reports import own_datapath
from airbound.pki.identities import CONTROLLER, Identity, IdentityError, identity_of_uri, server_name
from airbound.pki.requests import PublicKey

# A device's clock may be somewhat late.
BACKDATED = datetime.timedelta(minutes=5)
# So may ours be, after it was ahead: of what it signed meanwhile, a device's certificate of 30 days is good at once if
# it was ahead by a day, since a device cannot renew one that is not valid yet.
BACKDATED_PART = 30
SERIAL_OCTETS = 16
SERIAL_DIGITS_MAX = 40  # 20 octets (RFC 5280, 4.1.2.2)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What counts of a peer's certificate."""

    serial: int
    identity: Identity
    not_after_s: int  # since 1970

    @classmethod
    def from_x509(cls, certificate: x509.Certificate, trust_domain: str) -> "Certificate":
        """Read it.

        Raises:
            IdentityError: it does not name exactly one role and name of the trust domain.
        """
        not_after_s = int(certificate.not_valid_after_utc.timestamp())
        return cls(certificate.serial_number, identity_of_uri(uri_of(certificate), trust_domain), not_after_s)

    @classmethod
    def of_der(cls, der: bytes, trust_domain: str) -> "Certificate":
        """Read it from DER.

        Raises:
            IdentityError: it is no certificate, or as for `of`.
        """
        return cls._read(x509.load_der_x509_certificate, der, trust_domain)

    @classmethod
    def of_pem(cls, pem: bytes, trust_domain: str) -> "Certificate":
        """Read it from PEM.

        Raises:
            IdentityError: it is no certificate, or as for `of`.
        """
        return cls._read(x509.load_pem_x509_certificate, pem, trust_domain)

    @classmethod
    def _read(cls, load: Callable[[bytes], x509.Certificate], octets: bytes, trust_domain: str) -> "Certificate":
        try:
            return cls.from_x509(load(octets), trust_domain)
        except IdentityError:
            raise
        except (ValueError, x509.InvalidVersion) as error:
            raise IdentityError("not a certificate") from error


def uri_of(certificate: x509.Certificate) -> str:
    """The one URI among the subject's alternative names.

    Raises:
        IdentityError: there is none, or more than one, or the extensions cannot be read.
    """
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound as error:
        raise IdentityError("no URI") from error
    except ValueError as error:
        raise IdentityError(f"extensions that cannot be read: {error}") from error
    uris = names.value.get_values_for_type(x509.UniformResourceIdentifier)
    if len(uris) != 1:
        raise IdentityError(f"{len(uris)} URIs: expected one")
    return uris[0]


def serial_text(serial: int) -> str:
    """A serial number as people and records have it."""
    return f"{serial:032x}"


def serial_of_text(text: str) -> int:
    """A serial number.

    Raises:
        ValueError: it is none.
    """
    plain = text.replace(":", "").lower()
    if not plain or len(plain) > SERIAL_DIGITS_MAX or not set(plain) <= set("0123456789abcdef"):
        raise ValueError(f"{text[:100]!r} is no serial number: expected hexadecimal digits")
    return int(plain, 16)


def new_serial() -> int:
    """128 random bits, not 0."""
    return int.from_bytes(secrets.token_bytes(SERIAL_OCTETS)) or 1


def key_usage(*, signs: bool) -> x509.KeyUsage:
    """Of an authority, which signs certificates and lists of revoked ones, or of a peer."""
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def issue(
    issuer: x509.Certificate,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    identity: Identity,
    trust_domain: str,
    key: PublicKey,
    lifetime: datetime.timedelta,
    now: datetime.datetime,
) -> x509.Certificate:
    """A certificate for a client, or for a controller or a process for switches, which are servers. It does not outlive
    its issuer.
    """
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(identity.uri(trust_domain))]
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if identity.role == "switch" and not own_datapath(identity.name):
        # `airbound openflow`: switches connect to it. They look at no name, only whether the authority signed it for a
        # server; a switch's own certificate, whose name is its datapath, is none.
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, *usages]
    if identity.role == CONTROLLER:
        names.append(x509.DNSName(server_name(trust_domain)))
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, *usages]
    builder = (
        x509.CertificateBuilder()
        .serial_number(new_serial())
        .issuer_name(issuer.subject)
        .subject_name(x509.Name([]))  # the URI says it all; an empty subject makes the alternative name critical
        .not_valid_before(max(now - max(BACKDATED, lifetime / BACKDATED_PART), issuer.not_valid_before_utc))
        .not_valid_after(min(now + lifetime, issuer.not_valid_after_utc))
        .public_key(key)
        .add_extension(x509.SubjectAlternativeName(names), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    return builder.sign(issuer_key, hashes.SHA256(), ecdsa_deterministic=True)
