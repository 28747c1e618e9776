# SPDX-License-Identifier: Apache-2.0
"""Which master has which hash slot of a Cluster."""

import binascii
from collections.abc import Sequence
from typing import Any, NamedTuple

SLOTS = 16_384


class Server(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Range(NamedTuple):
    """Slots of one master, with its replicas."""

    first: int
    last: int
    master: Server
    replicas: tuple[Server, ...]


def slot(tag: bytes) -> int:
    """The hash slot of a tag: CRC16 of the XMODEM kind, as the Cluster specification has it."""
    return binascii.crc_hqx(tag, 0) % SLOTS


def ranges(reply: Sequence[Any], asked: Server) -> list[Range]:
    """The reply to CLUSTER SLOTS. Where it names no host, it means the server that was asked.

    A node whose endpoint is not known yet is "?"; its slots are left out.

    Raises:
        ValueError, TypeError, AttributeError, LookupError, ArithmeticError: it is something else.
    """
    found = []
    for first, last, *nodes in reply:
        if not 0 <= first <= last < SLOTS:
            raise ValueError(f"slots {first} to {last}")
        servers = [Server(_host(node[0], asked), node[1]) for node in nodes if node[0] != b"?"]
        if nodes and nodes[0][0] != b"?":
            found.append(Range(first, last, servers[0], tuple(servers[1:])))
    return found


def _host(host: bytes | None, asked: Server) -> str:
    return host.decode() if host else asked.host
