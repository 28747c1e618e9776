# SPDX-License-Identifier: Apache-2.0
"""Orders of faults of a real Redis around two real replicas, in real time.

The replicas have no network but that to Redis, through the product's own client. As in `fault_orders`, an access point
reports once a second; after the last fault the replica that it is connected to has to own the cell, and to go on.
"""

import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redis.exceptions import RedisError

from airbound.core.addresses import mac_text
from airbound.replica.choices import KIND
from airbound.replica.members import KIND as REPLICAS
from airbound.runtime.runner import monotonic_us
from airbound.store.options import StoreOptions
from airbound.store.redis.store import RedisStore
from airbound_testing.ports import free_port
from airbound_testing.redis_servers import RedisServer
from airbound_testing.two_replicas import CELL, CONNECT_S, STATION, Replicas

OWNER, EPOCH, STATE = (f"airbound:cell:{{{mac_text(CELL)}}}:{end}" for end in ("owner", "epoch", "state"))
PLACE = f"airbound:station:{{{mac_text(STATION)}}}"
RECORDS = tuple(f"airbound:records:{{{kind}}}:{end}" for kind in (KIND, REPLICAS) for end in ("values", "ends"))
TEXTS = (b"", b"garbage", b"7:ghost", b"007:ghost", b"9" * 40 + b":ghost", b"7:\xff\xfe", b"inf", b"-1", b"\x00" * 100)
TYPES = (("HSET", "a", "b"), ("RPUSH", "a"), ("ZADD", "1", "a"))
GAP_MIN_S, GAP_MAX_S = 0.2, 3.0
STEP_S = 0.02


class Site:
    """A Redis, the replicas, and what is drawn."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311  # no secret
        self.server = RedisServer(folder)
        self.replicas: Replicas
        self.ends: dict[str, Callable[[], Awaitable[None]]] = {}  # what mends the faults that last, by their names

    async def start(self) -> None:
        """Begin, and wait until the cell has its owner."""
        await asyncio.to_thread(self.server.start)
        options = StoreOptions(url=self.server.url)
        self.replicas = Replicas([RedisStore(options), RedisStore(options)], monotonic_us)
        await self.replicas.start()

    async def stop(self) -> None:
        """End everything."""
        await self.replicas.stop()
        await asyncio.to_thread(self.server.stop)

    async def command(self, *parts: object) -> None:
        """Have Redis do something, if it can."""
        with suppress(RedisError):
            await asyncio.to_thread(self.server.command, *parts)

    async def mend(self) -> None:
        """End all faults that last."""
        ends, self.ends = self.ends, {}
        for end in reversed(ends.values()):
            await end()


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, and what it does."""

    name: str
    happens: Callable[[Site], Awaitable[None]]


def _overwritten(key: str) -> Callable[[Site], Awaitable[None]]:
    async def happens(site: Site) -> None:
        await site.command("SET", key, site.dice.choice(TEXTS))

    return happens


def _of_another_type(key: str) -> Callable[[Site], Awaitable[None]]:
    async def happens(site: Site) -> None:
        command, *arguments = site.dice.choice(TYPES)
        await site.command("DEL", key)
        await site.command(command, key, *arguments)

    return happens


async def _records(site: Site) -> None:
    """Only an operator removes such a key."""
    key = site.dice.choice(RECORDS)
    await site.command("SET", key, "garbage")

    async def end() -> None:
        await site.command("DEL", key)

    site.ends[key] = end


def _lasts(name: str, begin: Sequence[object], end: Sequence[object]) -> Callable[[Site], Awaitable[None]]:
    async def mend(site: Site) -> None:
        await site.command(*end)

    async def happens(site: Site) -> None:
        await site.command(*begin)
        site.ends[name] = lambda: mend(site)

    return happens


def _once(*parts: object) -> Callable[[Site], Awaitable[None]]:
    async def happens(site: Site) -> None:
        await site.command(*parts)

    return happens


async def _pause(site: Site) -> None:
    site.server.pause()

    async def end() -> None:
        site.server.resume()

    site.ends["pause"] = end


async def _restart(site: Site) -> None:
    site.server.resume()
    await asyncio.to_thread(site.server.kill)
    await asyncio.to_thread(site.server.start)


async def _move(site: Site) -> None:
    site.replicas.leave(1 - site.replicas.at, CONNECT_S)


_KEYS = {"owner": OWNER, "epoch": EPOCH, "state": STATE, "station": PLACE}
FAULTS = (
    *(Fault(f"garbage as {name}", _overwritten(key)) for name, key in _KEYS.items()),
    *(Fault(f"another type as {name}", _of_another_type(key)) for name, key in _KEYS.items()),
    Fault("another type among records", _records),
    Fault("out of memory", _lasts("memory", ("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0"))),
    Fault("read-only", _lasts("read-only", ("REPLICAOF", "127.0.0.1", free_port()), ("REPLICAOF", "NO", "ONE"))),
    Fault("paused", _pause),
    Fault("restarted, empty", _restart),
    Fault("flushed", _once("FLUSHALL")),
    Fault("scripts flushed", _once("SCRIPT", "FLUSH")),
    Fault("connections ended", _once("CLIENT", "KILL", "TYPE", "normal")),
    Fault("subscriptions ended", _once("CLIENT", "KILL", "TYPE", "pubsub")),
    Fault("owner removed", _once("DEL", OWNER)),
    Fault("access point moves", _move),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an order of faults did."""

    right_s: float  # after the last fault was mended, until the owner was right and stayed so; inf: it did not
    twice: bool  # whether two replicas commanded the cell at one time


async def endure(faults: Sequence[Fault], seed: int, patience_s: float, watched_s: float) -> Outcome:
    """Have faults happen one after the other, mend what lasts, and see."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), seed)
        await site.start()
        try:
            for fault in faults:
                if "pause" in site.ends:  # Redis would answer nobody
                    await site.mend()
                await fault.happens(site)
                await asyncio.sleep(site.dice.uniform(GAP_MIN_S, GAP_MAX_S))
            await site.mend()
            right_s = await _until_right(site.replicas, patience_s, watched_s)
            return Outcome(right_s, bool(site.replicas.trouble))
        finally:
            await site.mend()
            await site.stop()


async def _until_right(replicas: Replicas, patience_s: float, watched_s: float) -> float:
    loop = asyncio.get_running_loop()
    began_s = since_s = loop.time()
    while loop.time() - since_s < watched_s:
        await asyncio.sleep(STEP_S)
        if not replicas.is_right():
            since_s = loop.time()
            if since_s - began_s > patience_s:
                return float("inf")
    return since_s - began_s
