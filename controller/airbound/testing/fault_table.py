# SPDX-License-Identifier: Apache-2.0
"""The faults that replicas are to endure, each with what it does to the site. `controller/benchmarks/faults.py` prints
their outcomes, the tests check them.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from airbound.testing import processes
from airbound.testing.faults import Fleet
from airbound.testing.wire import Wire

if TYPE_CHECKING:
    from airbound.testing.processes import Process

STOPPED_S = 10.0
PAUSED_S = 5.0
CUT_S = 15.0


class Site:
    """Redis, two replicas with a wire to it each, access points and phones; a context manager."""

    def __init__(self, directory: Path, *, clock: bool = False) -> None:
        self.directory = directory
        self.controllers: list[Process] = []
        self.wires: list[Wire] = []
        self.fleet: Fleet
        self.redis: Process
        self._clock = directory / "offset" if clock else None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _start(self) -> None:
        stack = self._stack
        self.redis = await stack.enter_async_context(processes.redis(self.directory))
        for name in ("a", "b"):
            wire = await stack.enter_async_context(Wire(self.redis.port))
            self.wires.append(wire)
            environment = self._faked_clock() if self._clock is not None and name == "a" else {}
            made = processes.controller(self.directory, name, f"redis://{wire.target}", environment=environment)
            self.controllers.append(await stack.enter_async_context(made))
        self.fleet = await stack.enter_async_context(Fleet(self.controllers))

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]

    def _faked_clock(self) -> dict[str, str]:
        """Have a process's time of day follow a file, by libfaketime. Its other clocks go on."""
        library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
        if library is None or self._clock is None:
            raise RuntimeError("there is no libfaketime")
        self._clock.write_text("+0")
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    async def step_clock(self) -> None:
        """The first replica's time of day jumps ahead by an hour."""
        if self._clock is not None:
            self._clock.write_text("+3600")


async def kill_replica(site: Site) -> None:
    """SIGKILL; it stays away."""
    await site.controllers[0].kill()


async def stop_replica(site: Site) -> None:
    """SIGSTOP for 10 s."""
    site.controllers[0].send(signal.SIGSTOP)
    await asyncio.sleep(STOPPED_S)
    site.controllers[0].send(signal.SIGCONT)


async def roll(site: Site) -> None:
    """SIGTERM and a new start, one replica after the other."""
    for controller in site.controllers:
        controller.send(signal.SIGTERM)
        code = await controller.ended()
        if code:
            raise RuntimeError(f"it ended with {code}")
        await controller.start()
        await asyncio.sleep(2)


async def restart_redis(site: Site) -> None:
    """SIGKILL, and a new start with nothing in it."""
    await site.redis.kill()
    await site.redis.start()


async def pause_redis(site: Site) -> None:
    """SIGSTOP for 5 s."""
    site.redis.send(signal.SIGSTOP)
    await asyncio.sleep(PAUSED_S)
    site.redis.send(signal.SIGCONT)


async def cut_wire(site: Site) -> None:
    """Nothing goes through between the first replica and Redis for 15 s."""
    site.wires[0].cut()
    await asyncio.sleep(CUT_S)
    site.wires[0].mend()


async def step_clock(site: Site) -> None:
    """The first replica's time of day jumps by an hour."""
    await site.step_clock()


async def lose_access_point(site: Site) -> None:
    """An access point's stream breaks, and it connects to the other replica."""
    access_point = site.fleet.access_points[0]
    access_point.targets.reverse()
    await access_point.break_off()


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table. `expires`: whether leases may end, since agents are cut off for longer than one."""

    name: str
    happens: Callable[[Site], Awaitable[None]]
    expires: bool = False
    clock: bool = False


FAULTS = (
    Fault("a replica is killed (SIGKILL)", kill_replica),
    Fault("a replica is stopped for 10 s (SIGSTOP)", stop_replica, expires=True),
    Fault("both replicas are restarted, one after the other", roll),
    Fault("Redis is killed and starts empty", restart_redis),
    Fault("Redis is paused for 5 s", pause_redis),
    Fault("a replica is cut off from Redis for 15 s", cut_wire, expires=True),
    Fault("an access point's stream breaks and moves to the other replica", lose_access_point),
    Fault("a replica's time of day jumps by an hour", step_clock, clock=True),
)
