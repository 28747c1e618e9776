# SPDX-License-Identifier: Apache-2.0
"""What the commands about certificates print."""

import datetime
import shlex

from airbound.operator.values import table
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
    return table(("NAME", "SERIAL", "ENDS", "BY", "STATE"), rows)


def revoked(answer: pki_pb2.RevokeResponse) -> str:
    """What a revocation did."""
    lines = [f"revoked {serial}" for serial in answer.serials] or ["revoked before, or no certificate"]
    if answer.tokens:
        lines.append(f"tokens removed: {answer.tokens}")
    return "\n".join([*lines, f"streams ended here: {answer.streams}"])


_MODULE = "/data/adb/modules/airbound/airbound"
_JOIN = {
    "access-point": (
        ("OpenWrt, as root", "{give} | airbound-ap join - && service airbound-ap restart"),
        ("OpenWrt, LuCI", "Services, Airbound, Settings, Token: {string}"),
    ),
    "terminal": (
        ("Linux", "{give} | sudo airbound-phone join - && sudo systemctl enable --now airbound-phone"),
        ("Android, by adb", f"{{give}} | adb shell su -c '{_MODULE} join -'"),
        ("Android, without", "as Download/airbound-join.txt, then the module's button in Magisk or KernelSU: {string}"),
    ),
}
"""The line to paste, by what the device is. What `echo` is given is in no list of processes."""


def token(
    answer: pki_pb2.IssueTokenResponse, role: str, uses: int, joining: str = "", *, into: str = "", remark: str = ""
) -> str:
    """The token on a line of its own, and how to use it; `joining` has the controller's address as well. If that, or
    the token, is in the file `into`, neither is shown.
    """
    port = answer.enrollment.rpartition(":")[2] or "50053"
    use = {
        "access-point": "airbound-ap --controller HOST:PORT --token-file FILE ...",
        "terminal": "airbound-phone run --controller HOST:PORT --token-file FILE ...",
        "operator": f"airbound login --enroll HOST:{port} --token TOKEN",
    }.get(role, "with a client of EnrollmentService")
    times = "once" if uses == 1 else f"{uses} times"
    lines = [into or answer.token, f"to be used {times} until {time_text(answer.expires_at_s)}: {use}"]
    if joining:
        string = f"the string in {into}" if into else joining
        give = f"cat {shlex.quote(into)}" if into else f"echo {joining}"
        ways = [(name, line.format(give=give, string=string)) for name, line in _JOIN[role]]
        width = max(len(name) for name, _ in ways)
        lines += ["or, with the controller's address, on the device:", *(f"  {n:{width}}  {text}" for n, text in ways)]
    if remark:
        lines.append(remark)
    if not answer.enrollment:
        lines.append("this controller enrols nobody itself: use another one that has the authority's key")
    if answer.valid_certificates:
        lines.append(f"certificates of that name that stay valid: {answer.valid_certificates} (`airbound enrolled`)")
    return "\n".join(lines)
