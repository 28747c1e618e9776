# SPDX-License-Identifier: Apache-2.0
"""An operator's key and certificate, and the authorities of its controllers, in a directory for the operator only."""

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from airbound.pki import authority as authorities
from airbound.pki import files
from airbound.pki.certificates import Certificate
from airbound.pki.errors import PkiError
from airbound.pki.identities import IdentityError, server_name

DIRECTORY_VARIABLE = "AIRBOUND_TLS_DIR"
DEFAULT_DIRECTORY = "~/.config/airbound"
RENEW_AFTER = 2 / 3  # of the life


def default_directory() -> Path:
    """Where they are unless somebody says otherwise."""
    return Path(os.environ.get(DIRECTORY_VARIABLE) or DEFAULT_DIRECTORY).expanduser()


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """What an operator connects with; PEM."""

    certificate: Certificate
    not_before_s: float
    key: ec.EllipticCurvePrivateKey
    certificate_pem: bytes
    authorities_pem: bytes
    server_name: str

    @property
    def key_pem(self) -> bytes:
        """The key."""
        return files.key_pem(self.key)

    def renew_from_s(self) -> float:
        """When it should be renewed, in seconds since 1970."""
        return self.not_before_s + RENEW_AFTER * (self.certificate.not_after_s - self.not_before_s)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files."""

    path: Path

    @property
    def certificate(self) -> Path:
        """Of the operator."""
        return self.path / "certificate.pem"

    @property
    def key(self) -> Path:
        """Of the operator."""
        return self.path / "key.pem"

    @property
    def authorities(self) -> Path:
        """Whose controllers are trusted; the first one signed the certificate."""
        return self.path / "authorities.pem"

    def prepare(self, *, force: bool = False) -> None:
        """Make the directory, and rename files that are in the way.

        Raises:
            PkiError: some are there, and they are not to be renamed; or the directory is open to others.
        """
        files.make_directory(self.path)
        files.move_aside([self.certificate, self.key, self.authorities], force=force)

    def write(
        self, certificate: x509.Certificate, trusted: list[x509.Certificate], key: ec.EllipticCurvePrivateKey | None
    ) -> None:
        """Write them; without a key the one that is there stays.

        Raises:
            PkiError: one cannot be written.
        """
        if key is not None:
            files.write(self.key, files.key_pem(key), files.SECRET_MODE)
        files.write(self.authorities, files.pem(trusted))
        files.write(self.certificate, files.pem([certificate]))

    def load(self, now: datetime.datetime) -> ClientIdentity:
        """Read them.

        Raises:
            PkiError: they are not there, or cannot be used.
        """
        if not self.certificate.exists():
            raise PkiError(
                f"no certificate in {self.path}. Where the authority is: airbound ca operator NAME --out {self.path};"
                " elsewhere: airbound login --token TOKEN, with what `airbound enroll operator NAME` prints."
                " A controller in plain text: --plain-text"
            )
        (certificate, *_) = files.certificates(self.certificate)
        trusted = files.certificates(self.authorities)
        key = files.private_key(self.key)
        if key.public_key() != certificate.public_key():
            raise PkiError(f"{self.key} is not the key of {self.certificate}")
        try:
            trust_domain = authorities.check(trusted[0], now)
            found = Certificate.from_x509(certificate, trust_domain)
        except (PkiError, IdentityError) as error:
            raise PkiError(f"{self.path}: {error}") from error
        if now.timestamp() >= found.not_after_s:
            raise PkiError(
                f"{self.certificate} ended at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC. A new one, where"
                f" the authority is: airbound ca operator NAME --out {self.path} --force; elsewhere:"
                " airbound login --token TOKEN --force"
            )
        return ClientIdentity(
            found,
            certificate.not_valid_before_utc.timestamp(),
            key,
            files.pem([certificate]),
            files.pem(trusted),
            server_name(trust_domain),
        )
