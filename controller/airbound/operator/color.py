# SPDX-License-Identifier: Apache-2.0
"""Colours of a terminal: the sixteen that the terminal itself defines, so that they suit a light one and a dark one.
Nothing is said by colour alone.
"""

import os
from typing import Literal, TextIO

When = Literal["auto", "always", "never"]

BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN = "1", "2", "31", "32", "33", "34", "36"
BLACK_ON_WHITE = "30;107"


def is_wanted(when: When, stream: TextIO) -> bool:
    """Whether to colour what goes to a stream: `auto` for a terminal, unless NO_COLOR is set (https://no-color.org)."""
    if when == "auto":
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return when == "always"


def paint(text: str, style: str) -> str:
    """The text in a style; none if that is empty."""
    return f"\x1b[{style}m{text}\x1b[0m" if style and text else text
