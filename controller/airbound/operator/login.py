# SPDX-License-Identifier: Apache-2.0
"""An operator gets a certificate: by a token, or by the certificate before it. The key is made here and stays here.

gRPC's Python cannot verify a server by a fingerprint. So there are two connections: from the first, which trusts
nobody and sends nothing, comes the authority that the token names; the second trusts that authority alone.
"""

import datetime
import hashlib
import socket
import ssl
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from airbound.operator.client import Client, RefusedError, UnreachableError
from airbound.operator.tls_files import ClientIdentity, TlsFiles
from airbound.pki import authority as authorities
from airbound.pki.certificates import Certificate
from airbound.pki.errors import PkiError
from airbound.pki.identities import server_name
from airbound.pki.tokens import EnrollmentToken
from airbound.v1 import enrollment_pb2, enrollment_pb2_grpc


def by_token(
    to: TlsFiles, token_text: str, endpoint: str, timeout_s: float, *, role: str = "", force: bool = False
) -> Certificate:
    """Get a first certificate, and write it with its key; with `force` files that are there get another name. With a
    role, a token for another one is refused and not used up.

    Raises:
        PkiError: no token, or not the server that it is for, or the files cannot be written.
        RefusedError: the token is not good for a certificate.
        UnreachableError: nobody answers.
    """
    if not force:
        to.prepare()  # before the token is used
    try:
        token = EnrollmentToken.of_text(token_text.strip())
    except ValueError as error:
        raise PkiError(f"the token: {error}") from error
    authority = _authority(token, endpoint, timeout_s)
    trust_domain = authorities.check(authority, datetime.datetime.now(datetime.UTC))
    key = authorities.new_key()
    pem = authority.public_bytes(serialization.Encoding.PEM)
    options = [("grpc.enable_http_proxy", 0), ("grpc.ssl_target_name_override", server_name(trust_domain))]
    with grpc.secure_channel(endpoint, grpc.ssl_channel_credentials(pem), options=options) as channel:
        stub: Any = enrollment_pb2_grpc.EnrollmentServiceStub(channel)
        request = enrollment_pb2.EnrollRequest(token=token.text(), request=_request(key), role=role)
        try:
            credentials = stub.Enroll(request, timeout=timeout_s).credentials
        except grpc.RpcError as error:
            if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
                raise UnreachableError(f"no controller enrols at {endpoint}: {error.details()}") from error
            raise RefusedError(f"{error.details()} ({error.code().name.lower()})") from error
    to.prepare(force=force)
    return _write(to, credentials, key, trust_domain)


def again(to: TlsFiles, identity: ClientIdentity, client: Client) -> Certificate:
    """Get another certificate for the same key, so that nothing but the certificate changes.

    Raises:
        PkiError: the file cannot be written.
        RefusedError, UnreachableError: as all methods of a client.
    """
    credentials = client.renew(_request(identity.key))
    trust_domain = identity.server_name.partition(".")[2]
    return _write(to, credentials, None, trust_domain)


def _request(key: ec.EllipticCurvePrivateKey) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, hashes.SHA256(), ecdsa_deterministic=True).public_bytes(serialization.Encoding.DER)


def _write(
    to: TlsFiles, credentials: enrollment_pb2.Credentials, key: ec.EllipticCurvePrivateKey | None, trust_domain: str
) -> Certificate:
    certificate = x509.load_der_x509_certificate(credentials.certificate)
    trusted = [x509.load_der_x509_certificate(der) for der in credentials.authorities]
    to.write(certificate, trusted, key)
    return Certificate.from_x509(certificate, trust_domain)


def _authority(token: EnrollmentToken, endpoint: str, timeout_s: float) -> x509.Certificate:
    for der in _chain(endpoint, timeout_s):
        if hashlib.sha256(der).digest() == token.authority:
            return x509.load_der_x509_certificate(der)
    raise PkiError(
        f"{endpoint} shows another authority than the token names: it is another controller, or somebody between"
    )


def _chain(endpoint: str, timeout_s: float) -> list[bytes]:
    """What the server shows, not verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    host, _, port = endpoint.rpartition(":")
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), timeout_s) as connection,
            context.wrap_socket(connection) as secured,
        ):
            return _unverified_chain(secured)
    except OSError as error:
        raise UnreachableError(f"no controller enrols at {endpoint}: {error}") from error


def _unverified_chain(secured: Any) -> list[bytes]:
    """As DER. Python has a public method for it from 3.13 on, and the same one in its C part from 3.10 on."""
    if hasattr(secured, "get_unverified_chain"):
        return list(secured.get_unverified_chain())
    encoding_der = 2
    return [certificate.public_bytes(encoding_der) for certificate in secured._sslobj.get_unverified_chain()]  # noqa: SLF001
