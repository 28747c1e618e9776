# SPDX-License-Identifier: Apache-2.0
"""Lines of gRPC's C core: counted or passed on. That the texts are those of gRPC is tested in test_daemon_abuse.py."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.grpc.core_log import LINE_OCTETS_MAX, LINES_PER_S, CoreLog, reason_of

HEAD = b"I1122 16:25:08.587473   22207 ssl_transport_security.cc:2563] Handshake failed with error SSL_ERROR_SSL: "
FAILED = HEAD + b"error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER: Invalid certificate\n"
OTHER = b"E1122 16:25:08.587473 chttp2_transport.cc:1403] something else\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"OPENSSL_internal:PEER_DID_NOT_RETURN_A_CERTIFICATE: x", "no_certificate"),
        (b"OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: certificate has expired", "certificate_expired"),
        (b"OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: unable to get local issuer certificate", "unknown_authority"),
        (b"OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: unsupported certificate purpose", "certificate_unsuitable"),
        (b"OPENSSL_internal:WRONG_VERSION_NUMBER: x", "not_tls"),
        (b"something new", "other"),
    ],
)
def test_why_a_handshake_failed(text: bytes, reason: str) -> None:
    assert reason_of(HEAD + text) == reason


def test_a_line_about_something_else_has_no_reason() -> None:
    assert reason_of(OTHER) is None


@given(st.lists(st.integers(1, 300), max_size=10))
def test_lines_are_found_however_they_are_written(cuts: list[int]) -> None:
    reading, writing = os.pipe()
    core, rest = CoreLog(writing), (FAILED + OTHER) * 3 + b"without an end"
    for cut in cuts:
        core.take(rest[:cut])
        rest = rest[cut:]
    core.take(rest)
    core.end()
    os.close(writing)
    with os.fdopen(reading, "rb") as passed_on:
        assert passed_on.read() == OTHER * 3 + b"without an end\n"
    assert core.failures["not_tls"] == 3


def test_a_line_without_an_end_takes_no_more_memory_than_a_line_may() -> None:
    reading, writing = os.pipe()
    core = CoreLog(writing)
    for _ in range(10):
        core.take(b"x" * 1000)
        assert len(core._line) <= LINE_OCTETS_MAX
    os.close(writing)
    os.close(reading)


def test_whoever_writes_never_waits_and_pythons_own_lines_are_not_taken() -> None:
    program = (
        "import os, sys\n"
        "from airbound.grpc import core_log\n"
        f"failed = {FAILED!r}\n"
        "with core_log.captured() as core:\n"
        "    print('python', file=sys.stderr)\n"
        "    os.write(2, b'c core\\n')\n"
        "    os.write(2, failed)\n"
        "os.write(2, b'afterwards\\n')\n"
        "print('last', core.failures['not_tls'], file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert sorted(run.stderr.decode().splitlines()) == ["afterwards", "c core", "last 1", "python"]


def test_lines_that_peers_cause_do_not_fill_the_log() -> None:
    """A peer without a certificate has the core write one for each bad field of a header block."""
    reading, writing = os.pipe()
    now_s = [100.0]
    core = CoreLog(writing, clock_s=lambda: now_s[0])
    for _ in range(1_000):
        core.take(OTHER)
    assert core.dropped_total == 1_000 - 2 * LINES_PER_S
    now_s[0] += 1
    core.take(OTHER)
    core.take(FAILED)
    os.close(writing)
    with os.fdopen(reading, "rb") as passed_on:
        lines = passed_on.read().splitlines(keepends=True)
    assert lines[: 2 * LINES_PER_S] == [OTHER] * 2 * LINES_PER_S
    assert lines[2 * LINES_PER_S :] == [b"gRPC: 980 lines were left out: too many\n", OTHER]
    assert core.dropped_total == 980
    assert core.failures["not_tls"] == 1
