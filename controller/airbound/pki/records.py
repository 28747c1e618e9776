# SPDX-License-Identifier: Apache-2.0
"""What the store has of tokens, certificates and revocations: JSON. Times are seconds since 1970."""

from dataclasses import replace
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from airbound.pki.identities import CertificateRole

TOKENS, ENROLLED, REVOKED = "token", "enrolled", "revoked"

Origin = Literal["token", "renewal", "command"]
Record = TypeVar("Record")

_CONFIG = ConfigDict(extra="ignore")  # a newer replica may have written more


class RecordError(ValueError):
    """The store has something else than a record of ours."""


@dataclass(frozen=True, slots=True, config=_CONFIG)
class TokenUse:
    """One device that used a token: the same key gets the same certificate once more."""

    key_sha256: str
    at_s: int
    certificate: str  # DER, base64
    authority: str  # fingerprint of the one that signed it, hexadecimal


@dataclass(frozen=True, slots=True, config=_CONFIG)
class TokenRecord:
    """A token, by the SHA-256 of its secret."""

    role: CertificateRole
    name: str
    uses: int
    expires_at_s: int
    used: tuple[TokenUse, ...] = ()


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Issued:
    """A certificate."""

    serial: str
    issued_at_s: int
    not_after_s: int
    key_sha256: str
    origin: Origin


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Enrolled:
    """A role and name, by ROLE/NAME, with its certificates by time of issue."""

    role: CertificateRole
    name: str
    enrolled_at_s: int
    certificates: tuple[Issued, ...] = ()

    def valid(self, now_s: float) -> "Enrolled":
        """Without certificates that have ended."""
        return replace(self, certificates=tuple(item for item in self.certificates if item.not_after_s > now_s))

    def has(self, serial: str) -> bool:
        """Whether a certificate is one of these."""
        return any(item.serial == serial for item in self.certificates)

    def plus(self, issued: Issued) -> "Enrolled":
        """With one more."""
        return replace(self, certificates=(*self.certificates, issued))


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Revoked:
    """A certificate that an operator revoked, by its serial number."""

    role: str  # empty if only the number was known
    name: str
    not_after_s: int
    revoked_at_s: int
    reason: str


_ADAPTERS: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in (TokenRecord, Enrolled, Revoked)}


def encoded(record: object) -> bytes:
    """As the store has it."""
    return _ADAPTERS[type(record)].dump_json(record)


def decoded(kind: type[Record], value: bytes) -> Record:
    """What the store has.

    Raises:
        RecordError: it is not such a record.
    """
    try:
        record: Record = _ADAPTERS[kind].validate_json(value)
    except ValidationError as error:
        raise RecordError(f"not a record of the kind {kind.__name__}: {error.errors()[0]['msg']}") from error
    return record
