# SPDX-License-Identifier: Apache-2.0
"""The command line. gRPC is imported by the commands that need it: it takes longer than all else together, and starting
is dear in the lab's guest.
"""

import argparse
import dataclasses
import io
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from airbound import __version__
from airbound.config import (
    DEFAULT_LISTEN,
    DEFAULT_OPERATORS,
    Config,
    ConfigError,
    LogStyle,
    checked_endpoint,
    load,
)
from airbound.core.parameters import Mode, PolicyName, TableName
from airbound.operator import events_commands

if TYPE_CHECKING:
    from airbound.operator.client import Client

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
INTERRUPTED = 130  # as shells have it: 128 and the signal's number
TIMEOUT_MAX_S = 3600

EPILOG = """examples:
  airbound controller                          agents on 127.0.0.1:50051, operators on 127.0.0.1:50052, policy bdp
  airbound controller --policy paper --table gingerbread --mode observe
  airbound cells                               every cell: n, uplink rate, capacity
  airbound watch                               the same, and then a line for each change and each event
  airbound top                                 the same as a live view
  airbound events --since 10m                  what happened, and why; --follow goes on
  airbound explain 192.0.2.7                   the bounds of one phone, and what each follows from
  airbound explain 02:00:00:00:00:01           the EDCA parameters of a cell's access point, and why
  airbound exempt 192.0.2.7                    exempt one phone, or a cell by its BSSID; --off ends that
  airbound mode observe                        compute and show, apply nothing
  airbound counters                            what was refused, released, sent

exit codes: 0 done; 1 refused or not found; 2 wrong usage or configuration; 3 no controller answers
"""


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    root = argparse.ArgumentParser(
        prog="airbound",
        description="Keeps Wi-Fi cells fast: gives every phone's kernel a range for its TCP congestion windows.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"airbound {__version__}")
    commands = root.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str,
        run: Callable[[argparse.Namespace], int],
        summary: str,
        *examples: str,
        parents: Sequence[argparse.ArgumentParser] = (),
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            parents=parents,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog="\n".join(["examples:", *(f"  airbound {name}{example}" for example in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    examples = ("", " --policy paper --mode observe", " --config airbound.toml", " --operators unix:/run/airbound.sock")
    options = command("controller", _controller, "run a controller", *examples)
    options.add_argument("--config", type=Path, metavar="FILE", help="TOML; see `airbound check-config`")
    options.add_argument("--listen", metavar="ADDR:PORT", help=f"for agents; default {DEFAULT_LISTEN}")
    options.add_argument(
        "--operators", metavar="ADDR:PORT", help=f"for operators, may also be unix:/PATH; default {DEFAULT_OPERATORS}"
    )
    options.add_argument("--policy", choices=get_args(PolicyName), help="default bdp")
    options.add_argument("--table", choices=get_args(TableName), help="of the paper policy; default jelly-bean")
    options.add_argument("--mode", choices=get_args(Mode), help="default control; observe applies nothing")
    options.add_argument("--log", choices=get_args(LogStyle), help="default text")

    options = command(
        "check-config", _check_config, "check a configuration file and print what it comes to", " airbound.toml --json"
    )
    options.add_argument("file", type=Path, metavar="FILE")
    options.add_argument("--json", action="store_true", help="print the whole configuration as JSON")

    connection = argparse.ArgumentParser(add_help=False)
    connection.add_argument(
        "--controller", metavar="ADDR:PORT", default=DEFAULT_OPERATORS,
        help="where the controller listens for operators, or unix:/PATH; default %(default)s",
    )  # fmt: skip
    connection.add_argument("--timeout", type=_seconds, default=5.0, metavar="S", help="seconds to wait; default 5")
    client = argparse.ArgumentParser(add_help=False, parents=[connection])
    client.add_argument("--json", action="store_true", help="print JSON, in the wire's field names")

    command("cells", _cells, "list the cells", "", " --json", parents=[client])
    options = command("stations", _stations, "list a cell's stations", " 02:00:00:00:00:01", parents=[client])
    options.add_argument("bssid", metavar="BSSID")
    options = command(
        "terminals", _terminals, "list the terminals", "", " --cell 02:00:00:00:00:01 --json", parents=[client]
    )
    options.add_argument("--cell", default="", metavar="BSSID", help="only those joined to this cell")
    options = command(
        "explain", _explain, "show which bounds a terminal or which EDCA parameters a cell has, and why",
        " 192.0.2.7", " 02:00:00:00:01:00 --json", " 02:00:00:00:00:01", parents=[client],
    )  # fmt: skip
    options.add_argument(
        "name", metavar="NAME|MAC|BSSID",
        help="a name or MAC address as `airbound terminals` shows it, or a cell as `airbound cells` does",
    )  # fmt: skip
    command(
        "counters", _counters, "show what was counted since the controller started", "", " --json", parents=[client]
    )
    options = command("mode", _mode, "show or set the mode", "", " observe", " control", parents=[client])
    options.add_argument("mode", nargs="?", choices=get_args(Mode))
    options = command(
        "exempt", _exempt, "exempt a terminal or a cell from control, or end that",
        " 192.0.2.7", " 192.0.2.7 --off", " 02:00:00:00:00:01", parents=[client],
    )  # fmt: skip
    options.add_argument(
        "name", metavar="NAME|BSSID",
        help="of a terminal, or of a cell with its access point and all of its terminals; connected or not",
    )  # fmt: skip
    options.add_argument("--off", action="store_true", help="back under control")
    command(
        "health", _health, "report whether a controller serves, for supervisors: exit code 0 if it does", "",
        " --controller unix:/run/airbound.sock --timeout 1", parents=[client],
    )  # fmt: skip
    events_commands.add(command, connection, client, events_commands.Shell(_with_client, _print, _fail))
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    arguments = parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a network's name need not fit a terminal's character set
    try:
        return run(arguments)
    except BrokenPipeError:
        # The reader of our output has had enough, which is no failure; Python must not complain about it at exit.
        sys.stdout = None
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED


class _CannotPrintError(Exception):
    """The output took no more."""


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = None
        raise _CannotPrintError(f"cannot print: {error}") from error


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= TIMEOUT_MAX_S:  # refuses nan as well
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, above 0, at most {TIMEOUT_MAX_S}")
    return value


def _fail(text: object, code: int) -> int:
    print(f"airbound: {text}", file=sys.stderr)
    return code


def _controller(arguments: argparse.Namespace) -> int:
    try:
        config = _configured(arguments)
    except ConfigError as error:
        return _fail(error, USAGE)
    import asyncio

    from airbound import daemon
    from airbound.grpc.server import ListenError
    from airbound.runtime import log

    limits = config.limits
    opened = log.set_up(config.log, lines_per_s=limits.log_lines_per_s, lines_waiting=limits.log_lines_waiting)
    try:
        read_again = None if arguments.config is None else lambda: _configured(arguments)
        asyncio.run(daemon.run(config, read_again, lambda: opened.dropped_total))
    except ListenError as error:
        return _fail(error, FAILED)
    finally:
        opened.close()
    return OK


def _configured(arguments: argparse.Namespace) -> Config:
    """The file's configuration, or the default one, with what the command line says on top."""
    config = Config() if arguments.config is None else load(arguments.config)
    parameters = config.parameters
    if arguments.policy:
        parameters = dataclasses.replace(parameters, policy=arguments.policy)
    if arguments.table:
        parameters = dataclasses.replace(parameters, paper=dataclasses.replace(parameters.paper, table=arguments.table))
    config = dataclasses.replace(config, parameters=parameters)
    if arguments.mode:
        config = dataclasses.replace(config, mode=arguments.mode)
    if arguments.listen:
        endpoint = checked_endpoint(arguments.listen, "--listen")
        if endpoint.startswith("unix:"):
            raise ConfigError(f"--listen = {endpoint!r}: agents come over the network: expected ADDRESS:PORT")
        config = dataclasses.replace(config, listen=endpoint)
    if arguments.operators:
        config = dataclasses.replace(config, operators=(checked_endpoint(arguments.operators, "--operators"),))
    if arguments.log:
        config = dataclasses.replace(config, log=arguments.log)
    return config


def _check_config(arguments: argparse.Namespace) -> int:
    try:
        config = load(arguments.file)
    except ConfigError as error:
        return _fail(error, USAGE)
    if arguments.json:
        return _output(lambda: _print(json.dumps(dataclasses.asdict(config), indent=2)))
    policy = config.parameters.policy
    return _output(
        lambda: _print(f"{arguments.file}: valid; agents on {config.listen}, mode {config.mode}, policy {policy}")
    )


def _output(write: Callable[[], None]) -> int:
    try:
        write()
    except _CannotPrintError as error:
        return _fail(error, FAILED)
    return OK


def _ask(
    arguments: argparse.Namespace,
    call: "Callable[[Client], Any]",
    render: str,
    succeeded: Callable[[Any], bool] = lambda _: True,
) -> int:
    """Print what a controller answers, by the function of that name in display."""
    from airbound.operator import display

    def answer(client: "Client") -> int:
        response = call(client)
        _print(display.as_json(response) if arguments.json else getattr(display, render)(response))
        return OK if succeeded(response) else FAILED

    return _with_client(arguments, answer)


def _with_client(arguments: argparse.Namespace, do: "Callable[[Client], int]") -> int:
    from airbound.operator.client import Client, RefusedError, UnreachableError

    try:
        endpoint = checked_endpoint(arguments.controller, "--controller")
        with Client(endpoint, arguments.timeout) as client:
            return do(client)
    except ConfigError as error:
        return _fail(error, USAGE)
    except (RefusedError, _CannotPrintError) as error:
        return _fail(error, FAILED)
    except UnreachableError as error:
        return _fail(error, UNREACHABLE)


def _cells(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.cells(), "cells")


def _stations(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.stations(arguments.bssid), "stations")


def _terminals(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.terminals(arguments.cell), "terminals")


def _explain(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.explain(arguments.name), "explanation")


def _counters(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.controller(), "controller")


def _mode(arguments: argparse.Namespace) -> int:
    if arguments.mode is None:
        return _ask(arguments, lambda client: client.controller(), "mode")
    return _ask(arguments, lambda client: client.set_mode(arguments.mode), "mode_set")


def _exempt(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.exempt(arguments.name, exempt=not arguments.off), "exempted")


def _health(arguments: argparse.Namespace) -> int:
    return _ask(
        arguments, lambda client: client.health(), "health", lambda answer: bool(answer.status == answer.SERVING)
    )


if __name__ == "__main__":
    sys.exit(main())
