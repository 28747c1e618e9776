# SPDX-License-Identifier: Apache-2.0
"""Counts the connections of the servers' ports now and then: the kernel's list is read in a thread."""

import asyncio
from typing import TYPE_CHECKING

from airbound.grpc.octet_watch import OctetWatch
from airbound.grpc.ports import AGENTS
from airbound.grpc.principals import remote_of
from airbound.runtime import log
from airbound.runtime.connections import Connections, PortCount, Warned
from airbound.runtime.octets import Account
from airbound.runtime.sockets import Connection, connections

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EVERY_S = 5.0


class ConnectionWatch:
    """Of the ports in `ports`, by name; there are several of operators."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.ports: Mapping[str, Sequence[int]] = {}
        self.warned = Warned()
        self.octets = OctetWatch()
        self.closings: Mapping[str, Mapping[str, int]] = {}  # by port and cause
        self._failed = ""

    def called(self, port: str, name: str) -> Account:
        """A peer of this name, as gRPC writes it, may and has made a call; the account of its connection."""
        remote = remote_of(name)
        if remote is None:
            return Account()
        self.connections.called(port, remote)
        return self.octets.called(port, remote)

    def closed(self) -> dict[tuple[str, str], int]:
        """How many connections the controller has closed, by port and cause."""
        return {(port, cause): count for port, counts in self.closings.items() for cause, count in counts.items()}

    def handshakes(self) -> dict[str, int]:
        """Begun, by port, those without any included."""
        return dict.fromkeys(self.ports, 0) | dict(self.connections.handshakes())

    def counts(self) -> dict[str, PortCount]:
        """As of the last count, by port."""
        return dict.fromkeys(self.ports, PortCount()) | self.connections.counts

    async def count(self) -> None:
        """Count once, and log what is above its limit."""
        for name, numbers in self.ports.items():
            begun, before = self.connections.handshakes().get(name, 0), self.connections.remembered(name)
            listed: list[Connection] = []
            try:
                for number in numbers:
                    listed += await asyncio.to_thread(connections, number)
            except OSError as error:
                if str(error) != self._failed:
                    self._failed = str(error)
                    log.event("warning", "connections", name, f"cannot be counted: {error}")
                continue
            self.connections.counted(name, listed, begun, before)
            limits = self.warned if name == AGENTS else self.warned._replace(total=0)
            for subject, text in self.connections.warnings(name, listed, limits):
                log.event("warning", "connections", subject, text)

    async def run(self) -> None:
        """Count until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.count()
