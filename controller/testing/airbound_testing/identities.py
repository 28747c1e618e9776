# SPDX-License-Identifier: Apache-2.0
"""Certificates of many agents at once, signed by the controller's own authority, for load generators and tests. In a
directory:

    authority/          what a controller has as [tls] directory
    authorities.pem     whose controllers the agents accept
    operator/           certificate.pem, key.pem, authorities.pem: what `airbound --tls-dir` reads
    access-points.pem   of access-point/load-0, access-point/load-1, ...: key, certificate, key, certificate ...
    terminals.pem       of terminal/load-0, ...
"""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
from cryptography import x509

from airbound.core.principals import Role
from airbound.operator.tls_files import TlsFiles
from airbound.pki import files
from airbound.pki.authority import Authority, new_key
from airbound.pki.directory import Directory
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, Identity, server_name
from airbound_testing.agents import Secured

LIFETIME = datetime.timedelta(days=30)
# Those that end sooner are made again.
LEFT = datetime.timedelta(days=1)
FILES: dict[Role, str] = {"access-point": "access-points.pem", "terminal": "terminals.pem"}
OPERATOR = "load"
_END = b"-----END CERTIFICATE-----\n"


def name_of(number: int) -> str:
    """The name of an agent."""
    return f"load-{number}"


@dataclass(frozen=True, slots=True)
class Identities:
    """A directory of identities."""

    path: Path

    @property
    def authority(self) -> Directory:
        """That signed them."""
        return Directory(self.path / "authority")

    @property
    def operator(self) -> TlsFiles:
        """An operator's files."""
        return TlsFiles(self.path / "operator")

    def make(self, access_points: int, terminals: int, now: datetime.datetime | None = None) -> int:
        """Make what is not there yet, or ends within a day; how many certificates were made.

        Raises:
            PkiError: the directory is open to others, or a file cannot be read or written.
        """
        now = now or datetime.datetime.now(datetime.UTC)
        files.make_directory(self.path)
        if self.authority.certificate.exists():
            authority = self.authority.load(now)
        else:
            authority = self.authority.init(DEFAULT_TRUST_DOMAIN, now)
        files.write(self.path / "authorities.pem", files.pem(authority.trusted))
        made = 0
        if not _lasts(self.operator.path / "certificate.pem", now):
            key = new_key()
            certificate = authority.sign(Identity("operator", OPERATOR), key.public_key(), LIFETIME, now)
            self.operator.prepare(force=True)
            self.operator.write(certificate, authority.trusted, key)
            made += 1
        made += self._make("access-point", access_points, authority, now)
        return made + self._make("terminal", terminals, authority, now)

    def _make(self, role: Role, count: int, authority: Authority, now: datetime.datetime) -> int:
        path = self.path / FILES[role]
        before = path.read_bytes() if _lasts(path, now) else b""
        there = before.count(_END)
        if there >= count:
            return 0
        made = b"".join(_signed(role, range(there, count), authority, now))
        files.write(path, before + made, files.SECRET_MODE)
        return count - there

    def client(self, role: Role, number: int) -> Secured:
        """What an agent connects with, by its number, or an operator.

        Raises:
            IndexError: there are not so many.
        """
        if role == "operator":
            key, certificate = (self.operator.path / name for name in ("key.pem", "certificate.pem"))
            pair = key.read_bytes() + certificate.read_bytes()
        else:
            pair = (self.path / FILES[role]).read_bytes().split(_END)[number] + _END
        key_pem, marker, rest = pair.partition(b"-----BEGIN CERTIFICATE-----\n")
        if not marker:
            raise IndexError(f"there is no {role} {number}")
        roots = (self.path / "authorities.pem").read_bytes()
        credentials = grpc.ssl_channel_credentials(roots, key_pem, marker + rest)
        return Secured(credentials, server_name(DEFAULT_TRUST_DOMAIN))


def _lasts(path: Path, now: datetime.datetime) -> bool:
    """Whether the first certificate of a file is good for a while; the others were made later."""
    if not path.exists():
        return False
    _, begin, rest = path.read_bytes().partition(b"-----BEGIN CERTIFICATE-----")
    return now + LEFT < x509.load_pem_x509_certificate(begin + rest.partition(_END)[0] + _END).not_valid_after_utc


def _signed(role: Role, numbers: range, authority: Authority, now: datetime.datetime) -> Iterator[bytes]:
    for number in numbers:
        key = new_key()
        certificate = authority.sign(Identity(role, name_of(number)), key.public_key(), LIFETIME, now)
        yield files.key_pem(key) + files.pem([certificate])
