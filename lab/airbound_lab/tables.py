# SPDX-License-Identifier: Apache-2.0
"""Results as rows of text; pure. The command line prints them, the report lays them out."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airbound_lab.results import Results, Run

COLUMNS: tuple[tuple[str, str, int, Callable[[Run], float | None]], ...] = (
    ("total", "Mb/s", 2, lambda run: run.total_goodput_mbps),
    ("Jain", "", 3, lambda run: run.jain),
    ("RTT mean", "ms", 0, lambda run: run.rtt_mean_ms),
    ("RTT p95", "ms", 0, lambda run: run.rtt_p95_ms),
    ("RTT ratio", "", 1, lambda run: run.rtt_ratio),
    ("retransmits", "", 0, lambda run: run.retransmits),
)
"""Heading, unit, decimals, and where the figure is."""


def cell(values: Sequence[float | None], decimals: int) -> str:
    """One figure over the seeds: itself if there is one, otherwise median and range."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    median = f"{statistics.median(known):.{decimals}f}"
    if len(known) == 1:
        return median
    return f"{median} [{min(known):.{decimals}f} .. {max(known):.{decimals}f}]"


def rows(results: Results) -> list[list[str]]:
    """Heading and one row per mode."""
    heading = ["mode", *(f"{name} {unit}".strip() for name, unit, _, _ in COLUMNS)]
    return [heading] + [
        [mode, *(cell([figure(run) for run in results.of_mode(mode)], decimals) for _, _, decimals, figure in COLUMNS)]
        for mode in results.modes()
    ]


def phone_rows(results: Results) -> list[list[str]]:
    """Heading and, per mode, the goodput of each phone."""
    phones = range(results.parameters.terminals)
    heading = ["Mb/s of phone", *(str(i + 1) for i in phones)]
    return [heading] + [
        [mode, *(cell([run.phones[i].goodput_mbps for run in results.of_mode(mode)], 2) for i in phones)]
        for mode in results.modes()
    ]


def text(table: list[list[str]]) -> str:
    """Lay out rows in columns, the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        first, *others = (
            entry.ljust(width) if i == 0 else entry.rjust(width)
            for i, (entry, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)
