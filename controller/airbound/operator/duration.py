# SPDX-License-Identifier: Apache-2.0
"""Durations as people write them."""

import re

_UNITS_MS = {"ms": 1, "s": 1000, "": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|)"
MOST_MS = 1000 * _UNITS_MS["d"]


def milliseconds(text: str) -> int:
    """`90`, `90s`, `10m`, `1h30m`, `2d`; a number alone is seconds.

    Raises:
        ValueError: it is something else, nothing, or more than 1000 days.
    """
    if not re.fullmatch(f"({_PART})+", text, re.ASCII):
        raise ValueError(f"{text!r}: expected a duration, such as 30s, 10m, 1h30m or 2d")
    total_ms = round(sum(float(number) * _UNITS_MS[unit] for number, unit in re.findall(_PART, text, re.ASCII)))
    if not 0 < total_ms <= MOST_MS:
        raise ValueError(f"{text!r}: expected more than 0, at most 1000 days")
    return total_ms


def text(seconds: float) -> str:
    """In the largest unit of which there are at least two: 90 s, 2 min, 36 h, 3 d."""
    whole = max(0, round(seconds))
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if whole >= 2 * length_s:
            return f"{whole // length_s} {unit}"
    return f"{whole} s"
