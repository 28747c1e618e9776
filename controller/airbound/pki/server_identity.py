# SPDX-License-Identifier: Apache-2.0
"""What a controller shows to its clients, and whose clients it accepts. Either the authority is here, and the key and
the certificate are made in memory and made again at two thirds of their life; or all are read from files, and read
again when these change.
"""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from airbound.pki import authority as authorities
from airbound.pki import files
from airbound.pki.authority import Authority
from airbound.pki.certificates import Certificate
from airbound.pki.directory import Directory
from airbound.pki.errors import PkiError
from airbound.pki.identities import CONTROLLER, Identity, IdentityError

RENEWED_AFTER = 2 / 3  # of the life


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """Key and chain in PEM, the leaf first; `roots` are whose clients are accepted."""

    certificate: Certificate
    not_before_s: int
    key: bytes
    chain: bytes
    roots: bytes


class Source(Protocol):
    """Where a server's identity comes from."""

    @property
    def authority(self) -> Authority:
        """That signs for clients, or whose clients are accepted at least."""

    def read(self) -> ServerIdentity | None:
        """A new identity, or none if the one before is to stay.

        Raises:
            PkiError: there is to be a new one, and it cannot be used.
        """


class Issued:
    """Signed by the authority in a directory. `also-trusted.pem` there is read again when it changes."""

    def __init__(
        self,
        directory: Directory,
        authority: Authority,
        name: str,
        lifetime: datetime.timedelta,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._directory = directory
        self._authority = authority
        self._identity = Identity(CONTROLLER, name)
        self._lifetime = lifetime
        self._now = now
        self._not_before_s = self._renew_at_s = 0.0
        self._also_trusted_version = _version([directory.also_trusted])

    @property
    def authority(self) -> Authority:
        """That signs."""
        return self._authority

    def read(self) -> ServerIdentity | None:
        """Sign when it is time to, when others are trusted than before, or when what there is is not valid yet: the
        clock was ahead, and was put back.
        """
        version = _version([self._directory.also_trusted])
        now = self._now()
        is_current = self._not_before_s <= now.timestamp() < self._renew_at_s
        if version == self._also_trusted_version and is_current:
            return None
        self._also_trusted_version = version
        before = self._authority
        self._authority = Authority(
            before.certificate, before.trust_domain, before.key, before.chain, self._directory.load_also_trusted()
        )
        key = authorities.new_key()
        made = self._authority.sign(self._identity, key.public_key(), self._lifetime, now)
        end_s = made.not_valid_after_utc.timestamp()
        self._not_before_s = made.not_valid_before_utc.timestamp()
        self._renew_at_s = now.timestamp() + RENEWED_AFTER * (end_s - now.timestamp())
        chain = [made, self._authority.certificate, *self._authority.chain]
        return _identity(made, self._authority.trust_domain, files.key_pem(key), chain, self._authority.trusted)


class FromFiles:
    """Read from files. Key and certificate may be replaced one after the other: while they do not fit one another, what
    was read before stays.
    """

    def __init__(self, certificate: Path, key: Path, trusted: Path, now: Callable[[], datetime.datetime]) -> None:
        self._certificate = certificate
        self._key = key
        self._trusted = trusted
        self._now = now
        self._version: object = None
        self._authority: Authority | None = None

    @property
    def authority(self) -> Authority:
        """The first that is trusted; its key is elsewhere."""
        if self._authority is None:
            raise PkiError(f"{self._trusted}: not read yet")
        return self._authority

    def read(self) -> ServerIdentity | None:
        """Read the files if they changed."""
        version = _version([self._certificate, self._key, self._trusted])
        if version == self._version:
            return None
        self._version = version
        chain = files.certificates(self._certificate)
        key = files.private_key(self._key, forbidden=files.OTHERS_OR_GROUP_WRITE)
        trusted = files.certificates(self._trusted)
        if chain[0].public_key() != key.public_key():
            raise PkiError(f"{self._key} is not the key of the first certificate in {self._certificate}")
        try:
            trust_domain = authorities.check(trusted[0], self._now())
        except PkiError as error:
            raise PkiError(f"{self._trusted}: {error}") from error
        if not any(_signed(chain[0], issuer) for issuer in trusted):
            raise PkiError(f"{self._certificate} is not signed by an authority in {self._trusted}")
        self._authority = Authority(trusted[0], trust_domain, also_trusted=tuple(trusted[1:]))
        if len(chain) == 1:  # a client at its enrolment looks for the authority in the chain
            chain.append(trusted[0])
        try:
            return _identity(chain[0], trust_domain, files.key_pem(key), chain, trusted)
        except PkiError as error:
            raise PkiError(f"{self._certificate}: {error}") from error


def _version(paths: Sequence[Path]) -> object:
    """What differs when one of the files was replaced or written."""
    found = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            found.append((path, 0, 0, 0))
        else:
            found.append((path, status.st_ino, status.st_mtime_ns, status.st_size))
    return found


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _identity(
    leaf: x509.Certificate,
    trust_domain: str,
    key: bytes,
    chain: list[x509.Certificate],
    trusted: list[x509.Certificate],
) -> ServerIdentity:
    try:
        certificate = Certificate.from_x509(leaf, trust_domain)
    except IdentityError as error:
        raise PkiError(str(error)) from error
    if certificate.identity.role != CONTROLLER:
        raise PkiError(f"the certificate is for {certificate.identity}: a controller's is needed")
    not_before_s = int(leaf.not_valid_before_utc.timestamp())
    return ServerIdentity(certificate, not_before_s, key, files.pem(chain), files.pem(trusted))
