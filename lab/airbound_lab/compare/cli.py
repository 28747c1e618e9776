# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab compare`."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab import output
from airbound_lab.compare import batch, matrix, page, ranking, record, table
from airbound_lab.errors import UsageError
from airbound_lab.report import tables
from airbound_lab.settings import arguments, modes, parameters, scenario
from airbound_lab.settings.values import (
    ACCESS_POINT_KINDS,
    KERNEL_LINE_OF,
    KERNEL_LINES,
    REPORT_INTERVAL_MS,
    STATION_RATES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound_lab.compare.matrix import Matrix, Task
    from airbound_lab.compare.record import Figures

DEFAULT_SUBJECT = modes.AS_INSTALLED

EPILOG = f"""presets:
{chr(10).join(f"  {name:<15}{preset.help}" for name, preset in matrix.PRESETS.items())}

  Several may be named. Each is of phones of today (minstrel) and of 2013 (aarf), seeds 1, 2, 3, 30 s of which the first
  10 s do not count, unless it says otherwise; an option replaces that part of all of them.

modes:
  as of `airbound-lab run`
{parameters.MODES_HELP}

examples:
  airbound-lab compare --quick
  airbound-lab compare --preset grid,mixed --directory out/grid
  airbound-lab compare --delays 4,4+64+256 --terminals 3,9 --modes cubic,vegas@cake-ack-filter,bdp --subject bdp

Each run is stored in DIR/runs when it ends: what is interrupted or has failed is made at the next start, what is there
is not made again unless the kernel, a program or a parameter has changed. --stored reports on what is there, in the
middle of a long comparison too, and leaves out the conditions, modes and seeds of which there is nothing.

{ranking.NOISE_RULE}
{ranking.P95_IS_OF}

exit codes: 0 done; 1 a run failed; 2 wrong usage, or a tool is missing"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "compare",
        execute_command,
        help="many conditions, many modes, several seeds: who is best where",
        description="Compare modes under many conditions; make the runs that are not stored yet.",
        epilog=EPILOG,
    )
    option, of_run = parser.add_argument, "in modes with agents, as of run (default: %(default)s)"
    option("--preset", type=arguments.names, default=(), metavar="P,P,...", help="see below")
    option("--quick", action="store_true", help="the preset quick")
    option(
        "--scenario", type=arguments.names, metavar="S,S,...", help="names or .json files, as of run (default: uplink)"
    )
    option("--delays", type=_delays, metavar="D,D,...", help="ms on the wire; a mix is written 4+64+256 (default: 4)")
    option("--terminals", type=arguments.whole_numbers, metavar="N,N,...", help="phones (default: 10)")
    option("--agents", type=arguments.whole_numbers, metavar="N,N,...", help="of them with an agent (default: all)")
    option("--phones", type=arguments.phones, metavar="P,P", help="of which time (default: today,2013)")
    option(
        "--rate-control",
        type=arguments.rate_controls,
        metavar="R,R,...",
        help="the radios', in place of --phones (today: minstrel, 2013: aarf)",
    )
    option("--loss", type=arguments.reals, metavar="P,P,...", help="percent of the frames that are lost (default: 0)")
    option("--seeds", type=arguments.numbers, metavar="A..B", help="1..5 or 1,4,9 (default: 1..3)")
    option("--modes", type=arguments.names, metavar="M,M,...", help="what is compared, see below")
    option("--seconds", type=int, metavar="S", help="virtual seconds of each run (default: 30)")
    option("--warmup-seconds", type=int, metavar="S", help="of them not measured, at the beginning (default: 10)")
    option("--controller-config", type=Path, metavar="FILE", help="configuration file for the controller")
    option("--tls", action="store_true", help="mutual TLS in every mode with agents (in some only: MODE@tls)")
    option("--phy", type=arguments.phys, metavar="P,P,...", help="the radios, as of run (default: 11g)")
    option("--ap", choices=ACCESS_POINT_KINDS, help="as of run (default: plain, but of the presets gate and matrix)")
    option("--distances", type=arguments.reals, metavar="M,M,...", help="of the phones, as of run")
    option("--rts", type=int, metavar="BYTES", help="longer transmissions begin with RTS and CTS, as of run")
    option("--orphan", action="store_true", help="the phones' driver detaches packets from their sockets, as of run")
    option("--gro", action="store_true", help="servers merge segments that arrive together, as of run")
    option("--report-interval-ms", type=int, default=REPORT_INTERVAL_MS, metavar="MS", help=of_run)
    option("--controller-delay-ms", type=float, default=0.0, metavar="MS", help=of_run)
    option("--controller-loss", type=float, default=0.0, metavar="PERCENT", help=of_run)
    option("--station-rates", choices=STATION_RATES, default=STATION_RATES[0], help=of_run)
    option("--kernel-line", choices=KERNEL_LINES, help="as of run (default: 6.1, with --ap openwrt 6.12)")
    option("--subject", metavar="MODE", help="whose wins and losses are counted (default: airbound, if compared)")
    option("--json", type=Path, metavar="FILE", help="default: DIR/comparison.json")
    option("--csv", type=Path, metavar="FILE", help="default: DIR/comparison.csv")
    option("--html", type=Path, metavar="FILE", help="the page (default: DIR/comparison.html)")
    option("--stored", action="store_true", help="report on what is stored, and run nothing")
    batch.add_options(parser, Path("out/compare"))


def execute_command(options: argparse.Namespace) -> None:
    """Compare.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed; what the others say is written all the same.
    """
    chosen = _matrix(options)
    subject = _subject(options.subject, chosen)
    if options.stored and options.list:
        raise UsageError("--stored and --list: only one of them")
    made = (batch.stored if options.stored else batch.carry_out)(chosen.tasks(), record.FIGURES, options)
    if made is None:
        return
    if options.stored:
        chosen = matrix.without_missing(chosen, made.found)
        subject = next((variant.name for variant in chosen.variants if variant.name == subject), None)
    failed = [f"{task}: {why.splitlines()[0]}" for task, why in made.failures.items()]
    _write(options, chosen, made.found, subject, failed)
    made.check()


def _matrix(options: argparse.Namespace) -> Matrix:
    names = (*(("quick",) if options.quick else ()), *options.preset)
    for name in names:
        if name not in matrix.PRESETS:
            raise UsageError(f"--preset: {name!r} is none of {', '.join(matrix.PRESETS)}")
    presets = [matrix.PRESETS[name] for name in names] or [matrix.Preset((matrix.Axes(),), "")]
    given: dict[str, Any] = {
        "scenarios": options.scenario and tuple(scenario.load(name) for name in options.scenario),
        "wired_delays_ms": options.delays,
        "terminals": options.terminals,
        "agents": options.agents,
        "phys": options.phy,
        "rate_controls": options.phones if options.rate_control is None else options.rate_control,
        "loss_percents": options.loss,
        "seconds": options.seconds,
        "warmup_seconds": options.warmup_seconds,
    }
    changes = {axis: value for axis, value in given.items() if value is not None}
    config = None if options.controller_config is None else arguments.configuration(options.controller_config)
    conditions = [
        replace(
            condition,
            controller_config=config,
            tls=options.tls,
            kernel_line=options.kernel_line or KERNEL_LINE_OF[options.ap or preset.ap],
            ap=options.ap or preset.ap,
            distances_m=options.distances,
            rts_bytes=options.rts,
            orphan=options.orphan,
            gro=options.gro,
            report_interval_ms=options.report_interval_ms,
            controller_delay_ms=options.controller_delay_ms,
            controller_loss_percent=options.controller_loss,
            station_rates=options.station_rates,
        )
        for preset in presets
        for axes in preset.axes
        for condition in replace(axes, **changes).conditions()
    ]
    variants = dict.fromkeys(name for preset in presets for name in preset.variants)
    all_seeds = dict.fromkeys(seed for preset in presets for seed in preset.seeds)
    return matrix.build(conditions, options.modes or tuple(variants), options.seeds or tuple(all_seeds))


def _subject(given: str | None, chosen: Matrix) -> str | None:
    names = [variant.name for variant in chosen.variants]
    if given is None:
        return DEFAULT_SUBJECT if DEFAULT_SUBJECT in names else None
    if given not in names:
        raise UsageError(f"--subject: {given!r} is none of the modes that are compared: {', '.join(names)}")
    return given


def _write(
    options: argparse.Namespace,
    chosen: Matrix,
    found: Mapping[Task, Figures],
    subject: str | None,
    failed: list[str],
) -> None:
    names = [variant.name for variant in chosen.variants]
    rows = ranking.rows(chosen, found)
    for lines in (table.rows(rows, names), table.bests(rows, names)):
        print(tables.text(lines))
        print()
    if subject is not None:
        judgements = [ranking.judge(row, subject) for row in rows]
        print(tables.text(table.verdicts(rows, names, subject)))
        print(f"\n{ranking.CRITERION}\n{table.verdict_on(judgements, subject)}")
        for line in table.failures(judgements):
            print(f"  {line}")
        print()
    print(f"{ranking.NOISE_RULE}\n{ranking.P95_IS_OF}")
    texts = {
        options.json or options.directory / "comparison.json": json.dumps(
            table.document(chosen, rows, subject), indent=1, allow_nan=False
        )
        + "\n",
        options.csv or options.directory / "comparison.csv": table.csv_text(rows, names),
        options.html or options.directory / "comparison.html": page.html(chosen, rows, subject, failed),
    }
    for path, text in texts.items():
        output.write(path, text)
        print(path)


def _delays(text: str) -> tuple[tuple[float, ...], ...]:
    try:
        return tuple(matrix.delays(part) for part in arguments.names(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
