# SPDX-License-Identifier: Apache-2.0
"""How the commands read what is written after an option."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from airbound_lab.errors import UsageError
from airbound_lab.parameters import PHONES, RATE_CONTROL_OF, RATE_CONTROLS
from airbound_lab.radio import PHYS

if TYPE_CHECKING:
    from pathlib import Path


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


def seeds(text: str) -> tuple[int, ...]:
    """Read 1..5 or 1,4,9."""
    try:
        if ".." in text:
            first, last = (int(part) for part in text.split(".."))
            numbers = tuple(range(first, last + 1))
        else:
            numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither A..B nor a list of whole numbers") from None
    if not numbers:
        raise argparse.ArgumentTypeError(f"{text!r} is an empty range")
    return numbers


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


def configuration(path: Path | None) -> str | None:
    """Return the text of --controller-config's file; None without one.

    Raises:
        UsageError: it cannot be read.
    """
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"controller-config: cannot read {path}: {error.strerror}") from error
