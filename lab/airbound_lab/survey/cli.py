# SPDX-License-Identifier: Apache-2.0
"""The command `airbound-lab survey`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.settings import arguments
from airbound_lab.survey import ride

if TYPE_CHECKING:
    import argparse

EPILOG = """pictures:
  survey-up      delays up, by TCP and by UDP, by the phone's time (the paper's figures 2 and 3)
  survey-phone   the same and UDP down (figure 4)
  survey-server  TCP up and UDP down by the server's time (figure 5)

examples:
  airbound-lab survey ride.csv --pictures out/survey
  airbound-lab survey ride.csv --pictures out/survey --span 3600,120

exit codes: 0 done; 2 wrong usage, or the file is no table of `airbound-handover survey`"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = arguments.command(
        commands,
        "survey",
        execute_command,
        help="draw what airbound-handover survey has measured",
        description="Draw the table of `airbound-handover survey` as the paper's figures 2 to 5.",
        epilog=EPILOG,
    )
    parser.add_argument("table", type=Path, metavar="CSV", help="what airbound-handover survey --csv wrote")
    parser.add_argument("--pictures", type=Path, default=Path(), metavar="DIR", help="where they go (default: here)")
    parser.add_argument(
        "--span", type=arguments.window, metavar="FROM_S,LENGTH_S", help="draw this part, s since the beginning"
    )
    arguments.add_picture_format(parser)


def execute_command(options: argparse.Namespace) -> None:
    """Draw.

    Raises:
        UsageError: the file is no table.
    """
    try:
        text = options.table.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {options.table}: {error}") from error
    found = ride.read(text.splitlines(), str(options.table))
    from airbound_lab.report import plot
    from airbound_lab.survey import plot as pictures

    span = options.span and (options.span[0], options.span[0] + options.span[1])
    for path in plot.save_all(pictures.all_of(found, span), options.pictures, options.format):
        print(path)
