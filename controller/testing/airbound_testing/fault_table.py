# SPDX-License-Identifier: Apache-2.0
"""The faults that controllers are to endure, each with what it does to the site. `controller/benchmarks/faults.py`
prints their outcomes, the tests check them.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
from redis import Redis

from airbound.pki.identities import CONTROLLER
from airbound.v1 import operations_pb2, operations_pb2_grpc
from airbound_testing.agents import channel
from airbound_testing.fault_site import Equipment, Site
from airbound_testing.faults import BSSIDS, logs

STOPPED_S = 10.0
PAUSED_S = 5.0
CUT_S = 15.0
FULL_S = 5.0
ORPHANED_S = 20.0  # longer than an owner's lease and then a phone's
# At a slow site as well: what is to be shorter than a time without news leaves room for what comes late.
AWAY_S = 2.0
BLOCKED_S = 3.0
SLOWNESS = 3  # of the tests' sites: a busy machine may be late by twice what the product's own times leave


async def kill_replica(site: Site) -> None:
    """SIGKILL; it stays away."""
    await site.controllers[0].kill()


async def stop_replica(site: Site) -> None:
    """SIGSTOP for 10 s."""
    site.controllers[0].send(signal.SIGSTOP)
    await site.pass_time(STOPPED_S)
    site.controllers[0].send(signal.SIGCONT)


async def roll(site: Site) -> None:
    """SIGTERM and a new start, one replica after the other."""
    for controller in site.controllers:
        controller.send(signal.SIGTERM)
        code = await controller.ended()
        if code:
            raise RuntimeError(f"it ended with {code}")
        await controller.start()
        await site.pass_time(2)


async def restart_redis(site: Site) -> None:
    """SIGKILL, and a new start with nothing in it."""
    await site.redis.kill()
    await site.redis.start()


async def pause_redis(site: Site) -> None:
    """SIGSTOP for 5 s."""
    site.redis.send(signal.SIGSTOP)
    await site.pass_time(PAUSED_S)
    site.redis.send(signal.SIGCONT)


async def exhaust_redis(site: Site) -> None:
    """Redis has no memory for what is new, for 15 s."""
    await _redis(site, "CONFIG", "SET", "maxmemory", 1)
    await site.pass_time(CUT_S)
    await _redis(site, "CONFIG", "SET", "maxmemory", 0)


async def overwrite_keys(site: Site) -> None:
    """Keys of cells and stations have in turn a text that no replica has written, without an end, and another type."""
    for number, key in enumerate(sorted(await _keys(site))):
        if number % 2:
            await _redis(site, "DEL", key)
            await _redis(site, "RPUSH", key, "garbage")
        else:
            await _redis(site, "SET", key, "garbage")
    await site.pass_time(ORPHANED_S)


async def _redis(site: Site, *parts: object) -> Any:
    """The reply to a command, not by way of a wire."""
    with Redis(port=site.redis.port) as client:
        return await asyncio.to_thread(client.execute_command, *parts)


async def _keys(site: Site) -> list[bytes]:
    return [key for pattern in ("cell", "station") for key in await _redis(site, "KEYS", f"airbound:{pattern}:*")]


async def cut_wire(site: Site) -> None:
    """Nothing goes through between the first replica and Redis for 15 s."""
    site.wires[0].cut()
    await site.pass_time(CUT_S)
    site.wires[0].mend()


async def step_clock(site: Site) -> None:
    """The first replica's time of day jumps by an hour."""
    await site.step_clock()


async def lose_access_point(site: Site) -> None:
    """An access point's stream breaks, and it connects to the other replica."""
    access_point = site.fleet.access_points[0]
    access_point.targets.reverse()
    await access_point.break_off()


async def cut_one_way(site: Site) -> None:
    """What the first replica sends to Redis arrives, and nothing comes back, for 15 s."""
    site.wires[0].cut(to=False)
    await site.pass_time(CUT_S)
    site.wires[0].mend()


async def lose_master(site: Site) -> None:
    """SIGKILL of the master that has the first cell; its replica is elected. It comes back after 15 s as a replica."""
    cluster = site.cluster
    master = await asyncio.to_thread(cluster.master, BSSIDS[0].encode())
    await asyncio.to_thread(master.kill)
    await site.pass_time(CUT_S)
    await asyncio.to_thread(cluster.heal)


async def restart_agent(site: Site) -> None:
    """The agent of an access point is killed and started again 2 s later."""
    access_point = site.fleet.access_points[0]
    await access_point.vanish()
    await asyncio.sleep(AWAY_S)
    await access_point.return_()


async def lose_agent(site: Site) -> None:
    """The agent of an access point is killed and stays away."""
    site.fleet.lost.add(0)
    await site.fleet.access_points[0].vanish()


async def end_certificates(site: Site) -> None:
    """Certificates have ended half a second ago, and the streams with them; others are there in 3 s only."""
    await asyncio.sleep(BLOCKED_S)
    site.certificates.renew("terminal")


async def end_certificates_of_access_points(site: Site) -> None:
    """The same for 1.5 s: phones of an access point that is silent for 3 s are released."""
    await asyncio.sleep(BLOCKED_S / 2)
    site.certificates.renew("access-point")


async def end_certificates_of_servers(site: Site) -> None:
    """The same, while a phone of each cell has to connect again."""
    for phones in site.fleet.phones:
        await phones[0].break_off()
    await asyncio.sleep(BLOCKED_S)
    site.certificates.renew(CONTROLLER)


async def lose_authority(site: Site) -> None:
    """The authority's key is away, and a replica is restarted: it does not start, until the key is back."""
    key = site.certificates.authority.directory.key
    away = key.with_suffix(".away")
    key.rename(away)
    controller = site.controllers[0]
    controller.send(signal.SIGTERM)
    await controller.ended()
    try:
        await controller.start()
    except RuntimeError as error:
        if str(key) not in str(error):
            raise
    else:
        raise RuntimeError("it started without the authority's key")
    await asyncio.sleep(BLOCKED_S)
    away.rename(key)
    await controller.start()


async def fill_disk(site: Site) -> None:
    """The disk of the store's file and of the log is full for 5 s. An operator's choice fails meanwhile, with a reason;
    afterwards it is kept, and the lines that were lost are counted.
    """
    site.disk.fill()
    refused = await _choose(site)
    if "full" not in refused:
        raise RuntimeError(f"an operator's choice on a full disk: {refused!r}")
    await asyncio.sleep(FULL_S)
    site.disk.free()
    refused = await _choose(site)
    if refused:
        raise RuntimeError(f"an operator's choice on a disk with space: {refused}")


async def _choose(site: Site) -> str:
    """Exempt a terminal that does not exist; why that failed, or nothing."""
    async with channel(site.controllers[0].operators) as operators:
        stub: Any = operations_pb2_grpc.OperationsServiceStub(operators)
        try:
            await stub.ExemptTerminal(operations_pb2.ExemptTerminalRequest(name="nobody", exempt=True), timeout=5)
        except grpc.aio.AioRpcError as error:
            return str(error.details())
    return ""


async def _nothing(_: Site) -> None:
    """No preparation."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table. `prepared` is awaited before the fault."""

    name: str
    happens: Callable[[Site], Awaitable[None]]
    equipment: Equipment = field(default_factory=Equipment)
    prepared: Callable[[Site], Awaitable[None]] = _nothing


OF_REPLICAS = (
    Fault("a replica is killed (SIGKILL)", kill_replica),
    Fault("a replica is stopped for 10 s (SIGSTOP)", stop_replica),
    Fault("both replicas are restarted, one after the other", roll),
    Fault("a replica's time of day jumps by an hour", step_clock, equipment=Equipment(clock=True)),
)
OF_STORES = (
    Fault("Redis is killed and starts empty", restart_redis),
    Fault("Redis is paused for 5 s", pause_redis),
    Fault("Redis has no memory left for 15 s", exhaust_redis),
    Fault("garbage in each key of cells and stations", overwrite_keys),
    Fault("a master of a Redis Cluster is killed", lose_master, equipment=Equipment(store="cluster")),
    Fault("a replica is cut off from Redis for 15 s", cut_wire),
    Fault("a replica is cut off from Redis for 15 s, one way", cut_one_way),
    Fault("the disk of a single controller is full for 5 s", fill_disk, equipment=Equipment(store="file")),
)
OF_ACCESS_POINTS = (
    Fault("an access point's stream breaks and moves to the other replica", lose_access_point),
    Fault("an access point's agent is killed and is back after 2 s", restart_agent),
    Fault("an access point's agent is killed for ever", lose_agent),
)
OF_CERTIFICATES = (
    Fault(
        "phones' certificates end, and are renewed 3 s later",
        end_certificates,
        equipment=Equipment(tls="files"),
        prepared=lambda site: site.shorten("terminal"),
    ),
    Fault(
        "access points' certificates end, and are renewed 2 s later",
        end_certificates_of_access_points,
        equipment=Equipment(tls="files"),
        prepared=lambda site: site.shorten("access-point"),
    ),
    Fault(
        "the controllers' certificates end, and are renewed 3 s later",
        end_certificates_of_servers,
        equipment=Equipment(tls="files"),
        prepared=lambda site: site.shorten(CONTROLLER),
    ),
    Fault("the authority's key is away, a replica restarts", lose_authority, equipment=Equipment(tls="authority")),
)
FAULTS = OF_REPLICAS + OF_STORES + OF_ACCESS_POINTS + OF_CERTIFICATES


def name(fault: Fault) -> str:
    """What a test with a fault is called."""
    return fault.name.replace(" ", "-")


async def endure(fault: Fault, directory: Path) -> None:
    """Have a fault happen at a site of its own. How long it takes until bounds are right again is for
    `controller/benchmarks/faults.py` to print; here only that they are.

    Raises:
        AssertionError: bounds are not right again, somebody was released, a lease ended, or a cell had two owners; with
            what the controllers logged.
    """
    async with Site(directory, fault.equipment, SLOWNESS) as site:
        await fault.prepared(site)
        try:
            outcome = await site.fleet.endure(lambda: fault.happens(site))
        except TimeoutError as error:
            raise AssertionError(f"bounds are not right again\n{logs(site.controllers)}") from error
        bad = (outcome.released, outcome.expired, outcome.owned_twice, outcome.clamped) != (0, 0, 0, 0)
        bad |= not outcome.owners and len(site.controllers) > 1
        if bad:
            raise AssertionError(f"{outcome}\n{logs(site.controllers)}")
