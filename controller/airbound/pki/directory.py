# SPDX-License-Identifier: Apache-2.0
"""The directory of an authority: its key, its certificate, what else is trusted."""

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from airbound.pki import authority as authorities
from airbound.pki import files
from airbound.pki.authority import Authority
from airbound.pki.errors import PkiError

DIRECTORY_VARIABLE = "AIRBOUND_CA_DIR"


def default_directory() -> Path:
    """Where the authority is unless somebody says otherwise."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/airbound/ca")
    return Path("~/.local/share/airbound/ca").expanduser()


@dataclass(frozen=True, slots=True)
class Directory:
    """Paths of what is there, and what can be done with it."""

    path: Path

    @property
    def certificate(self) -> Path:
        """Of the authority."""
        return self.path / "authority.pem"

    @property
    def key(self) -> Path:
        """Of the authority."""
        return self.path / "authority-key.pem"

    @property
    def request(self) -> Path:
        """For another authority to sign."""
        return self.path / "request.pem"

    @property
    def chain(self) -> Path:
        """Issuers of the authority's certificate, if it was signed elsewhere."""
        return self.path / "chain.pem"

    @property
    def also_trusted(self) -> Path:
        """Authorities before and after this one; written by hand, while one replaces another."""
        return self.path / "also-trusted.pem"

    def key_state(self) -> str:
        """Whether the key is there, and encrypted."""
        if not self.key.exists():
            return "not here"
        return "encrypted" if b"ENCRYPTED" in files.read(self.key) else "not encrypted"

    def init(
        self, trust_domain: str, now: datetime.datetime, *, passphrase: bytes | None = None, force: bool = False
    ) -> Authority:
        """Make an authority.

        Raises:
            PkiError: there is one, or its files cannot be written.
            IdentityError: not a trust domain.
        """
        made = authorities.create(trust_domain, now)
        files.make_directory(self.path)
        files.move_aside([self.certificate, self.key, self.request, self.chain], force=force)
        if made.key is not None:
            files.write(self.key, files.key_pem(made.key, passphrase), files.SECRET_MODE)
        files.write(self.certificate, files.pem([made.certificate]))
        return made

    def make_request(
        self, trust_domain: str, *, passphrase: bytes | None = None, force: bool = False
    ) -> x509.CertificateSigningRequest:
        """Make a key, and a request for a certificate that another authority is to sign.

        Raises:
            PkiError: there is an authority or a request, or the files cannot be written.
            IdentityError: not a trust domain.
        """
        key = authorities.new_key()
        made = authorities.request(trust_domain, key)
        files.make_directory(self.path)
        files.move_aside([self.certificate, self.key, self.request, self.chain], force=force)
        files.write(self.key, files.key_pem(key, passphrase), files.SECRET_MODE)
        files.write(self.request, made.public_bytes(serialization.Encoding.PEM))
        return made

    def take_certificate(
        self,
        certificate: x509.Certificate,
        chain: list[x509.Certificate],
        now: datetime.datetime,
        *,
        passphrase: bytes | None = None,
        force: bool = False,
    ) -> Authority:
        """Take in the certificate that answers the request, and its issuers from below to above.

        Raises:
            PkiError: it is not for our key, no certificate of an authority, or not signed by the first of the chain.
        """
        key = files.private_key(self.key, passphrase)
        if certificate.public_key() != key.public_key():
            raise PkiError(f"the certificate is for another key than {self.key}")
        trust_domain = authorities.check(certificate, now)
        below = certificate
        for above in chain:
            try:
                below.verify_directly_issued_by(above)
            except (InvalidSignature, ValueError, TypeError) as error:
                subject = below.subject.rfc4514_string()
                raise PkiError(f"{subject} is not signed by {above.subject.rfc4514_string()}") from error
            below = above
        files.move_aside([self.certificate, self.chain], force=force)
        if chain:
            files.write(self.chain, files.pem(chain))
        files.write(self.certificate, files.pem([certificate]))
        return Authority(certificate, trust_domain, key, tuple(chain))

    def load(self, now: datetime.datetime, passphrase: bytes | None = None, *, with_key: bool = True) -> Authority:
        """Read the authority; without its key if it is not there, or is not wanted.

        Raises:
            PkiError: there is none, or a file of it cannot be used.
        """
        if not self.certificate.exists():
            raise PkiError(f"{self.path}: no authority is there: airbound ca init --directory {self.path}")
        (certificate, *rest) = files.certificates(self.certificate)
        try:
            trust_domain = authorities.check(certificate, now)
        except PkiError as error:
            raise PkiError(f"{self.certificate}: {error}") from error
        key = files.private_key(self.key, passphrase) if with_key and self.key.exists() else None
        if key is not None and key.public_key() != certificate.public_key():
            raise PkiError(f"{self.key} is not the key of {self.certificate}")
        chain = files.certificates(self.chain) if self.chain.exists() else rest
        return Authority(certificate, trust_domain, key, tuple(chain), self.load_also_trusted())

    def load_also_trusted(self) -> tuple[x509.Certificate, ...]:
        """The other authorities.

        Raises:
            PkiError: the file cannot be used.
        """
        return tuple(files.certificates(self.also_trusted)) if self.also_trusted.exists() else ()
