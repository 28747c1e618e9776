# SPDX-License-Identifier: Apache-2.0
"""What a device needs to get its certificate, as one string: airbound1:HOST:PORT:ENROLMENT-PORT:TOKEN. The agents'
`join` reads it (internal/identity/join.go).
"""

import contextlib
import re
import socket
from ipaddress import IPv6Address, ip_address

from airbound.endpoints import host_and_port

PREFIX = "airbound1"
DISCARD = 9  # any port: a UDP socket that connects sends nothing
LOCAL = (
    "this controller listens on loopback: only devices on its own machine reach it, until its configuration has"
    " `listen` and `enrollment` at an address of its network"
)
SOMEWHERE = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))  # RFC 5737, RFC 3849: on no network


def text(host: str, port: int, enrolment_port: int, token: str) -> str:
    """The string. An IPv6 address gets its brackets.

    Raises:
        ValueError: no name or address of a host.
    """
    bare = host.removeprefix("[").removesuffix("]")
    with contextlib.suppress(ValueError):
        if isinstance(ip_address(bare), IPv6Address):
            bare = f"[{bare}]"
    if not re.fullmatch(r"[A-Za-z0-9._-]+|\[[0-9a-f:.]+\]", bare):
        raise ValueError(f"{host!r} is no name or address of a host")
    return f"{PREFIX}:{bare}:{port}:{enrolment_port}:{token}"


def host_of(operators: str) -> str:
    """By which name or address devices reach a controller that operators reach at `operators`: the same host, or where
    that is a Unix socket, the address that this machine has where its default route is. Empty if nobody knows: what
    answers at a loopback address may be the end of a tunnel.
    """
    if not operators.startswith("unix:"):
        host, _ = host_and_port(operators)
        return "" if is_loopback(host) else host
    for there, family in SOMEWHERE:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((there, DISCARD))
            return str(probe.getsockname()[0])
    return ""


def is_loopback(host: str) -> bool:
    """Whether only the machine itself reaches this address."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return host == "localhost"
