# SPDX-License-Identifier: Apache-2.0
"""Whether memory grows while terminals come and go. Replicas with a real Redis behind HAProxy, agents with mutual TLS:
terminals leave and come back with other MAC addresses, at whichever replica; stations roam; senders change; operators
switch modes and exempt terminals and cells. Every few seconds the memory of each controller and of Redis and the number
of Redis's keys are noted; a line is fitted to the second half of the time.

    churn.py [--seconds S] [--replicas N] [--cells N] [--terminals N] [--plain-text] [--json FILE]

Exit codes: 0 nothing grows; 1 something does, or agents were left behind when all had gone.
"""

import argparse
import asyncio
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc.aio
import measured
import redis.asyncio

from airbound.core.addresses import mac_text
from airbound.v1 import operations_pb2, operations_pb2_grpc
from airbound_testing import processes, trend
from airbound_testing.agents import channel
from airbound_testing.identities import Identities, name_of
from airbound_testing.processes import Process

SAMPLE_S = 5.0
SAMPLES_MIN = 40
COMMAND_S = 0.25
# One command in so many is for the whole controller: it releases every phone.
WHOLE_CONTROLLER = 40
KIB = 1024
# A cell that is not reported is forgotten after so long, instead of ten minutes; entries of its stations 30 s later.
FORGET_S = 30
GONE_S = 3 * FORGET_S + 30.0
# The events of `airbound events` are kept up to a number: by default it would be reached after some 10 minutes here,
# and until then memory grows by them.
EVENTS = 1_000
CONFIGURATION = f"[safety]\nforget_ms = {FORGET_S * 1000}\n[events]\nkept = {EVENTS}\n"
CHANGES = ("--roam-every", "20", "--reconnect-every", "30", "--away-max", "20", "--new-macs", "--change-every", "10")
MODES = (operations_pb2.MODE_OBSERVE, operations_pb2.MODE_CONTROL, operations_pb2.MODE_UNSPECIFIED)


def resident_kib(process: Process) -> float:
    """What a process has in memory."""
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS:")))


class Site:
    """Redis, replicas, HAProxy; stubs of the operators' service of each replica."""

    def __init__(self, arguments: argparse.Namespace, directory: Path, stack: AsyncExitStack) -> None:
        self.arguments, self.directory, self.stack = arguments, directory, stack
        self.identities = None if arguments.plain_text else Identities(directory / "identities")
        self.controllers: list[Process] = []
        self.operators: list[Any] = []

    async def start(self) -> None:
        """Start all."""
        if self.identities is not None:
            self.identities.make(self.arguments.cells, self.arguments.cells * self.arguments.terminals)
        server = await self.stack.enter_async_context(processes.redis(self.directory))
        self.redis = redis.asyncio.Redis(port=server.port)
        self.stack.push_async_callback(self.redis.aclose)
        for number in range(self.arguments.replicas):
            made = processes.controller(
                self.directory, f"c{number}", {"url": f"redis://{server.target}"}, policy="bdp", log="text",
                identities=self.identities, more=CONFIGURATION,
            )  # fmt: skip
            self.controllers.append(await self.stack.enter_async_context(made))
            secured = self.identities and self.identities.client("operator", 0)
            made_channel = channel(made.operators, secured)
            self.stack.push_async_callback(made_channel.close)
            self.operators.append(operations_pb2_grpc.OperationsServiceStub(made_channel))
        targets = [controller.target for controller in self.controllers]
        self.balancer = await self.stack.enter_async_context(processes.haproxy(self.directory, targets))

    async def sample(self, at_s: float) -> dict[str, float]:
        """Memory and keys now."""
        figures = {"at_s": at_s}
        for number, controller in enumerate(self.controllers):
            figures[f"controller {number}, KiB"] = resident_kib(controller)
        memory = await self.redis.info("memory")
        figures["redis, KiB"] = memory["used_memory"] / KIB
        figures["redis, keys"] = await self.redis.dbsize()
        return figures

    async def commands(self, done: list[int]) -> None:
        """What operators choose, at one replica after the other. A replica may be too busy to answer in time."""
        chance = random.Random(1)  # noqa: S311  # no secret
        for number in itertools.count():
            operators = self.operators[number % len(self.operators)]
            cell = mac_text(bytes([2, 2]) + chance.randrange(self.arguments.cells).to_bytes(4, "big"))
            terminal = name_of(chance.randrange(self.arguments.cells * self.arguments.terminals))
            try:
                if number % WHOLE_CONTROLLER == 0:
                    await self._mode(operators, operations_pb2.MODE_OBSERVE, "")
                    await self._mode(operators, operations_pb2.MODE_UNSPECIFIED, "")
                elif number % 2:
                    await self._mode(operators, chance.choice(MODES), cell)
                else:
                    name = chance.choice([cell, terminal, terminal])
                    request = operations_pb2.ExemptTerminalRequest(name=name, exempt=chance.choice((True, False)))
                    await operators.ExemptTerminal(request, timeout=20)
                done.append(number)
            except grpc.aio.AioRpcError as error:
                sys.stderr.write(f"a command failed: {error.details()}\n")
            await asyncio.sleep(COMMAND_S)

    async def _mode(self, operators: Any, mode: operations_pb2.Mode, bssid: str) -> None:
        configured = mode == operations_pb2.MODE_UNSPECIFIED
        await operators.SetMode(
            operations_pb2.SetModeRequest(mode=mode, bssid=bssid, configured=configured), timeout=20
        )

    async def left(self) -> dict[str, float]:
        """What there still is once all agents have gone: cells, terminals, streams, Redis's keys."""
        figures = {"cells": 0.0, "terminals": 0.0, "stations": 0.0}
        for operators in self.operators:
            async for page in operators.ListCells(operations_pb2.ListCellsRequest(), timeout=20):
                figures["cells"] += len(page.cells)
            async for page in operators.ListTerminals(operations_pb2.ListTerminalsRequest(), timeout=20):
                figures["terminals"] += len(page.terminals)
        figures["stations"] = len([key async for key in self.redis.scan_iter(match="*:station:*")])
        return figures


async def churn(arguments: argparse.Namespace) -> dict[str, Any]:
    """All of it; what was measured."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = Site(arguments, directory, stack)
        await site.start()
        results, log = directory / "load.json", directory / "load.log"
        words = measured.load_words(
            site.balancer.target, site.controllers, site.identities, results,
            "--cells", str(arguments.cells), "--terminals", str(arguments.terminals), "--warmup", "0",
            "--seconds", str(arguments.seconds), *CHANGES,
        )  # fmt: skip
        load = await measured.start_load(words, log)
        done: list[int] = []
        operating = asyncio.create_task(site.commands(done))
        loading = asyncio.create_task(measured.finished(load, results, log))
        samples: list[dict[str, float]] = []
        try:
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            while not loading.done():
                samples.append(await site.sample(loop.time() - began_s))
                if len(samples) % 12 == 1:
                    sys.stderr.write(f"{_line(samples[-1])}\n")
                await asyncio.wait([loading], timeout=min(SAMPLE_S, arguments.seconds / SAMPLES_MIN))
            found = await loading
        finally:
            operating.cancel()
            await asyncio.wait([operating])
            if load.returncode is None:
                load.kill()
                await load.wait()
        left = await _until_gone(site)
        samples_after = await site.sample(loop.time() - began_s)
    return {
        "seconds": arguments.seconds, "samples": samples, "after": samples_after, "left": left,
        "commands_of_operators": len(done), "load": found["rounds"][0], "trends": trends(samples),
    }  # fmt: skip


async def _until_gone(site: Site) -> dict[str, float]:
    """Wait until nothing is left, as long as that may take; what is left then."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + GONE_S
    while any((left := await site.left()).values()) and loop.time() < end_s:  # noqa: ASYNC110
        await asyncio.sleep(1)  # it is the replicas that are asked
    return left


def _line(sample: dict[str, float]) -> str:
    return ", ".join(f"{name.replace(',', '')} {value:.0f}" for name, value in sample.items())


def trends(samples: Sequence[dict[str, float]]) -> dict[str, dict[str, float | bool]]:
    """Of each figure over the second half of the time, per minute."""
    second_half = [sample for sample in samples if sample["at_s"] >= samples[-1]["at_s"] / 2]
    times_s = [sample["at_s"] for sample in second_half]
    found: dict[str, dict[str, float | bool]] = {}
    for name in samples[0]:
        if name != "at_s":
            line = trend.fit(times_s, [sample[name] for sample in second_half])
            found[name] = {
                "start": line.start,
                "per_minute": line.slope_per_s * 60,
                "low_per_minute": line.low_per_s * 60,
                "high_per_minute": line.high_per_s * 60,
                "grows": line.grows,
            }
    return found


def table(result: dict[str, Any]) -> str:
    """What was found, as Markdown."""
    lines = ["| | at the start | half time | end | per minute, second half (95 %) | grows |", f"|{'---|' * 6}"]
    samples = result["samples"]
    for name, line in result["trends"].items():
        first, half, last = (samples[index][name] for index in (0, len(samples) // 2, -1))
        interval = f"{line['per_minute']:+.1f} ({line['low_per_minute']:+.1f} to {line['high_per_minute']:+.1f})"
        grows = "yes" if line["grows"] else "no"
        lines.append(f"| {name} | {first:.0f} | {half:.0f} | {last:.0f} | {interval} | {grows} |")
    load, left = result["load"], result["left"]
    counts = (
        f"{result['seconds']} s: {load['handled_reports']} reports, {load['commands']} commands to terminals,"
        f" {load['opened_streams']} new streams, {load['broken_streams']} that broke,"
        f" {result['commands_of_operators']} commands of operators."
    )
    remains = ", ".join(f"{count:.0f} {name}" for name, count in left.items())
    lines += ["", counts, f"Left when all had gone: {remains}."]
    return "\n".join(lines)


def main(arguments: argparse.Namespace) -> int:
    """Run it and print; the exit code."""
    result = asyncio.run(churn(arguments))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(table(result))
    grows = any(line["grows"] for line in result["trends"].values())
    return int(grows or any(result["left"].values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="up to 3600")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--terminals", type=int, default=10, help="in each cell; all may send")
    parser.add_argument("--plain-text", action="store_true", help="without TLS")
    parser.add_argument("--json", type=Path)
    measured.check(parser)
    sys.exit(main(parser.parse_args()))
