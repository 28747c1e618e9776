# SPDX-License-Identifier: Apache-2.0
"""The command `check`. What needs gRPC is imported when it runs."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from airbound.operator.events_commands import FAILED, OK, Shell

if TYPE_CHECKING:
    from airbound.operator.client import Client
    from airbound.v1 import operations_pb2

MINUTES = 10.0
MINUTES_LEAST, MINUTES_MOST = 5.0, 60.0


def add(command: Callable[..., argparse.ArgumentParser], client: argparse.ArgumentParser, shell: Shell) -> None:
    """Add the command; `client` has the options of all that ask a controller."""
    options = command(
        "check", lambda arguments: shell.with_client(arguments, lambda found: _check(arguments, found, shell)),
        "find out what Airbound brings in one cell: observe and control in turn, with the traffic that there is",
        "", " roof", " roof --minutes 20", " 02:00:00:00:00:01 --json", parents=[client],
    )  # fmt: skip
    options.add_argument("cell", nargs="?", default="", metavar="CELL", help="as in `airbound stations`")
    options.add_argument(
        "--minutes", type=_minutes, default=MINUTES, metavar="N",
        help=f"default {MINUTES:g}; more of them make intervals smaller",
    )  # fmt: skip


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not MINUTES_LEAST <= minutes <= MINUTES_MOST:
        expected = f"expected minutes, {MINUTES_LEAST:g} to {MINUTES_MOST:g}"
        raise argparse.ArgumentTypeError(f"{text!r}: {expected}")
    return minutes


def _check(arguments: argparse.Namespace, client: "Client", shell: Shell) -> int:
    from airbound.core.check import course, figures
    from airbound.operator import names
    from airbound.operator.check import run, text

    bssid = names.bssid_of(client, arguments.cell)
    ends = next((choice.until for choice in client.configuration().choices if _is_for_a_time(choice, bssid)), "")
    if ends:
        return shell.fail(
            f"the mode of {bssid} is for a time, until {ends}, and a check would end that: check after it, or end it by"
            f" `airbound mode configured --cell {bssid}`",
            FAILED,
        )
    (cell,) = client.cells(bssid).cells
    clock = run.Clock(time.monotonic, time.sleep)
    count = course.turns_in(arguments.minutes)
    _say(f"{count} turns of {course.TURN_S} s; the mode of {bssid} is as before afterwards")
    found = figures.result(run.turns(client, bssid, arguments.minutes, clock, _say))
    if arguments.json:
        shell.output(text.as_json(found))
        return OK if found is not None else FAILED
    if found is None:
        return shell.fail(text.NO_RESULT, FAILED)
    shell.output(text.text(found, cell, client.controller().version))
    return OK


def _is_for_a_time(choice: "operations_pb2.OperatorChoice", bssid: str) -> bool:
    return choice.key == "mode" and choice.name == bssid and bool(choice.until)


def _say(line: str) -> None:
    """Write a line of progress to the error output."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
