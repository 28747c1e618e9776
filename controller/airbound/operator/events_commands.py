# SPDX-License-Identifier: Apache-2.0
"""The commands that show what happens: `events`, `watch` and `top`. What needs gRPC or Textual is imported when a
command runs.
"""

import argparse
import datetime
import difflib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, get_args

from airbound.core.reasons import Code
from airbound.operator import color, duration

if TYPE_CHECKING:
    from airbound.operator.client import Client

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3  # exit codes, as in cli.py
LISTED, FOLLOWED = 100, 10  # events, if no other limit is given
LIMIT_MAX = 1_000_000
KINDS = (
    "bounds", "senders", "connected", "disconnected", "refused", "edca", "windows", "flows", "failed", "mode", "exempt",
    "class", "reload", "unlimited", "limited", "unbounded", "bounded", "crowded", "uncrowded", "assumed", "reported",
    "moved", "disputed",
)  # fmt: skip
OTHER_KINDS = (
    "arrived", "cell", "certificate", "check", "connections", "controller", "disowned", "enrolled", "enrolling",
    "front", "listening", "log", "metrics", "not_exempt", "override", "plain-text", "renewed", "replica", "revoked",
    "rules", "stopping", "store", "switch", "switch_gone", "token",
)  # fmt: skip


class Shell(NamedTuple):
    """What the commands need of the command line."""

    with_client: "Callable[[argparse.Namespace, Callable[[Client], int]], int]"
    output: Callable[[str], None]
    fail: Callable[[object, int], int]


def add(
    command: Callable[..., argparse.ArgumentParser],
    connection: argparse.ArgumentParser,
    client: argparse.ArgumentParser,
    of_cell: argparse.ArgumentParser,
    shell: Shell,
) -> None:
    """Add the commands; `connection` has the options of all that ask a controller, `client` --json as well, and
    `of_cell` --cell.
    """
    colored = argparse.ArgumentParser(add_help=False)
    colored.add_argument(
        "--color",
        choices=get_args(color.When),
        default="auto",
        help="default auto: on a terminal, unless NO_COLOR is set",
    )

    options = command(
        "events", lambda arguments: shell.with_client(arguments, lambda found: _events(arguments, found, shell)),
        "show what happened, and why",
        "", " --follow", " --cell roof --since 10m", " --terminal 192.0.2.7 --kind bounds",
        " --level warning --limit 0", " --code active_senders --json", parents=[client, of_cell, colored],
    )  # fmt: skip
    options.add_argument("--terminal", default="", metavar="NAME", help="only those that concern this terminal")
    options.add_argument(
        "--kind", default=[], action="append", type=_kind, metavar="KIND",
        help=f"only of this kind: {', '.join(KINDS)}, ...; repeatable",
    )  # fmt: skip
    options.add_argument(
        "--code", default=[], action="append", type=_code, metavar="CODE", help="only with this reason; repeatable"
    )
    options.add_argument("--level", choices=("info", "warning"), default="info", help="only these and higher ones")
    options.add_argument(
        "--since", default=0, type=_since, metavar="DURATION", help="only those of the last 30s, 10m, 2h, ..."
    )
    options.add_argument("--follow", "-f", action="store_true", help="go on with each event as it happens")
    options.add_argument(
        "--limit", type=_limit, metavar="N",
        help=f"at most the newest N; 0 for all that are kept; default {LISTED}, with --follow {FOLLOWED} to begin with",
    )  # fmt: skip
    options.add_argument("--utc", action="store_true", help="times in UTC, as the log has them; default local time")

    options = command(
        "watch", lambda arguments: shell.with_client(arguments, lambda found: _watch(arguments, found, shell)),
        "go on with a line whenever a cell changes, and for each event",
        "", " --cell roof", " --json", parents=[client, of_cell, colored],
    )  # fmt: skip

    command(
        "top", lambda arguments: _top(arguments, shell),
        "show cells, stations, terminals and events as a live view; keys are shown",
        "", " --controller unix:/run/airbound.sock", " --color never", parents=[connection, colored],
    )  # fmt: skip


def _since(text: str) -> int:
    try:
        return duration.milliseconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _kind(text: str) -> str:
    """A kind of events, or what may be one of a newer controller."""
    known = (*KINDS, *OTHER_KINDS)
    near = difflib.get_close_matches(text.lower(), known, n=1)
    if text not in known and near:
        raise argparse.ArgumentTypeError(f"{text!r} is no kind of events; did you mean {near[0]}?")
    return text


def _code(text: str) -> int:
    name = text.upper().replace("-", "_")
    if name in Code.__members__ and Code[name]:
        return Code[name].value
    known = [code.name.lower() for code in Code if code]
    near = difflib.get_close_matches(text.lower(), known, n=1)
    raise argparse.ArgumentTypeError(f"{text!r} is no code; {f'did you mean {near[0]}?' if near else ', '.join(known)}")


def _limit(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= len(str(LIMIT_MAX)) and int(text) <= LIMIT_MAX:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: expected a number of events, at most {LIMIT_MAX}")


def _events(arguments: argparse.Namespace, client: "Client", shell: Shell) -> int:
    from airbound.operator import names
    from airbound.operator.event_output import Output
    from airbound.operator.events_client import EventsClient
    from airbound.v1 import events_pb2

    level = events_pb2.EVENT_LEVEL_WARNING if arguments.level == "warning" else events_pb2.EVENT_LEVEL_INFO
    cell = names.chosen_bssid(client, arguments.cell)
    selected = events_pb2.EventFilter(
        cell=cell, terminal=arguments.terminal, kinds=arguments.kind, codes=arguments.code, level=level,
        since_ms=arguments.since,
    )  # fmt: skip
    limit = arguments.limit
    if limit is None:
        limit = FOLLOWED if arguments.follow else LISTED
    output = Output(
        shell.output, as_json=arguments.json, color_when=arguments.color, zone=datetime.UTC if arguments.utc else None
    )
    events = EventsClient(client)
    if arguments.follow:
        for response in events.follow(events_pb2.FollowEventsRequest(filter=selected, limit=limit)):
            output.followed(response)
        return shell.fail("the controller has stopped", UNREACHABLE)
    for page in events.list(events_pb2.ListEventsRequest(filter=selected, limit=limit)):
        output.events(page.events)
    if not output.written and not arguments.json:
        shell.output("No such event is kept.")
    return OK


def _watch(arguments: argparse.Namespace, client: "Client", shell: Shell) -> int:
    from airbound.operator import names, watch
    from airbound.operator.event_output import Output

    output = Output(shell.output, as_json=arguments.json, color_when=arguments.color)
    watch.watch(client, names.chosen_bssid(client, arguments.cell), output)
    return shell.fail("the controller has stopped", UNREACHABLE)


def _top(arguments: argparse.Namespace, shell: Shell) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return shell.fail("top needs a terminal; `airbound watch` and `airbound cells` do not", USAGE)
    if arguments.color == "never":
        os.environ["NO_COLOR"] = "1"  # Textual reads it
    elif arguments.color == "always":
        os.environ.pop("NO_COLOR", None)
    try:
        from airbound.operator.top.app import Top
        from airbound.operator.top.feed import Feed
    except ImportError as error:
        return shell.fail(f"{error}: pip install 'airbound[cli]'", FAILED)

    def show(client: "Client") -> int:
        Top(Feed(client), arguments.controller).run()
        return OK

    return shell.with_client(arguments, show)
