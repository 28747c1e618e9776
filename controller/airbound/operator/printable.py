# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal. What a peer sent, or another operator wrote, may be anything: control sequences would change
what the terminal shows, or more.
"""

import re

from airbound.operator import color

_STYLES = (
    "0", color.BOLD, color.DIM, color.RED, color.GREEN, color.YELLOW, color.BLUE, color.CYAN, color.BLACK_ON_WHITE,
)  # fmt: skip
_OUR_OWN = re.compile(rf"(\x1b\[(?:{'|'.join(_STYLES)})m|[\n\t])")


def printable(text: str) -> str:
    """A value, of one line."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def output(text: str) -> str:
    """All that a command writes: its lines, tabs and styles stay."""
    if text.isprintable():
        return text
    return "".join(part if _OUR_OWN.fullmatch(part) else printable(part) for part in _OUR_OWN.split(text))
