# SPDX-License-Identifier: Apache-2.0
"""The command line. gRPC is imported by the commands that need it: it takes longer than all else together, and a
start is slow in the lab's guest.
"""

import argparse
import contextlib
import dataclasses
import datetime
import difflib
import io
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from airbound import __version__
from airbound.config import (
    DEFAULT_LISTEN,
    DEFAULT_OPERATORS,
    ConfigError,
    LogStyle,
    checked_endpoint,
)
from airbound.configuration.environment import FILE
from airbound.configuration.layers import Loaded, Option, load
from airbound.configuration.values import config_hash
from airbound.core.class_choices import CLASS_WORDS, OWN
from airbound.core.parameters import Mode, TableName
from airbound.core.policy_names import BUILT_IN
from airbound.metrics.options import DEFAULT_METRICS
from airbound.operator import check_commands, events_commands, openflow_commands, pki_commands
from airbound.operator.printable import output, printable

if TYPE_CHECKING:
    from airbound.operator.client import Client
    from airbound.operator.explanation import Explained
    from airbound.operator.tls_files import ClientIdentity
    from airbound.v1 import operations_pb2

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
INTERRUPTED = 130  # as shells have it: 128 and the signal's number
TIMEOUT_MAX_S = 3600
LASTS_MAX_MS = 86_400_000  # as the service has it
CONFIGURED = "configured"
UID_NONE = 2**32 - 1  # what kernels have for nobody
SHELLS = ("bash", "zsh")
PLAIN_TEXT_VARIABLE = "AIRBOUND_PLAIN_TEXT"
CONTROLLER_VARIABLE = "AIRBOUND_CONTROLLER"
CELL_NAMES = "the name of its access point, its SSID or its BSSID"
SERVICE_SOCKET = Path("/run/airbound/operators.sock")  # of controller/debian's service
SERVICE_CONFIG = Path("/etc/airbound/controller.toml")  # its package brings it
SERVICE_POLL_S = 0.1
_sleep = time.sleep

EPILOG = """examples:
  airbound ca init                             make an authority; then a certificate: airbound ca operator NAME
  airbound controller                          agents on 127.0.0.1:50051, operators on 127.0.0.1:50052
  airbound controller --policy paper --table gingerbread --mode observe
  airbound cells                               every cell: n, uplink rate, capacity
  airbound watch                               the same, and then a line for each change and each event
  airbound top                                 the same as a live view
  airbound events --since 10m                  what happened, and why; --follow goes on
  airbound check roof                          is it worth it here? observe and control in turn, ten minutes
  airbound explain 192.0.2.7                   the bounds of one phone, and what each follows from
  airbound explain 02:00:00:00:00:01           the EDCA parameters of a cell's access point, and why
  airbound exempt 192.0.2.7                    exempt one phone, or a cell by its BSSID; --off ends that
  airbound class phone-17 --uid 10073 live     what an application of one phone needs; own ends that
  airbound mode observe                        compute and show, apply nothing
  airbound config show                         what is in force, and where each value comes from
  airbound switches                            OpenFlow switches: what they count, which rules they have
  airbound counters                            what was refused, released, sent
  airbound enroll access-point roof            a token by which a device gets its certificate; also terminal, operator

exit codes: 0 done; 1 refused or not found; 2 wrong usage or configuration; 3 no controller answers
"""


GROUPS = {
    "see what happens": (
        "cells", "stations", "terminals", "top", "watch", "explain", "events", "check", "counters", "switches",
    ),
    "change it": ("mode", "exempt", "class"),
    "let devices and people in": ("enroll", "enrolled", "revoke", "move-cell", "login", "ca"),
    "run it": ("controller", "openflow", "check-config", "config", "replicas", "health", "completion"),
}  # fmt: skip
"""The commands, as `airbound --help` lists them."""


class _Suggested(tuple[str, ...]):
    """Words that a shell completes, where others are right as well."""

    __slots__ = ()

    def __contains__(self, _: object) -> bool:
        return True


class _Root(argparse.ArgumentParser):
    """Lists commands by what they are for, where argparse would list all in one."""

    def format_help(self) -> str:
        """The text of --help."""
        # argparse shows nobody its sub-commands.
        [commands] = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
        summaries = {action.dest: action for action in commands._get_subactions()}  # noqa: SLF001
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, names in GROUPS.items():
            formatter.start_section(title)
            formatter.add_arguments([summaries[name] for name in names])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action is not commands])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """As argparse does it; of a word that is no command, what it is like instead of all commands."""
        wrong = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if wrong is not None:
            known = [name for names in GROUPS.values() for name in names]
            near = difflib.get_close_matches(wrong[1], known, n=1)
            hint = f"did you mean {near[0]}?" if near else "airbound --help lists all"
            message = f"no command {wrong[1]!r}; {hint}"
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    root = _Root(
        prog="airbound",
        description="Keeps Wi-Fi cells fast: gives every phone's kernel a range for its TCP\ncongestion windows.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"airbound {__version__}")
    top = root.add_subparsers(metavar="COMMAND", required=True, parser_class=argparse.ArgumentParser)

    def command(
        name: str,
        run: Callable[[argparse.Namespace], int] | None,
        summary: str,
        *examples: str,
        parents: Sequence[argparse.ArgumentParser] = (),
        commands: "argparse._SubParsersAction[argparse.ArgumentParser]" = top,
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name.rpartition(" ")[2],
            parents=parents,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog="\n".join(["examples:", *(f"  airbound {name}{example}" for example in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    _add_controller(command)
    openflow_commands.add(command, _openflow, plain_text=_plain_text_wanted())
    connection = _connection()
    client = argparse.ArgumentParser(add_help=False, parents=[connection])
    client.add_argument("--json", action="store_true", help="print JSON, in the wire's field names")
    of_cell = argparse.ArgumentParser(add_help=False)
    of_cell.add_argument("--cell", default="", metavar="CELL", help=f"only this cell: {CELL_NAMES}")

    command("cells", _cells, "list the cells", "", " --json", parents=[client])
    options = command(
        "stations", _stations, "list a cell's stations", "", " roof", " 02:00:00:00:00:01", parents=[client]
    )
    options.add_argument("cell", nargs="?", default="", metavar="CELL", help=f"{CELL_NAMES}; default the only one")
    command("terminals", _terminals, "list the terminals", "", " --cell roof --json", parents=[client, of_cell])
    options = command(
        "explain", _explain, "show which bounds a terminal, limits a station or EDCA parameters a cell has, and why",
        " phone-17", " 192.0.2.7", " 02:00:00:00:01:00 --json", " roof", parents=[client],
    )  # fmt: skip
    options.add_argument(
        "name", metavar="NAME|MAC|IP|CELL",
        help="a name as `airbound terminals` shows it, a MAC or IP address as `airbound stations` does, or a cell:"
        f" {CELL_NAMES}",
    )  # fmt: skip
    command(
        "counters", _counters, "show what was counted since the controller started", "", " --json", parents=[client]
    )
    options = command("config", None, "show the configuration in force", " show")
    of_config = options.add_subparsers(metavar="COMMAND", required=True)
    command(
        "config show", _config_show, "show every value in force, and where it comes from", "", " --json",
        parents=[client], commands=of_config,
    )  # fmt: skip
    options = command(
        "mode", _mode, "show or set the mode of the controller or of a cell",
        "", " observe", " control", " observe --cell roof --for 10m", " configured --cell 02:00:00:00:00:01",
        parents=[client, of_cell],
    )  # fmt: skip
    options.add_argument(
        "mode", nargs="?", choices=(*get_args(Mode), CONFIGURED), help="configured: what the configuration says"
    )
    options.add_argument(
        "--for", dest="lasts", type=_lasts, default=("", 0), metavar="TIME",
        help="such as 10m, at most 1d: then what was chosen before is in force again, whatever happens to this command",
    )  # fmt: skip
    options = command(
        "exempt", _exempt, "exempt a terminal, a cell or a station from control, or end that",
        " 192.0.2.7", " 192.0.2.7 --off", " 02:00:00:00:00:01", parents=[client],
    )  # fmt: skip
    options.add_argument(
        "name", metavar="NAME|MAC|IP|CELL",
        help="of a terminal, connected or not; of a station; or a cell with its access point and all of its"
        f" terminals: {CELL_NAMES}",
    )  # fmt: skip
    options.add_argument("--off", action="store_true", help="back under control")
    options = command(
        "class", _class, "choose what a terminal's applications need, or one of them, in place of its own table",
        " phone-17 background", " phone-17 --uid 10073 live", " phone-17 --uid 10073 own", parents=[client],
    )  # fmt: skip
    options.add_argument("terminal", metavar="NAME|MAC", help="of a terminal, connected or not")
    options.add_argument(
        "word", metavar="CLASS", choices=(*CLASS_WORDS, OWN), help=f"{', '.join(CLASS_WORDS)}; own: what it has itself"
    )
    options.add_argument("--uid", type=_uid, metavar="N", help="only the application with this user id")
    options = command(
        "replicas", _replicas, "list the controller's replicas", "", " --cells", " --cells --json", parents=[client]
    )
    options.add_argument("--cells", action="store_true", help="every cell with its owner, epoch and lease")
    options = command(
        "switches", _switches, "list the access points' OpenFlow switches, or show a station's traffic by them",
        "", " --json", " --station 02:00:00:00:01:00", parents=[client],
    )  # fmt: skip
    options.add_argument("--station", default="", metavar="MAC", help="only what this station sends and receives")
    command(
        "health", _health, "report whether a controller serves, for supervisors: exit code 0 if it does", "",
        " --controller unix:/run/airbound.sock --timeout 1", parents=[client],
    )  # fmt: skip
    shell = events_commands.Shell(_with_client, _print, _fail)
    events_commands.add(command, connection, client, of_cell, shell)
    check_commands.add(command, client, shell)
    _add_completion(command)
    pki_commands.add(command, client, _Surroundings())
    return root


def _add_completion(command: Callable[..., argparse.ArgumentParser]) -> None:
    options = command(
        "completion", _completion, "print what makes a shell complete commands and options", " bash", " zsh"
    )
    options.add_argument("shell", choices=SHELLS)


def _add_controller(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The commands that run a controller, or read its configuration."""
    examples = ("", " --policy paper --mode observe", " --config airbound.toml", " --operators unix:/run/airbound.sock")
    options = command("controller", _controller, "run a controller", *examples)
    options.add_argument(
        "--config", type=Path, metavar="FILE", help=f"TOML; see `airbound check-config`; default ${FILE}, or none"
    )
    options.add_argument("--listen", metavar="ADDR:PORT", help=f"for agents; default {DEFAULT_LISTEN}")
    options.add_argument(
        "--operators", metavar="ADDR:PORT", help=f"for operators, may also be unix:/PATH; default {DEFAULT_OPERATORS}"
    )
    options.add_argument("--metrics", metavar="ADDR:PORT", help=f'for Prometheus; default {DEFAULT_METRICS}, "": none')
    options.add_argument(
        "--policy", metavar="NAME", choices=_Suggested(BUILT_IN),
        help=f"{', '.join(BUILT_IN)}, or MODULE:NAME of a policy of your own; default aggregate",
    )  # fmt: skip
    options.add_argument("--table", choices=get_args(TableName), help="of the paper policy; default jelly-bean")
    options.add_argument("--mode", choices=get_args(Mode), help="default control; observe applies nothing")
    options.add_argument("--log", choices=get_args(LogStyle), help="default text")
    options.add_argument("--plain-text", action="store_true", help="no TLS: for a lab that nobody else reaches")

    options = command(
        "check-config", _check_config, "check a configuration file, with AIRBOUND_* variables on top of it",
        " airbound.toml", " airbound.toml --json",
    )  # fmt: skip
    options.add_argument("file", type=Path, nargs="?", metavar="FILE", help=f"default ${FILE}, or none")
    options.add_argument("--json", action="store_true", help="print the whole configuration as JSON")


def _connection() -> argparse.ArgumentParser:
    """The options of every command that connects to a controller."""
    connection = argparse.ArgumentParser(add_help=False)
    connection.add_argument(
        "--controller", metavar="ADDR:PORT", default=_default_controller(),
        help="where the controller listens for operators, or unix:/PATH;"
        f" default ${CONTROLLER_VARIABLE}, the socket of this machine's service, or {DEFAULT_OPERATORS}",
    )  # fmt: skip
    connection.add_argument("--timeout", type=_seconds, default=5.0, metavar="S", help="seconds to wait; default 5")
    connection.add_argument(
        "--tls-dir", type=Path, metavar="DIR",
        help="with certificate.pem, key.pem, authorities.pem; default $AIRBOUND_TLS_DIR or ~/.config/airbound",
    )  # fmt: skip
    connection.add_argument(
        "--plain-text", action="store_true", default=_plain_text_wanted(),
        help=f"no TLS, as a controller with --plain-text has none; also by ${PLAIN_TEXT_VARIABLE}=1",
    )  # fmt: skip
    return connection


def _default_controller() -> str:
    """Where commands connect unless somebody says otherwise. Who may not enter the socket's folder does not see it."""
    chosen = os.environ.get(CONTROLLER_VARIABLE)
    if chosen:
        return chosen
    return f"unix:{SERVICE_SOCKET}" if os.access(SERVICE_SOCKET, os.W_OK) else DEFAULT_OPERATORS


def _plain_text_wanted() -> bool:
    return os.environ.get(PLAIN_TEXT_VARIABLE, "") not in {"", "0"}


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
        print(output(text), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = None
        raise _CannotPrintError(f"cannot print: {error}") from error


def _uid(text: str) -> int:
    if not text.isdecimal() or int(text) >= UID_NONE:
        raise argparse.ArgumentTypeError(f"{text!r} is not a user id, 0 to {UID_NONE - 1}")
    return int(text)


def _lasts(text: str) -> tuple[str, int]:
    """A duration as it was written, and in milliseconds."""
    from airbound.operator import duration

    try:
        lasts_ms = duration.milliseconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if lasts_ms > LASTS_MAX_MS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected at most 1d")
    return text, lasts_ms


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= TIMEOUT_MAX_S:  # refuses nan as well
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, above 0, at most {TIMEOUT_MAX_S}")
    return value


def _fail(text: object, code: int) -> int:
    for line in text.texts if isinstance(text, ConfigError) else (text,):
        print("\n".join(map(printable, f"airbound: {line}".split("\n"))), file=sys.stderr)
    return code


def _controller(arguments: argparse.Namespace) -> int:
    try:
        loaded = _loaded(arguments)
    except ConfigError as error:
        return _fail(error, USAGE)
    import asyncio

    from airbound import daemon, grpc_log
    from airbound.grpc import core_log
    from airbound.grpc.endpoints import ListenError
    from airbound.pki.errors import PkiError
    from airbound.runtime import log
    from airbound.store.types import StoreError

    limits = loaded.config.limits
    grpc_log.without_gone_peers()
    with core_log.captured() as core:
        opened = log.set_up(
            loaded.config.log,
            descriptor=core.stderr,
            lines_per_s=limits.log_lines_per_s,
        )
        try:
            failed = None if loaded.config.tls.plain_text else lambda: core.failures
            read_again = None if loaded.file is None else lambda: _loaded(arguments)
            asyncio.run(daemon.run(loaded, read_again, lambda: opened.dropped_total + core.dropped_total, failed))
        except PkiError as error:
            return _fail(error, USAGE)
        except (ListenError, StoreError) as error:
            return _fail(error, FAILED)
        finally:
            opened.close()
    return OK


def _loaded(arguments: argparse.Namespace) -> Loaded:
    """Command line over environment over file over defaults."""
    said = [
        ("--listen", ("listen",), arguments.listen),
        ("--operators", ("operators",), arguments.operators and [arguments.operators]),
        ("--policy", ("policy",), arguments.policy),
        ("--table", ("paper", "table"), arguments.table),
        ("--mode", ("mode",), arguments.mode),
        ("--metrics", ("metrics", "listen"), arguments.metrics),
        ("--log", ("log",), arguments.log),
        ("--plain-text", ("tls", "plain_text"), arguments.plain_text or None),
    ]
    return load(_file(arguments.config), os.environ, [Option(*option) for option in said if option[2] is not None])


def _file(chosen: Path | None) -> Path | None:
    """The configuration file: as the command line says, or the environment."""
    named = os.environ.get(FILE)
    return chosen or (Path(named) if named else None)


def _check_config(arguments: argparse.Namespace) -> int:
    try:
        loaded = load(_file(arguments.file), os.environ)
    except ConfigError as error:
        return _fail(error, USAGE)
    config = loaded.config
    if arguments.json:
        return _output(lambda: _print(json.dumps(dataclasses.asdict(config), indent=2)))
    what = f"agents on {config.listen}, mode {config.mode}, policy {config.parameters.policy}"
    return _output(lambda: _print(f"{loaded.file or 'no file'}: valid; {what}; SHA-256 {config_hash(config)}"))


def _completion(arguments: argparse.Namespace) -> int:
    try:
        from airbound.operator import completion
    except ImportError as error:
        return _fail(f"{error}: pip install 'airbound[cli]'", FAILED)
    return _output(lambda: _print(completion.script(parser(), arguments.shell)))


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
    from airbound.pki.errors import PkiError

    try:
        endpoint = checked_endpoint(_service(arguments) or arguments.controller, "--controller")
        with Client(endpoint, arguments.timeout, _identity(arguments, endpoint)) as client:
            try:
                return do(client)
            except KeyboardInterrupt:
                _end_interrupted()
    except (ConfigError, PkiError) as error:
        return _fail(error, USAGE)
    except (RefusedError, _CannotPrintError) as error:
        return _fail(error, FAILED)
    except UnreachableError as error:
        return _fail(error, UNREACHABLE)


def _service(arguments: argparse.Namespace) -> str:
    """The socket of this machine's service, for who has chosen nothing else and has no certificate. It is there some
    seconds after the service was started, as by its installation: so long a command waits.

    Raises:
        UnreachableError: the service does not run.
        PkiError: its socket is for others.
    """
    from airbound.operator.client import UnreachableError
    from airbound.operator.tls_files import TlsFiles, default_directory
    from airbound.pki.errors import PkiError

    # Path.exists raises an error where somebody may not enter the folder.
    if arguments.controller != DEFAULT_OPERATORS or arguments.plain_text or not os.access(SERVICE_CONFIG, os.F_OK):
        return ""
    if os.access(TlsFiles(arguments.tls_dir or default_directory()).certificate, os.F_OK):
        return ""
    until_s = time.monotonic() + arguments.timeout
    while not os.access(SERVICE_SOCKET, os.W_OK):
        folder = SERVICE_SOCKET.parent
        if os.access(folder, os.F_OK) and (os.access(SERVICE_SOCKET, os.F_OK) or not os.access(folder, os.X_OK)):
            raise PkiError(
                "this machine's controller serves root and the members of the group airbound: sudo airbound ...,"
                " or sudo adduser $USER airbound and log in again; others need a certificate"
                " (airbound login --token TOKEN, with what `airbound enroll operator NAME` prints)"
            )
        if time.monotonic() > until_s:
            raise UnreachableError(
                f"nobody listens at {SERVICE_SOCKET}: does this machine's controller run"
                " (systemctl status airbound-controller, journalctl -u airbound-controller)?"
            )
        _sleep(SERVICE_POLL_S)
    return f"unix:{SERVICE_SOCKET}"


def _end_interrupted() -> NoReturn:
    """End the process as a signal would. Closing a channel whose call was interrupted may wait for ever, for a lock
    that the interrupted code has taken.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def _identity(arguments: argparse.Namespace, endpoint: str) -> "ClientIdentity | None":
    """What to connect with; none in plain text, and on a Unix socket, where the file system decides who may."""
    if arguments.plain_text or endpoint.startswith("unix:"):
        return None
    from airbound.operator.tls_files import TlsFiles, default_directory

    now = datetime.datetime.now(datetime.UTC)
    identity = TlsFiles(arguments.tls_dir or default_directory()).load(now)
    if now.timestamp() >= identity.renew_from_s():
        days = (identity.certificate.not_after_s - now.timestamp()) / 86_400
        print(f"airbound: your certificate ends in {days:.1f} days: airbound login --renew", file=sys.stderr)
    return identity


class _Surroundings:
    """What the commands of other files print and connect with."""

    def output(self, text: str) -> int:
        """Print; the exit code."""
        return _output(lambda: _print(text))

    def fail(self, error: Exception) -> int:
        """Print an error; the exit code."""
        from airbound.operator.client import RefusedError, UnreachableError

        codes = {RefusedError: FAILED, UnreachableError: UNREACHABLE}
        return _fail(error, codes.get(type(error), USAGE))

    def with_client(self, arguments: argparse.Namespace, do: "Callable[[Client], int]") -> int:
        """Do something with a connection to the controller; the exit code."""
        return _with_client(arguments, do)


def _cells(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.cells(), "cells")


def _stations(arguments: argparse.Namespace) -> int:
    from airbound.operator import names

    return _ask(arguments, lambda client: client.stations(names.bssid_of(client, arguments.cell)), "stations")


def _terminals(arguments: argparse.Namespace) -> int:
    from airbound.operator import names

    return _ask(arguments, lambda client: client.terminals(names.chosen_bssid(client, arguments.cell)), "terminals")


def _explain(arguments: argparse.Namespace) -> int:
    from airbound.operator import display, explanation, names, switches
    from airbound.operator.client import NotFoundError
    from airbound.v1 import operations_pb2

    def answer(client: "Client") -> int:
        try:
            response = names.explain(client, arguments.name)
        except NotFoundError:
            # Not every station has an agent; its switch may know it.
            traffic = switches.traffic_of(client, arguments.name)
            if not traffic.stations:
                raise
            _print(display.as_json(traffic) if arguments.json else switches.station_traffic(traffic))
            return OK
        if arguments.json:
            _print(display.as_json(response))
            return OK
        lines = [explanation.explanation(response)]
        mac = ""
        if isinstance(response, operations_pb2.ExplainTerminalResponse):
            mac = response.terminal.mac
            instead = _limits_instead(client, response)
            lines += ["", instead] if instead else []
        elif isinstance(response, operations_pb2.ExplainStationResponse):
            mac = response.station.mac
        traffic = switches.traffic_of(client, mac)
        lines += ["", switches.station_traffic(traffic)] if traffic.stations else []
        lines += _advice(client, response)
        _print("\n".join(lines))
        return OK

    return _with_client(arguments, answer)


def _advice(client: "Client", answer: "Explained") -> list[str]:
    """Who takes the cell's air, and what to do next; nothing if there is nothing to say."""
    from airbound.operator import advice
    from airbound.operator.client import NotFoundError

    stations: Sequence[operations_pb2.StationView] = ()
    if answer.cell.bssid:
        with contextlib.suppress(NotFoundError):  # it has just been forgotten
            stations = client.stations(answer.cell.bssid).stations
    air = advice.air_text(stations)
    found = [*([air] if air else []), *advice.next_steps(answer, stations)]
    return ["", *found] if found else []


def _limits_instead(client: "Client", answer: "operations_pb2.ExplainTerminalResponse") -> str:
    """What its access point does with a terminal that it limits since the agent cannot; empty without such limits."""
    from airbound.operator import explanation
    from airbound.operator.client import NotFoundError

    if not answer.cell.HasField("windows"):
        return ""
    try:
        return explanation.limits_instead(client.explain_station(answer.terminal.mac))
    except NotFoundError:  # it has just left
        return ""


def _counters(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.controller(), "controller")


def _config_show(arguments: argparse.Namespace) -> int:
    return _ask(arguments, lambda client: client.configuration(), "configuration")


def _mode(arguments: argparse.Namespace) -> int:
    from airbound.operator import display, names, outcome

    if arguments.mode is not None:

        def set_mode(client: "Client") -> int:
            bssid = names.chosen_bssid(client, arguments.cell)
            before, (lasts, lasts_ms) = outcome.sent(client, bssid), arguments.lasts
            answer = client.set_mode(arguments.mode, bssid, for_ms=lasts_ms)
            did = outcome.difference(before, outcome.sent(client, bssid)) + outcome.unreported(client, bssid)
            text = outcome.mode_set(answer, arguments.mode, bssid, lasts, did)
            _print(display.as_json(answer) if arguments.json else text)
            return OK

        return _with_client(arguments, set_mode)
    if arguments.cell:
        return _ask(
            arguments, lambda client: client.explain_cell(names.chosen_bssid(client, arguments.cell)), "cell_mode"
        )
    return _ask(arguments, lambda client: client.controller(), "mode")


def _exempt(arguments: argparse.Namespace) -> int:
    from airbound.operator import display, names, outcome

    def choose(client: "Client") -> int:
        name, off = names.exempt_of(client, arguments.name, off=arguments.off), arguments.off
        before = outcome.sent(client)
        answer = client.exempt(name, exempt=not off)
        text = outcome.exempted(name, answer, outcome.difference(before, outcome.sent(client)), off=off)
        _print(display.as_json(answer) if arguments.json else text)
        return OK

    return _with_client(arguments, choose)


def _class(arguments: argparse.Namespace) -> int:
    from airbound.operator import names

    def choose(client: "Client") -> Any:
        terminal = names.terminal_of(client, arguments.terminal)
        return client.set_class(terminal, arguments.uid, arguments.word)

    return _ask(arguments, choose, "class_set")


def _replicas(arguments: argparse.Namespace) -> int:
    def answer(client: "Client") -> int:
        from airbound.operator import replicas

        _print(replicas.answer(client, arguments))
        return OK

    return _with_client(arguments, answer)


def _switches(arguments: argparse.Namespace) -> int:
    def answer(client: "Client") -> int:
        from airbound.operator import switches

        _print(switches.answer(client, arguments))
        return OK

    return _with_client(arguments, answer)


def _openflow(arguments: argparse.Namespace) -> int:
    return openflow_commands.run(arguments, _fail)


def _health(arguments: argparse.Namespace) -> int:
    return _ask(
        arguments, lambda client: client.health(), "health", lambda answer: bool(answer.status == answer.SERVING)
    )


if __name__ == "__main__":
    sys.exit(main())
