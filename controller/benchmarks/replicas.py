# SPDX-License-Identifier: Apache-2.0
"""What working together costs: reports for each second of a core, of one controller with its store in memory, of one
with Redis, and of two with Redis behind HAProxy, which puts half of each cell's phones with the other replica than
their access point. Agents use mutual TLS.

    replicas.py [--plain-text] [--cells N] [--terminals N] [--seconds S] [--rounds N] [--json FILE]

CPU time is that of the controllers only, which is theirs wherever the machine had time for them; each controller is
pinned to a core of its own. Latency is from an access point's report to the bounds at a phone, and on a machine that
does other things it is theirs as well.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import measured

from airbound_testing import processes
from airbound_testing.identities import Identities

SETUPS = {
    "one, store in memory": (1, False),
    "one, Redis": (1, True),
    "two, Redis, half of the phones elsewhere": (2, True),
}
AIM = 1.8
COLUMNS = ("controllers", "reports/s", "CPU us per report", "reports per core-second", "p50 / p99, ms", "behind")


async def run(
    arguments: argparse.Namespace, replicas: int, identities: Identities | None, *, with_redis: bool
) -> dict[str, Any]:
    """One set-up under load; the load generator's results."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = ""
        if with_redis:
            store = f"redis://{(await stack.enter_async_context(processes.redis(directory))).target}"
        cores, controllers = sorted(os.sched_getaffinity(0)), []
        for number in range(replicas):
            made = processes.controller(
                directory, f"c{number}", {"url": store}, policy="bdp", log="text", identities=identities,
                core=cores[-1 - number % len(cores)],
            )  # fmt: skip
            controllers.append(await stack.enter_async_context(made))
        balancer = await stack.enter_async_context(processes.haproxy(directory, [c.target for c in controllers]))
        results, log = directory / "load.json", directory / "load.log"
        words = measured.load_words(
            balancer.target, controllers, identities, results,
            "--cells", str(arguments.cells * replicas), "--terminals", str(arguments.terminals),
            "--seconds", str(arguments.seconds), "--warmup", str(arguments.warmup), "--connect-rate", "250",
        )  # fmt: skip
        load = await measured.start_load(words, log)
        try:
            return await measured.finished(load, results, log)
        finally:
            if load.returncode is None:
                load.kill()
                await load.wait()


def summary(rounds: list[dict[str, Any]]) -> dict[str, float | bool | None]:
    """The figures of a set-up: medians of its rounds."""

    def median(values: list[float]) -> float | None:
        return statistics.median(values) if values else None

    latencies = [found["latency_ms"] for found in rounds if found["latency_ms"]]
    cpu_us = statistics.median(found["cpu_us_per_report"] for found in rounds)
    return {
        "reports_per_s": statistics.median(found["reports_per_s"] for found in rounds),
        "cpu_us_per_report": cpu_us,
        "reports_per_core_second": 1e6 / cpu_us,
        "p50_ms": median([latency["p50"] for latency in latencies]),
        "p99_ms": median([latency["p99"] for latency in latencies]),
        "missing": sum(found["missing"] for found in rounds),
        "behind": any(found["behind"] for found in rounds),
    }


def row(name: str, figures: dict[str, Any]) -> str:
    """A line of the table."""
    p50, p99 = ("-" if figures[key] is None else f"{figures[key]:.1f}" for key in ("p50_ms", "p99_ms"))
    cells = (
        name,
        f"{figures['reports_per_s']:.0f}",
        f"{figures['cpu_us_per_report']:.0f}",
        f"{figures['reports_per_core_second']:.0f}",
        f"{p50} / {p99}",
        "yes" if figures["behind"] else "no",
    )
    return f"| {' | '.join(cells)} |"


def ratios(figures: dict[str, dict[str, Any]]) -> dict[str, float]:
    """What two replicas on two cores carry, as a multiple of one on one core of each kind."""
    *ones, two = (found["cpu_us_per_report"] for found in figures.values())
    return {f"two to {name}": 2 * one / two for name, one in zip(figures, ones, strict=False)}


async def main(arguments: argparse.Namespace) -> None:
    """All set-ups, one after the other, and again in each round."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SETUPS}
    with tempfile.TemporaryDirectory() as directory:
        identities = None if arguments.plain_text else Identities(Path(directory) / "identities")
        if identities is not None:
            cells = arguments.cells * max(replicas for replicas, _ in SETUPS.values())
            identities.make(cells, cells * arguments.terminals)
        for _ in range(arguments.rounds):
            for name, (replicas, with_redis) in SETUPS.items():
                found[name].append(await run(arguments, replicas, identities, with_redis=with_redis))
    figures = {name: summary(rounds) for name, rounds in found.items()}
    print(f"\n{'plain text' if arguments.plain_text else 'mutual TLS'}, median of {arguments.rounds}")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name, of_setup in figures.items():
        print(row(name, of_setup))
    by_name = ratios(figures)
    for name, ratio in by_name.items():
        print(f"\n{name}: {ratio:.2f} times as many reports, with two cores (aim: {AIM})")
    if arguments.json:
        result = {"tls": not arguments.plain_text, "setups": figures, "ratios": by_name, "rounds": found}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain-text", action="store_true", help="without TLS")
    parser.add_argument("--cells", type=int, default=100, help="for each replica: two have twice as many")
    parser.add_argument("--terminals", type=int, default=10, help="in each cell; all send")
    parser.add_argument("--seconds", type=int, default=20, help="counted")
    parser.add_argument("--warmup", type=int, default=10, help="seconds before")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    measured.check(parser)
    asyncio.run(main(parser.parse_args()))
