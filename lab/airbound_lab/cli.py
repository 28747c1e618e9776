# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab`."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import arguments, host, load, load_certificates, results, scenario, tables, variant
from airbound_lab.capacity_study import cli as capacity_study
from airbound_lab.compare import cli as compare
from airbound_lab.errors import LabError, UsageError
from airbound_lab.live import cli as live
from airbound_lab.medium import cli as medium
from airbound_lab.medium.attempts import Window
from airbound_lab.paper_study import cli as paper_study
from airbound_lab.parameters import (
    ACCESS_POINT_KINDS,
    CHANNELS,
    KERNEL_LINE_OF,
    KERNEL_LINES,
    PHONES,
    RATE_CONTROL_OF,
    RATE_CONTROLS,
    SWITCHES,
    Parameters,
    option,
)
from airbound_lab.progress import Progress
from airbound_lab.qdisc import QDISCS
from airbound_lab.radio import GUARD_INTERVALS, PHYS
from airbound_lab.run import Setting, run_all
from airbound_lab.validation import usage_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.results import Results

WALL_LIMIT_BASE_S = 300
WALL_LIMIT_PER_SECOND_S = 20
"""A guest is taken to hang after this much wall-clock time, plus this much per virtual second."""

EXIT_CODES = "exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"
EXAMPLES = f"""examples:
  airbound-lab run --terminals 5 --wired-delays 4,64,256 --modes cubic,bdp --json out.json
  airbound-lab plot out.json --directory pictures
  airbound-lab report out.json --out report.html
  airbound-lab study two-phones --directory pictures
  airbound-lab study paper --quick
  airbound-lab study capacity --phy 11ac-80
  airbound-lab compare --quick
  airbound-lab load --cells 100 --compare-raw
  airbound-lab live --controller controller.example:50051 --tokens tokens

{EXIT_CODES}"""
RUN_EXAMPLES = f"""modes:
  cubic, reno, bbr, vegas, cdg, westwood
               that congestion control, without Airbound
  paper-gb     CUBIC, bounded by the paper's table for Gingerbread (Android 2.3)
  paper-jb     the same for Jelly Bean (4.1)
  bdp          CUBIC, bounded by the bandwidth-delay product
  airbound     the controller as it starts without arguments, EDCA parameters included
  bdp+vegas    another congestion control within the bounds (of paper-gb, paper-jb and airbound as well)
  bdp+edca     the controller sets EDCA parameters as well (of paper-gb and paper-jb as well; bdp+vegas+edca)
{variant.HELP}; they take the place of the option's

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
    found = _measure(parameters, options, trace=options.trace, medium_trace=medium_trace)
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
    parameters: Parameters, options: argparse.Namespace, *, trace: bool, medium_trace: Window | None = None
) -> Results:
    jobs = _positive("jobs", options.jobs) if options.jobs is not None else os.cpu_count() or 1
    if options.json is not None and not options.json.parent.is_dir():
        raise UsageError(f"json: there is no directory {options.json.parent}")
    host.check_tools(ovs=any(parameters.of_mode(mode).ovs for mode in parameters.modes))
    programs = host.programs(parameters.modes, trace=trace)
    kernel = host.kernel(options.kernel, parameters.kernel_line)
    host.check_line(kernel, parameters.kernel_line)
    limit_s = options.wall_limit_seconds or WALL_LIMIT_BASE_S + WALL_LIMIT_PER_SECOND_S * parameters.seconds
    logs = options.logs.resolve() if options.logs else None
    setting = Setting(kernel, programs, jobs, limit_s, logs, trace, medium_trace=medium_trace)
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
    from airbound_lab import plot, two_phone_study, two_phone_study_plot

    if options.results is not None:
        found = results.load(options.results)
        if found.parameters.terminals != two_phone_study.TWO_PHONES.terminals:
            raise UsageError(f"results: {options.results} has {found.parameters.terminals} phones, not two")
    else:
        parameters = two_phone_study.TWO_PHONES
        if options.seeds is not None:
            with usage_errors(name=option):
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
    delays_ms = options.wired_delays if options.wired_delays is not None else (options.delay_ms,)
    chosen, controller_config = scenario.load(options.scenario), arguments.configuration(options.controller_config)
    with usage_errors(name=option):
        return Parameters(
            scenario=chosen,
            terminals=options.terminals,
            wired_delays_ms=delays_ms,
            seconds=options.seconds,
            warmup_seconds=options.warmup_seconds,
            modes=options.modes,
            seeds=options.seeds if options.seeds is not None else (options.seed,),
            rate_control=options.rate_control or RATE_CONTROL_OF[options.phones],
            ap_rate_control=options.ap_rate_control,
            qdisc=options.qdisc,
            queue_packets=options.queue,
            ap_qdisc=options.ap_qdisc,
            ap_queue_packets=options.ap_queue,
            driver_queue_frames=options.driver_queue,
            ap_driver_queue_frames=options.ap_driver_queue,
            orphan=options.orphan,
            retry_limit=options.retry_limit,
            cwnd_clamp_segs=options.cwnd_clamp,
            window_scale=options.window_scale,
            loss_percent=options.loss,
            distances_m=options.distances,
            interference_us=options.interference,
            power_save=options.power_save,
            hidden=options.hidden,
            phy=options.phy,
            streams=options.streams,
            guard_interval=options.guard_interval,
            rts_bytes=options.rts,
            ap=options.ap,
            wmm=options.wmm,
            ap_aifsn=options.ap_aifsn,
            ap_cw_min=options.ap_cwmin,
            ap_cw_max=options.ap_cwmax,
            ap_txop_limit=options.ap_txop,
            sta_aifsn=options.sta_aifsn,
            sta_cw_min=options.sta_cwmin,
            sta_cw_max=options.sta_cwmax,
            sta_txop_limit=options.sta_txop,
            bounds_interval_ms=options.bounds_interval_ms,
            controller_config=controller_config,
            tls=options.tls,
            agents=options.agents,
            switch=options.switch,
            ap_agent=not options.no_ap_agent,
            window_clamp=options.window_clamp,
            watch_senders_ms=options.watch_senders,
            kernel_line=options.kernel_line or KERNEL_LINE_OF[options.ap],
            aql=options.aql == "on",
            access_points=options.access_points,
            ap_channels=options.ap_channels,
            deaf_ms=options.deaf_ms,
        )


def _plot(options: argparse.Namespace) -> None:
    from airbound_lab import plot

    for path in plot.write_all(results.load(options.results), options.directory, options.format):
        print(path)


def _report(options: argparse.Namespace) -> None:
    from airbound_lab import report

    sets = [(path.stem, results.load(path)) for path in options.results]
    try:
        options.out.write_text(report.html(sets), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {options.out}: {error.strerror}") from error
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
    plot = commands.add_parser("plot", help="draw a results file", allow_abbrev=False)
    plot.set_defaults(do=_plot)
    plot.add_argument("results", type=Path, metavar="RESULTS", help="what run --json wrote")
    plot.add_argument(
        "--directory", type=Path, default=Path(), metavar="DIR", help="where the pictures go (default: here)"
    )
    plot.add_argument("--format", choices=("svg", "png"), default="svg", help="default: svg")

    _add_studies(
        commands.add_parser(
            "study", help="repeat a published study, or check the controller's estimates", allow_abbrev=False
        )
    )

    report = commands.add_parser("report", help="one HTML page of several results files", allow_abbrev=False)
    report.set_defaults(do=_report)
    report.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="what run --json wrote")
    report.add_argument("--out", type=Path, default=Path("report.html"), metavar="FILE", help="default: %(default)s")

    compare.add(commands)
    medium.add(commands)
    load_certificates.add(commands)
    live.add(commands)
    commands.add_parser("load", help="load a controller with simulated agents", add_help=False)
    return parser


def _add_studies(parser: argparse.ArgumentParser) -> None:
    studies = parser.add_subparsers(required=True, metavar="STUDY")
    two = studies.add_parser("two-phones", help="two equal phones, 256 ms from their server", allow_abbrev=False)
    two.set_defaults(do=_study_two_phones)
    two.add_argument("--seeds", type=arguments.seeds, metavar="A..B", help="default: 1..10")
    two.add_argument("--results", type=Path, metavar="FILE", help="read what an earlier --json wrote, run nothing")
    two.add_argument("--directory", type=Path, metavar="DIR", help="draw two-phones.svg there")
    two.add_argument("--format", choices=("svg", "png"), default="svg", help="default: svg")
    _add_setting(two)
    paper_study.add(studies)
    capacity_study.add(studies)


def _add_run(commands: Any) -> None:
    defaults = Parameters()
    run = commands.add_parser(
        "run",
        help="boot the cell, measure it, print a table",
        description="Boot a cell once for each mode and seed, measure it, print a table.",
        epilog=RUN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run.set_defaults(do=_run)
    add = run.add_argument
    add("--scenario", default="uplink", help=f"{', '.join(scenario.BUILT_IN)}, or a .json file (default: uplink)")
    add("--terminals", type=int, default=defaults.terminals, metavar="N", help="phones (default: %(default)s)")
    add(
        "--delay-ms",
        type=float,
        default=defaults.wired_delays_ms[0],
        metavar="MS",
        help="round trip on the wire (default: 4)",
    )
    add("--wired-delays", type=arguments.reals, metavar="MS,MS,...", help="a server for each; phones take them in turn")
    add("--seconds", type=int, default=defaults.seconds, metavar="S", help="virtual seconds (default: %(default)s)")
    add("--warmup-seconds", type=int, default=defaults.warmup_seconds, metavar="S", help="not measured (default: 5)")
    add("--seed", type=int, default=1, metavar="N", help="same seed, same result (default: 1)")
    add(
        "--seeds",
        type=arguments.seeds,
        metavar="A..B",
        help="several seeds: 1..5 or 1,4,9; the table gives median and range",
    )
    add(
        "--modes",
        type=arguments.names,
        default=defaults.modes,
        metavar="M,M,...",
        help=f"see below (default: {','.join(defaults.modes)})",
    )
    add("--phones", choices=PHONES, default="today", help="of which time: by their rate control (default: %(default)s)")
    add("--rate-control", choices=RATE_CONTROLS, help="another one of the phones (today: minstrel, 2013: aarf)")
    add("--ap-rate-control", choices=RATE_CONTROLS, help="the access point's (default: as the phones')")
    add("--qdisc", choices=QDISCS, help="the phones' (default: pfifo, with bbr fq)")
    add(
        "--queue",
        type=int,
        default=defaults.queue_packets,
        metavar="N",
        help="packets in it, if it is not CAKE (default: 1000)",
    )
    add("--ap-qdisc", choices=QDISCS, default=defaults.ap_qdisc, help="the access point's (default: pfifo)")
    add("--ap-queue", type=int, default=defaults.ap_queue_packets, metavar="N", help="packets in it (default: 1000)")
    add(
        "--driver-queue",
        type=int,
        metavar="N",
        help="frames in a phone's radio (default: 64, of 11n and 11ac 256)",
    )
    add("--ap-driver-queue", type=int, metavar="N", help="in the access point's (default: as phones')")
    _add_radios(run)
    add(
        "--ap-aifsn", type=int, metavar="N", help="slots that the access point waits after a SIFS, best effort: 1 to 15"
    )
    add("--ap-cwmin", type=int, metavar="N", help="its smallest contention window, slots: 2^k - 1 (default: 15)")
    add("--ap-cwmax", type=int, metavar="N", help="its largest (default: 1023, with WMM 63)")
    add("--ap-txop", type=int, metavar="N", help="how long one access of its may last, units of 32 us; 0: one frame")
    add("--sta-aifsn", type=int, metavar="N", help="with --wmm, what it announces to its stations: slots, 2 to 15")
    add("--sta-cwmin", type=int, metavar="N", help="the same: 2^k - 1 slots (default: 15)")
    add("--sta-cwmax", type=int, metavar="N", help="the same (default: 1023)")
    add("--sta-txop", type=int, metavar="N", help="the same: units of 32 us (default: 0)")
    add(
        "--switch",
        choices=SWITCHES,
        default=defaults.switch,
        help="the access point's: ovs is an Open vSwitch, openflow one with `airbound openflow` in modes with agents,"
        " meters the same with its meters in use (default: a bridge)",
    )
    add("--no-ap-agent", action="store_true", help="the access point has no agent")
    add("--window-clamp", action="store_true", help="its agent limits the windows of phones without an agent")
    add("--agents", type=int, metavar="N", help="phones 1 to N have an agent, in modes with agents (default: all)")
    add("--orphan", action="store_true", help="the phones' driver detaches packets from their sockets at once")
    add("--retry-limit", type=int, default=0, metavar="N", help="attempts of a frame (default: the rate chain's)")
    add("--cwnd-clamp", type=int, metavar="N", help="largest cwnd of the phones' own TCP, segments; Android 2.3: 63")
    add(
        "--window-scale",
        type=int,
        default=defaults.window_scale,
        metavar="N",
        help="that TCP receivers name: windows are counted in units of 2^N bytes (default: %(default)s)",
    )
    _add_links(run)
    add(
        "--bounds-interval-ms",
        type=int,
        default=1000,
        metavar="MS",
        help="between readings of phones' rules (default: 1000)",
    )
    add(
        "--watch-senders",
        type=int,
        metavar="MS",
        help="ask the controller so often who sends and what the cell carries, and compare it with who did",
    )
    add(
        "--kernel-line",
        choices=KERNEL_LINES,
        help="the Linux of all hosts; 6.12 has mac80211's own transmit queues (default: 6.1, with --ap openwrt 6.12)",
    )
    add(
        "--aql",
        choices=("on", "off"),
        default="on",
        help="these queues share air time and limit what is pending in a driver, on 6.12 (default: %(default)s)",
    )
    add("--controller-config", type=Path, metavar="FILE", help="configuration file for the controller")
    add("--tls", action="store_true", help="mutual TLS, with agents that enrol at their start (default: plain text)")
    add("--trace", action="store_true", help="record each phone's history of cwnd and events, for plot (needs --json)")
    add(
        "--medium-trace",
        type=arguments.window,
        metavar="FROM_S,LENGTH_S",
        help="write each attempt on the medium in this part of the run to DIR/MODE-SEED/medium.csv (needs --logs DIR)",
    )
    _add_setting(run)


def _add_links(parser: argparse.ArgumentParser) -> None:
    """What is between the radios."""
    add = parser.add_argument
    add(
        "--distances",
        type=arguments.reals,
        metavar="M,M,...",
        help="metres between access point and phones, in turn (default: near enough for any rate)",
    )
    add(
        "--interference",
        type=arguments.whole_numbers,
        metavar="BURST_US,PAUSE_US",
        help="a source that is not 802.11 sends bursts and pauses of these mean lengths (default: none)",
    )
    add(
        "--hidden",
        type=arguments.pairs,
        metavar="PAIRS",
        help="phones that do not hear each other, such as 1-2,1-3 (default: all hear all)",
    )
    add("--loss", type=float, default=0.0, metavar="PERCENT", help="frames lost on every radio link (default: 0)")


def _add_radios(parser: argparse.ArgumentParser) -> None:
    """Add the options of access points and radios."""
    add, defaults = parser.add_argument, Parameters()
    add(
        "--phy",
        choices=PHYS,
        default=defaults.phy,
        help="the radios: 802.11g or n at 2.4 GHz, n or ac at 5 GHz, with the channel's width in MHz (default: 11g)",
    )
    add("--streams", type=int, metavar="N", help="spatial streams of a radio: 1 or 2 (default: 2, of 11n-20 1)")
    add(
        "--guard-interval",
        choices=GUARD_INTERVALS,
        default=defaults.guard_interval,
        help="the shortest that radios of 11n and 11ac use (default: %(default)s)",
    )
    add("--rts", type=int, metavar="BYTES", help="longer transmissions begin with RTS and CTS (default: none)")
    add(
        "--ap",
        choices=ACCESS_POINT_KINDS,
        default=defaults.ap,
        help="openwrt: with mac80211's queues (fq_codel for each station, air time fairness, AQL) and WMM (default:"
        " %(default)s, one queue)",
    )
    add("--power-save", action="store_true", help="phones sleep when idle, until a beacon says that something came")
    add("--wmm", action="store_true", help="an 802.11g access point announces WMM, as all others do")
    add(
        "--access-points",
        type=int,
        default=defaults.access_points,
        metavar="N",
        help="phones begin at them in turn (default: %(default)s)",
    )
    add("--ap-channels", choices=CHANNELS, default=defaults.ap_channels, help="of several (default: %(default)s)")
    add(
        "--deaf-ms",
        type=int,
        default=defaults.deaf_ms,
        metavar="MS",
        help="for how long a phone that roams is at none, unless the scenario says it (default: 0)",
    )


def _add_setting(parser: argparse.ArgumentParser) -> None:
    """Add the options that have no influence on the figures."""
    add = parser.add_argument
    add("--json", type=Path, metavar="FILE", help="write the results here")
    add("--jobs", type=int, metavar="N", help="guests at a time (default: one per core)")
    add("--logs", type=Path, metavar="DIR", help="keep each run's logs and raw samples here")
    add("--kernel", metavar="FILE", help="a built lab kernel (default: what lab/kernel/build.sh builds)")
    add(
        "--wall-limit-seconds",
        type=float,
        metavar="S",
        help="end a guest that takes longer (default: 300 + 20 per second)",
    )


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise UsageError(f"{name}: {value} is not at least 1")
    return value
