# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.applications_study import cli as applications_study
from airbound_lab.capacity_study import cli as capacity_study
from airbound_lab.check_study import cli as check_study
from airbound_lab.compare import cli as compare
from airbound_lab.errors import LabError, UsageError
from airbound_lab.figures import results
from airbound_lab.handover_study import cli as handover_study
from airbound_lab.http_study import cli as http_study
from airbound_lab.io_study import cli as io_study
from airbound_lab.live import cli as live
from airbound_lab.live_video_study import cli as live_video_study
from airbound_lab.load import certificates as load_certificates
from airbound_lab.load import cli as load
from airbound_lab.medium import cli as medium
from airbound_lab.paper_study import cli as paper_study
from airbound_lab.photos_study import cli as photos_study
from airbound_lab.quic_study import cli as quic_study
from airbound_lab.report import tables
from airbound_lab.run import host
from airbound_lab.run.progress import Progress
from airbound_lab.run.runs import Setting, run_all
from airbound_lab.settings import arguments, option
from airbound_lab.settings.parameters import MODES_HELP, Parameters, option_of
from airbound_lab.settings.validation import usage_errors
from airbound_lab.settings.values import KERNEL_LINE_OF, Window
from airbound_lab.survey import cli as survey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.figures.results import Results

EXIT_CODES = "exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"
EXAMPLES = f"""examples:
  airbound-lab run --terminals 5 --wired-delays 4,64,256 --modes cubic,bdp --json out.json
  airbound-lab plot out.json --directory pictures
  airbound-lab report out.json --out report.html
  airbound-lab study two-phones --directory pictures
  airbound-lab study paper --quick
  airbound-lab study capacity --phy 11ac-80
  airbound-lab study handover --seeds 1
  airbound-lab study applications --parts throughput
  airbound-lab study live-video --seeds 1
  airbound-lab study io --filesystems ext4 --journals delete,wal
  airbound-lab study quic --seeds 1
  airbound-lab study http --uploads 9 --delays 4
  airbound-lab survey ride.csv --pictures pictures
  airbound-lab compare --quick
  airbound-lab load --cells 100 --compare-raw
  airbound-lab live --controller controller.example:50051 --tokens tokens

{EXIT_CODES}"""
RUN_EXAMPLES = f"""modes:
  cubic, reno, bbr, vegas, cdg, westwood, illinois, nv, dctcp
               that congestion control, without Airbound
  paper-gb     CUBIC, bounded by the paper's table for Gingerbread (Android 2.3)
  paper-jb     the same for Jelly Bean (4.1)
  bdp          CUBIC, bounded by the bandwidth-delay product
  aggregate    the same, and where frames are aggregated by an aggregate beside it
  MODULE:NAME  CUBIC, bounded by a policy of your own, or the name of its entry point (docs/own-policy.md)
  airbound     the controller as it starts without arguments, EDCA parameters included
  bdp+vegas    another congestion control within the bounds (of every mode from paper-gb on)
  bdp+edca     the controller sets EDCA parameters as well (of the same but airbound; bdp+vegas+edca)
  bdp+stock    phones without Airbound's patches: maxima by BPF (of every mode from paper-gb on; bdp+edca+stock)
{MODES_HELP};
               they take the place of the option's

examples:
  airbound-lab run --terminals 10 --delay-ms 256 --modes cubic,bdp
  airbound-lab run --phones 2013 --warmup-seconds 10 --seeds 1..5
  airbound-lab run --modes cubic,cubic@fq_codel,bdp,bdp@aifsn=4
  airbound-lab run --terminals 2 --modes bdp --trace --json out.json

{EXIT_CODES}"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    words = sys.argv[1:] if words is None else list(words)
    try:
        if words[:1] == ["load"]:
            load.execute(words[1:])  # the options are the program's own
        else:
            options = _parser().parse_args(words)
            options.do(options)
    except LabError as error:
        print(f"airbound-lab: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("airbound-lab: interrupted", file=sys.stderr)
        return 130
    return 0


def _run(options: argparse.Namespace) -> None:
    parameters = _parameters(options)
    if options.trace and options.json is None:
        raise UsageError("trace: --json FILE is needed as well, the histories are written there")
    medium_trace = _window(options, parameters)
    if options.debian_programs and options.logs is None:
        raise UsageError("--debian-programs: --logs DIR is needed as well, they write there")
    found = _measure(
        parameters,
        options,
        trace=options.trace,
        medium_trace=medium_trace,
        debian_programs=options.debian_programs,
    )
    print(tables.describe(parameters))
    print(tables.text(tables.rows(found)))
    print()
    print(tables.text(tables.phone_rows(found)))
    if parameters.watch_senders_ms is not None:
        print()
        print(tables.text(tables.sender_rows(found)))


def _window(options: argparse.Namespace, parameters: Parameters) -> Window | None:
    if options.medium_trace is None:
        return None
    if options.logs is None:
        raise UsageError("--medium-trace: --logs DIR is needed as well, medium.csv is written there")
    with usage_errors("--medium-trace"):
        from_s, length_s = options.medium_trace
        window = Window(from_s=from_s, length_s=length_s)
    if window.from_s + window.length_s > parameters.seconds:
        raise UsageError(f"--medium-trace: it ends after the run, which has {parameters.seconds} s")
    return window


def _measure(
    parameters: Parameters,
    options: argparse.Namespace,
    *,
    trace: bool,
    medium_trace: Window | None = None,
    debian_programs: bool = False,
) -> Results:
    if options.json is not None and not options.json.parent.is_dir():
        raise UsageError(f"json: there is no directory {options.json.parent}")
    with_ovs = any(parameters.of_mode(mode).ovs for mode in parameters.modes)
    with_applications = bool(parameters.scenario.application_actions())
    host.check_tools(ovs=with_ovs, debian_programs=debian_programs, applications=with_applications)
    marks = any(parameters.of_mode(mode).live_marks for mode in parameters.modes)
    quic = parameters.scenario.has_quic()
    programs = host.programs(parameters.modes, trace=trace, marks=marks, quic=quic)
    kernel = host.kernel(options.kernel, parameters.kernel_line)
    host.check_line(kernel, parameters.kernel_line)
    logs = options.logs.resolve() if options.logs else None
    limit_s = arguments.wall_limit_s(options, parameters.seconds)
    setting = Setting(
        kernel, programs, options.jobs, limit_s, logs, trace, medium_trace=medium_trace, debian_programs=debian_programs
    )
    progress = Progress(sys.stderr, len(parameters.modes) * len(parameters.seeds))
    try:
        found = run_all(parameters, setting, progress.update, progress.finish, host.sha256(kernel))
    finally:
        progress.close()
    if options.json is not None:
        results.save(found, options.json)
    for sentence in tables.missing_records(found):
        print(f"airbound-lab: {sentence}", file=sys.stderr)
    return found


def _study_two_phones(options: argparse.Namespace) -> None:
    from airbound_lab.report import plot
    from airbound_lab.two_phone_study import design as two_phone_study
    from airbound_lab.two_phone_study import plot as two_phone_study_plot

    if options.results is not None:
        found = results.load(options.results)
        if found.parameters.terminals != two_phone_study.TWO_PHONES.terminals:
            raise UsageError(f"results: {options.results} has {found.parameters.terminals} phones, not two")
    else:
        parameters = two_phone_study.TWO_PHONES
        if options.seeds is not None:
            with usage_errors(name=option_of):
                parameters = replace(parameters, seeds=options.seeds)
        found = _measure(parameters, options, trace=True)
    print(tables.describe(found.parameters))
    for table in (two_phone_study.rows(found), two_phone_study.summary(found)):
        print(tables.text(table))
        print()
    if options.directory is not None:
        for path in plot.save_all(
            {"two-phones": two_phone_study_plot.two_phones(found)}, options.directory, options.format
        ):
            print(path)


def _parameters(options: argparse.Namespace) -> Parameters:
    given = option.given(options, Parameters)
    given.setdefault("kernel_line", KERNEL_LINE_OF[given.get("ap", "plain")])
    with usage_errors(name=option_of):
        return Parameters(**given)


def _plot(options: argparse.Namespace) -> None:
    from airbound_lab.report import plot

    for path in plot.write_all(results.load(options.results), options.directory, options.format):
        print(path)


def _report(options: argparse.Namespace) -> None:
    from airbound_lab.report import page as report

    sets = [(path.stem, results.load(path)) for path in options.results]
    output.write(options.out, report.html(sets))
    print(options.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="airbound-lab",
        description="A Wi-Fi cell on one machine, in virtual time.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    _add_run(commands)
    plot = arguments.command(commands, "plot", _plot, help="draw a results file")
    plot.add_argument("results", type=Path, metavar="RESULTS", help="what run --json wrote")
    plot.add_argument(
        "--directory", type=Path, default=Path(), metavar="DIR", help="where the pictures go (default: here)"
    )
    arguments.add_picture_format(plot)

    _add_studies(
        arguments.command(commands, "study", None, help="repeat a published study, or check the controller's estimates")
    )

    report = arguments.command(commands, "report", _report, help="one HTML page of several results files")
    report.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="what run --json wrote")
    report.add_argument("--out", type=Path, default=Path("report.html"), metavar="FILE", help="default: %(default)s")

    compare.add(commands)
    medium.add(commands)
    load_certificates.add(commands)
    live.add(commands)
    survey.add(commands)
    commands.add_parser("load", help="load a controller with simulated agents", add_help=False)
    return parser


def _add_studies(parser: argparse.ArgumentParser) -> None:
    studies = parser.add_subparsers(required=True, metavar="STUDY")
    two = arguments.command(studies, "two-phones", _study_two_phones, help="two equal phones, 256 ms from their server")
    two.add_argument("--seeds", type=arguments.numbers, metavar="A..B", help="default: 1..10")
    two.add_argument("--results", type=Path, metavar="FILE", help="read what an earlier --json wrote, run nothing")
    two.add_argument("--directory", type=Path, metavar="DIR", help="draw two-phones.svg there")
    arguments.add_picture_format(two)
    _add_setting(two)
    paper_study.add(studies)
    capacity_study.add(studies)
    check_study.add(studies)
    handover_study.add(studies)
    applications_study.add(studies)
    live_video_study.add(studies)
    io_study.add(studies)
    photos_study.add(studies)
    quic_study.add(studies)
    http_study.add(studies)


def _add_run(commands: Any) -> None:
    run = arguments.command(
        commands,
        "run",
        _run,
        help="boot the cell, measure it, print a table",
        description="Boot a cell once for each mode and seed, measure it, print a table.",
        epilog=RUN_EXAMPLES,
    )
    option.add(run, Parameters)
    add = run.add_argument
    add("--trace", action="store_true", help="record each phone's history of cwnd and events, for plot (needs --json)")
    add(
        "--medium-trace",
        type=arguments.window,
        metavar="FROM_S,LENGTH_S",
        help="write each attempt on the medium in this part of the run to DIR/MODE-SEED/medium.csv (needs --logs DIR)",
    )
    add(
        "--debian-programs",
        action="store_true",
        help="phone 1 also uploads with iperf3 and measures with irtt: DIR/MODE-SEED/iperf3.json, irtt.json"
        " (needs --logs DIR)",
    )
    _add_setting(run)


def _add_setting(parser: argparse.ArgumentParser) -> None:
    """Add the options that have no influence on the figures."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep each run's logs and raw samples here")
    arguments.add_guests(parser)
