# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab live`."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.live.check import check
from airbound_lab.live.plan import Programs
from airbound_lab.live.service import Service
from airbound_lab.live.settings import Settings
from airbound_lab.run import host
from airbound_lab.settings import arguments, option
from airbound_lab.settings.validation import usage_errors

if TYPE_CHECKING:
    import argparse

EPILOG = """\
The cell is the lab's, in virtual time that keeps to real time. Its access point and its phones have agents which enrol
at a controller outside, by tokens, and connect to it as any other device does. The phones upload a file, a burst of
photos, live video, fetch a file, leave and come back, without end; what they do follows from --seed. The controller
needs [identity] match_addresses = false: all connections come to it from this machine's address.

A device's token is a file of its name in the directory of --tokens: live-ap, live-phone1, live-phone2, ... Certificates
are kept in the directory of --state, with logs and status.json; tokens are not needed any more then.

examples:
  airbound enroll access-point live-ap >tokens/live-ap
  airbound enroll terminal live-phone1 >tokens/live-phone1
  airbound-lab live --controller controller.example:50051 --tokens tokens --terminals 1
  airbound-lab live --controller controller.example:50051 --tokens tokens --phy 11ac-80 --ap openwrt
  airbound-lab live --check

exit codes: 0 stopped, or --check: the cell runs; 1 failed, or --check: it does not; 2 wrong usage"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "live",
        execute_command,
        help="a cell in real time, for a controller outside of it",
        description="Run a cell in real time, whose agents are a real controller's, until SIGTERM or SIGINT.",
        epilog=EPILOG,
    )
    option.add(parser, Settings)
    add = parser.add_argument
    add("--tokens", type=Path, metavar="DIR", help="a file with a token for each device that has no certificate")
    add(
        "--state",
        type=Path,
        default=Path("out/live"),
        metavar="DIR",
        help="certificates, logs, status.json; private (default: %(default)s)",
    )
    add("--window-clamp", action="store_true", help="the default; as of run, so that the same words may be given")
    add("--kernel", metavar="FILE", help="the lab's kernel (default: as run)")
    add("--check", action="store_true", help="only show the status of a cell that runs with this --state")


def execute_command(options: argparse.Namespace) -> None:
    """Run the cell until a signal; with --check show the status of one that runs.

    Raises:
        UsageError: the request is wrong, or this machine lacks something.
        LabError: the cell does not run (--check), or did not end well.
    """
    directory = options.state.resolve()
    if options.check:
        check(directory)
        return
    settings = _settings(options)
    if settings.no_window_clamp and options.window_clamp:
        raise UsageError("--window-clamp excludes --no-window-clamp")
    if settings.plain_text and options.tokens is not None:
        raise UsageError("--plain-text excludes --tokens")
    tokens = options.tokens.resolve() if options.tokens is not None else None
    if tokens is not None and not tokens.is_dir():
        raise UsageError(f"--tokens: there is no directory {tokens}")
    host.check_tools()
    programs = _programs()
    kernel = host.kernel(options.kernel, settings.line)
    host.check_line(kernel, settings.line)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    os.umask(0o077)
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w", encoding="ascii") as lock:
        _lock(lock, directory)
        Service(settings, kernel, programs, directory).run(stop, tokens)


def _settings(options: argparse.Namespace) -> Settings:
    given = option.given(options, Settings)
    if "controller" not in given:
        raise UsageError("--controller: needed")
    with usage_errors(name=lambda field: option.declared(Settings)[field].flag):
        return Settings(**given)


def _programs(build: Path = host.REPOSITORY / "build") -> Programs:
    found = Programs(
        access_point_agent=str(build / "airbound-ap"),
        phone_agent=str(build / "airbound-phone"),
        link=str(build / "airbound-link"),
    )
    wanted = (found.access_point_agent, found.phone_agent, found.link)
    if missing := [name for name in wanted if not os.access(name, os.X_OK)]:
        raise UsageError(f"not built: {', '.join(missing)}; run: make build")
    return found


def _lock(lock: IO[str], directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"--state: a cell runs already with {directory}") from None
