# SPDX-License-Identifier: Apache-2.0
"""Calls that come through a front: a proxy on this machine that ends TLS and HTTP/2, verifies certificates, and passes
calls on by a Unix socket (airbound/fronting). gRPC's own HTTP/2 has no limit on header blocks
(docs/decisions/0053-a-front-for-agents.md); a front's has.

It adds the peer's certificate, TLS version, address and port to each call as fields of the names below, after it has
removed fields of these names from what the peer sent. These are not verified again: the socket is in a directory that
only the controller's user may enter.
"""

from typing import TYPE_CHECKING, Any

from airbound.core.reasons import Code, Reason, RefusedError
from airbound.fronting.configuration import ADDRESS_FIELD, CERTIFICATE_FIELD, PORT_FIELD, VERSION_FIELD

if TYPE_CHECKING:
    from collections.abc import Sequence

UNIX_PEER = "unix:"


def is_behind(context: Any) -> bool:
    """Whether a call came by a Unix socket: of a server behind a front only the front's is one."""
    name: str = context.peer()
    return name.startswith(UNIX_PEER)


def peer_name(context: Any) -> str:
    """A peer's name as gRPC writes it, from the fields; that of gRPC itself where they are missing."""
    address, port = _field(context, ADDRESS_FIELD), _field(context, PORT_FIELD)
    if not isinstance(address, str) or not address or not isinstance(port, str) or not port.isdecimal():
        return str(context.peer())
    mapped = address.removeprefix("::ffff:")
    if ":" in mapped:
        return f"ipv6:%5B{mapped}%5D:{port}"
    return f"ipv4:{mapped}:{port}"


def certificate_der(context: Any) -> bytes:
    """The peer's certificate, whose key the peer has used in the front's handshake.

    Raises:
        RefusedError: the field is missing.
    """
    found = _field(context, CERTIFICATE_FIELD)
    if not isinstance(found, bytes) or not found:
        raise RefusedError(Reason(Code.NO_CERTIFICATE))
    return found


def tls_version(context: Any) -> str:
    """Of the peer's connection; empty if the field is missing."""
    found = _field(context, VERSION_FIELD)
    return found if isinstance(found, str) else ""


def _field(context: Any, name: str) -> str | bytes | None:
    """The only field of a name; None if there is none, or more than one: the front adds its own once."""
    metadata: Sequence[tuple[str, str | bytes]] = context.invocation_metadata() or ()
    values = [value for key, value in metadata if key == name]
    return values[0] if len(values) == 1 else None
