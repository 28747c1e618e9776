# SPDX-License-Identifier: Apache-2.0
"""The command line. What a command needs is imported when it runs: a shell's completion should not load gRPC."""

import argparse
import dataclasses
import io
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from airbound import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airbound.config import Config
    from airbound.edges.client import Client

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
INTERRUPTED = 130  # as shells have it: 128 and the signal's number
DEFAULT_CONTROLLER = "127.0.0.1:50051"

EPILOG = """examples:
  airbound controller                          listen on 127.0.0.1:50051, policy bdp, no file needed
  airbound controller --policy paper --generation gb --mode observe
  airbound cells                               every cell: n, uplink rate, capacity
  airbound explain 02:00:00:00:01:00           the bounds of one phone and what each follows from
  airbound exempt 02:00:00:00:01:00            leave one phone alone; --off takes it back in
  airbound mode observe                        compute and show, apply nothing

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
        run: "Callable[[argparse.Namespace], int]",
        summary: str,
        *examples: str,
        parents: "Sequence[argparse.ArgumentParser]" = (),
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

    options = command(
        "controller", _controller, "run a controller", "", " --policy paper --mode observe", " --config airbound.toml"
    )
    options.add_argument("--config", type=Path, metavar="FILE", help="TOML; see `airbound check-config`")
    options.add_argument("--listen", metavar="ADDR:PORT", help=f"default {DEFAULT_CONTROLLER}")
    options.add_argument("--policy", choices=("paper", "bdp"), help="default bdp")
    options.add_argument("--generation", choices=("gb", "jb"), help="tables of the paper policy; default jb")
    options.add_argument("--mode", choices=("control", "observe"), help="default control; observe applies nothing")
    options.add_argument("--log", choices=("text", "json"), help="default text")

    options = command(
        "check-config", _check_config, "check a configuration file and print what would hold", " airbound.toml --json"
    )
    options.add_argument("file", type=Path, metavar="FILE")
    options.add_argument("--json", action="store_true", help="print the whole configuration as JSON")

    client = argparse.ArgumentParser(add_help=False)
    client.add_argument("--controller", metavar="ADDR:PORT", default=DEFAULT_CONTROLLER, help="default %(default)s")
    client.add_argument("--timeout", type=_seconds, default=5.0, metavar="S", help="seconds to wait; default 5")
    client.add_argument("--json", action="store_true", help="print JSON, in the wire's field names")

    command("cells", _cells, "list the cells", "", " --json", parents=[client])

    options = command(
        "terminals", _terminals, "list the terminals", "", " --cell 02:00:00:00:00:01 --json", parents=[client]
    )
    options.add_argument("--cell", default="", metavar="BSSID", help="only those of this cell")

    options = command(
        "explain",
        _explain,
        "tell which bounds a terminal has, and why",
        " 02:00:00:00:01:00",
        " 02:00:00:00:01:00 --json",
        parents=[client],
    )
    options.add_argument("mac", metavar="MAC")

    options = command("mode", _mode, "show or set the mode", "", " observe", " control", parents=[client])
    options.add_argument("mode", nargs="?", choices=("observe", "control"))

    options = command(
        "exempt",
        _exempt,
        "take a terminal out of control, or back in",
        " 02:00:00:00:01:00",
        " 02:00:00:00:01:00 --off",
        parents=[client],
    )
    options.add_argument("mac", metavar="MAC")
    options.add_argument("--off", action="store_true", help="back under control")
    return root


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run a command; its exit code."""
    arguments = parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a network's name need not fit a terminal's character set
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has had enough, which is no failure; Python must not complain about it at exit.
        sys.stdout = None
        return OK
    except OSError as error:
        sys.stdout = None
        _complain(f"cannot print: {error}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 3600:  # noqa: PLR2004  # an hour is more than anybody waits; refuses nan as well
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, above 0, at most 3600")
    return value


def _complain(text: str) -> None:
    print(f"airbound: {text}", file=sys.stderr)


def _controller(arguments: argparse.Namespace) -> int:
    from airbound.config import ConfigError

    try:
        config = _configured(arguments)
    except ConfigError as error:
        _complain(str(error))
        return USAGE
    import asyncio

    from airbound import main as controller
    from airbound.edges import log
    from airbound.edges.server import ListenError

    log.set_up(config.log)
    try:
        read_again = None if arguments.config is None else lambda: _configured(arguments)
        asyncio.run(controller.run(config, read_again))
    except ListenError as error:
        _complain(str(error))
        return FAILED
    return OK


def _configured(arguments: argparse.Namespace) -> "Config":
    """The file's configuration, or the default one, with what the command line says on top."""
    from airbound.config import Config, checked_endpoint, load

    config = Config() if arguments.config is None else load(arguments.config)
    parameters = config.parameters
    if arguments.policy:
        parameters = dataclasses.replace(parameters, policy=arguments.policy)
    if arguments.mode:
        parameters = dataclasses.replace(parameters, mode=arguments.mode)
    if arguments.generation:
        paper = dataclasses.replace(parameters.paper, generation=arguments.generation)
        parameters = dataclasses.replace(parameters, paper=paper)
    config = dataclasses.replace(config, parameters=parameters)
    if arguments.listen:
        config = dataclasses.replace(config, listen=checked_endpoint(arguments.listen, "--listen"))
    if arguments.log:
        config = dataclasses.replace(config, log=arguments.log)
    return config


def _check_config(arguments: argparse.Namespace) -> int:
    from airbound.config import ConfigError, load

    try:
        config = load(arguments.file)
    except ConfigError as error:
        _complain(str(error))
        return USAGE
    if arguments.json:
        import json

        print(json.dumps(dataclasses.asdict(config), indent=2))
    else:
        parameters = config.parameters
        print(f"{arguments.file}: valid; {config.listen}, mode {parameters.mode}, policy {parameters.policy}")
    return OK


def _ask(arguments: argparse.Namespace, question: "Callable[[Client], str]") -> int:
    """Print what a controller answers."""
    from airbound.config import ConfigError, checked_endpoint
    from airbound.edges.client import Client, RefusedError, UnreachableError

    try:
        endpoint = checked_endpoint(arguments.controller, "--controller")
        with Client(endpoint, arguments.timeout) as client:
            print(question(client))
    except ConfigError as error:
        _complain(str(error))
        return USAGE
    except RefusedError as error:
        _complain(str(error))
        return FAILED
    except UnreachableError as error:
        _complain(str(error))
        return UNREACHABLE
    return OK


def _cells(arguments: argparse.Namespace) -> int:
    from airbound.edges import display

    return _ask(arguments, lambda client: display.show(client.cells(), display.cells, as_json=arguments.json))


def _terminals(arguments: argparse.Namespace) -> int:
    from airbound.edges import display

    nobody = f"No terminal is in cell {arguments.cell}." if arguments.cell else "No terminal has connected."
    return _ask(
        arguments,
        lambda client: display.show(
            client.terminals(arguments.cell), lambda answer: display.terminals(answer, nobody), as_json=arguments.json
        ),
    )


def _explain(arguments: argparse.Namespace) -> int:
    from airbound.edges import display

    return _ask(
        arguments,
        lambda client: display.show(client.explain(arguments.mac), display.explanation, as_json=arguments.json),
    )


def _mode(arguments: argparse.Namespace) -> int:
    from airbound.edges import display

    if arguments.mode is None:
        return _ask(arguments, lambda client: display.show(client.cells(), display.mode, as_json=arguments.json))
    return _ask(
        arguments,
        lambda client: display.show(client.set_mode(arguments.mode), display.mode_set, as_json=arguments.json),
    )


def _exempt(arguments: argparse.Namespace) -> int:
    from airbound.edges import display

    return _ask(
        arguments,
        lambda client: display.show(
            client.exempt(arguments.mac, exempt=not arguments.off), display.exempted, as_json=arguments.json
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
