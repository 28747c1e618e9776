# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study paper`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.compare import batch
from airbound_lab.compare.whole_runs import RUNS
from airbound_lab.paper_study import design, statements, table
from airbound_lab.paper_study.design import Design
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse

EPILOG = """examples:
  airbound-lab study paper --quick
  airbound-lab study paper --seeds 1..3 --directory out/paper --pictures docs/images --json out/paper/study.json
  airbound-lab study paper --rate-control aarf --terminals 1,2,5,10 --delays 4,256 --modes cubic,paper --list

Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start, what is there
is not made again unless the kernel, a program or a parameter has changed.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "paper",
        execute_command,
        help="1 to 10 phones of two generations, with and without bounds: Hayakawa, Yamaguchi, Oguchi",
        description="Repeat the evaluation of Hayakawa, Yamaguchi and Oguchi; make the runs that are not stored yet.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option(
        "--quick", action="store_true", help="1, 2, 5 and 10 phones, 4 and 256 ms, aarf; an option replaces its part"
    )
    option("--terminals", type=arguments.whole_numbers, metavar="N,N,...", help="phones (default: 1,2,...,10)")
    option("--delays", type=arguments.reals, metavar="MS,MS,...", help="round trip on the wire (default: 4,16,256)")
    option("--rate-control", type=arguments.rate_controls, metavar="R,R", help="the radios' (default: minstrel,aarf)")
    option("--generations", type=arguments.names, metavar="G,G", help="gb, jb (default: both)")
    option("--modes", type=arguments.names, metavar="M,M,...", help="cubic, paper, airbound (default: all)")
    option("--seeds", type=arguments.numbers, default=(1,), metavar="A..B", help="1..5 or 1,4,9 (default: 1)")
    option("--seconds", type=int, default=30, metavar="S", help="virtual seconds of each run (default: %(default)s)")
    option("--warmup-seconds", type=int, default=10, metavar="S", help="of them not measured (default: %(default)s)")
    option("--without-series", action="store_true", help="leave out what the paper shows over time")
    option("--pictures", type=Path, metavar="DIR", help="where the pictures go (default: that of --directory)")
    arguments.add_picture_format(parser)
    option("--json", type=Path, metavar="FILE", help="write figures and statements here")
    batch.add_options(parser, Path("out/paper"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed; what the others say is written all the same.
    """
    chosen = _design(options)
    made = batch.carry_out(chosen.tasks(), RUNS, options)
    if made is None:
        return
    for rate_control in chosen.rate_controls:
        print(f"{table.radios(rate_control)}: {table.COLUMNS}")
        print(tables.text(table.rows(chosen, rate_control, made.found)))
        print()
        print(tables.text(statements.rows(statements.all_of(chosen, rate_control, made.found))))
        print()
    if options.json is not None:
        output.write_json(options.json, table.document(chosen, made.found))
        print(options.json)
    _draw(chosen, made.found, options)
    made.check()


def _design(options: argparse.Namespace) -> Design:
    plain = design.QUICK if options.quick else Design()
    chosen = Design(
        rate_controls=options.rate_control or plain.rate_controls,
        generations=options.generations or plain.generations,
        delays_ms=options.delays or plain.delays_ms,
        terminals=options.terminals or plain.terminals,
        controls=options.modes or plain.controls,
        seeds=options.seeds,
        seconds=options.seconds,
        warmup_seconds=options.warmup_seconds,
        has_series=not options.without_series,
    )
    chosen.check()
    return chosen


def _draw(chosen: Design, found: Any, options: argparse.Namespace) -> None:
    from airbound_lab.paper_study import plot as pictures
    from airbound_lab.report import plot

    for path in plot.save_all(pictures.all_of(chosen, found), options.pictures or options.directory, options.format):
        print(path)
