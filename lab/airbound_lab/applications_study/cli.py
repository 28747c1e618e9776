# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study applications`."""

from __future__ import annotations

import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.applications_study import design as designs
from airbound_lab.applications_study import statements, table
from airbound_lab.applications_study.design import Design
from airbound_lab.errors import UsageError
from airbound_lab.figures import results
from airbound_lab.report import tables
from airbound_lab.run import host
from airbound_lab.run.runs import Setting, run_all
from airbound_lab.settings import arguments
from airbound_lab.settings.parameters import option_of
from airbound_lab.settings.validation import usage_errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from airbound_lab.applications_study.design import Case
    from airbound_lab.figures.results import Run

PLAIN = Design()

EPILOG = """examples:
  airbound-lab study applications --parts throughput
  airbound-lab study applications --cells paper,11n,11ac --json out/applications.json --pictures pictures
  airbound-lab study applications --parts video --senders drop --video-terminals 1,4,8,12 --seeds 1

What was run is stored in DIR/runs: what is there is not run again unless kernel, programs or parameters have changed.

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
    option("--directory", type=Path, default=Path("out/applications"), metavar="DIR", help="default: %(default)s")
    option("--json", type=Path, metavar="FILE", help="write all figures here")
    option("--pictures", type=Path, metavar="DIR", help="draw there")
    option("--format", choices=("svg", "png"), default="svg", help="default: svg")
    option("--logs", type=Path, metavar="DIR", help="keep each run's logs here")
    arguments.add_guests(parser)


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed.
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
    runs = _run(cases, options)
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


def _run(cases: list[Case], options: argparse.Namespace) -> list[tuple[Case, Run]]:
    host.check_tools(applications=any(case.part != "throughput" for case in cases))
    programs = host.programs((designs.MODE,))
    line = cases[0].parameters.kernel_line
    kernel = host.kernel(options.kernel, line)
    host.check_line(kernel, line)
    digest, limit_s = host.sha256(kernel), arguments.wall_limit_s(options, max(c.parameters.seconds for c in cases))

    made_of = host.hashes(programs, agents=False, applications=True) | {"kernel": digest}
    store = _made_directory(options.directory / "runs")

    def run(numbered: tuple[int, Case]) -> Run:
        number, case = numbered
        path = store / f"{_key(case, made_of)}.json"
        if path.exists():
            [found] = results.load(path).runs
            return found
        logs = options.logs.resolve() / str(number) if options.logs is not None else None
        setting = Setting(kernel, programs, 1, limit_s, logs)
        made = run_all(case.parameters, setting, lambda *_: None, lambda *_: None, digest)
        # As a whole or not at all: the process may end in between.
        new = path.with_suffix(".new")
        results.save(made, new)
        new.replace(path)
        [found] = made.runs
        print(f"airbound-lab: {case}: done in {found.wall_seconds:.0f} s", file=sys.stderr)
        return found

    with ThreadPoolExecutor(options.jobs) as executor:
        return list(zip(cases, executor.map(run, enumerate(cases)), strict=True))


def _key(case: Case, made_of: Mapping[str, str]) -> str:
    """Return a hash of all that decides about a run."""
    text = json.dumps([case.parameters.to_json(), made_of], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _made_directory(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--directory: cannot make {path}: {error.strerror}") from error
    return path


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
