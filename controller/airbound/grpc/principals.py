# SPDX-License-Identifier: Apache-2.0
"""Who is at the other end of a stream. Without TLS nobody proves anything: the role is that of the service that was
called, the name is the address that the connection comes from.
"""

from urllib.parse import unquote

from airbound.core.addresses import Address, address_from_text, address_text
from airbound.core.principals import Principal, Role


def remote_of(peer: str) -> tuple[Address, int] | None:
    """The address and port behind gRPC's name of a peer; none if it has none."""
    _, address = plain_text("terminal", peer)
    port = peer.rpartition(":")[2]
    return (address, int(port)) if address and port.isdecimal() else None


def plain_text(role: Role, peer: str) -> tuple[Principal, Address]:
    """The principal behind gRPC's name of a peer ("ipv4:192.0.2.1:4711", "ipv6:%5B::1%5D:4711", "unix:..."), and its
    address; empty if it has none.
    """
    family, _, rest = unquote(peer).partition(":")
    if family in {"ipv4", "ipv6"}:
        host = rest.rpartition(":")[0].strip("[]").partition("%")[0]
        try:
            address = address_from_text(host)
        except ValueError:
            return Principal(role, peer), b""
        return Principal(role, address_text(address)), address
    return Principal(role, family or "unknown"), b""
