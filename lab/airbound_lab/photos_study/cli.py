# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study photos`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.compare import study
from airbound_lab.photos_study import table
from airbound_lab.photos_study.design import Design
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.photos_study.design import Case

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study photos --seeds 1
  airbound-lab study photos --cells 11g,11n,11ac --parts photos --modes cubic,bbr,airbound --json out/photos.json
  airbound-lab study photos --terminals 8 --parts file --seeds 1

Modes are those of `airbound-lab compare`, with their settings; the first one is what the others are compared with.
Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "photos",
        execute_command,
        help="ten photos, or a file, alone and beside phones that send all they can",
        description="How long photos and a file take, in several modes.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("--cells", type=arguments.names, default=PLAIN.cells, metavar="C,C", help="2013,11g,11n,11ac (default: 11n)")
    option("--terminals", type=arguments.numbers, default=PLAIN.terminals, metavar="A..B", help="default: 1,8")
    option("--parts", type=arguments.names, default=PLAIN.parts, metavar="P,P", help="default: photos,file")
    option("--connections", type=arguments.names, default=PLAIN.connections, metavar="C,C", help="default: one,each")
    option(
        "--pauses", type=arguments.reals, default=PLAIN.pauses_s, metavar="S,S", help="between photos (default: 0,1)"
    )
    option("--expect", action="store_true", help="each photo waits for 100-continue, as curl does by itself")
    option("--modes", type=arguments.names, default=PLAIN.modes, metavar="M,M", help="default: cubic,airbound")
    option("--file-bytes", type=int, default=PLAIN.file_bytes, metavar="N", help="of the file (default: %(default)s)")
    option("--seconds", type=int, metavar="S", help="of a run (default: 60, with a file 150)")
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="default: 1..5")
    study.add_options(parser, Path("out/photos"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study; raises as `study.execute`."""
    design = Design(
        cells=options.cells,
        terminals=options.terminals,
        parts=options.parts,
        connections=options.connections,
        pauses_s=options.pauses,
        asks=options.expect,
        modes=options.modes,
        file_bytes=options.file_bytes,
        seconds=options.seconds,
        seeds=options.seeds,
    )
    study.execute(design, options, _report)


def _report(runs: Sequence[tuple[Case, Run]]) -> dict[str, Any]:
    every = table.gather(runs)
    for rows in (table.photo_rows(every), table.file_rows(every)):
        if len(rows) > 1:
            print(f"{tables.text(rows)}\n")
    return table.document(every)
