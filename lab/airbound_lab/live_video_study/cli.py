# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study live-video`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.applications_study.design import SENDERS
from airbound_lab.compare import batch
from airbound_lab.compare.whole_runs import RUNS
from airbound_lab.live_video_study import table
from airbound_lab.live_video_study.design import Design
from airbound_lab.report import tables
from airbound_lab.settings import arguments
from airbound_lab.settings.parameters import option_of
from airbound_lab.settings.validation import usage_errors

if TYPE_CHECKING:
    import argparse

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study live-video --seeds 1
  airbound-lab study live-video --cells 11n --terminals 8,16 --modes cubic,airbound --json out/live-video.json
  airbound-lab study live-video --claim 1 --others tcp --modes airbound
  airbound-lab study live-video --mark 7 --modes cubic,airbound --agents 1

Modes are those of `airbound-lab compare`, with their settings (airbound@no-classes: the phones' tables are empty).
Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "live-video",
        execute_command,
        help="live video beside phones that send all they can, with and without control",
        description="Live video in full cells: interruptions, and what the others lose, in several modes.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("--cells", type=arguments.names, default=PLAIN.cells, metavar="C,C", help="default: 2013,11g,11n")
    option("--terminals", type=arguments.whole_numbers, default=PLAIN.terminals, metavar="N,N", help="default: 8")
    option("--others", type=arguments.names, default=PLAIN.protocols, metavar="P,P", help="udp, tcp (default: udp)")
    option("--videos", type=int, default=PLAIN.videos, metavar="N", help="phones with live video (default: 1)")
    option("--claim", type=int, default=PLAIN.claim, metavar="N", help="others that claim to be live (default: 0)")
    option("--mark", type=int, default=PLAIN.mark, metavar="N", help="others that mark theirs as video (default: 0)")
    option("--agents", type=int, metavar="N", help="phones 1 to N have an agent (default: all)")
    option(
        "--modes", type=arguments.names, default=PLAIN.modes, metavar="M,M", help=f"default: {','.join(PLAIN.modes)}"
    )
    option("--sender", choices=SENDERS, default=PLAIN.sender, help="what it does when it cannot (default: %(default)s)")
    option("--rate-kbps", type=int, default=PLAIN.rate_kbps, metavar="N", help="of the video (default: %(default)s)")
    option("--video-s", type=int, default=PLAIN.video_s, metavar="S", help="its length (default: %(default)s)")
    option("--seeds", type=arguments.seeds, default=PLAIN.seeds, metavar="A..B", help="default: 1..3")
    option("--json", type=Path, metavar="FILE", help="write all figures here")
    batch.add_options(parser, Path("out/live-video"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed; what the others say is written all the same.
    """
    design = Design(
        cells=options.cells,
        terminals=options.terminals,
        protocols=options.others,
        videos=options.videos,
        claim=options.claim,
        mark=options.mark,
        agents=options.agents,
        modes=options.modes,
        sender=options.sender,
        rate_kbps=options.rate_kbps,
        video_s=options.video_s,
        seeds=options.seeds,
    )
    design.check()
    with usage_errors(name=option_of):
        cases = design.cases()
    made = batch.carry_out(cases, RUNS, options)
    if made is None:
        return
    every = table.gather((case, made.found[case]) for case in cases if case in made.found)
    if every:
        print(tables.text(table.rows(every)))
    if options.json is not None:
        output.write(options.json, json.dumps(table.document(every), indent=1, allow_nan=False) + "\n")
        print(options.json)
    made.check()
