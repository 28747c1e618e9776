# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab study io`."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.errors import UsageError
from airbound_lab.io_study import measures, run, table
from airbound_lab.io_study.design import Design
from airbound_lab.io_study.devices import DEVICES
from airbound_lab.report import tables
from airbound_lab.run import host
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse

    from airbound_lab.io_study.design import Case
    from airbound_lab.io_study.run import Recorded
    from airbound_lab.settings.values import KernelLine

KERNEL_LINE: KernelLine = "6.12"
PLAIN = Design()

EPILOG = f"""examples:
  airbound-lab study io
  airbound-lab study io --devices card-2010,ufs-today --journals delete,wal --transactions 1,10,100
  airbound-lab study io --filesystems ext4 --journals wal --synchronous full,normal,off --cuts 60 --rows 100

devices:
{"".join(f"  {name:<12}{device.title}{chr(10)}" for name, device in DEVICES.items())}
exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "io",
        execute_command,
        help="what SQLite asks of a phone's storage, and how long that takes",
        description="Inserts and selects of SQLite on a disk in virtual time: requests, time, cuts of the power.",
        epilog=EPILOG,
    )
    option = parser.add_argument
    option("--devices", type=arguments.names, default=PLAIN.devices, metavar="D,D", help="default: emmc-2010")
    option("--filesystems", type=arguments.names, default=PLAIN.filesystems, metavar="F,F", help="default: ext4,f2fs")
    option(
        "--journals", type=arguments.names, default=PLAIN.journals, metavar="J,J",
        help=f"SQLite's journal mode (default: {','.join(PLAIN.journals)})",
    )  # fmt: skip
    option(
        "--synchronous", type=arguments.names, default=PLAIN.synchronous, metavar="S,S",
        help="SQLite's setting: extra, full, normal, off (default: full)",
    )  # fmt: skip
    option(
        "--transactions", type=arguments.whole_numbers, default=PLAIN.rows_per_transaction, metavar="N,N",
        help="rows of a transaction (default: 1)",
    )  # fmt: skip
    option("--rows", type=int, default=PLAIN.rows, metavar="N", help="rows to insert (default: %(default)s)")
    option("--selects", type=int, default=PLAIN.selects, metavar="N", help="of all rows (default: %(default)s)")
    option("--cuts", type=int, default=PLAIN.cuts, metavar="N", help="cut the power at each of the first N requests")
    option(
        "--phone-io", action="store_true",
        help="also record by airbound-phone io, and compare both records request by request",
    )  # fmt: skip
    option("--sqlite", type=Path, metavar="FILE", help="another build of SQLite, a shared library (default: Debian's)")
    option("--seeds", type=arguments.numbers, default=PLAIN.seeds, metavar="A..B", help="default: 1")
    option("--directory", type=Path, default=Path("out/io"), metavar="DIR", help="records (default: %(default)s)")
    option("--pictures", type=Path, metavar="DIR", help="draw there (default: in --directory)")
    option("--json", type=Path, metavar="FILE", help="write all figures here")
    option("--kernel", metavar="FILE", help="the lab's kernel (default: built if it is not)")
    option("--jobs", type=arguments.positive, default=2, metavar="N", help="guests at a time (default: %(default)s)")
    option("--format", choices=("png", "svg"), default="png", help="of the pictures (default: %(default)s)")


def execute_command(options: argparse.Namespace) -> None:
    """Run the study.

    Raises:
        UsageError: the request is wrong.
        MissingError: this machine lacks a tool.
        LabError: a run failed.
    """
    design = Design(
        devices=options.devices,
        filesystems=options.filesystems,
        journals=options.journals,
        synchronous=options.synchronous,
        rows_per_transaction=options.transactions,
        rows=options.rows,
        selects=options.selects,
        cuts=options.cuts,
        seeds=options.seeds,
        phone_io=host.programs((), trace=True).phone_agent if options.phone_io else None,
        sqlite=None if options.sqlite is None else str(_library(options.sqlite)),
    )
    run.check_tools(design.filesystems)
    found = _run_all(design, host.kernel(options.kernel, KERNEL_LINE), options.directory, options.jobs)
    if design.cuts:
        cuts = [(case, recorded.result["cuts"]) for case, recorded in found.items()]
        print(tables.text(table.cut_rows(cuts)))
        document: Any = [asdict(case) | {"outcomes": found[case].result["cuts"]} for case, _ in cuts]
    else:
        figures = [
            measures.measured(case, recorded.result, recorded.requests, DEVICES[case.device].times)
            for case, recorded in found.items()
        ]
        print(tables.text(table.measured_rows(figures)))
        if options.phone_io:
            _compare(list(found), options.directory)
        for version, batch_atomic in sorted({tuple(one.result["sqlite"].values()) for one in found.values()}):
            print(f"SQLite {version}, {'with' if batch_atomic else 'without'} batch atomic writes")
        _draw(found, options.pictures or options.directory, options.format)
        document = [asdict(one) for one in figures]
    if options.json is not None:
        output.write_json(options.json, document)
        print(options.json)


def _library(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"--sqlite: no file {path}")
    return path.resolve()


def _run_all(design: Design, kernel: Path, directory: Path, jobs: int) -> dict[Case, Recorded]:
    cases = design.cases()
    stop = threading.Event()
    found: dict[Case, Recorded] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = {
            pool.submit(run.run, kernel, case, directory / str(case), lambda _: None, stop.is_set): case
            for case in cases
        }
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                found[futures[future]] = future.result()
                print(f"  {number}/{len(cases)}  {futures[future]}", file=sys.stderr)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return {case: found[case] for case in cases}


def _compare(cases: list[Case], directory: Path) -> None:
    for case in cases:
        found = run.agreement_in(directory / str(case))
        found.check()
        print(f"{case}: airbound-phone io has the same {found.both} requests")


def _draw(found: dict[Case, Recorded], directory: Path, form: str) -> None:
    # matplotlib takes a second to import.
    from airbound_lab.io_study import plot
    from airbound_lab.report import plot as pictures

    for case, recorded in found.items():
        figures = {
            f"{case}-{phase}": plot.requests(
                [request for request in recorded.requests if request.phase == phase], f"{case}: {phase}"
            )
            for phase in (measures.INSERT, measures.SELECT, measures.SELECT_COLD)
        }
        for path in pictures.save_all(figures, directory, form):
            print(path)
