# SPDX-License-Identifier: Apache-2.0
"""Tokens by which a device gets its first certificate: base64url without padding of one octet 1, 16 random octets, and
the SHA-256 of the authority's certificate (DER). By the latter the device recognises the authority.
"""

import base64
import binascii
import hashlib
import secrets
from dataclasses import dataclass

VERSION = 1
SECRET_OCTETS = 16
FINGERPRINT_OCTETS = 32
TEXT_CHARACTERS = 66  # of 49 octets


@dataclass(frozen=True, slots=True)
class EnrollmentToken:
    """A secret, and the fingerprint of the authority that it is for."""

    secret: bytes
    authority: bytes

    @classmethod
    def new(cls, authority: bytes) -> "EnrollmentToken":
        """A fresh one for an authority's fingerprint."""
        return cls(secrets.token_bytes(SECRET_OCTETS), authority)

    @classmethod
    def of_text(cls, text: str) -> "EnrollmentToken":
        """Read what a person typed.

        Raises:
            ValueError: it is no token; the text does not repeat it.
        """
        if len(text) != TEXT_CHARACTERS:
            raise ValueError(f"a token has {TEXT_CHARACTERS} characters; this has {len(text)}")
        try:
            octets = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError("a token has letters, digits, - and _ only") from error
        if octets[0] != VERSION:
            raise ValueError(f"a token of version {octets[0]}: expected {VERSION}; is this program too old?")
        token = cls(octets[1 : 1 + SECRET_OCTETS], octets[1 + SECRET_OCTETS :])
        if token.text() != text:  # the last character has bits that no octet uses
            raise ValueError("not a token: its last character is wrong")
        return token

    def text(self) -> str:
        """As `of_text` reads it."""
        octets = bytes([VERSION]) + self.secret + self.authority
        return base64.urlsafe_b64encode(octets).decode().rstrip("=")

    def secret_sha256(self) -> str:
        """What the store has of it, hexadecimal. The secret has 128 random bits: a slow hash would add nothing."""
        return hashlib.sha256(self.secret).hexdigest()
