# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab medium`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.medium import attempts, figures
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse

STRETCH_MAX_MS = 1000.0

EPILOG = """\
Each panel has a row for each station. A bar is an attempt, from its start to its end; the lower the rate, the longer. A
thin line is a frame that waits for the air. Drawn is the stretch that is most like the whole trace in its number of
attempts, of collided attempts and of contenders. Beside it, and in the table, are figures of the whole trace: how many
queues had a frame to send when one of them got the air, how many attempts collided, how long a phone's took.

example:
  airbound-lab run --phones 2013 --modes bdp,bdp@aifsn=4 --medium-trace 10,20 --logs out/medium
  airbound-lab medium out/medium/*/medium.csv --out medium.svg

exit codes: 0 done; 2 wrong usage"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "medium",
        execute_command,
        help="draw who has the air when",
        description="Draw what run --medium-trace wrote, and print its figures.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("traces", type=Path, nargs="+", metavar="FILE", help="medium.csv of a run; a panel for each")
    option(
        "--title",
        action="append",
        default=[],
        metavar="TEXT",
        help="of each panel, in the order of the files (default: the files' directories)",
    )
    option("--milliseconds", type=float, default=30.0, metavar="MS", help="how much is drawn (default: 30)")
    option("--out", type=Path, metavar="FILE", help="the picture, .svg or .png (default: none is drawn)")


def execute_command(options: argparse.Namespace) -> None:
    """Print the figures, and draw the picture if one is wanted.

    Raises:
        UsageError: the request is wrong, a file cannot be read or written.
    """
    titles = options.title or [path.resolve().parent.name for path in options.traces]
    if len(titles) != len(options.traces):
        raise UsageError(f"--title: {len(titles)} titles for {len(options.traces)} files")
    if not 0 < options.milliseconds <= STRETCH_MAX_MS:
        raise UsageError(f"--milliseconds: {options.milliseconds:g} is not within 0 and {STRETCH_MAX_MS:g}")
    if options.out is not None and options.out.suffix not in (".svg", ".png"):
        raise UsageError(f"--out: {options.out} ends neither in .svg nor in .png")
    traces = [(title, attempts.load(path)) for title, path in zip(titles, options.traces, strict=True)]
    print(tables.text(figures.rows([(title, figures.figures(trace)) for title, trace in traces])))
    if options.out is not None:
        from airbound_lab.medium import plot as medium_plot
        from airbound_lab.report import plot

        figure = medium_plot.medium(traces, options.milliseconds)
        for path in plot.save_all({options.out.stem: figure}, options.out.parent, options.out.suffix[1:]):
            print(path)
