# SPDX-License-Identifier: Apache-2.0
"""Tables in a terminal of limited width: long lists are cut, then columns are left out from the right, and the table
says which. What goes to a file or a pipe is complete.
"""

import shutil
import sys
import textwrap
from collections.abc import Sequence

from airbound.operator.printable import printable

SEPARATOR = "  "
UNCUT = 20  # characters: what is no longer, such as a BSSID, is never cut


def width_of_terminal() -> int:
    """How wide the terminal is that the output goes to; 0 if it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def lines(heads: Sequence[str], rows: Sequence[Sequence[str]], limit: int) -> list[str]:
    """A table at most `limit` (0: any number of) characters wide, the heads first; its values are made printable."""
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    while limit and _width(widths) > limit:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] > UNCUT:
            widths[widest] = max(UNCUT, widths[widest] - (_width(widths) - limit))
        elif len(widths) > 1:
            widths.pop()
        else:
            break
    left_out = ", ".join(heads[len(widths) :])
    text = f"(not shown, the terminal is too narrow: {left_out})"
    note = textwrap.wrap(text, max(limit, UNCUT)) if left_out else []
    return [*(_line(row, widths) for row in (heads, *rows)), *note]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(SEPARATOR) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    shown = zip(row[: len(widths)], widths, strict=True)
    return SEPARATOR.join(
        (text if len(text) <= width else f"{text[: width - 1]}…").ljust(width) for text, width in shown
    ).rstrip()
