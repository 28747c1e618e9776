# SPDX-License-Identifier: Apache-2.0
"""The lines that gRPC's C core writes to the error output. They are the only place where it says why a TLS handshake
failed: those lines are counted by reason; of all others some a second are passed on.

There is a line for each failed handshake, and one for each field of a header block that is wrong. Without this, a peer
that connects in a loop fills the log, and a reader of the log that stands still stops the threads that write to it.
"""

import contextlib
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from airbound.runtime.rate_limit import RateLimit

STDERR = 2
READ_OCTETS = 65_536
LINE_OCTETS_MAX = 4_096
LINES_PER_S = 10  # and twice as many at once
JOIN_S = 1.0

_HANDSHAKE = b"Handshake failed with"  # src/core/tsi/ssl_transport_security.cc
REASONS: Mapping[str, re.Pattern[bytes]] = {
    "no_certificate": re.compile(rb"PEER_DID_NOT_RETURN_A_CERTIFICATE"),
    "certificate_expired": re.compile(rb"CERTIFICATE_VERIFY_FAILED: certificate has expired"),
    "certificate_not_yet_valid": re.compile(rb"CERTIFICATE_VERIFY_FAILED: certificate is not yet valid"),
    "unknown_authority": re.compile(
        rb"CERTIFICATE_VERIFY_FAILED: (?:unable to get |self.signed |certificate signature failure)"
    ),
    "certificate_unsuitable": re.compile(rb"CERTIFICATE_VERIFY_FAILED"),
    "tls_version": re.compile(rb"UNSUPPORTED_PROTOCOL|NO_SUPPORTED_VERSIONS_ENABLED"),
    "not_tls": re.compile(
        rb"WRONG_VERSION_NUMBER|HTTP_REQUEST|HTTPS_PROXY_REQUEST|UNEXPECTED_MESSAGE|UNEXPECTED_RECORD"
    ),
    "other": re.compile(rb""),
}
"""By the text of BoringSSL's errors; the first that matches. `other` grows if a version of gRPC has other texts."""


def reason_of(line: bytes) -> str | None:
    """Why a handshake failed; none if the line is about something else."""
    if _HANDSHAKE not in line:
        return None
    return next(reason for reason, pattern in REASONS.items() if pattern.search(line))


class CoreLog:
    """What was counted. `stderr` is a descriptor of the error output as it was before: Python's own lines go there,
    since what is in the pipe when the process is killed is lost.
    """

    def __init__(self, stderr: int, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.stderr = stderr
        self.dropped_total = 0
        self._reported = 0
        self._limit, self._clock_s = RateLimit(LINES_PER_S), clock_s
        self.failures = Counter[str](dict.fromkeys(REASONS, 0))
        self._line = b""

    def take(self, data: bytes) -> None:
        """Octets as they were written."""
        *lines, self._line = (self._line + data).split(b"\n")
        if len(self._line) > LINE_OCTETS_MAX:
            lines.append(self._line)
            self._line = b""
        others = []
        for line in lines:
            reason = reason_of(line)
            if reason is not None:
                self.failures[reason] += 1
            elif not self._limit.take(round(self._clock_s() * 1e6)):
                self.dropped_total += 1
            else:
                if self.dropped_total > self._reported:
                    others.append(b"gRPC: %d lines were left out: too many\n" % (self.dropped_total - self._reported))
                    self._reported = self.dropped_total
                others.append(line + b"\n")
        if others:
            _write(self.stderr, b"".join(others))

    def end(self) -> None:
        """Pass on what is left of a line without an end."""
        if self._line:
            self.take(b"\n")


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]


@contextlib.contextmanager
def captured() -> Iterator[CoreLog]:
    """Within this, descriptor 2 is a pipe that a thread reads. Who writes to it never waits: what finds the pipe full
    is lost.
    """
    core = CoreLog(os.dup(STDERR))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    python = sys.stderr
    if python is sys.__stderr__:
        sys.stderr = os.fdopen(os.dup(core.stderr), "w", buffering=1, errors="backslashreplace")
    os.dup2(writing, STDERR)
    os.close(writing)

    def read() -> None:
        while data := os.read(reading, READ_OCTETS):
            core.take(data)
        core.end()

    thread = threading.Thread(target=read, name="core-log", daemon=True)
    thread.start()
    try:
        yield core
    finally:
        os.dup2(core.stderr, STDERR)  # closes the pipe: the thread reads its end
        thread.join(JOIN_S)
        ours, sys.stderr = sys.stderr, python
        if ours is not python:
            ours.close()
        if not thread.is_alive():
            os.close(reading)
        # core.stderr stays open: a line of our own log may still wait there for a reader.
