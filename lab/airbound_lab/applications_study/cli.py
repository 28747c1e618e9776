# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study applications`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.applications_study import statements, table
from airbound_lab.applications_study.design import Design
from airbound_lab.compare import study
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from airbound_lab.applications_study.design import Case
    from airbound_lab.figures.results import Run

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
        "--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="trials of video (default: 1..10)"
    )
    option("--pictures", type=Path, metavar="DIR", help="draw there")
    arguments.add_picture_format(parser)
    study.add_options(parser, Path("out/applications"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study; raises as `study.execute`."""
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
    study.execute(design, options, lambda runs: _report(runs, options.pictures, options.format))


def _report(runs: Sequence[tuple[Case, Run]], directory: Path | None, form: str) -> dict[str, Any]:
    every = table.gather(runs)
    for found in every:
        _print(found)
    if directory is not None:
        from airbound_lab.applications_study import plot as pictures
        from airbound_lab.report import plot

        for path in plot.save_all(pictures.all_of(every, runs), directory, form):
            print(path)
    return table.document(every)


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
