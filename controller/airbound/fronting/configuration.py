# SPDX-License-Identifier: Apache-2.0
"""The configuration of HAProxy (2.5 and later) as a front of a port for gRPC with TLS; pure.

A header block has to fit into one buffer, whatever frames it comes in; what a peer does beside calls costs HAProxy's
process and not the controller's. HAProxy verifies certificates, and adds fields about the peer to each call, of
names that it removes from what peers send (airbound/grpc/front_fields.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

STREAMS_PER_CONNECTION_MAX = 8
"""An agent has one stream, and renews its certificate; `airbound top` has two at once."""
BUFFER_OCTETS = 16_384
"""An agent's header block has some 300; a report of any size passes through."""
CONNECT_S = 3
KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT = 30, 5, 3
"""As gRPC would: a peer that vanished is noticed within 45 s."""
HANDSHAKE, CALL = "handshake", "call"
"""What a line of the log is about, its first word."""
FRONTEND = "peers"
FIELD_PREFIX = "airbound-peer-"
CERTIFICATE_FIELD = f"{FIELD_PREFIX}certificate-bin"
"""DER; gRPC takes base64 out of a field of such a name."""
VERSION_FIELD = f"{FIELD_PREFIX}tls"
ADDRESS_FIELD, PORT_FIELD = f"{FIELD_PREFIX}address", f"{FIELD_PREFIX}port"


@dataclass(frozen=True, slots=True)
class Limits:
    """What connections may take."""

    connections_max: int
    request_s: float
    """From a connection's handshake to the end of a call's header."""
    idle_s: float
    """Without a call."""
    silent_s: float
    """A handshake that stands still is ended after it, and a stream whose request goes on and which carries nothing."""
    answer_silent_s: float
    """The same for a stream whose request is whole; at most 24 days, by HAProxy's arithmetic."""
    tos: int = 0
    """Of packets to peers; 0: left to the kernel."""


@dataclass(frozen=True, slots=True)
class Places:
    """Paths and descriptors that HAProxy is given."""

    listening: Sequence[int]
    """Descriptors of sockets that listen for peers."""
    certificate: str
    """Path of a PEM file: the server's certificate, its issuers, its key."""
    authorities: str
    """Path of a PEM file: whose clients are accepted."""
    calls: str
    """Path of the Unix socket that takes calls."""
    admin: str
    """Path of the Unix socket for commands to HAProxy."""


def text(places: Places, limits: Limits) -> str:
    """The file."""
    binds = "\n".join(
        f"\tbind fd@{descriptor} ssl crt {places.certificate} ca-file {places.authorities} verify required alpn h2"
        for descriptor in places.listening
    )
    tos = f"\thttp-request set-tos {limits.tos:#x}\n" if limits.tos else ""
    return f"""\
global
\tlog stdout format raw local0 info
\tstats socket {places.admin} mode 600 level admin
\tmaxconn {limits.connections_max}
\tnbthread 1
\ttune.bufsize {BUFFER_OCTETS}
\ttune.h2.max-concurrent-streams {STREAMS_PER_CONNECTION_MAX}
\tssl-default-bind-options ssl-min-ver TLSv1.3 no-tls-tickets
\tssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256

defaults
\tmode http
\tlog global
\toption dontlognull
\toption dontlog-normal
\toption http-no-delay
\ttimeout connect {CONNECT_S}s
\ttimeout http-request {_ms(limits.request_s)}
\ttimeout http-keep-alive {_ms(limits.idle_s)}
\ttimeout client {_ms(limits.silent_s)}
\ttimeout client-fin {CONNECT_S}s
\ttimeout server {_ms(limits.answer_silent_s)}
\toption clitcpka
\tclitcpka-idle {KEEPALIVE_IDLE_S}s
\tclitcpka-intvl {KEEPALIVE_INTERVAL_S}s
\tclitcpka-cnt {KEEPALIVE_COUNT}
\terror-log-format "{HANDSHAKE} %ci %[ssl_c_err] %[ssl_fc_err_str]"
\tlog-format "{CALL} %ci %ts %ST"

frontend {FRONTEND}
{binds}
{tos}\thttp-request del-header {FIELD_PREFIX} -m beg
\thttp-request set-header {CERTIFICATE_FIELD} %[ssl_c_der,base64]
\thttp-request set-header {VERSION_FIELD} %[ssl_fc_protocol]
\thttp-request set-header {ADDRESS_FIELD} %[src]
\thttp-request set-header {PORT_FIELD} %[src_port]
\tdefault_backend controller

backend controller
\thttp-reuse never
\tserver controller unix@{places.calls} proto h2
"""


def _ms(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"
