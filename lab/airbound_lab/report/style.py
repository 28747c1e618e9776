# SPDX-License-Identifier: Apache-2.0
"""Colours and fonts of all pictures."""

from __future__ import annotations

from typing import Any

INK = "#1b2733"
FAINT = "#8a96a3"
GRID = "#d5dbe1"

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "airbound",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
