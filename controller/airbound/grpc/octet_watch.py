# SPDX-License-Identifier: Apache-2.0
"""Counts connections whose octets are not accounted for by messages (runtime/octets.py), and logs whose they are. gRPC
shows no octets: a thread asks the kernel.

They are not ended. When gRPC's connection ends within a header block, gRPC hands Python a call with all the fields that
came so far, which stops the interpreter for longer than to take more of them: a peer that connects again did more harm
(docs/limits.md, "A connection without a call").
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from airbound.core.addresses import address_text
from airbound.grpc.ports import AGENTS, OPERATORS
from airbound.runtime import log
from airbound.runtime.octets import Account, Accounts, Excess, Remote
from airbound.runtime.received import Received, received

EVERY_S = 1.0
CPU_MAX = 0.01
WARNED_EVERY_S = 60.0
OPERATORS_OCTETS_PER_S = 256  # who watches sends pings, and windows for what it is sent


class OctetWatch:
    """Of the ports in `ports`, by name."""

    def __init__(self) -> None:
        self.ports: Mapping[str, Sequence[int]] = {}
        self.accounts = {AGENTS: Accounts(), OPERATORS: Accounts(OPERATORS_OCTETS_PER_S)}
        self.excessive = Counter[str](dict.fromkeys(self.accounts, 0))  # connections, by port
        self._known: dict[str, set[int]] = {name: set() for name in self.accounts}  # of them, inodes
        self._looked_at_s = time.monotonic()
        self._unwarned: dict[str, Counter[str]] = {name: Counter() for name in self.accounts}
        self._warned_at_s: dict[str, float] = {}
        self._failed = ""

    def called(self, port: str, remote: Remote) -> Account:
        """A peer that may has made a call on one of the ports."""
        return self.accounts[port].called(remote)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            took_s = await self.look()
            await asyncio.sleep(max(EVERY_S, took_s / CPU_MAX))

    async def look(self) -> float:
        """Look once; the processor time that it took."""
        took_s, now_s = 0.0, time.monotonic()
        elapsed_s, self._looked_at_s = now_s - self._looked_at_s, now_s
        for name, accounts in self.accounts.items():
            before = accounts.remembered()
            try:
                listed, cpu_s = await asyncio.to_thread(_received, self.ports.get(name, ()))
            except OSError as error:
                if str(error) != self._failed:
                    self._failed = str(error)
                    log.event("warning", "connections", name, f"their octets cannot be counted: {error}")
                accounts.forget(before)
                continue
            took_s += cpu_s
            self._count(name, accounts.excesses(listed, before, elapsed_s), now_s)
        return took_s

    def _count(self, name: str, excesses: Sequence[Excess], now_s: float) -> None:
        """Each connection once."""
        fresh = [excess for excess in excesses if excess.connection.inode not in self._known[name]]
        self._known[name] = {excess.connection.inode for excess in excesses}
        self.excessive[name] += len(fresh)
        unwarned = self._unwarned[name]
        unwarned.update(address_text(excess.connection.address) for excess in fresh)
        if not unwarned or now_s - self._warned_at_s.get(name, -WARNED_EVERY_S) < WARNED_EVERY_S:
            return
        self._warned_at_s[name] = now_s
        ((address, _),) = unwarned.most_common(1)
        text = f"{unwarned.total()} connections with octets that their messages do not account for"
        log.event("warning", "connections", name, f"{text}, most of them of {address}")
        unwarned.clear()


def _received(ports: Sequence[int]) -> tuple[list[Received], float]:
    began_s = time.thread_time()
    listed = [connection for port in ports for connection in received(port)]
    return listed, time.thread_time() - began_s
