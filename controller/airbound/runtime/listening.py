# SPDX-License-Identifier: Apache-2.0
"""Listening sockets at ADDRESS:PORT, as gRPC would open them: of all addresses of a name, and of IPv4 and IPv6 where
the address is that of all interfaces.
"""

import contextlib
import socket

BACKLOG = 256
RECEIVE_OCTETS = 65_536  # no more than a connection may send
_ALL_INTERFACES = {"", "0.0.0.0", "::"}  # noqa: S104  # what an operator may ask for


def opened(
    endpoint: str, *, backlog: int = BACKLOG, receive_octets: int | None = RECEIVE_OCTETS
) -> list[socket.socket]:
    """All of one port; the kernel's own receive buffer if `receive_octets` is None.

    Raises:
        OSError: an address is taken, not ours, or no address.
    """
    host, _, text = endpoint.rpartition(":")
    host, port = host.strip("[]"), int(text)
    if host in _ALL_INTERFACES:
        with contextlib.suppress(OSError):  # a kernel without IPv6
            return [_listening(socket.AF_INET6, ("::", port), backlog, receive_octets)]
        return [_listening(socket.AF_INET, ("0.0.0.0", port), backlog, receive_octets)]  # noqa: S104
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            number = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_listening(family, (address[0], number, *address[2:]), backlog, receive_octets))
    except BaseException:
        for one in sockets:
            one.close()
        raise
    return sockets


def _listening(family: int, address: tuple[object, ...], backlog: int, receive_octets: int | None) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_octets is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_octets)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(address[0] != "::"))
        made.bind(address)
        made.listen(backlog)
        made.settimeout(0)
    except BaseException:
        made.close()
        raise
    return made
