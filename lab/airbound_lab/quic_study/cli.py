# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study quic`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.compare import study
from airbound_lab.quic_study import table
from airbound_lab.quic_study.design import Design
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.quic_study.design import Case

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study quic --seeds 1
  airbound-lab study quic --sends udp --file --seeds 1 --json out/quic.json

Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "quic",
        execute_command,
        help="an upload by QUIC beside uploads by TCP, with a rate for UDP and without",
        description="An upload by QUIC beside uploads by TCP: what each has, and the round trips.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("--cells", type=arguments.names, default=PLAIN.cells, metavar="C,C", help="11ac-80 (default), 11n-20, 11g")
    option("--delays", type=arguments.reals, default=PLAIN.delays_ms, metavar="MS,MS", help="default: 4,16")
    option("--terminals", type=int, default=PLAIN.terminals, metavar="N", help="phones (default: %(default)s)")
    option("--sends", type=arguments.names, default=PLAIN.sends, metavar="S,S", help="phone 1: quic (default), udp")
    option("--file", action="store_true", help="phone 1 uploads a file by TCP as well")
    option("--modes", type=arguments.names, default=PLAIN.modes, metavar="M,M", help="cubic, unpaced, airbound")
    option("--seconds", type=int, default=PLAIN.seconds, metavar="S", help="virtual seconds (default: %(default)s)")
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="default: 1..3")
    study.add_options(parser, Path("out/quic"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study; raises as `study.execute`."""
    design = Design(
        cells=options.cells,
        delays_ms=options.delays,
        terminals=options.terminals,
        sends=options.sends,
        file=options.file,
        modes=options.modes,
        seconds=options.seconds,
        seeds=options.seeds,
    )
    study.execute(design, options, _report)


def _report(runs: Sequence[tuple[Case, Run]]) -> dict[str, Any]:
    every = table.gather(runs)
    if every:
        print(tables.text(table.rows(every)))
    return table.document(every)
