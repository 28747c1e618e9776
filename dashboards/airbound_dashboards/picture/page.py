# SPDX-License-Identifier: Apache-2.0
"""A whole dashboard as one picture: Grafana's grid of 24 columns."""

import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from airbound_dashboards.chosen import Span
from airbound_dashboards.picture import figures, plots
from airbound_dashboards.picture.content import Content, Shown
from airbound_dashboards.picture.style import EDGE, FAINT, INK, PAGE, PANEL, STYLE

COLUMNS, COLUMN_INCHES, ROW_INCHES, HEAD_INCHES, GAP_INCHES = 24, 0.62, 0.33, 0.55, 0.05
_TITLE_INCHES, _LEFT_INCHES, _RIGHT_INCHES, _AXIS_INCHES = 0.25, 0.5, 0.1, 0.18
_LEGEND_INCHES = 0.115
DPI = 100


def draw(content: Content, span: Span, out: Path, note: str = "") -> None:
    """Write a PNG."""
    with mpl.rc_context(STYLE):
        bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel, _ in content.panels)
        figure = Figure(figsize=(COLUMNS * COLUMN_INCHES, HEAD_INCHES + bottom * ROW_INCHES), facecolor=PAGE)
        _head(figure, content, span, note)
        for panel, shown in content.panels:
            _panel(figure, panel, shown, span, content.events_s)
        out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(out, dpi=DPI, metadata={"Software": None})


def _head(figure: Figure, content: Content, span: Span, note: str) -> None:
    width, height = figure.get_size_inches()
    y = 1 - 0.3 / height
    figure.text(0.1 / width, y, content.title, fontsize=14, weight="bold", va="center")
    values = "   ".join(f"{name}: {value}" for name, value in content.values.items() if name != "datasource")
    figure.text(0.22, y, values, fontsize=9, color=FAINT, va="center")
    times = " to ".join(f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S}" for at_s in (span.from_s, span.to_s))
    figure.text(1 - 0.1 / width, y, f"{note}   {times} UTC".strip(), fontsize=9, color=FAINT, va="center", ha="right")


def _panel(
    figure: Figure, panel: Mapping[str, Any], shown: Sequence[Shown], span: Span, events_s: Sequence[float]
) -> None:
    width, height = figure.get_size_inches()
    at = panel["gridPos"]
    left, right = at["x"] * COLUMN_INCHES + GAP_INCHES, (at["x"] + at["w"]) * COLUMN_INCHES - GAP_INCHES
    top = height - HEAD_INCHES - at["y"] * ROW_INCHES - GAP_INCHES
    bottom = height - HEAD_INCHES - (at["y"] + at["h"]) * ROW_INCHES + GAP_INCHES
    if panel["type"] == "row":
        figure.text(left / width, (bottom + top) / 2 / height, panel["title"], fontsize=10, weight="bold", va="center")
        return
    box = (left / width, bottom / height), (right - left) / width, (top - bottom) / height
    figure.add_artist(
        FancyBboxPatch(*box, boxstyle="square,pad=0", facecolor=PANEL, edgecolor=EDGE, linewidth=0.8, zorder=-1)
    )
    title = textwrap.shorten(panel["title"], max(12, int((right - left) * 13)), placeholder="...")
    figure.text((left + 0.08) / width, (top - 0.13) / height, title, fontsize=8, weight="bold", color=INK, va="center")
    timed = panel["type"] in {"timeseries", "heatmap", "state-timeline"}
    inner_left = left + (_left_inches(panel, shown) if timed else 0.1)
    inner_bottom = bottom + (_AXIS_INCHES + _legend_inches(panel, shown) if timed else 0.05)
    axes = figure.add_axes(
        (
            inner_left / width,
            inner_bottom / height,
            (right - _RIGHT_INCHES - inner_left) / width,
            (top - _TITLE_INCHES - inner_bottom) / height,
        )
    )
    match panel["type"]:
        case "timeseries":
            plots.lines(axes, panel, shown, span, events_s)
        case "heatmap":
            plots.heat(axes, panel, shown, span)
        case "state-timeline":
            plots.states(axes, shown, span)
        case "stat":
            figures.value(axes, panel, shown)
        case "table":
            figures.rows(axes, panel, shown)
        case other:
            raise ValueError(f"{panel['title']}: there is no picture of {other}")
    if timed and not shown:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color=FAINT)


def _left_inches(panel: Mapping[str, Any], shown: Sequence[Shown]) -> float:
    """For the labels of the axis of values."""
    if panel["type"] != "state-timeline":
        return _LEFT_INCHES + 0.1
    return 0.25 + 0.06 * max((len(series.name) for series in shown), default=4)


def _legend_inches(panel: Mapping[str, Any], shown: Sequence[Shown]) -> float:
    """For the legend below the axes; see plots.legend."""
    if panel["type"] != "timeseries" or not shown:
        return 0.05
    entries = min(len(shown), 12)
    longest = max(len(series.name) for series in shown[:entries])
    columns = 3 if longest <= 16 else 2 if longest <= 26 else 1  # noqa: PLR2004  # as there
    return 0.1 + _LEGEND_INCHES * -(-entries // columns)
