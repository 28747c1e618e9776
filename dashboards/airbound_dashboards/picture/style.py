# SPDX-License-Identifier: Apache-2.0
"""Colours and sizes of the pictures."""

from typing import Any

PAGE, PANEL, EDGE, INK, FAINT, GRID = "#eef0f3", "#ffffff", "#d5dbe1", "#1b2733", "#74808c", "#e6e9ed"
EVENT = "#3274d9"
SERIES = (
    "#3274d9", "#e0752d", "#3a9f5c", "#bf1b00", "#8f5bbd", "#0a8f96", "#c9a000", "#d64292", "#6b7a89", "#7a5230",
    "#5195ce", "#f29191", "#9ac48a", "#aea2e0", "#65c5db",
)  # fmt: skip
NAMED = {"green": "#2f9e55", "red": "#d44a3a", "#eab839": "#c98f00"}

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 7.5,
    "text.color": INK,
    "axes.edgecolor": EDGE,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.major.size": 2,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "figure.facecolor": PAGE,
    "axes.facecolor": "none",
    "timezone": "UTC",
}


def color_at(steps: list[dict[str, Any]], value: float) -> str:
    """The colour of the last threshold that a value reaches."""
    color = INK
    for step in steps:
        if step["value"] is None or value >= step["value"]:
            color = step["color"]
    return NAMED.get(color, color)
