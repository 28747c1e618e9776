# SPDX-License-Identifier: Apache-2.0
"""An authority, a controller's security and clients with certificates, for tests. Certificates are real; the time is
that of the test, which may be moved.
"""

import datetime
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

from airbound.grpc.security import Security, secure
from airbound.pki import files
from airbound.pki.authority import Authority, new_key
from airbound.pki.directory import Directory
from airbound.pki.enrollment import Lifetimes
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, CertificateRole, Identity, server_name
from airbound.pki.options import TlsOptions
from airbound.store.memory import Memory, MemoryStore
from airbound_testing.agents import Secured

LOOPBACK = "127.0.0.1:0"
HOUR = datetime.timedelta(hours=1)


class Site:
    """A directory with an authority, and a clock that is `ahead_s` of the machine's. `front` is the program before the
    ports of its controllers, if there is one.
    """

    def __init__(
        self, path: Path, trust_domain: str = DEFAULT_TRUST_DOMAIN, ahead_s: float = 0.0, *, front: str = ""
    ) -> None:
        self.ahead_s = ahead_s
        self.front = front
        self.directory = Directory(path)
        self.authority = self.directory.init(trust_domain, self.now())

    def now_s(self) -> float:
        """Seconds since 1970 by the test's clock."""
        return time.time() + self.ahead_s

    def now(self) -> datetime.datetime:
        """The same."""
        return datetime.datetime.fromtimestamp(self.now_s(), datetime.UTC)

    @asynccontextmanager
    async def security(
        self, *, lifetimes: Lifetimes | None = None, memory: Memory | None = None
    ) -> AsyncIterator[Security]:
        """TLS for a controller on loopback, with a store in memory, or with the one that other replicas have."""
        store = MemoryStore(memory or Memory())
        await store.start(f"replica{id(store)}", lambda _: None, lambda: None)
        options = TlsOptions(directory=str(self.directory.path), enrollment=LOOPBACK, name="test", front=self.front)
        security = secure(options, store, self.now_s, lifetimes)
        try:
            async with security.kept_current():
                yield security
        finally:
            await store.close()

    def client(
        self, role: CertificateRole, name: str, lifetime: datetime.timedelta = HOUR, *, by: Authority | None = None
    ) -> "Client":
        """A client with a certificate of the authority, or of another one."""
        key = new_key()
        certificate = (by or self.authority).sign(Identity(role, name), key.public_key(), lifetime, self.now())
        return Client(self.authority, certificate, key)


class Client:
    """A key and a certificate."""

    def __init__(self, authority: Authority, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.authority = authority
        self.certificate = certificate
        self.key = key

    def secured(self) -> Secured:
        """What it connects with."""
        credentials = grpc.ssl_channel_credentials(
            files.pem([self.authority.certificate]), files.key_pem(self.key), files.pem([self.certificate])
        )
        return Secured(credentials, server_name(self.authority.trust_domain))


def nobody(authority: Authority) -> Secured:
    """A client without a certificate."""
    return Secured(
        grpc.ssl_channel_credentials(files.pem([authority.certificate])), server_name(authority.trust_domain)
    )


def request(key: CertificateIssuerPrivateKeyTypes, algorithm: hashes.SHA256 | None = None) -> bytes:
    """A request for a certificate in DER, signed by its key; Ed25519 has no choice of a hash."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.DER)
