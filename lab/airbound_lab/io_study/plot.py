# SPDX-License-Identifier: Apache-2.0
"""Time against address, as Figs 4 and 5 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from airbound_lab.io_study.records import Kind
from airbound_lab.report.style import INK, STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.io_study.records import Request

COLOURS = {Kind.READ: "#2a6fb0", Kind.WRITE: "#c2571a", Kind.FLUSH: INK, Kind.DISCARD: "#5b8c3a"}
SECTORS_PER_MIB = 2048
US_PER_S = 1e6


def requests(found: Sequence[Request], title: str, limit_s: float | None = None) -> Figure:
    """When requests were issued, and where; of a flush, which has no place, a tick at the bottom."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        axes = figure.subplots()
        began_us = min((request.issued_us for request in found), default=0)
        for kind, colour in COLOURS.items():
            points = [
                ((request.issued_us - began_us) / US_PER_S, request.sector / SECTORS_PER_MIB)
                for request in found
                if request.kind is kind
            ]
            if limit_s is not None:
                points = [point for point in points if point[0] <= limit_s]
            if points:
                axes.scatter(
                    [time_s for time_s, _ in points], [0.0 if kind is Kind.FLUSH else mib for _, mib in points],
                    s=9 if kind is Kind.FLUSH else 5, marker="|" if kind is Kind.FLUSH else "o", color=colour,
                    label=f"{kind.value} ({len(points)})", linewidths=0.7,
                )  # fmt: skip
        axes.set_xlabel("virtual seconds")
        axes.set_ylabel("address, MiB")
        axes.set_ylim(bottom=-2)
        axes.set_xlim(left=0)
        if axes.get_legend_handles_labels()[0]:
            # Beside the title: points may be anywhere in the picture.
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.1)
        else:
            axes.text(0.5, 0.5, "no request", transform=axes.transAxes, ha="center")
        axes.set_title(title)
    return figure
