# SPDX-License-Identifier: Apache-2.0
"""Where a gRPC server listens: on a TCP port, on a Unix socket, or on a Unix socket of its own behind a front, which
listens on the TCP ports; and what limits the connections there.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from airbound.config import UNIX, Limits
from airbound.fronting.configuration import Limits as FrontLimits
from airbound.grpc import unix_socket

if TYPE_CHECKING:
    from airbound.fronting.supervisor import Supervisor as FrontSupervisor

Credentials = Callable[[str], grpc.ServerCredentials]
"""Makes credentials for one port of a name: gRPC asks them once for what they begin with."""

SILENT_S = 120.0  # of a stream behind a front; agents report more often

OPTIONS = (
    # Otherwise two controllers could share the port and each see half of the agents.
    ("grpc.so_reuseport", 0),
    # A peer that vanished must not keep a stream for ever.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 15_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
"""Of every server."""


class ListenError(OSError):
    """The address cannot be listened on."""


def is_tcp(endpoint: str) -> bool:
    """Whether an endpoint is ADDRESS:PORT; otherwise it is unix:/PATH."""
    return not endpoint.startswith(UNIX)


def connection_options(limits: Limits, connections_max: int) -> tuple[tuple[str, int], ...]:
    """How many connections there may be, and how long one may be without a call. The first time is for the handshakes
    of TLS and of HTTP/2 together, and is the whole time: a peer that sends an octet now and then gains nothing.
    """
    return (
        ("grpc.server_handshake_timeout_ms", round(limits.handshake_s * 1000)),
        ("grpc.max_connection_idle_ms", round(limits.idle_connection_s * 1000)),
        ("grpc.max_allowed_incoming_connections", connections_max),
    )


def front_limits(limits: Limits, connections: int, answer_silent_s: float, dscp: int = 0) -> FrontLimits:
    """The same for a front."""
    return FrontLimits(
        connections, limits.handshake_s, limits.idle_connection_s, SILENT_S, answer_silent_s, tos=dscp << 2
    )


def listen(server: grpc.aio.Server, name: str, endpoint: str, held: ExitStack, credentials: Credentials | None) -> int:
    """Have a server listen on ADDRESS:PORT or unix:/PATH; the real port (1 for a Unix socket). `held` releases it.

    Raises:
        ListenError: the address is taken, not ours, or no address.
    """
    try:
        if is_tcp(endpoint):
            if credentials is not None:
                return server.add_secure_port(endpoint, credentials(name))
            return server.add_insecure_port(endpoint)
        held.enter_context(unix_socket.held(unix_socket.path_of(endpoint)))
        with unix_socket.for_owner_and_group():
            return server.add_insecure_port(endpoint)
    except OSError as error:
        raise ListenError(f"cannot listen on {endpoint}: {error.strerror or error}") from error
    except RuntimeError as error:
        raise ListenError(f"cannot listen on {endpoint}: {error}") from error


def listen_behind(
    front: "FrontSupervisor", server: grpc.aio.Server, endpoints: Sequence[str], held: ExitStack
) -> list[int]:
    """Have a front listen on each ADDRESS:PORT, which passes calls on to the server by a Unix socket of its own; the
    real ports. Raises as `listen`.
    """
    held.callback(front.close)
    ports = []
    for endpoint in endpoints:
        try:
            ports.append(front.listen(endpoint))
            if len(ports) == 1:
                server.add_insecure_port(f"unix:{front.calls}")
        except (OSError, RuntimeError) as error:
            raise ListenError(f"cannot listen on {endpoint}: {getattr(error, 'strerror', None) or error}") from error
    return ports
