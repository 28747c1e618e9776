# SPDX-License-Identifier: Apache-2.0
"""What work together costs: reports for each second of a core, of one controller with its store in memory, of one with
Redis, and of two with Redis behind HAProxy, which puts half of each cell's phones with the other replica than their
access point.

    replicas.py [--cells N] [--terminals N] [--seconds S] [--json FILE]

CPU time of the controllers only; it counts wherever the machine had time for them.
"""

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc.aio

from airbound.core.reasons import Code
from airbound.testing import processes
from airbound.testing.processes import Process
from airbound.v1 import operations_pb2, operations_pb2_grpc

LOAD = Path(__file__).parents[2] / "build" / "airbound-load"
WARM_UP_S = 10.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(process: Process) -> float:
    """CPU time of a process, all threads."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


async def counted(process: Process) -> dict[str, int]:
    """What a controller counted."""
    async with grpc.aio.insecure_channel(process.operators) as channel:
        stub: Any = operations_pb2_grpc.OperationsServiceStub(channel)
        answer = await stub.GetController(operations_pb2.GetControllerRequest(), timeout=20)
    return {counter.name: counter.value for counter in answer.counters if counter.code == Code.UNSPECIFIED}


async def measured(arguments: argparse.Namespace, replicas: int, *, with_redis: bool) -> dict[str, float]:
    """One set-up under load."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = ""
        if with_redis:
            store = f"redis://{(await stack.enter_async_context(processes.redis(directory))).target}"
        controllers = []
        for number in range(replicas):
            made = processes.controller(directory, f"c{number}", {"url": store}, policy="bdp", log="text")
            controllers.append(await stack.enter_async_context(made))
        balancer = await stack.enter_async_context(processes.haproxy(directory, [c.target for c in controllers]))
        load = await asyncio.create_subprocess_exec(
            str(LOAD), "--controller", balancer.target, "--operators", controllers[0].operators, "--shared-address",
            "--pid", str(controllers[0].pid), "--cells", str(arguments.cells * replicas),
            "--terminals", str(arguments.terminals), "--seconds", str(round(arguments.seconds + WARM_UP_S)),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await asyncio.sleep(arguments.cells * replicas * (arguments.terminals + 1) / 500 + WARM_UP_S)
            before = [(cpu_s(process), await counted(process)) for process in controllers]
            await asyncio.sleep(arguments.seconds - 1)
            after = [(cpu_s(process), await counted(process)) for process in controllers]
        finally:
            load.kill()
            await load.wait()
    reports = sum(b["reports_total"] - a["reports_total"] for (_, a), (_, b) in zip(before, after, strict=True))
    used_s = sum(b - a for (a, _), (b, _) in zip(before, after, strict=True))
    return {"reports_per_s": reports / (arguments.seconds - 1), "cpu_us_per_report": used_s / reports * 1e6}


async def main(arguments: argparse.Namespace) -> None:
    """All set-ups, one after the other."""
    setups = {
        "one, store in memory": (1, False),
        "one, Redis": (1, True),
        "two, Redis, half of the phones elsewhere": (2, True),
    }
    found = {}
    print("| controllers | reports/s | CPU us per report | reports per core-second |\n|---|---|---|---|")
    for name, (replicas, with_redis) in setups.items():
        result = found[name] = await measured(arguments, replicas, with_redis=with_redis)
        us = result["cpu_us_per_report"]
        print(f"| {name} | {result['reports_per_s']:.0f} | {us:.0f} | {1e6 / us:.0f} |", flush=True)
    one, two = (found[name]["cpu_us_per_report"] for name in list(setups)[1:])
    print(f"\ntwo replicas on two cores carry {2 * one / two:.2f} times what one carries on one")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=100, help="for each replica: two have twice as many")
    parser.add_argument("--terminals", type=int, default=10, help="in each cell; all send")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", type=Path)
    if not LOAD.exists() or shutil.which("haproxy") is None:
        parser.error("needs build/airbound-load and haproxy: make setup build")
    asyncio.run(main(parser.parse_args()))
