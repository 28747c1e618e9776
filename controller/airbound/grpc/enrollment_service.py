# SPDX-License-Identifier: Apache-2.0
"""Certificates for those who have a token or a certificate. See proto/airbound/v1/enrollment.proto.

Enrolment has a server of its own: gRPC's Python either demands a client certificate of everybody on a port or asks
nobody for one.
"""

from collections.abc import Callable
from typing import Any

import grpc

from airbound.core.addresses import address_text
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.grpc.authentication import Certified, encrypted
from airbound.grpc.principals import plain_text
from airbound.grpc.session import abort
from airbound.pki.certificates import Certificate, serial_text
from airbound.pki.enrollment import Credentials, Enrollment
from airbound.pki.records import RecordError
from airbound.runtime import log
from airbound.runtime.address_limits import AddressLimits
from airbound.store.types import StoreError
from airbound.v1 import enrollment_pb2, enrollment_pb2_grpc

Refused = Callable[[str, Reason], None]

REQUEST_BYTES_MAX = 8192


class EnrollmentService(enrollment_pb2_grpc.EnrollmentServiceServicer):
    """Served without client certificates."""

    def __init__(
        self,
        enrollment: Enrollment,
        limits: AddressLimits,
        now_us: Callable[[], int],
        refused: Refused,
        called: Callable[[Any], None] = lambda _: None,
    ) -> None:
        """`called` is called with the call of a peer whose token was good."""
        self._called = called
        self._enrollment = enrollment
        self._limits = limits
        self._now_us = now_us
        self._refused = refused

    async def Enroll(self, request: enrollment_pb2.EnrollRequest, context: Any) -> enrollment_pb2.EnrollResponse:
        """A certificate for a token."""
        principal, address = plain_text("terminal", context.peer())
        try:
            encrypted(context)
            if not self._limits.take(address, self._now_us()):
                raise _too_many(address_text(address) if address else "", self._limits.per_s)
            credentials = await self._enrollment.enroll(request.token, request.request, request.role)
        except (RefusedError, StoreError, RecordError) as error:
            await _fail(context, f"enrolment from {principal.name}", error, self._refused)
            raise
        self._called(context)
        certificate = self._enrollment.issued(credentials)
        log.event("info", "enrolled", str(certificate.identity), f"{_what(certificate)}, from {principal.name}")
        return enrollment_pb2.EnrollResponse(credentials=_message(credentials))


class CertificateService(enrollment_pb2_grpc.CertificateServiceServicer):
    """Served by mutual TLS."""

    def __init__(
        self,
        enrollment: Enrollment,
        peers: Certified,
        refused: Refused,
        called: Callable[[Any], None] = lambda _: None,
    ) -> None:
        """`called` is called with the call of a peer whose certificate is good."""
        self._called = called
        self._enrollment = enrollment
        self._peers = peers
        self._refused = refused

    async def Renew(self, request: enrollment_pb2.RenewRequest, context: Any) -> enrollment_pb2.RenewResponse:
        """Another certificate for the role and name of this one."""
        who = f"renewal from {context.peer()}"
        try:
            peer = self._peers.identify_any(context)
            self._called(context)
            who = f"renewal of {peer.principal.role} {peer.principal.name}"
            if peer.certificate is None:
                raise RefusedError(Reason(Code.NO_CERTIFICATE))  # noqa: TRY301
            credentials = await self._enrollment.renew(peer.certificate, request.request)
        except (RefusedError, StoreError, RecordError) as error:
            await _fail(context, who, error, self._refused)
            raise
        certificate = self._enrollment.issued(credentials)
        log.event("info", "renewed", str(certificate.identity), _what(certificate))
        return enrollment_pb2.RenewResponse(credentials=_message(credentials))


def _too_many(address: str, per_s: float) -> RefusedError:
    return RefusedError(Reason(Code.TOO_MANY_ENROLLMENTS, address, limit=per_s))


async def _fail(context: Any, who: str, error: RefusedError | StoreError | RecordError, refused: Refused) -> None:
    if isinstance(error, RefusedError):
        refused(who, error.reason)
        await abort(context, error.reason)
    log.event("warning", "store", who, str(error))
    status = grpc.StatusCode.UNAVAILABLE if isinstance(error, StoreError) else grpc.StatusCode.INTERNAL
    await context.abort(status, f"the store: {error}"[:300])


def _what(certificate: Certificate) -> str:
    return f"certificate {serial_text(certificate.serial)}"


def _message(credentials: Credentials) -> enrollment_pb2.Credentials:
    return enrollment_pb2.Credentials(certificate=credentials.certificate, authorities=credentials.authorities)
