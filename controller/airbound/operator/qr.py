# SPDX-License-Identifier: Apache-2.0
"""A QR code (ISO/IEC 18004) for a terminal: two rows of modules in a line, in half blocks."""

import segno

from airbound.operator import color

QUIET_MODULES = 4
"""The light margin that the standard asks for."""
_BLOCKS = {(0, 0): " ", (0, 1): "▄", (1, 0): "▀", (1, 1): "█"}  # dark above, dark below


def text(content: str, *, colours: bool) -> str:
    """The code, of the smallest version that can contain the content, with the least error correction (L), since a
    screen is not damaged as paper is. In colours it is black on white; without, blocks are the light modules, as a
    dark terminal needs it.
    """
    rows = [bytes(row) for row in segno.make(content, error="l", micro=False).matrix_iter(border=QUIET_MODULES)]
    if len(rows) % 2:
        rows.append(bytes(len(rows[0])))
    if not colours:
        rows = [bytes(1 - module for module in row) for row in rows]
    lines = (
        "".join(_BLOCKS[pair] for pair in zip(above, below, strict=True))
        for above, below in zip(rows[::2], rows[1::2], strict=True)
    )
    return "\n".join(color.paint(line, color.BLACK_ON_WHITE) if colours else line for line in lines)


def columns(code: str) -> int:
    """How wide it is."""
    return max(sum(char in _BLOCKS.values() for char in line) for line in code.splitlines())
