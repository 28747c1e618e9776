# SPDX-License-Identifier: Apache-2.0
"""The table of all metrics in docs/metrics.md. Usage: python -m airbound.metrics.reference FILE, which writes it anew
between its two marks. A test compares the two.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from airbound.metrics import cell, classes, controller, decisions, station, switch, terminal
from airbound.metrics.family import Family
from airbound.metrics.table import Column

BEGIN, END = "<!-- metrics: begin -->\n", "<!-- metrics: end -->\n"


def table() -> str:
    """All metrics of ours, in the order in which they are served."""
    parts = [f"### {title}\n\n{_table(families)}" for title, families in _subjects()]
    return "\n" + "\n".join(parts) + "\n"


def _subjects() -> Iterator[tuple[str, tuple[Family, ...]]]:
    yield "Controller", controller.FAMILIES
    yield "Cells", (*_families(cell.COLUMNS), decisions.CELL)
    yield "Switches", switch.FAMILIES
    yield "Stations", _families(station.COLUMNS)
    yield "Terminals", (*_families(terminal.COLUMNS), decisions.TERMINAL, *_families(classes.COLUMNS))


def _families(columns: Sequence[Column]) -> tuple[Family, ...]:
    return tuple(dict.fromkeys(column.family for column in columns))


def _table(families: tuple[Family, ...]) -> str:
    rows = [
        f"| `{family.name}` | {family.kind} | {', '.join(family.labels)} | {family.help} |\n" for family in families
    ]
    return "".join(["| metric | type | labels | |\n", "|---|---|---|---|\n", *rows])


def replaced(text: str) -> str:
    """The page with the table of now.

    Raises:
        ValueError: it does not have both marks.
    """
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"no {BEGIN.strip()} ... {END.strip()}")
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(replaced(page.read_text(encoding="utf-8")), encoding="utf-8")
