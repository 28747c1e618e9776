# SPDX-License-Identifier: Apache-2.0
"""What HAProxy writes to its log, by configuration.py: why a handshake failed, by the reasons of
airbound/grpc/core_log.py; and its messages about itself. Lines of calls that ended early are not
used: the controller has these itself.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from airbound.fronting.configuration import CALL, HANDSHAKE

_X509_ERRORS: Mapping[int, str] = {
    9: "certificate_not_yet_valid",
    10: "certificate_expired",
    2: "unknown_authority",
    7: "unknown_authority",
    18: "unknown_authority",
    19: "unknown_authority",
    20: "unknown_authority",
    21: "unknown_authority",
}
"""OpenSSL's X509_V_ERR_*, x509_vfy.h."""
_TEXTS: Mapping[str, re.Pattern[str]] = {
    "no_certificate": re.compile("peer did not return a certificate"),
    "certificate_unsuitable": re.compile("certificate verify failed"),
    "tls_version": re.compile("unsupported protocol|no protocols available|version too low"),
    "not_tls": re.compile(
        "wrong version number|http request|https proxy request|unexpected message|unexpected record|packet length too"
    ),
}
_MESSAGE = re.compile(r"\[(?P<level>ALERT|WARNING|NOTICE)\] +\(\d+\) : (?P<text>.*)")
OTHER = "other"


class Message(NamedTuple):
    """About itself."""

    is_bad: bool
    text: str


def failure(line: str) -> str | None:
    """The reason of a handshake that failed; None: the line is of something else."""
    words = line.split(" ", 3)
    if words[0] != HANDSHAKE:
        return None
    code, text = [*words, "", "", ""][2:4]
    known = _X509_ERRORS.get(int(code)) if code.isdecimal() else None
    return known or next((reason for reason, pattern in _TEXTS.items() if pattern.search(text)), OTHER)


def message(line: str) -> Message | None:
    """HAProxy's message about itself; None: the line is about a peer, or empty."""
    if not line.strip() or line.startswith((f"{HANDSHAKE} ", f"{CALL} ")):
        return None
    match = _MESSAGE.match(line)
    if match is None:
        return Message(is_bad=True, text=line)
    return Message(match["level"] != "NOTICE", match["text"])
