# SPDX-License-Identifier: Apache-2.0
"""Draws the study of HTTP in a cell: transactions a second by the number of uploads beside them."""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from airbound_lab.report.style import STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.http_study.table import Found

COLOURS = ("#5b6b7b", "#c0722b", "#0b5f8a", "#14866d", "#8d6bb8", "#b0903a")
"""By the order of the modes."""


def all_of(every: Sequence[Found]) -> dict[str, Figure]:
    """Return a picture for each cell and delay, by its name."""
    places = dict.fromkeys((found.condition.cell, found.condition.delay_ms) for found in every)
    return {
        f"http-{cell}-{delay_ms:g}ms": rates(
            f"{cell}, {delay_ms:g} ms",
            [found for found in every if (found.condition.cell, found.condition.delay_ms) == (cell, delay_ms)],
        )
        for cell, delay_ms in places
    }


def rates(title: str, every: Sequence[Found]) -> Figure:
    """A panel for each way of fetching, a line for each mode, through the means of the seeds."""
    ways = list(dict.fromkeys(found.condition.transactions for found in every))
    modes = list(dict.fromkeys(found.mode for found in every))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.2 * len(ways) + 0.8, 3.0), layout="constrained")
        panels = figure.subplots(1, len(ways), squeeze=False, sharey=True)[0]
        for axes, way in zip(panels, ways, strict=True):
            for mode, colour in zip(modes, itertools.cycle(COLOURS), strict=False):
                own = sorted(
                    (found.condition.uploads, statistics.fmean(found.per_s))
                    for found in every
                    if (found.condition.transactions, found.mode) == (way, mode) and any(found.per_s)
                )
                axes.plot([uploads for uploads, _ in own], [rate for _, rate in own], "o-", color=colour, label=mode)
            axes.set_yscale("log")
            axes.set_title(way)
            axes.set_xticks(sorted({found.condition.uploads for found in every}))
            axes.set_xlabel("uploads")
        panels[0].set_ylabel("transactions a second")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(modes))
        figure.suptitle(title, x=0.02, ha="left", fontweight="bold", fontsize=11)
    return figure
