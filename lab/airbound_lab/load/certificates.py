# SPDX-License-Identifier: Apache-2.0
"""`airbound-lab certificates`: keys and certificates for the agents of `airbound-lab load --tls-dir`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.settings import arguments

if TYPE_CHECKING:
    import argparse

AGENTS_MAX = 1_000_000


def add(commands: Any) -> None:
    """Add the command to a parser's."""
    parser = arguments.command(
        commands,
        "certificates",
        _make,
        help="make certificates for the agents of load --tls-dir",
        description="Make an authority, and certificates for an operator, access points and terminals. What is there"
        " and lasts for another day stays.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="where they go; for its owner only")
    parser.add_argument("--cells", type=int, default=50, metavar="N", help="access points (default: %(default)s)")
    parser.add_argument("--terminals", type=int, default=10, metavar="N", help="in each cell (default: %(default)s)")


def _make(options: argparse.Namespace) -> None:
    from airbound.pki.errors import PkiError  # noqa: PLC0415  # slow to import
    from airbound_testing.identities import Identities  # noqa: PLC0415  # the same

    terminals = options.cells * options.terminals
    if options.cells < 1 or not 1 <= terminals <= AGENTS_MAX:
        raise UsageError(f"certificates: cells and terminals: expected at least one, at most {AGENTS_MAX} in all")
    began_s = time.monotonic()
    try:
        made = Identities(options.directory).make(options.cells, terminals)
    except PkiError as error:
        raise UsageError(f"certificates: {error}") from error
    sys.stdout.write(f"{options.directory}: {made} certificates made in {time.monotonic() - began_s:.1f} s\n")
