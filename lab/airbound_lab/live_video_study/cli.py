# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study live-video`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.applications_study.design import SENDERS
from airbound_lab.compare import study
from airbound_lab.live_video_study import counts, measures, table
from airbound_lab.live_video_study.design import Design
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.live_video_study.design import Case

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study live-video --seeds 1
  airbound-lab study live-video --cells 11n --terminals 8,16 --modes cubic,airbound --json out/live-video.json
  airbound-lab study live-video --claim 1 --others tcp --modes airbound
  airbound-lab study live-video --mark 7 --modes cubic,cubic@live-marks,airbound --agents 1
  airbound-lab study live-video --cells 2013 --terminals 1..20 --seeds 1 --modes cubic,cubic@live-marks,airbound
  airbound-lab study live-video --cells 11n --terminals 20 --videos 1..20 --seeds 1 --modes cubic@live-marks,airbound

Modes are those of `airbound-lab compare`, with their settings (airbound@no-classes: the phones' tables are empty;
cubic@live-marks: live video marks its packets as video by itself). The first one is what others' losses are against.
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
    option("--terminals", type=arguments.numbers, default=PLAIN.terminals, metavar="A..B", help="default: 8")
    option("--others", type=arguments.names, default=PLAIN.protocols, metavar="P,P", help="udp, tcp (default: udp)")
    option(
        "--videos", type=arguments.numbers, default=PLAIN.videos, metavar="A..B",
        help="phones with live video (default: 1)",
    )  # fmt: skip
    option("--claim", type=int, default=PLAIN.claim, metavar="N", help="others that claim to be live (default: 0)")
    option("--mark", type=int, default=PLAIN.mark, metavar="N", help="others that mark theirs as video (default: 0)")
    option("--agents", type=int, metavar="N", help="phones 1 to N have an agent (default: all)")
    option(
        "--modes", type=arguments.names, default=PLAIN.modes, metavar="M,M", help=f"default: {','.join(PLAIN.modes)}"
    )
    option("--sender", choices=SENDERS, default=PLAIN.sender, help="what it does when it cannot (default: %(default)s)")
    option("--rate-kbps", type=int, default=PLAIN.rate_kbps, metavar="N", help="of the video (default: %(default)s)")
    option("--video-s", type=int, default=PLAIN.video_s, metavar="S", help="its length (default: %(default)s)")
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="default: 1..3")
    study.add_options(parser, Path("out/live-video"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study; raises as `study.execute`."""
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
    study.execute(design, options, _report)


def _report(runs: Sequence[tuple[Case, Run]]) -> dict[str, Any]:
    every = measures.gather(runs)
    if every:
        print(tables.text(table.rows(every)))
        if len(limits := counts.rows(every)) > 1:
            print(f"\n{tables.text(limits)}")
    return table.document(every)
