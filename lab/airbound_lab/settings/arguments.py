# SPDX-License-Identifier: Apache-2.0
"""How the commands read what is written after an option."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from airbound_lab.errors import UsageError
from airbound_lab.settings.radio import PHYS
from airbound_lab.settings.values import PHONES, RATE_CONTROL_OF, RATE_CONTROLS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

WALL_LIMIT_BASE_S = 300
WALL_LIMIT_PER_SECOND_S = 20
"""A guest is taken to hang after this much wall-clock time, plus this much per virtual second."""


def command(
    commands: Any,
    name: str,
    do: Callable[[argparse.Namespace], None] | None,
    *,
    help: str,  # noqa: A002  # argparse's own name for it
    description: str | None = None,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command to a parser's; `do` carries it out, None: its own commands do."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter,
        allow_abbrev=False,
    )
    if do is not None:
        parser.set_defaults(do=do)
    return parser


def add_picture_format(parser: argparse.ArgumentParser) -> None:
    """Add the option of the format of pictures."""
    parser.add_argument("--format", choices=("svg", "png"), default="svg", help="default: svg")


def add_guests(parser: argparse.ArgumentParser) -> None:
    """Add the options of how guests are run."""
    add = parser.add_argument
    add(
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="guests at a time (default: one per core)",
    )
    add("--kernel", metavar="FILE", help="a built lab kernel (default: what lab/kernel/build.sh builds)")
    add(
        "--wall-limit-seconds",
        type=float,
        metavar="S",
        help=f"end a guest that takes longer (default: {WALL_LIMIT_BASE_S} + {WALL_LIMIT_PER_SECOND_S} per second)",
    )


def wall_limit_s(options: argparse.Namespace, seconds: int) -> float:
    """For how long a guest may run that has so many virtual seconds."""
    given: float | None = options.wall_limit_seconds
    return given or WALL_LIMIT_BASE_S + WALL_LIMIT_PER_SECOND_S * seconds


def reals(text: str) -> tuple[float, ...]:
    """Read 4,64,256."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers") from None


def window(text: str) -> tuple[float, float]:
    """Read FROM_S,LENGTH_S."""
    try:
        from_s, length_s = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not FROM_S,LENGTH_S, two numbers of seconds") from None
    return from_s, length_s


def names(text: str) -> tuple[str, ...]:
    """Read cubic,bdp."""
    return tuple(part.strip() for part in text.split(","))


def whole_numbers(text: str) -> tuple[int, ...]:
    """Read 1,3,10."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers") from None


def pairs(text: str) -> tuple[tuple[int, int], ...]:
    """Read 1-2,1-3."""
    try:
        found = tuple((int(first), int(second)) for first, second in (part.split("-") for part in text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of pairs such as 1-2,1-3") from None
    return found


def numbers(text: str) -> tuple[int, ...]:
    """Read 1..5 or 1,4,9."""
    try:
        if ".." in text:
            first, last = (int(part) for part in text.split(".."))
            found = tuple(range(first, last + 1))
        else:
            found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither A..B nor a list of whole numbers") from None
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is an empty range")
    return found


def _of(known: tuple[str, ...], text: str) -> tuple[str, ...]:
    for name in names(text):
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
    return names(text)


def rate_controls(text: str) -> tuple[str, ...]:
    """Read minstrel,aarf."""
    return _of(RATE_CONTROLS, text)


def phones(text: str) -> tuple[str, ...]:
    """Read today,2013; return their rate controls."""
    return tuple(RATE_CONTROL_OF[name] for name in _of(PHONES, text))


def phys(text: str) -> tuple[str, ...]:
    """Read 11g,11ac-80."""
    return _of(PHYS, text)


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def configuration(path: Path) -> str:
    """Return the text of --controller-config's file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"controller-config: cannot read {path}: {error.strerror}") from error
