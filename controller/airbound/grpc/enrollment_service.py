# SPDX-License-Identifier: Apache-2.0
"""Certificates for those who have a token or a certificate. See proto/airbound/v1/enrollment.proto.

Enrolment has a process of its own (airbound/enrolling): whoever connects there has no certificate.
"""

from collections.abc import Callable, Mapping
from typing import Any

import grpc

from airbound import reason_text
from airbound.core.addresses import Address, address_text
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.enrolling.messages import Call
from airbound.grpc.authentication import Certified, check_version
from airbound.grpc.session import REASON_KEY, status_of
from airbound.pki.certificates import Certificate, serial_text
from airbound.pki.enrollment import Credentials, Enrollment
from airbound.pki.records import RecordError
from airbound.runtime import log
from airbound.runtime.address_limits import AddressLimits
from airbound.store.types import StoreError
from airbound.v1 import enrollment_pb2, enrollment_pb2_grpc

Refused = Callable[[str, Reason], None]


class EnrollmentService:
    """Answers what enrolment's process passes on, from peers without a certificate."""

    def __init__(
        self,
        enrollment: Enrollment,
        limits: AddressLimits,
        now_us: Callable[[], int],
        refused: Refused,
        called: Callable[[tuple[Address, int]], None] = lambda _: None,
    ) -> None:
        """`called` is called with the address and port of a peer whose token was good."""
        self._called = called
        self._enrollment = enrollment
        self._limits = limits
        self._now_us = now_us
        self._refused = refused

    async def answer(self, call: Call) -> Mapping[str, Any]:
        """A certificate for a token, or why there is none, as enrolling/messages.py has them."""
        address = bytes.fromhex(call.address)
        who = address_text(address)
        try:
            check_version(call.tls)
            if not self._limits.take(address, self._now_us()):
                raise _too_many(who, self._limits.per_s)
            credentials = await self._enrollment.enroll(call.token, bytes.fromhex(call.request), call.role)
        except (RefusedError, StoreError, RecordError) as error:
            status, text, code = _failure(f"enrolment from {who}", error, self._refused)
            return {"kind": "refusal", "status": status.name, "text": text, "code": code}
        self._called((address, call.port))
        certificate = self._enrollment.issued(credentials)
        log.event("info", "enrolled", str(certificate.identity), f"{_what(certificate)}, from {who}")
        response = enrollment_pb2.EnrollResponse(credentials=_message(credentials))
        return {"kind": "answer", "octets": response.SerializeToString().hex()}


class CertificateService(enrollment_pb2_grpc.CertificateServiceServicer):
    """Served by mutual TLS."""

    def __init__(
        self,
        enrollment: Enrollment,
        peers: Certified,
        refused: Refused,
        called: Callable[[str], object] = lambda _: None,
    ) -> None:
        """`called` is called with the name of a peer whose certificate is good, and that has made a call."""
        self._called = called
        self._enrollment = enrollment
        self._peers = peers
        self._refused = refused

    async def Renew(self, request: enrollment_pb2.RenewRequest, context: Any) -> enrollment_pb2.RenewResponse:
        """Another certificate for the role and name of this one."""
        who = f"renewal from {self._peers.name_of(context)}"
        try:
            peer = self._peers.identify_any(context)
            self._called(self._peers.name_of(context))
            who = f"renewal of {peer.principal.role} {peer.principal.name}"
            if peer.certificate is None:
                raise RefusedError(Reason(Code.NO_CERTIFICATE))  # noqa: TRY301
            credentials = await self._enrollment.renew(peer.certificate, request.request)
        except (RefusedError, StoreError, RecordError) as error:
            status, text, code = _failure(who, error, self._refused)
            await context.abort(status, text, trailing_metadata=((REASON_KEY, code),) if code else ())
            raise
        certificate = self._enrollment.issued(credentials)
        log.event("info", "renewed", str(certificate.identity), _what(certificate))
        return enrollment_pb2.RenewResponse(credentials=_message(credentials))


def _too_many(address: str, per_s: float) -> RefusedError:
    return RefusedError(Reason(Code.TOO_MANY_ENROLLMENTS, address, limit=per_s))


def _failure(
    who: str, error: RefusedError | StoreError | RecordError, refused: Refused
) -> tuple[grpc.StatusCode, str, str]:
    """What a call ends with: status, text, and the reason's code if it has one. It is counted and logged."""
    if isinstance(error, RefusedError):
        refused(who, error.reason)
        return status_of(error.reason), reason_text.text(error.reason), error.reason.code.name
    log.event("warning", "store", who, str(error))
    status = grpc.StatusCode.UNAVAILABLE if isinstance(error, StoreError) else grpc.StatusCode.INTERNAL
    return status, f"the store: {error}"[:300], ""


def _what(certificate: Certificate) -> str:
    return f"certificate {serial_text(certificate.serial)}"


def _message(credentials: Credentials) -> enrollment_pb2.Credentials:
    return enrollment_pb2.Credentials(certificate=credentials.certificate, authorities=credentials.authorities)
