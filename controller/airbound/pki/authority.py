# SPDX-License-Identifier: Apache-2.0
"""The certificate authority: a key and a certificate whose one URI names the trust domain. It signs for clients and
controllers, not for other authorities.
"""

import datetime
import secrets
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from airbound.core.reasons import Code, Reason, RefusedError
from airbound.pki.certificates import BACKDATED, issue, key_usage, new_serial, uri_of
from airbound.pki.errors import PkiError
from airbound.pki.identities import Identity, IdentityError, trust_domain_of_uri, trust_domain_uri
from airbound.pki.requests import PublicKey

LIFETIME = datetime.timedelta(days=3653)  # ten years


@dataclass(frozen=True, slots=True)
class Authority:
    """What signs. `key` is none on a machine that only verifies; `chain` are the issuers of a certificate that was
    signed elsewhere; `also_trusted` are the authorities before and after this one, whose clients are accepted too.
    """

    certificate: x509.Certificate
    trust_domain: str
    key: ec.EllipticCurvePrivateKey | None = None
    chain: tuple[x509.Certificate, ...] = ()
    also_trusted: tuple[x509.Certificate, ...] = ()

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the certificate, which tokens carry."""
        return fingerprint_of(self.certificate)

    @property
    def trusted(self) -> list[x509.Certificate]:
        """Every authority that clients are accepted from, this one first."""
        return [self.certificate, *self.also_trusted]

    @property
    def trusted_der(self) -> list[bytes]:
        """The same in DER."""
        return [certificate.public_bytes(serialization.Encoding.DER) for certificate in self.trusted]

    def sign(
        self, identity: Identity, key: PublicKey, lifetime: datetime.timedelta, now: datetime.datetime
    ) -> x509.Certificate:
        """A certificate for an identity.

        Raises:
            RefusedError: the key of the authority is not here.
        """
        if self.key is None:
            raise RefusedError(Reason(Code.CANNOT_SIGN))
        return issue(
            self.certificate,
            self.key,
            identity=identity,
            trust_domain=self.trust_domain,
            key=key,
            lifetime=lifetime,
            now=now,
        )


def fingerprint_of(certificate: x509.Certificate) -> bytes:
    """SHA-256 of it in DER."""
    return certificate.fingerprint(hashes.SHA256())


P256_ORDER = 0xFFFFFFFF_00000000_FFFFFFFF_FFFFFFFF_BCE6FAAD_A7179E84_F3B9CAC2_FC632551
"""Of the curve's group (SP 800-186, section 3.2.1.3): a private key is at least 1 and below it."""


def new_key() -> ec.EllipticCurvePrivateKey:
    """ECDSA P-256, of the kernel's random numbers alone.

    OpenSSL's own generator also takes in addresses of its memory, which differ with the paths of an installation; a run
    of the lab would not repeat in another place. For the same reason all signatures are deterministic (RFC 6979).
    """
    return ec.derive_private_key(1 + secrets.randbelow(P256_ORDER - 1), ec.SECP256R1())


def create(trust_domain: str, now: datetime.datetime) -> Authority:
    """A new authority that nobody else signed.

    Raises:
        IdentityError: not a trust domain.
    """
    key, name = new_key(), _subject()
    certificate = (
        x509.CertificateBuilder()
        .serial_number(new_serial())
        .issuer_name(name)
        .subject_name(name)
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFETIME)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs=True), critical=True)
        .add_extension(_uri(trust_domain), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    )
    return Authority(certificate, trust_domain, key)


def request(trust_domain: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateSigningRequest:
    """A request for the authority's certificate, for another authority to sign.

    Raises:
        IdentityError: not a trust domain.
    """
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(_subject())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs=True), critical=True)
        .add_extension(_uri(trust_domain), critical=False)
        .sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    )


def _subject() -> x509.Name:
    """Different for each: of two that are trusted at once, clients must find the right one by its name."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Airbound authority {secrets.token_hex(4)}")])


def _uri(trust_domain: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.UniformResourceIdentifier(trust_domain_uri(trust_domain))])


def check(certificate: x509.Certificate, now: datetime.datetime) -> str:
    """See that a certificate is one of an authority; its trust domain.

    Raises:
        PkiError: it is not; the text says why.
    """
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except (x509.ExtensionNotFound, ValueError) as error:
        raise PkiError(f"not the certificate of an authority: {error}") from error
    if not constraints.ca or not usage.key_cert_sign:
        raise PkiError("not the certificate of an authority: it may not sign certificates")
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        raise PkiError(f"valid from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC, which is not now")
    try:
        return trust_domain_of_uri(uri_of(certificate))
    except IdentityError as error:
        raise PkiError(f"its subject's alternative names: {error}") from error
