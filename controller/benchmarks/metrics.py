# SPDX-License-Identifier: Apache-2.0
"""What a scrape costs: wall time as Prometheus sees it, CPU time of the controller, and how late the event loop gets.
Usage: metrics.py [--cells 500] [--phones 10] [--scrapes 20] [--reports-per-s 0] [--json FILE]

Every phone is a terminal with bounds. A process of its own scrapes over HTTP, once a second, so that nothing of the
client is measured. The loop's lateness is that of a timer of 1 ms; the same without scrapes is given beside it, since
other work on the machine makes a timer late as well. With --reports-per-s the loop handles phones' reports meanwhile.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from airbound.metrics.exporter import Exporter
from airbound.metrics.hooks import Hooks
from airbound.metrics.options import Metrics
from airbound.runtime import garbage
from airbound_testing.population import Population

TIMER_S = 0.001
PAUSE_S = 1.0
CLIENT = """
import http.client, sys, time
port, scrapes, encoding, pause_s = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
for _ in range(scrapes):
    time.sleep(pause_s)
    start_s = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics", headers={"Accept-Encoding": encoding})
    response = connection.getresponse()
    octets = len(response.read())
    print(1000 * (time.perf_counter() - start_s), octets, flush=True)
"""


class Lateness:
    """How late a timer of the event loop is, at most."""

    def __init__(self) -> None:
        self.most_s = 0.0
        self._due_s = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin."""
        self.most_s = 0.0
        self._next()

    def end(self) -> float:
        """Milliseconds."""
        if self._handle is not None:
            self._handle.cancel()
        return 1000 * self.most_s

    def _next(self) -> None:
        self._due_s = time.perf_counter() + TIMER_S
        self._handle = asyncio.get_running_loop().call_later(TIMER_S, self._wake)

    def _wake(self) -> None:
        self.most_s = max(self.most_s, time.perf_counter() - self._due_s)
        self._next()


async def report(population: Population, per_s: float) -> None:
    """Have phones report one after the other, at a rate."""
    phones = [phone for cell in population.cells for phone in cell.phones]
    start_s, done = time.perf_counter(), 0
    while per_s:
        while done < (time.perf_counter() - start_s) * per_s:
            population.phone_reports(phones[done % len(phones)])
            done += 1
            await asyncio.sleep(0)
        await asyncio.sleep(TIMER_S)


async def scrapes(port: int, count: int, encoding: str) -> tuple[list[float], int]:
    """Milliseconds of each scrape, and the octets of the last."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, *map(str, (port, count, encoding, PAUSE_S)), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    lines = [line.split() for line in output.decode().splitlines()]
    return [float(line[0]) for line in lines], int(lines[-1][1])


async def measure(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Figures by encoding."""
    population = Population(arguments.cells, arguments.phones)
    population.seconds(3)
    garbage.tune()
    exporter = Exporter(population.runner, Metrics(listen="127.0.0.1:0"), Hooks())
    exporter.start()
    reporting, lateness = asyncio.create_task(report(population, arguments.reports_per_s)), Lateness()
    await scrapes(exporter.port, 2, "gzip")  # labels are made
    figures = {}
    for encoding in ("gzip", "identity"):
        lateness.begin()
        cpu_s = time.process_time()
        await asyncio.sleep(arguments.scrapes * PAUSE_S)
        without_s, without_ms = time.process_time() - cpu_s, lateness.end()
        lateness.begin()
        cpu_s = time.process_time()
        wall_ms, octets = await scrapes(exporter.port, arguments.scrapes, encoding)
        cpu_s = time.process_time() - cpu_s
        figures[encoding] = {
            "wall_ms_p50": statistics.median(wall_ms),
            "wall_ms_max": max(wall_ms),
            "cpu_ms": 1000 * (cpu_s - without_s) / arguments.scrapes,
            "late_ms_max": lateness.end(),
            "late_ms_max_without": without_ms,
            "turns": len(exporter.sampler.objects_by_turn),
            "megabytes": octets / 1e6,
        }
    reporting.cancel()
    exporter.stop()
    return figures


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=500, metavar="N", help="default %(default)s")
    parser.add_argument("--phones", type=int, default=10, metavar="N", help="of each cell; default %(default)s")
    parser.add_argument("--scrapes", type=int, default=20, metavar="N", help="default %(default)s")
    parser.add_argument("--reports-per-s", type=float, default=0, metavar="N", help="of phones; default %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments))
    print(f"{arguments.cells} cells, {arguments.cells * arguments.phones} terminals, {arguments.scrapes} scrapes each")
    for encoding, measured in figures.items():
        print(
            f"{encoding:9} wall p50 {measured['wall_ms_p50']:.0f} ms, max {measured['wall_ms_max']:.0f} ms;"
            f" CPU {measured['cpu_ms']:.0f} ms; loop late by at most {measured['late_ms_max']:.1f} ms"
            f" ({measured['late_ms_max_without']:.1f} ms without scrapes); {measured['turns']:.0f} turns;"
            f" {measured['megabytes']:.1f} MB"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
