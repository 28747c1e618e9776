# SPDX-License-Identifier: Apache-2.0

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.reasons import Code, RefusedError
from airbound.pki.authority import new_key
from airbound.pki.requests import REQUEST_BYTES_MAX, key_sha256, public_key_of
from airbound_testing.pki import request

KEY = new_key()
GOOD = request(KEY, hashes.SHA256())


def refused(octets: bytes) -> tuple[Code, str]:
    with pytest.raises(RefusedError) as caught:
        public_key_of(octets)
    return caught.value.reason.code, caught.value.reason.subject


def test_the_key_of_a_request() -> None:
    key = public_key_of(GOOD)
    assert key.public_numbers() == KEY.public_key().public_numbers()
    assert key_sha256(key) == key_sha256(KEY.public_key()) != key_sha256(new_key().public_key())
    assert len(key_sha256(key)) == 64


def test_the_signature_must_be_that_of_the_key() -> None:
    """The key of another request in place of our own: a request proves that its sender has the private key."""

    def point(key: ec.EllipticCurvePrivateKey) -> bytes:
        return key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)

    stolen = GOOD.replace(point(KEY), point(new_key()))
    assert stolen != GOOD
    assert refused(stolen) == (Code.REQUEST_INVALID, "its signature is not that of its key")


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (ed25519.Ed25519PrivateKey.generate(), "Ed25519"),
        (ec.generate_private_key(ec.SECP384R1()), "secp384r1"),
        (ec.generate_private_key(ec.SECP256K1()), "secp256k1"),
        (rsa.generate_private_key(65537, 2048), "RSA"),
    ],
)
def test_a_key_of_another_kind(key: CertificateIssuerPrivateKeyTypes, kind: str) -> None:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    assert refused(request(key, algorithm)) == (Code.KEY_UNSUITABLE, kind)


def test_a_request_of_another_version() -> None:
    """An error of its own kind in `cryptography`."""
    version = GOOD.index(bytes([2, 1, 0]))
    assert refused(GOOD[:version] + bytes([2, 1, 1]) + GOOD[version + 3 :])[0] is Code.REQUEST_INVALID


def test_a_request_that_is_too_long() -> None:
    assert refused(bytes(REQUEST_BYTES_MAX + 1))[0] is Code.TOO_LARGE


@given(st.binary(max_size=300))
def test_any_octets_are_refused_with_a_reason(octets: bytes) -> None:
    assert refused(octets)[0] in {Code.REQUEST_INVALID, Code.KEY_UNSUITABLE}


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_changed_octet_is_refused_or_changes_nothing_of_the_key(position: int, change: int) -> None:
    octets = bytearray(GOOD)
    octets[position] ^= change
    try:
        key = public_key_of(bytes(octets))
    except RefusedError as error:
        code: Code | None = error.reason.code
    else:
        code = None
        assert key.public_numbers() == KEY.public_key().public_numbers()
    assert code in {None, Code.REQUEST_INVALID, Code.KEY_UNSUITABLE}
