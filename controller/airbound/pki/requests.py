# SPDX-License-Identifier: Apache-2.0
"""Requests for a certificate (PKCS#10, RFC 2986). The signature proves that the client has the key; nothing but the
public key is used: names, extensions and lifetimes that a request asks for are ignored.
"""

import hashlib

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

from airbound.core.reasons import Code, Reason, RefusedError

PublicKey = ec.EllipticCurvePublicKey

REQUEST_BYTES_MAX = 4096


def public_key_of(request: bytes) -> PublicKey:
    """The key of a request in DER.

    Raises:
        RefusedError: it is no request, its signature is not that of its key, or the key is of another kind.
    """
    if len(request) > REQUEST_BYTES_MAX:
        raise RefusedError(Reason(Code.TOO_LARGE, after=len(request), limit=REQUEST_BYTES_MAX))
    try:
        parsed = x509.load_der_x509_csr(request)
        key = parsed.public_key()
    except UnsupportedAlgorithm as error:
        raise RefusedError(Reason(Code.KEY_UNSUITABLE, "of a kind that is not supported")) from error
    except (ValueError, x509.InvalidVersion) as error:
        raise RefusedError(Reason(Code.REQUEST_INVALID, "not PKCS#10 in DER")) from error
    # Before its signature: to verify with a foreign key may be slow, or not supported at all.
    suitable = _suitable(key)
    try:
        valid = parsed.is_signature_valid
    except (UnsupportedAlgorithm, ValueError, TypeError) as error:
        raise RefusedError(Reason(Code.REQUEST_INVALID, "its signature is of a kind that is not supported")) from error
    if not valid:
        raise RefusedError(Reason(Code.REQUEST_INVALID, "its signature is not that of its key"))
    return suitable


def _suitable(key: PublicKeyTypes) -> PublicKey:
    """Ed25519 is not: BoringSSL, which gRPC's servers have, takes no client certificate with such a key."""
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    kind = key.curve.name if isinstance(key, ec.EllipticCurvePublicKey) else type(key).__name__
    raise RefusedError(Reason(Code.KEY_UNSUITABLE, kind.removesuffix("PublicKey")))


def key_sha256(key: PublicKey) -> str:
    """The fingerprint of a public key: SHA-256 of its SubjectPublicKeyInfo in DER, hexadecimal."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()
