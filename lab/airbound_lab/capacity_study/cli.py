# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study capacity`."""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.capacity_study import design
from airbound_lab.capacity_study.design import Found, Point
from airbound_lab.errors import LabError, UsageError
from airbound_lab.report import tables
from airbound_lab.run import host
from airbound_lab.run.runs import Setting, run_all
from airbound_lab.settings import arguments
from airbound_lab.settings.parameters import Parameters, option_of
from airbound_lab.settings.validation import usage_errors
from airbound_lab.settings.values import ACCESS_POINT_KINDS, KERNEL_LINE_OF, RATE_CONTROLS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from airbound_lab.figures.results import Run

EPILOG = """examples:
  airbound-lab study capacity
  airbound-lab study capacity --phy 11ac-80 --terminals 10 --protocols tcp --seeds 1..3 --json out/capacity.json
  airbound-lab study capacity --loads 5,20,50,95 --within 10

exit codes: 0 done; 1 a run failed, or an estimate is further off than --within; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "capacity",
        execute_command,
        help="the controller's estimate of a cell's capacity against what the cell carries",
        description="Measure what cells carry at most, and what the controller takes for that while they carry less.",
        epilog=EPILOG,
    )
    add_option = parser.add_argument
    add_option(
        "--phy", type=arguments.phys, default=("11g", "11n-20", "11n-40", "11ac-80"), metavar="P,P", help="default: all"
    )
    add_option("--ap", choices=ACCESS_POINT_KINDS, default="openwrt", help="default: %(default)s")
    add_option(
        "--terminals", type=arguments.whole_numbers, default=(1, 5, 10), metavar="N,N", help="phones (default: 1,5,10)"
    )
    add_option("--protocols", type=arguments.names, default=design.PROTOCOLS, metavar="P,P", help="default: tcp,udp")
    add_option(
        "--loads", type=arguments.reals, default=(5.0, 20.0, 50.0, 95.0), metavar="PERCENT,...",
        help="of the true capacity (default: 5,20,50,95)",
    )  # fmt: skip
    add_option("--delay-ms", type=float, default=16.0, metavar="MS", help="round trip on the wire (default: 16)")
    add_option("--rate-control", choices=RATE_CONTROLS, default="minstrel", help="default: %(default)s")
    add_option("--distances", type=arguments.reals, metavar="M,M,...", help="as run's; the phones take them in turn")
    add_option("--seeds", type=arguments.numbers, default=(1,), metavar="A..B", help="1..5 or 1,4,9 (default: 1)")
    add_option(
        "--seconds", type=int, default=15, metavar="S", help="virtual seconds of each run (default: %(default)s)"
    )
    add_option("--warmup-seconds", type=int, default=7, metavar="S", help="of them not measured (default: %(default)s)")
    add_option("--within", type=float, metavar="PERCENT", help="exit with 1 if an estimate is further off")
    add_option("--json", type=Path, metavar="FILE", help="write what was found here")
    arguments.add_guests(parser)


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed, or an estimate is not within what was asked.
    """
    points = _points(options)
    host.check_tools(ovs=False)
    programs = host.programs((design.UNBOUNDED, design.BOUNDED), trace=False)
    line = points[0].parameters.kernel_line
    kernel = host.kernel(options.kernel, line)
    host.check_line(kernel, line)
    setting = Setting(kernel, programs, 1, arguments.wall_limit_s(options, options.seconds))
    digest = host.sha256(kernel)

    def run(parameters: Parameters) -> Run:
        [found] = run_all(parameters, setting, lambda *_: None, lambda *_: None, digest).runs
        return found

    def one(case: tuple[Point, int]) -> Found:
        found = study(*case, options.loads, run)
        print(f"{found.point.name}, seed {found.seed}: done", file=sys.stderr)
        return found

    with ThreadPoolExecutor(options.jobs) as executor:
        found = list(executor.map(one, itertools.product(points, options.seeds)))
    print(tables.text(design.rows(found, options.loads)))
    worst = design.worst(found)
    print(f"\nworst: {worst:.1%}")
    if options.json is not None:
        output.write(options.json, design.document(found) + "\n")
    if options.within is not None and worst > options.within / 100:
        raise LabError(f"an estimate is {worst:.1%} off, which is more than {options.within:g} %")


def study(point: Point, seed: int, loads_percent: tuple[float, ...], run: Callable[[Parameters], Run]) -> Found:
    """Find the true capacity of a point, then the estimates."""
    point = replace(point, parameters=replace(point.parameters, seeds=(seed,)))
    true_mbps = max(design.carried_mbps(point, run(design.saturated(point, mode))) for mode in design.true_modes(point))
    estimates = (design.estimate(point, load, run(design.loaded(point, true_mbps, load))) for load in loads_percent)
    return Found(point, seed, true_mbps, tuple(estimates))


def _points(options: argparse.Namespace) -> list[Point]:
    for protocol in options.protocols:
        if protocol not in design.PROTOCOLS:
            raise UsageError(f"--protocols: {protocol!r} is none of {', '.join(design.PROTOCOLS)}")
    with usage_errors(name=option_of):
        return [
            Point(
                Parameters(
                    phy=phy,
                    ap=options.ap,
                    kernel_line=KERNEL_LINE_OF[options.ap],
                    terminals=terminals,
                    wired_delays_ms=(options.delay_ms,),
                    rate_control=options.rate_control,
                    distances_m=options.distances,
                    seconds=options.seconds,
                    warmup_seconds=options.warmup_seconds,
                ),
                protocol,
            )
            for phy, terminals, protocol in itertools.product(options.phy, options.terminals, options.protocols)
        ]
