# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study applications`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.applications_study import statements, table
from airbound_lab.applications_study.design import Design
from airbound_lab.compare import batch
from airbound_lab.compare.whole_runs import RUNS
from airbound_lab.report import tables
from airbound_lab.settings import arguments
from airbound_lab.settings.parameters import option_of
from airbound_lab.settings.validation import usage_errors

if TYPE_CHECKING:
    import argparse

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study applications --parts throughput
  airbound-lab study applications --cells paper,11n,11ac --json out/applications.json --pictures pictures
  airbound-lab study applications --parts video --senders drop --video-terminals 1,4,8,12 --seeds 1

Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start, what is there
is not made again unless the kernel, a program or a parameter has changed.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "applications",
        execute_command,
        help="live video, a file and photos from phones, alone and beside others",
        description="Repeat Kumatani et al. (2012): real applications in a cell without control.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option(
        "--cells", type=arguments.names, default=PLAIN.cells, metavar="C,C", help="paper, 11n, 11ac (default: paper)"
    )
    option("--parts", type=arguments.names, default=PLAIN.parts, metavar="P,P", help="default: alone,throughput,video")
    option(
        "--terminals", type=arguments.whole_numbers, default=PLAIN.terminals, metavar="N,N",
        help="phones of throughput (default: 1 to 8)",
    )  # fmt: skip
    option(
        "--video-terminals", type=arguments.whole_numbers, default=PLAIN.video_terminals, metavar="N,N",
        help="phones of video (default: 8)",
    )  # fmt: skip
    option("--senders", type=arguments.names, default=PLAIN.senders, metavar="S,S", help="default: drop,wait")
    option("--rate-kbps", type=int, default=PLAIN.rate_kbps, metavar="N", help="of live video (default: %(default)s)")
    option("--video-s", type=int, default=PLAIN.video_s, metavar="S", help="its length in video (default: %(default)s)")
    option("--alone-s", type=int, default=PLAIN.alone_s, metavar="S", help="its length alone (default: %(default)s)")
    option("--seconds", type=int, default=PLAIN.seconds, metavar="S", help="of throughput (default: %(default)s)")
    option("--file-bytes", type=int, default=PLAIN.file_bytes, metavar="N", help="of the file (default: %(default)s)")
    option(
        "--seeds", type=arguments.seeds, default=PLAIN.seeds, metavar="A..B", help="trials of video (default: 1..10)"
    )
    option("--json", type=Path, metavar="FILE", help="write all figures here")
    option("--pictures", type=Path, metavar="DIR", help="draw there")
    option("--format", choices=("svg", "png"), default="svg", help="default: svg")
    batch.add_options(parser, Path("out/applications"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed; what the others say is written all the same.
    """
    design = Design(
        cells=options.cells,
        parts=options.parts,
        terminals=options.terminals,
        video_terminals=options.video_terminals,
        senders=options.senders,
        rate_kbps=options.rate_kbps,
        video_s=options.video_s,
        seconds=options.seconds,
        alone_s=options.alone_s,
        file_bytes=options.file_bytes,
        seeds=options.seeds,
    )
    design.check()
    with usage_errors(name=option_of):
        cases = design.cases()
    made = batch.carry_out(cases, RUNS, options)
    if made is None:
        return
    runs = [(case, made.found[case]) for case in cases if case in made.found]
    every = table.gather(runs)
    for found in every:
        _print(found)
    if options.json is not None:
        output.write(options.json, json.dumps(table.document(every), indent=1, allow_nan=False) + "\n")
        print(options.json)
    if options.pictures is not None:
        from airbound_lab.applications_study import plot as pictures
        from airbound_lab.report import plot

        for path in plot.save_all(pictures.all_of(every, runs), options.pictures, options.format):
            print(path)
    made.check()


def _print(found: table.Found) -> None:
    print(f"{found.cell}\n")
    shown = []
    if found.alone:
        shown.append(table.alone_rows(found))
    if found.throughput:
        shown.append(table.throughput_rows(found))
    shown += [
        table.trial_rows(f"{sender}, {terminals} phones", trials) for (sender, terminals), trials in found.video.items()
    ]
    if len(found.video) > 1:
        shown.append(table.number_rows(found))
    if checked := found.statements():
        shown.append(statements.rows(checked))
    for rows in shown:
        print(tables.text(rows))
        print()
