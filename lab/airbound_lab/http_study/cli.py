# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study http`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.compare import study
from airbound_lab.http_study import table
from airbound_lab.http_study.design import Design
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.http_study.design import Case

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study http --uploads 9 --delays 4
  airbound-lab study http --cells 11n-20,11ac-80 --each-s 10 --seeds 1 --pictures out/http

Modes are those of `airbound-lab compare`, with their settings; the first one is what the others are compared with.
Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "http",
        execute_command,
        help="HTTP transactions of one phone, alone and beside uploads of others",
        description="How many transactions of one byte a phone gets done beside uploads, and how long each takes.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option(
        "--cells", type=arguments.names, default=PLAIN.cells, metavar="C,C",
        help="11g (default), 11g-6.12, 11n-20, 11ac-80",
    )  # fmt: skip
    option("--delays", type=arguments.reals, default=PLAIN.delays_ms, metavar="MS,MS", help="default: 4,256")
    option(
        "--uploads", type=arguments.whole_numbers, default=PLAIN.uploads, metavar="N,N",
        help="other phones, which upload (default: 0,1,4,9)",
    )  # fmt: skip
    option(
        "--transactions", type=arguments.names, default=PLAIN.transactions, metavar="T,T",
        help="with new connections or kept ones, clients (default: new-1,kept-1,new-8,kept-8)",
    )  # fmt: skip
    option(
        "--each-s", type=int, default=PLAIN.each_s, metavar="S", help="time for each of these (default: %(default)s)"
    )
    option(
        "--modes", type=arguments.names, default=PLAIN.modes, metavar="M,M",
        help="default: CUBIC, CUBIC with fq_codel at phones and access point, airbound",
    )  # fmt: skip
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="default: 1..3")
    option("--pictures", type=Path, metavar="DIR", help="draw there")
    arguments.add_picture_format(parser)
    study.add_options(parser, Path("out/http"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study; raises as `study.execute`."""
    design = Design(
        cells=options.cells,
        delays_ms=options.delays,
        uploads=options.uploads,
        transactions=options.transactions,
        each_s=options.each_s,
        modes=options.modes,
        seeds=options.seeds,
    )
    study.execute(design, options, lambda runs: _report(runs, options.pictures, options.format))


def _report(runs: Sequence[tuple[Case, Run]], directory: Path | None, form: str) -> dict[str, Any]:
    every = table.gather(runs)
    if every:
        print(tables.text(table.rows(every)))
    if directory is not None:
        # matplotlib takes a second to import.
        from airbound_lab.http_study import plot as pictures
        from airbound_lab.report import plot

        for path in plot.save_all(pictures.all_of(every), directory, form):
            print(path)
    return table.document(every)
