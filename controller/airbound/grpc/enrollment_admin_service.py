# SPDX-License-Identifier: Apache-2.0
"""Operators decide who gets a certificate and who loses it. See proto/airbound/v1/pki.proto."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc
from cryptography.hazmat.primitives import serialization

from airbound.core.addresses import mac_from_text, mac_text
from airbound.core.principals import Role
from airbound.grpc.operator_guard import caller
from airbound.grpc.server_certificates import ServerCertificates
from airbound.pki.certificates import serial_of_text, serial_text
from airbound.pki.enrollment import Enrollment
from airbound.pki.identities import CLIENT_ROLES, CONTROLLER, Identity, IdentityError, identity_of_text
from airbound.pki.pins import Pins
from airbound.pki.records import Enrolled, Origin, RecordError
from airbound.pki.revocation import Revocations
from airbound.runtime import log
from airbound.store.types import StoreError
from airbound.v1 import pki_pb2, pki_pb2_grpc

PAGE = 50
DEFAULT_USES = 1
DEFAULT_LIFETIME_S = 86_400
TEXT_MAX_CHARACTERS = 300

_ORIGINS: dict[Origin, pki_pb2.CertificateOrigin] = {
    "token": pki_pb2.CERTIFICATE_ORIGIN_TOKEN,
    "renewal": pki_pb2.CERTIFICATE_ORIGIN_RENEWAL,
    "command": pki_pb2.CERTIFICATE_ORIGIN_COMMAND,
}


class EnrollmentAdminService(pki_pb2_grpc.EnrollmentAdminServiceServicer):
    """Tokens, certificates and revocations of a controller; `enrollment_at` is where devices use their tokens."""

    def __init__(
        self,
        enrollment: Enrollment,
        revocations: Revocations,
        certificates: ServerCertificates,
        enrollment_at: str,
        pins: Pins,
    ) -> None:
        self._pins = pins
        self._enrollment = enrollment
        self._revocations = revocations
        self._certificates = certificates
        self._enrollment_at = enrollment_at

    async def IssueToken(self, request: pki_pb2.IssueTokenRequest, context: Any) -> pki_pb2.IssueTokenResponse:
        """A token for a role and name."""
        try:
            identity = Identity(_role(request.role), request.name)
            made = await self._enrollment.new_token(
                identity, request.uses or DEFAULT_USES, request.lifetime_s or DEFAULT_LIFETIME_S
            )
        except (ValueError, StoreError) as error:
            await _fail(context, error)
        uses = request.uses or DEFAULT_USES
        log.event("info", "token", str(identity), f"made for {uses} use{'' if uses == 1 else 's'} by {caller.get()}")
        return pki_pb2.IssueTokenResponse(
            token=made.token.text(),
            expires_at_s=made.expires_at_s,
            enrollment=self._enrollment_at,
            valid_certificates=made.valid_certificates,
        )

    async def MoveCell(self, request: pki_pb2.MoveCellRequest, context: Any) -> pki_pb2.MoveCellResponse:
        """Another access point speaks for a cell."""
        try:
            bssid = mac_from_text(request.bssid[:TEXT_MAX_CHARACTERS])
            name = Identity("access-point", request.access_point).name if request.access_point else ""
            before = await self._pins.move(bssid, name)
        except (ValueError, StoreError) as error:
            await _fail(context, error)
        why = f"moved from {before or 'nobody'} to {name or 'the next'}"
        log.event("info", "cell", mac_text(bssid), why, cell=bssid)
        return pki_pb2.MoveCellResponse(previous_access_point=before)

    async def ListEnrolled(
        self, request: pki_pb2.ListEnrolledRequest, context: Any
    ) -> AsyncIterator[pki_pb2.ListEnrolledResponse]:
        """Who has a certificate that has not ended."""
        try:
            role = request.role and _role(request.role)
            found = await self._enrollment.enrolled(role)
            reasons = await self._revocations.reasons()
        except (ValueError, StoreError) as error:
            await _fail(context, error)
        for start in range(0, max(1, len(found)), PAGE):
            page = [self._message(enrolled, reasons) for enrolled in found[start : start + PAGE]]
            yield pki_pb2.ListEnrolledResponse(enrolled=page)
            await asyncio.sleep(0)

    def _message(self, enrolled: Enrolled, reasons: dict[int, str]) -> pki_pb2.Enrolled:
        certificates = [
            pki_pb2.IssuedCertificate(
                serial=item.serial,
                issued_at_s=item.issued_at_s,
                not_after_s=item.not_after_s,
                key_sha256=item.key_sha256,
                origin=_ORIGINS[item.origin],
                revoked=self._revocations.is_revoked(serial_of_text(item.serial)),
                revocation_reason=reasons.get(serial_of_text(item.serial), ""),
            )
            for item in enrolled.certificates
        ]
        return pki_pb2.Enrolled(
            role=enrolled.role, name=enrolled.name, enrolled_at_s=enrolled.enrolled_at_s, certificates=certificates
        )

    async def Revoke(self, request: pki_pb2.RevokeRequest, context: Any) -> pki_pb2.RevokeResponse:
        """End certificates, and the streams that were opened with them."""
        try:
            reason = _printable("reason", request.reason)
            if request.WhichOneof("certificates") == "serial":
                what = request.serial
                serial = serial_of_text(request.serial)
                done = await self._enrollment.revoke_serial(serial, reason)
            else:
                what = request.identity
                identity = identity_of_text(request.identity)
                if identity.role == CONTROLLER:
                    raise IdentityError(NO_CONTROLLERS)
                done = await self._enrollment.revoke(identity, reason)
        except (ValueError, LookupError, StoreError) as error:
            await _fail(context, error)
        serials = [serial_text(serial) for serial in done.serials]
        ended = f"{done.streams} streams ended, {done.tokens} tokens removed; by {caller.get()}"
        log.event("warning", "revoked", what, f"certificates {', '.join(serials) or 'none'}; {ended}")
        return pki_pb2.RevokeResponse(serials=serials, streams=done.streams, tokens=done.tokens)

    async def GetAuthority(self, _request: pki_pb2.GetAuthorityRequest, _context: Any) -> pki_pb2.GetAuthorityResponse:
        """Who signs, and what this controller shows."""
        authority, server = self._enrollment.authority, self._certificates.identity.certificate
        return pki_pb2.GetAuthorityResponse(
            trust_domain=authority.trust_domain,
            certificate=authority.certificate.public_bytes(serialization.Encoding.DER),
            fingerprint=authority.fingerprint.hex(),
            not_after_s=int(authority.certificate.not_valid_after_utc.timestamp()),
            can_sign=authority.key is not None,
            authorities=authority.trusted_der,
            server_serial=serial_text(server.serial),
            server_not_after_s=server.not_after_s,
        )


NO_CONTROLLERS = (
    "agents ask nobody whether a controller's certificate is revoked: it ends within days; if the authority's key is"
    " known to others, make a new authority"
)


def _role(text: str) -> Role:
    for role in CLIENT_ROLES:
        if role == text:
            return role
    raise IdentityError(f"{text[:TEXT_MAX_CHARACTERS]!r} is no role: expected {', '.join(CLIENT_ROLES)}")


def _printable(field: str, text: str) -> str:
    """Text that other operators are shown.

    Raises:
        ValueError: it has control characters.
    """
    if not text.isprintable():
        raise ValueError(f"{field} = {text[:TEXT_MAX_CHARACTERS]!r}: not printable")
    return text


async def _fail(context: Any, error: Exception) -> NoReturn:
    match error:
        case StoreError():
            status = grpc.StatusCode.UNAVAILABLE
        case RecordError():
            status = grpc.StatusCode.INTERNAL
        case LookupError():
            status = grpc.StatusCode.NOT_FOUND
        case _:
            status = grpc.StatusCode.INVALID_ARGUMENT
    text = str(error) if isinstance(error, ValueError) else str(error.args[0])
    await context.abort(status, text[:TEXT_MAX_CHARACTERS])
    raise AssertionError from error  # abort raises
