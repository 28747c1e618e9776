# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab live`."""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import threading
from pathlib import Path
from typing import IO, Any

from airbound_lab import host
from airbound_lab.errors import UsageError
from airbound_lab.live.check import check
from airbound_lab.live.plan import Programs
from airbound_lab.live.service import Service
from airbound_lab.live.settings import NAME_BYTES_MAX, Settings
from airbound_lab.parameters import DEFAULT_KERNEL_LINE, KERNEL_LINES, RATE_CONTROLS
from airbound_lab.validation import usage_errors

OPTIONS = {"without_agent": "--without-agent", "delay_ms": "--delay-ms"}

EPILOG = """\
The cell is the lab's, in virtual time that keeps to real time. Its access point and its phones have agents which enrol
at a controller outside, by tokens, and connect to it as any other device does. The phones upload a file, a burst of
photos, live video, leave and come back, without end; what they do follows from --seed. The controller needs
[identity] match_addresses = false: all connections come to it from this machine's address.

A device's token is a file of its name in the directory of --tokens: live-ap, live-phone1, live-phone2, ... Certificates
are kept in the directory of --state, with logs and status.json; tokens are not needed any more then.

examples:
  airbound enroll access-point live-ap >tokens/live-ap
  airbound enroll terminal live-phone1 >tokens/live-phone1
  airbound-lab live --controller controller.example:50051 --tokens tokens --terminals 1
  airbound-lab live --check

exit codes: 0 stopped, or --check: the cell runs; 1 failed, or --check: it does not; 2 wrong usage"""


def add(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "live",
        help="a cell in real time, for a controller outside of it",
        description="Run a cell in real time, whose agents are a real controller's, until SIGTERM or SIGINT.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(do=execute_command)
    option = parser.add_argument
    option("--controller", metavar="HOST:PORT", help="where the controller serves agents")
    option("--enroll", metavar="HOST:PORT", help="where it enrols devices (default: port 50053 of the same host)")
    option("--tokens", type=Path, metavar="DIR", help="a file with a token for each device that has no certificate")
    option(
        "--state",
        type=Path,
        default=Path("out/live"),
        metavar="DIR",
        help="certificates, logs, status.json; private (default: %(default)s)",
    )
    option("--name", default="live", metavar="NAME", help=f"devices are NAME-ap, NAME-phone1 (<= {NAME_BYTES_MAX})")
    option("--terminals", type=int, default=4, metavar="N", help="phones with an agent (default: 4)")
    option("--without-agent", type=int, default=1, metavar="N", help="phones without (default: 1)")
    option("--radio", choices=RATE_CONTROLS, default="minstrel", help="all radios' rate control (default: minstrel)")
    option("--delay-ms", type=float, default=20.0, metavar="MS", help="round trip to their server (default: 20)")
    option("--seed", type=int, default=1, metavar="N", help="of what the phones do (default: 1)")
    option("--plain-text", action="store_true", help="without TLS and certificates; for tests")
    option("--kernel-line", choices=KERNEL_LINES, default=DEFAULT_KERNEL_LINE, help="as of run (default: %(default)s)")
    option("--kernel", metavar="FILE", help="the lab's kernel (default: as run)")
    option("--check", action="store_true", help="only show the status of a cell that runs with this --state")


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
    if options.controller is None:
        raise UsageError("--controller: needed")
    settings = _settings(options)
    if settings.plain_text and options.tokens is not None:
        raise UsageError("--plain-text excludes --tokens")
    tokens = options.tokens.resolve() if options.tokens is not None else None
    if tokens is not None and not tokens.is_dir():
        raise UsageError(f"--tokens: there is no directory {tokens}")
    host.check_tools()
    programs = _programs()
    kernel = host.kernel(options.kernel, settings.kernel_line)
    host.check_line(kernel, settings.kernel_line)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    os.umask(0o077)
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w", encoding="ascii") as lock:
        _lock(lock, directory)
        Service(settings, kernel, programs, directory).run(stop, tokens)


def _settings(options: argparse.Namespace) -> Settings:
    with usage_errors(name=lambda field: OPTIONS.get(field, f"--{field.replace('_', '-')}")):
        return Settings(
            controller=options.controller,
            enroll=options.enroll,
            plain_text=options.plain_text,
            name=options.name,
            terminals=options.terminals,
            without_agent=options.without_agent,
            radio=options.radio,
            delay_ms=options.delay_ms,
            seed=options.seed,
            kernel_line=options.kernel_line,
        )


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
