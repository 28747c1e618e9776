# SPDX-License-Identifier: Apache-2.0
"""What the dashboards cost at scale: the load generator's cells at a real controller, a real Prometheus with the rules,
and each query of *Fleet* (and of *Cell*, for comparison) over the time that was loaded.
Usage: fleet.py [--cells 500] [--terminals 10] [--sending 0.2] [--seconds 120]

Stations are shown by their MAC addresses and terminals by name, each from an address of its own. Times are those of the
whole answer over HTTP, the median of --times.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from airbound_dashboards import fill
from airbound_dashboards.api import Prometheus
from airbound_dashboards.chosen import Span, chosen
from airbound_dashboards.generate import texts
from airbound_dashboards.live.prometheus import prometheus
from airbound_testing.ports import free_port
from airbound_testing.processes import Process

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "dashboards" / "rules").glob("*.yml"))
SCRAPE_S = 5.0
STEPS = 240
CONNECT_PER_S = 150


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        controller, operators, metrics = _controller(directory)
        async with controller:
            load = await _load(arguments, controller, operators)
            try:
                targets = [f"127.0.0.1:{metrics}"]
                async with prometheus(directory, targets, RULES, f"{SCRAPE_S:g}s") as server:
                    connecting_s = arguments.cells * (1 + arguments.terminals) / CONNECT_PER_S
                    await asyncio.sleep(connecting_s + arguments.seconds)
                    now_s = time.time()
                    step_s = max(1.0, round(arguments.seconds / STEPS))
                    span = Span(now_s - arguments.seconds, now_s, step_s, scrape_s=SCRAPE_S)
                    return await asyncio.to_thread(_figures, Prometheus(f"http://{server.target}"), span, arguments)
            finally:
                if load.returncode is None:
                    load.terminate()
                await load.wait()


def _controller(directory: Path) -> tuple[Process, int, int]:
    """A controller, and the ports for operators and metrics."""
    port, operators, metrics = free_port(), free_port(), free_port()
    config = directory / "airbound.toml"
    config.write_text(
        f'listen = "127.0.0.1:{port}"\noperators = ["127.0.0.1:{operators}"]\nlog = "json"\n'
        "[limits]\nstreams_max = 100_000\nstreams_per_address_max = 0\n"
        f'[metrics]\nlisten = "127.0.0.1:{metrics}"\n',
        encoding="utf-8",
    )
    argv = [sys.executable, "-m", "airbound", "controller", "--plain-text", "--config", str(config)]
    return Process(argv, port, directory / "controller.log"), operators, metrics


async def _load(arguments: argparse.Namespace, controller: Process, operators: int) -> asyncio.subprocess.Process:
    """The load generator, for longer than is measured."""
    seconds = arguments.seconds + 600
    return await asyncio.create_subprocess_exec(
        str(ROOT / "build" / "airbound-load"),
        *("-controller", controller.target, "-operators", f"127.0.0.1:{operators}", "-pid", str(controller.pid)),
        *("-cells", str(arguments.cells), "-terminals", str(arguments.terminals), "-seconds", str(seconds)),
        *("-connect-rate", str(CONNECT_PER_S), "-sending", str(arguments.sending)),
        stdout=asyncio.subprocess.DEVNULL,
    )


def _figures(server: Prometheus, span: Span, arguments: argparse.Namespace) -> dict[str, Any]:
    def one(expr: str) -> float:
        found = server.instant(expr, span.to_s)
        return found[0].points[0][1] if found else float("nan")

    window = f"{round(span.to_s - span.from_s)}s"
    figures: dict[str, Any] = {
        "cells": one(f"max_over_time(airbound:cells_connected:count[{window}])"),
        "terminals": one(f"max_over_time(airbound_terminals[{window}])"),
        "samples_per_scrape": one(f"max_over_time(scrape_samples_scraped[{window}])"),
        "scrape_s_median": one(f"quantile_over_time(0.5, scrape_duration_seconds[{window}])"),
        "scrape_s_max": one(f"max_over_time(scrape_duration_seconds[{window}])"),
        "scrapes_missed": one(f"count_over_time(up[{window}]) - sum_over_time(up[{window}])"),
        "series_in_head": server.get("status/tsdb")["headStats"]["numSeries"],
        "series_recorded": one('count({__name__=~".+:.+"})'),
        "rules_s": {group["name"]: group["evaluationTime"] for group in server.get("rules")["groups"]},
        "queries": {},
    }
    for name in ("fleet", "cell"):
        board = json.loads(texts()[name])
        values = {**chosen(board, server, span, {}), **span.values()}
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                expr = fill.fill(target["expr"], values)
                figures["queries"][f"{name}: {panel['title']}: {target['refId']}"] = _time(
                    server, expr, span, arguments.times, instant=bool(target.get("instant"))
                )
    return figures


def _time(server: Prometheus, expr: str, span: Span, times: int, *, instant: bool) -> dict[str, float]:
    """Median seconds of an answer, and how many series it has."""
    took_s, series = [], 0
    for _ in range(times):
        start_s = time.perf_counter()
        found = server.instant(expr, span.to_s) if instant else server.range(expr, *span[:3])
        took_s.append(time.perf_counter() - start_s)
        series = len(found)
    return {"seconds": statistics.median(took_s), "series": series}


def main() -> int:
    """Measure, and print figures and the slowest queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=500, metavar="N", help="default %(default)s")
    parser.add_argument("--terminals", type=int, default=10, metavar="N", help="of each cell; default %(default)s")
    parser.add_argument("--sending", type=float, default=0.2, metavar="SHARE", help="of a cell; default %(default)s")
    parser.add_argument("--seconds", type=int, default=120, metavar="N", help="time range; default %(default)s")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="of each query; default %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments))
    print(
        f"{figures['cells']:.0f} cells, {figures['terminals']:.0f} terminals;"
        f" {figures['samples_per_scrape']:.0f} samples in a scrape each {SCRAPE_S:g} s,"
        f" which takes {1000 * figures['scrape_s_median']:.0f} ms"
        f" (at most {1000 * figures['scrape_s_max']:.0f} ms; {figures['scrapes_missed']:.0f} missed);"
        f" {figures['series_in_head']} series, {figures['series_recorded']:.0f} of them by rules"
    )
    print("rules:", ", ".join(f"{name} {1000 * took_s:.0f} ms" for name, took_s in figures["rules_s"].items()))
    slowest = sorted(figures["queries"].items(), key=lambda item: -item[1]["seconds"])
    for board in ("fleet", "cell"):
        queries = [item for item in slowest if item[0].startswith(board)]
        total_s = sum(query["seconds"] for _, query in queries)
        print(f"{board}: {len(queries)} queries, {total_s:.2f} s one after the other; the slowest:")
        for name, query in queries[:5]:
            print(f"  {1000 * query['seconds']:6.0f} ms, {query['series']:4} series: {name}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
