# SPDX-License-Identifier: Apache-2.0
"""HAProxy's configuration as a front, and what its lines mean."""

from dataclasses import replace

import pytest

from airbound.core.addresses import address_from_text
from airbound.fronting import lines
from airbound.fronting.configuration import Limits, Places, text
from airbound.fronting.supervisor import sessions_of

PLACES = Places([7, 8], "/proc/self/fd/9", "/proc/self/fd/10", "/run/x/calls", "/run/x/admin")

LIMITS = Limits(connections_max=100, request_s=2.5, idle_s=60, silent_s=120, answer_silent_s=240, tos=0xC0)


def test_every_socket_asks_for_a_certificate_and_nothing_older_than_tls_1_3() -> None:
    made = text(PLACES, LIMITS)
    binds = [line for line in made.splitlines() if line.startswith("\tbind ")]
    assert [line.split()[1] for line in binds] == ["fd@7", "fd@8"]
    assert all("verify required" in line and "ca-file /proc/self/fd/10" in line for line in binds)
    assert "ssl-min-ver TLSv1.3" in made
    assert "\tmaxconn 100\n" in made
    assert "\ttimeout http-request 2500ms\n" in made
    assert "\ttimeout client 120000ms\n" in made
    assert "\ttimeout server 240000ms\n" in made
    assert "\thttp-request set-tos 0xc0\n" in made
    assert "set-tos" not in text(PLACES, replace(LIMITS, tos=0))
    assert made.index("del-header airbound-peer- -m beg") < made.index("set-header airbound-peer-certificate-bin")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("handshake 192.0.2.1 0 error:0A0000C7:SSL routines::peer did not return a certificate", "no_certificate"),
        ("handshake 192.0.2.1 20 error:0A000086:SSL routines::certificate verify failed", "unknown_authority"),
        ("handshake 192.0.2.1 10 error:0A000086:SSL routines::certificate verify failed", "certificate_expired"),
        ("handshake 192.0.2.1 9 error:0A000086:SSL routines::certificate verify failed", "certificate_not_yet_valid"),
        ("handshake 192.0.2.1 26 error:0A000086:SSL routines::certificate verify failed", "certificate_unsuitable"),
        ("handshake 192.0.2.1 0 error:0A000102:SSL routines::unsupported protocol", "tls_version"),
        ("handshake 192.0.2.1 0 error:0A00009C:SSL routines::http request", "not_tls"),
        ("handshake 192.0.2.1 0 error:0A00010B:SSL routines::wrong version number", "not_tls"),
        ("handshake 192.0.2.1 - -", "other"),
        ("handshake", "other"),
        ("call 192.0.2.1 CD 200", None),
        ("[NOTICE]   (1) : haproxy version is 2.6.12", None),
        ("", None),
    ],
)
def test_why_a_handshake_failed(line: str, reason: str | None) -> None:
    assert lines.failure(line) == reason


def test_messages_of_haproxy_about_itself() -> None:
    assert lines.message("[NOTICE]   (23) : haproxy version is 2.6.12") == (False, "haproxy version is 2.6.12")
    assert lines.message("[ALERT]    (23) : config : parsing [x:3] : unknown") == (
        True,
        "config : parsing [x:3] : unknown",
    )
    assert lines.message("what nobody expects") == (True, "what nobody expects")
    assert lines.message("handshake 192.0.2.1 0 x") is None
    assert lines.message("call 192.0.2.1 CD 200") is None
    assert lines.message("  ") is None


def test_whose_streams_are_whose() -> None:
    listed = (
        "0x55: proto=tcpv4 src=192.0.2.1:4711 fe=peers be=controller srv=controller ts=00\n"
        "0x56: proto=tcpv6 src=::ffff:192.0.2.1:4712 fe=peers be=controller srv=controller ts=00\n"
        "0x57: proto=tcpv6 src=2001:db8::1:4711 fe=peers be=controller srv=controller ts=00\n"
        "0x58: proto=unix_stream src=unix:1 fe=GLOBAL be=<NONE> srv=<none> ts=00\n"
        "0x59: proto=tcpv4 src=none:4711 fe=peers be=controller srv=controller ts=00\n"
    )
    one = address_from_text("192.0.2.1")
    assert sessions_of(listed, one, 4711) == ["0x55"]
    assert sessions_of(listed, one, 4712) == ["0x56"]
    assert sessions_of(listed, address_from_text("2001:db8::1"), 4711) == ["0x57"]
    assert sessions_of(listed, one, 1) == []
