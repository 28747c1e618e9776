# SPDX-License-Identifier: Apache-2.0
"""What the commands about certificates print."""

import datetime
from collections.abc import Sequence

from airbound.v1 import pki_pb2

_ORIGINS = {
    pki_pb2.CERTIFICATE_ORIGIN_TOKEN: "token",
    pki_pb2.CERTIFICATE_ORIGIN_RENEWAL: "renewal",
    pki_pb2.CERTIFICATE_ORIGIN_COMMAND: "command",
}


def time_text(seconds: float) -> str:
    """A time since 1970, in UTC."""
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M} UTC"


def enrolled(answer: pki_pb2.ListEnrolledResponse) -> str:
    """A line for each certificate."""
    rows = [
        (
            f"{found.role}/{found.name}",
            certificate.serial,
            time_text(certificate.not_after_s),
            _ORIGINS.get(certificate.origin, "?"),
            f"revoked: {certificate.revocation_reason}".rstrip(": ") if certificate.revoked else "valid",
        )
        for found in answer.enrolled
        for certificate in found.certificates
    ]
    if not rows:
        return "nobody has a certificate"
    return _table(("NAME", "SERIAL", "ENDS", "BY", "STATE"), rows)


def revoked(answer: pki_pb2.RevokeResponse) -> str:
    """What a revocation did."""
    lines = [f"revoked {serial}" for serial in answer.serials] or ["revoked before, or no certificate"]
    if answer.tokens:
        lines.append(f"tokens removed: {answer.tokens}")
    return "\n".join([*lines, f"streams ended here: {answer.streams}"])


def token(answer: pki_pb2.IssueTokenResponse, role: str, uses: int) -> str:
    """The token on a line of its own, and how to use it."""
    port = answer.enrollment.rpartition(":")[2] or "50053"
    use = {
        "access-point": "airbound-ap --controller HOST:PORT --token-file FILE ...",
        "terminal": "airbound-phone run --controller HOST:PORT --token-file FILE ...",
        "operator": f"airbound login --enroll HOST:{port} --token TOKEN",
    }.get(role, "with a client of EnrollmentService")
    times = "once" if uses == 1 else f"{uses} times"
    lines = [answer.token, f"to be used {times} until {time_text(answer.expires_at_s)}: {use}"]
    if not answer.enrollment:
        lines.append("this controller enrols nobody itself: use another one that has the authority's key")
    if answer.valid_certificates:
        lines.append(f"certificates of that name that stay valid: {answer.valid_certificates} (`airbound enrolled`)")
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows))
    return "\n".join(line.rstrip() for line in lines)
