# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.check_study import table
from airbound_lab.check_study.design import Design
from airbound_lab.compare import study
from airbound_lab.errors import LabError
from airbound_lab.report import tables
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from airbound_lab.check_study.design import Case
    from airbound_lab.figures.results import Run

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study check
  airbound-lab study check --kinds lose,neither --minutes 5 --seeds 2 --json out/check.json

Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start.

exit codes: 0 done; 1 a run failed, or checks are wrong too often; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "check",
        execute_command,
        help="what `airbound check` says against what is so, in 20 cells",
        description="Carry out `airbound check` in cells in which Airbound gains, loses, and changes nothing.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("--kinds", type=arguments.names, default=PLAIN.kinds, metavar="K,K", help="default: gain,lose,neither")
    option("--minutes", type=int, default=PLAIN.minutes, metavar="N", help="of a check (default: %(default)s)")
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="default: 1")
    study.add_options(parser, Path("out/check"))


def execute_command(options: argparse.Namespace) -> None:
    """Run the study; raises as `study.execute`, and LabError if checks are wrong too often."""
    design = Design(options.kinds, options.minutes, options.seeds)
    wrong = list[str]()

    def report(runs: Sequence[tuple[Case, Run]]) -> dict[str, Any]:
        found = table.gather(runs)
        if found:
            print(tables.text(table.rows(found)))
            print(f"\n{table.summary(found)}")
            wrong.extend(table.complaints(found))
        return table.document(found)

    study.execute(design, options, report)
    if wrong:
        raise LabError("; ".join(wrong))
