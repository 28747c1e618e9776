# SPDX-License-Identifier: Apache-2.0
"""Panels with a time axis: lines, stacks and bars, heat maps, states."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.dates import AutoDateLocator, DateFormatter, date2num
from matplotlib.ticker import FuncFormatter, MaxNLocator

from airbound_dashboards.chosen import Span
from airbound_dashboards.picture import units
from airbound_dashboards.picture.content import Shown
from airbound_dashboards.picture.style import EVENT, NAMED, SERIES

TICKS_INCHES = 0.2  # of the time axis
_LEGEND_MOST = 12
_CHARACTERS = 34
_HOUR_S = 3_600


def time_axis(axes: Axes, span: Span) -> None:
    """Times of day, UTC."""
    axes.set_xlim(_days(span.from_s), _days(span.to_s))
    axes.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=6))
    axes.xaxis.set_major_formatter(DateFormatter("%H:%M:%S" if span.to_s - span.from_s < _HOUR_S / 2 else "%H:%M"))


def lines(axes: Axes, panel: Mapping[str, Any], shown: Sequence[Shown], span: Span, events_s: Sequence[float]) -> None:
    """Values over time."""
    defaults = panel["fieldConfig"]["defaults"]
    custom, unit = defaults.get("custom", {}), defaults.get("unit", "short")
    bars = custom.get("drawStyle") == "bars"
    if bars or custom.get("stacking", {}).get("mode") == "normal":
        _stacked(axes, shown, span, bars=bars)
    else:
        for series, color in zip(shown, _colors(shown), strict=True):
            axes.plot(*_with_gaps(series.points, span), color=color, linewidth=1.2, label=_short(series.name))
        _fill_between(axes, panel, shown, span)
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        for step in defaults["thresholds"]["steps"]:
            if step["value"] is not None:
                axes.axhline(
                    step["value"], color=NAMED.get(step["color"], step["color"]), linestyle="--", linewidth=0.8
                )
    for at_s in events_s:
        axes.axvline(_days(at_s), color=EVENT, linewidth=0.5, linestyle=":", alpha=0.6, zorder=0)
    _value_axis(axes, defaults, unit)
    time_axis(axes, span)
    if shown:
        legend(axes, min(len(shown), _LEGEND_MOST))


def legend(axes: Axes, entries: int) -> None:
    """Below the axes, in up to three columns."""
    handles, labels = axes.get_legend_handles_labels()
    below = TICKS_INCHES * axes.figure.dpi / axes.get_window_extent().height
    longest = max(map(len, labels[:entries]), default=0)
    columns = 3 if longest <= 16 else 2 if longest <= 26 else 1  # noqa: PLR2004  # characters that fit
    axes.legend(
        handles[:entries], labels[:entries], loc="upper left", bbox_to_anchor=(-0.02, -below), ncols=columns,
        fontsize=6.5, handlelength=1.0, columnspacing=1.0, labelspacing=0.25, borderaxespad=0.0,
    )  # fmt: skip


def heat(axes: Axes, panel: Mapping[str, Any], shown: Sequence[Shown], span: Span) -> None:
    """How many have which value: from a histogram's buckets, or counted in buckets that double."""
    unit = panel["options"].get("yAxis", {}).get("unit", "short")
    edges, counts = _counted(shown, span) if panel["options"].get("calculate") else _buckets(shown, span)
    if counts:
        starts = [_days(span.from_s + number * span.step_s) for number in range(len(counts[0]) + 1)]
        most = max(max(row) for row in counts)
        masked = [[count if count > 0 else math.nan for count in row] for row in counts]
        axes.pcolormesh(starts, edges, masked, cmap="Oranges", norm=PowerNorm(0.5, 0, max(most, 1)))
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.text(value, unit)))
        axes.yaxis.set_minor_locator(MaxNLocator(1))
    time_axis(axes, span)


def states(axes: Axes, shown: Sequence[Shown], span: Span) -> None:
    """From when until when each series was there."""
    axes.grid(visible=False)
    for row, (series, color) in enumerate(zip(shown, _colors(shown), strict=True)):
        parts = [(_days(at_s), span.step_s / 86_400 * 1.02) for at_s, value in series.points if value]
        axes.broken_barh(parts, (row - 0.35, 0.7), color=color)
    axes.set_yticks(range(len(shown)), [_short(series.name) for series in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    time_axis(axes, span)


def _days(at_s: float) -> float:
    return float(date2num(datetime.fromtimestamp(at_s, UTC)))


def _short(name: str) -> str:
    return name if len(name) <= _CHARACTERS else f"{name[: _CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"


def _colors(shown: Sequence[Shown]) -> list[str]:
    return [SERIES[number % len(SERIES)] for number in range(len(shown))]


def _with_gaps(points: Sequence[tuple[float, float]], span: Span) -> tuple[list[float], list[float]]:
    """Times and values; where a step has no value the line is interrupted."""
    times, values, before_s = [], [], math.inf
    for at_s, value in points:
        if at_s > before_s + 1.5 * span.step_s:
            times.append(_days(before_s + span.step_s))
            values.append(math.nan)
        times.append(_days(at_s))
        values.append(value)
        before_s = at_s
    return times, values


def _steps(series: Shown, span: Span) -> list[float]:
    """A value for each step of the range; 0 where there is none."""
    values = [0.0] * (round((span.to_s - span.from_s) / span.step_s) + 1)
    for at_s, value in series.points:
        values[min(max(round((at_s - span.from_s) / span.step_s), 0), len(values) - 1)] = value
    return values


def _stacked(axes: Axes, shown: Sequence[Shown], span: Span, *, bars: bool) -> None:
    rows = [_steps(series, span) for series in shown]
    if not rows:
        return
    times = [_days(span.from_s + number * span.step_s) for number in range(len(rows[0]))]
    if not bars:
        labels = [_short(series.name) for series in shown]
        axes.stackplot(times, rows, colors=_colors(shown), labels=labels, alpha=0.75, linewidth=0)
        return
    below = [0.0] * len(times)
    for series, row, color in zip(shown, rows, _colors(shown), strict=True):
        axes.bar(times, row, bottom=below, width=span.step_s / 86_400, color=color, label=_short(series.name))
        below = [low + value for low, value in zip(below, row, strict=True)]


def _fill_between(axes: Axes, panel: Mapping[str, Any], shown: Sequence[Shown], span: Span) -> None:
    by_name = {series.name: dict(series.points) for series in shown}
    for override in panel["fieldConfig"].get("overrides", ()):
        for setting in override["properties"]:
            if setting["id"] == "custom.fillBelowTo":
                upper = by_name.get(override["matcher"]["options"], {})
                lower = by_name.get(setting["value"], {})
                both = sorted(upper.keys() & lower.keys())
                times, low = _with_gaps([(at_s, lower[at_s]) for at_s in both], span)
                _, high = _with_gaps([(at_s, upper[at_s]) for at_s in both], span)
                axes.fill_between(times, low, high, color=SERIES[1], alpha=0.12, linewidth=0)


def _value_axis(axes: Axes, defaults: Mapping[str, Any], unit: str) -> None:
    if defaults.get("min") is not None:
        axes.set_ylim(bottom=defaults["min"])
    if axes.dataLim.height == 0 and axes.dataLim.y0 == 0:  # nothing but zeros: no ticks of thousandths
        axes.set_ylim(0, 1)
    if defaults.get("max") is not None:
        axes.set_ylim(top=defaults["max"] * 1.02)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.text(value, unit)))


def _counted(shown: Sequence[Shown], span: Span) -> tuple[list[float], list[list[float]]]:
    """Edges of buckets that double twice for each factor of two, and how many series are in each at each step."""
    values = [value for series in shown for _, value in series.points if value > 0]
    if not values:
        return [], []
    low, high = math.floor(2 * math.log2(min(values))), math.floor(2 * math.log2(max(values))) + 1
    steps = round((span.to_s - span.from_s) / span.step_s) + 1
    counts = [[0.0] * steps for _ in range(high - low)]
    for series in shown:
        for at_s, value in series.points:
            step = min(max(round((at_s - span.from_s) / span.step_s), 0), steps - 1)
            if value > 0:
                counts[math.floor(2 * math.log2(value)) - low][step] += 1
    return [2 ** (edge / 2) for edge in range(low, high + 1)], counts


def _buckets(shown: Sequence[Shown], span: Span) -> tuple[list[float], list[list[float]]]:
    """The same of a histogram: the series are cumulative, by their label `le`."""
    by_limit = sorted((float(series.labels["le"]), _steps(series, span)) for series in shown)
    finite = [(limit, row) for limit, row in by_limit if math.isfinite(limit)]
    if not finite:
        return [], []
    edges = [finite[0][0] / 2, *(limit for limit, _ in finite)]
    counts, before = [], [0.0] * len(finite[0][1])
    for _, row in finite:
        counts.append([max(0.0, value - low) for value, low in zip(row, before, strict=True)])
        before = row
    return edges, counts
