# SPDX-License-Identifier: Apache-2.0
"""The certificate that new connections are shown. gRPC asks for it at each handshake, in a thread of its own: it
is made beforehand. Open streams go on as they are.
"""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc

from airbound.pki.authority import Authority
from airbound.pki.server_identity import ServerIdentity, Source


class ServerCertificates:
    """By a source that is read now and then.

    Raises:
        PkiError: the source has no identity that can be used.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        first = source.read()
        if first is None:
            raise AssertionError("a source has an identity when it is read for the first time")
        self._identity: ServerIdentity = first
        self._configuration: Any = _configuration(first)
        self._lock = threading.Lock()  # handshakes are counted in gRPC's threads
        self._handshakes = Counter[str]()

    def handshakes(self) -> dict[str, int]:
        """Begun, whatever became of them, by the name of the port: one for each connection that gRPC took."""
        with self._lock:
            return dict(self._handshakes)

    def count_handshakes(self, port: str, count: int) -> None:
        """So many more have begun on a port that another process serves."""
        with self._lock:
            self._handshakes[port] += count

    @property
    def identity(self) -> ServerIdentity:
        """That new connections are shown."""
        return self._identity

    @property
    def authority(self) -> Authority:
        """Of the source."""
        return self._source.authority

    @property
    def trust_domain(self) -> str:
        """Of the authority."""
        return self._source.authority.trust_domain

    def refresh(self) -> bool:
        """Read the source again; whether new connections are shown something new.

        Raises:
            PkiError: it cannot be used; what was shown before stays.
        """
        fresh = self._source.read()
        if fresh is None:
            return False
        self._configuration = _configuration(fresh)
        self._identity = fresh
        return True

    def credentials(self, port: str, *, clients: bool) -> grpc.ServerCredentials:
        """For a port of that name; with `clients` of those only who have a certificate of a trusted authority."""
        current = self._configuration

        def changed() -> Any:
            nonlocal current
            with self._lock:
                self._handshakes[port] += 1
            if current is self._configuration:
                return None  # a new configuration is a new TLS context, which is slow to make
            current = self._configuration
            return current

        return _dynamic(current, changed, clients)


def _configuration(identity: ServerIdentity) -> Any:
    make: Any = grpc.ssl_server_certificate_configuration
    return make([(identity.key, identity.chain)], root_certificates=identity.roots)


def _dynamic(initial: Any, fetch: Callable[[], Any], clients: bool) -> grpc.ServerCredentials:  # noqa: FBT001
    make: Any = grpc.dynamic_ssl_server_credentials
    credentials: grpc.ServerCredentials = make(initial, fetch, require_client_authentication=clients)
    return credentials
