# SPDX-License-Identifier: Apache-2.0
"""Who a peer is by mutual TLS: the handshake has verified the certificate, its one URI names a role and a name."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airbound.core.principals import Principal, Role
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.grpc import front_fields
from airbound.grpc.certified_streams import CertifiedStreams
from airbound.grpc.peers import Close, Peer
from airbound.grpc.ports import AGENTS, OPERATORS
from airbound.grpc.principals import plain_text
from airbound.pki.certificates import Certificate
from airbound.pki.identities import IdentityError
from airbound.pki.revocation import Revocations
from airbound.runtime.octets import Account

TLS_VERSION = "TLSv1.3"  # as gRPC names it


class Certified:
    """Who has a certificate of the trust domain for the role that the service is for. Who may connect to the operators'
    Unix socket, the file system decides.
    """

    def __init__(
        self,
        trust_domain: Callable[[], str],
        revocations: Revocations,
        streams: CertifiedStreams,
        called: Callable[[str, str], Account] = lambda _port, _name: Account(),
        *,
        fronted: bool = False,
    ) -> None:
        """`called` is called with the name of a port and the call of a peer that may make it; it returns the account
        of the connection. If `fronted`, calls by Unix sockets are a front's, with the fields of front_fields.py.
        """
        self._fronted = fronted
        self._called = called
        self._trust_domain = trust_domain
        self._revocations = revocations
        self._streams = streams

    def identify(self, role: Role, context: Any) -> Peer:
        """By the certificate, and the address that the connection comes from."""
        if role == "operator" and not self._fronted and front_fields.is_behind(context):
            return Peer(*plain_text(role, context.peer()))
        peer = self.identify_any(context)
        if peer.principal.role != role:
            raise RefusedError(Reason(Code.WRONG_ROLE, f"{peer.principal.role}/{peer.principal.name}"))
        return replace(peer, account=self._called(OPERATORS if role == "operator" else AGENTS, self.name_of(context)))

    def identify_any(self, context: Any) -> Peer:
        """Identify a peer of any role but `controller`.

        Raises:
            RefusedError: nobody that counts.
        """
        is_behind = self._fronted and front_fields.is_behind(context)
        read = behind_a_front if is_behind else authenticated
        certificate = read(context, self._trust_domain())
        self._revocations.check(certificate)
        role, name = certificate.identity.role, certificate.identity.name
        if role == "controller":
            raise RefusedError(Reason(Code.WRONG_ROLE, str(certificate.identity)))
        _, address = plain_text(role, self.name_of(context))
        return Peer(Principal(role, name), address, certificate)

    def name_of(self, context: Any) -> str:
        """As gRPC writes it, of the peer itself."""
        is_behind = self._fronted and front_fields.is_behind(context)
        return front_fields.peer_name(context) if is_behind else context.peer()

    def during(self, peer: Peer, close: Close) -> contextlib.AbstractContextManager[None]:
        """Until the certificate ends or is revoked."""
        if peer.certificate is None:
            return contextlib.nullcontext()
        return self._streams.during(peer.certificate, close)


def encrypted(context: Any) -> dict[str, list[bytes]]:
    """What gRPC has of the handshake of a connection.

    Raises:
        RefusedError: the connection is none of TLS 1.3.
    """
    properties: dict[str, list[bytes]] = context.auth_context()
    if properties.get("transport_security_type") != [b"ssl"]:
        raise RefusedError(Reason(Code.TLS_VERSION, "plain text"))
    # gRPC's Python has no option for the lowest version: its server takes TLS 1.2 as well.
    check_version(b"".join(properties.get("ssl_tls_version", [])).decode(errors="replace"))
    return properties


def check_version(version: str) -> None:
    """Of TLS, as gRPC names it.

    Raises:
        RefusedError: it is not TLS 1.3.
    """
    if version != TLS_VERSION:
        raise RefusedError(Reason(Code.TLS_VERSION, version or "unknown"))


def behind_a_front(context: Any, trust_domain: str) -> Certificate:
    """The certificate that the front has verified.

    Raises:
        RefusedError: there is no certificate, or the connection is none of TLS 1.3, or the certificate has no identity
            of the trust domain.
    """
    check_version(front_fields.tls_version(context))
    try:
        return Certificate.of_der(front_fields.certificate_der(context), trust_domain)
    except IdentityError as error:
        raise RefusedError(Reason(Code.NO_IDENTITY, str(error))) from error


def authenticated(context: Any, trust_domain: str) -> Certificate:
    """The certificate that the peer proved to have, on a connection whose handshake verified it.

    Raises:
        RefusedError: the connection is none of TLS 1.3, or the certificate has no identity of the trust domain.
    """
    found = encrypted(context).get("x509_pem_cert", [])
    if not found:
        raise RefusedError(Reason(Code.NO_CERTIFICATE))
    try:
        return Certificate.of_pem(found[0], trust_domain)
    except IdentityError as error:
        raise RefusedError(Reason(Code.NO_IDENTITY, str(error))) from error
