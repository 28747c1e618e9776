# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study handover`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.errors import UsageError
from airbound_lab.handover_study import execute, statements, table
from airbound_lab.handover_study.design import RIVALS, Design
from airbound_lab.handover_study.lanes import PROGRAM, Lane
from airbound_lab.report import tables
from airbound_lab.run import host
from airbound_lab.settings import arguments
from airbound_lab.settings.values import KERNEL_LINES

if TYPE_CHECKING:
    import argparse

PLAIN = Design()

_NAMES = "\n".join(f"  {name:<18} {what}" for name, what in RIVALS.items())
EPILOG = f"""rivals:
{_NAMES}

examples:
  airbound-lab study handover --rtts 50 --lost 3,10 --before 0 --seeds 1
  airbound-lab study handover --seeds 1..20 --json out/handover/study.json --pictures docs/images
  airbound-lab study handover --lost 3 --before 4 --held 11 --after 20 --csv out/handover/records.csv

What was run is stored in DIR/runs: what is there is not run again unless kernel, program or path has changed.

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "handover",
        execute_command,
        help="how long an application is silent after a handover, and what makes it shorter",
        description="Send a record each 100 ms over paths with a handover, by every rival, and print what it does.",
        epilog=EPILOG,
    )
    option = parser.add_argument

    def numbers(name: str, default: tuple[float, ...], text: str) -> None:
        shown = ",".join(f"{value:g}" for value in default)
        option(name, type=arguments.reals, default=default, metavar="S,S,...", help=f"{text} (default: {shown})")

    option("--rtts", type=arguments.reals, default=PLAIN.rtts_ms, metavar="MS,MS", help="round trip (default: 50,256)")
    numbers("--lost", PLAIN.lost_s, "for how long all is lost")
    numbers("--before", PLAIN.before_s, "the queue up before")
    numbers("--held", PLAIN.held_s, "for how long packets are held then, until the handover completes")
    numbers("--after", PLAIN.after_s, "the queue up after")
    numbers("--down-shifts", PLAIN.down_shifts_s, "by how much losses down begin later than up")
    option("--rivals", type=arguments.names, default=PLAIN.rivals, metavar="R,R,...", help="default: all")
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="1..20 or 1,4 (default: 1..3)")
    option("--ipv6", action="store_true", help="over IPv6")
    option("--kernel-line", choices=KERNEL_LINES, default="6.12", help="default: %(default)s")
    option("--directory", type=Path, default=Path("out/handover"), metavar="DIR", help="default: %(default)s")
    option("--pictures", type=Path, metavar="DIR", help="where the pictures go (default: that of --directory)")
    arguments.add_picture_format(parser)
    option("--json", type=Path, metavar="FILE", help="write all figures here")
    option("--csv", type=Path, metavar="FILE", help="write every record's times here")
    option("--logs", type=Path, metavar="DIR", help="keep each guest's directory here")
    arguments.add_guests(parser)


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed.
    """
    design = Design(
        rtts_ms=options.rtts,
        lost_s=options.lost,
        before_s=options.before,
        held_s=options.held,
        after_s=options.after,
        down_shifts_s=options.down_shifts,
        rivals=options.rivals,
        seeds=options.seeds,
        ipv6=options.ipv6,
    )
    design.check()
    runs = execute.Runs(_setting(options), ipv6=design.ipv6)
    wanted = [Lane(case, rival) for case in design.cases() for rival in design.rivals]
    found = execute.run_all(wanted, runs, options.jobs, _progress)
    by_case = table.all_figures(design, found)
    for title, figure in table.TABLES.values():
        print(f"{title}: median (largest) of the seeds")
        print(tables.text(table.rows(design, by_case, figure)))
        print()
    print(tables.text(table.cost_rows(design, by_case)))
    print()
    checked = statements.all_of(design, by_case)
    print(tables.text(statements.rows(checked)))
    if options.json is not None:
        document = table.document(by_case, [statements.document(each) for each in checked])
        output.write_json(options.json, document)
        print(options.json)
    if options.csv is not None:
        output.write(options.csv, table.records_csv({lane: found[lane] for lane in wanted}))
        print(options.csv)
    from airbound_lab.handover_study import plot as pictures
    from airbound_lab.report import plot

    drawn = pictures.all_of(design, found, by_case)
    for path in plot.save_all(drawn, options.pictures or options.directory, options.format):
        print(path)


def _setting(options: argparse.Namespace) -> execute.Setting:
    host.check_tools()
    program = host.REPOSITORY / "build" / PROGRAM
    if not program.exists():
        raise UsageError(f"not built: {program}; run: make build")
    kernel = host.kernel(options.kernel, options.kernel_line)
    host.check_line(kernel, options.kernel_line)
    store = options.directory / "runs"
    for path in (store, options.logs):
        if path is not None:
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"cannot make {path}: {error.strerror}") from error
    limit_s = options.wall_limit_seconds or execute.WALL_LIMIT_S
    return execute.Setting(kernel, program, options.jobs, store, limit_s, options.logs)


def _progress(done: int, wanted: int) -> None:
    print(f"airbound-lab: {done} of {wanted} run", file=sys.stderr)
