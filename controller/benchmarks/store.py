# SPDX-License-Identifier: Apache-2.0
"""What a store costs: CPU time per cell, station or message, of this process and of the servers.

Usage: store.py [--calls 2000] [--json FILE]. Starts a redis-server and a Cluster of three masters on the loopback
interface. Calls follow one another; `x 20` is one call for 20 cells or stations, or 20 messages that are sent at once.
CPU time of whole processes: other work on the machine adds little to it, but for shared caches. The best of five
batches is shown.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from airbound.store.factory import open_store
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.options import StoreOptions
from airbound.store.types import Claim, Place, Store, Token
from airbound_testing.redis_servers import RedisCluster, RedisServer

BATCHES = 5
SIZES = (1, 20, 100)
TTL_MS = 6_000_000
MESSAGE = bytes(200)
MANY = 20_000
CELLS = [bytes([2, 0, 0, 1]) + number.to_bytes(2, "big") for number in range(100)]


class Pair:
    """Two replicas at one store."""

    def __init__(self, make: Callable[[], Store], servers: Sequence[RedisServer]) -> None:
        self.one, self.two = make(), make()
        self._servers = servers
        self._expected = 0
        self._received = asyncio.Event()

    async def start(self) -> None:
        """Start both; all cells belong to the first, all terminals are at the second."""
        await self.one.start("one", lambda _: None, lambda: None)
        await self.two.start("two", self._handle, lambda: None)
        claims = await self.one.claim(CELLS, ttl_ms=TTL_MS)
        if not all(isinstance(claim, Claim) and claim.mine for claim in claims):
            raise AssertionError("a cell has another owner")
        await self.two.arrive(CELLS, ttl_ms=TTL_MS)

    async def close(self) -> None:
        """Close both."""
        await self.one.close()
        await self.two.close()

    async def claim(self, size: int) -> None:
        """Extend leases."""
        await self.one.claim(CELLS[:size], ttl_ms=TTL_MS)

    async def place(self, size: int) -> None:
        """Write where stations are."""
        place = Place(CELLS[0], Token(1, "one"), 1_000)
        await self.one.place([(mac, place) for mac in CELLS[:size]], ttl_ms=TTL_MS)

    async def send(self, size: int) -> None:
        """Send messages and wait until all are received."""
        self._expected = size
        self._received.clear()
        await asyncio.gather(*(self.one.send("two", MESSAGE) for _ in range(size)))
        await self._received.wait()

    async def cost(self, call: Callable[[int], Awaitable[None]], size: int, calls: int) -> tuple[float, float]:
        """CPU microseconds of this process and of the servers, for each of `size`."""
        await call(size)
        found = []
        for _ in range(BATCHES):
            servers_s, start_s = self._servers_s(), time.process_time()
            for _ in range(calls):
                await call(size)
            spent_s = time.process_time() - start_s
            found.append((spent_s / calls / size * 1e6, (self._servers_s() - servers_s) / calls / size * 1e6))
        return min(found)

    def _handle(self, _message: bytes) -> None:
        self._expected -= 1
        if self._expected == 0:
            self._received.set()

    def _servers_s(self) -> float:
        info = [server.client.info("cpu") for server in self._servers]
        return float(sum(node["used_cpu_user"] + node["used_cpu_sys"] for node in info))


async def measure(
    make: Callable[[], Store], servers: Sequence[RedisServer], calls: int
) -> dict[str, tuple[float, float]]:
    """Figures for one kind of store."""
    pair = Pair(make, servers)
    await pair.start()
    figures = {}
    for name, call in (("claim", pair.claim), ("place", pair.place), ("send and receive", pair.send)):
        for size in SIZES:
            figures[f"{name} x {size}"] = await pair.cost(call, size, max(20, calls // size))
    await pair.close()
    return figures


async def memory_of(make: Callable[[], Store], server: RedisServer) -> dict[str, float]:
    """Octets of Redis's memory for each cell that is owned, without its state, and for each station with a stream."""
    store = make()
    await store.start("0b0e5d1c5e7d4d0f8a3c2b1a09876543", lambda _: None, lambda: None)
    token = Token(time.time_ns() // 1000, "0b0e5d1c5e7d4d0f8a3c2b1a09876543")
    macs = [bytes([2, 1, 0]) + number.to_bytes(3, "big") for number in range(MANY)]

    async def station(batch: list[bytes]) -> None:
        await store.place([(mac, Place(mac, token, 0)) for mac in batch], ttl_ms=TTL_MS)
        await store.arrive(batch, ttl_ms=TTL_MS)

    async def cell(batch: list[bytes]) -> None:
        await store.claim(batch, ttl_ms=TTL_MS)

    figures = {}
    for name, write in (("cell", cell), ("station", station)):
        before = server.client.info("memory")["used_memory"]
        for start in range(0, MANY, 1_000):
            await write(macs[start : start + 1_000])
        figures[name] = (server.client.info("memory")["used_memory"] - before) / MANY
    await store.close()
    return figures


def main() -> int:
    """Measure every kind of store; print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2_000, metavar="N", help="per batch; default %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args()
    memory = Memory()
    with tempfile.TemporaryDirectory() as folder:
        server, cluster = RedisServer(Path(folder) / "server"), RedisCluster(Path(folder) / "cluster")
        try:
            server.start()
            cluster.start()
            kinds: dict[str, tuple[Callable[[], Store], Sequence[RedisServer]]] = {
                "memory": (lambda: MemoryStore(memory), ()),
                "server": (lambda: open_store(StoreOptions(url=server.url)), (server,)),
                "cluster": (lambda: open_store(StoreOptions(url=cluster.url, cluster=True)), cluster.masters()),
            }
            octets = asyncio.run(memory_of(kinds["server"][0], server))
            figures = {kind: asyncio.run(measure(*measured, arguments.calls)) for kind, measured in kinds.items()}
        finally:
            server.stop()
            cluster.stop()
    print(f"{'CPU us each':24}{'memory':>10}{'server':>10}{'(Redis)':>10}{'cluster':>10}{'(Redis)':>10}")
    for name in figures["memory"]:
        columns = [figures["memory"][name][0], *figures["server"][name], *figures["cluster"][name]]
        print(f"{name:24}" + "".join(f"{column:>10.1f}" for column in columns))
    print(f"octets of Redis's memory: {octets['cell']:.0f} a cell, {octets['station']:.0f} a station with a stream")
    if arguments.json:
        text = json.dumps({"cpu_us": figures, "octets": octets}, indent=2)
        arguments.json.write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
