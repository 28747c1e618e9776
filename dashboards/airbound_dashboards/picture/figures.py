# SPDX-License-Identifier: Apache-2.0
"""Panels without a time axis: single values and tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from airbound_dashboards.picture import units
from airbound_dashboards.picture.content import Shown
from airbound_dashboards.picture.style import EDGE, FAINT, INK, color_at

_ROW_INCHES, _INCHES_OF_A_CHARACTER = 0.2, 0.075


def value(axes: Axes, panel: Mapping[str, Any], shown: Sequence[Shown]) -> None:
    """A large value, or each series with its name."""
    axes.set_axis_off()
    defaults, options = panel["fieldConfig"]["defaults"], panel["options"]
    steps, unit = defaults["thresholds"]["steps"], defaults.get("unit", "short")
    decimals = defaults.get("decimals")
    if not shown:
        axes.text(0.5, 0.5, defaults.get("noValue", "no data"), ha="center", va="center", fontsize=13, color=FAINT)
    elif options["textMode"] == "value_and_name":
        for number, series in enumerate(shown):
            y, last = 1 - (number + 0.5) / max(len(shown), 2), series.points[-1][1]
            axes.text(0.02, y, series.name, ha="left", va="center")
            axes.text(0.98, y, units.text(last, unit, decimals), ha="right", va="center", fontsize=11, weight="bold",
                      color=color_at(steps, last))  # fmt: skip
    else:
        last = shown[0].points[-1][1]
        text = shown[0].name if options["textMode"] == "name" else units.text(last, unit, decimals)
        inches = axes.get_window_extent().width / axes.figure.dpi
        size = max(8.0, min(19.0, 72 * inches / max(len(text), 1) / 0.72))
        if options.get("graphMode") == "area" and len(shown[0].points) > 1:
            _sparkline(axes, shown[0], color_at(steps, last))
        axes.text(0.5, 0.55, text, ha="center", va="center", fontsize=size, weight="bold", color=color_at(steps, last))


def _sparkline(axes: Axes, series: Shown, color: str) -> None:
    inner = axes.inset_axes((0.0, 0.0, 1.0, 0.3))
    inner.set_axis_off()
    times, values = [at_s for at_s, _ in series.points], [value for _, value in series.points]
    inner.fill_between(times, values, min(0.0, *values), color=color, alpha=0.15, linewidth=0)
    inner.plot(times, values, color=color, linewidth=0.8, alpha=0.7)
    inner.margins(0)


def rows(axes: Axes, panel: Mapping[str, Any], shown: Sequence[Shown]) -> None:
    """A table, with as many rows as there is place for."""
    axes.set_axis_off()
    columns, cells = _table(panel, shown)
    inches = axes.get_window_extent().height / axes.figure.dpi
    fit = max(1, int(inches / _ROW_INCHES) - 1)
    widths = [max(len(column), *(len(row[number][0]) for row in cells), 4) for number, column in enumerate(columns)]
    total = sum(widths) + 2 * len(widths)
    lefts = [sum(widths[:number]) / total + 2 * number / total for number in range(len(widths))]
    height = _ROW_INCHES / inches
    for left, column in zip(lefts, columns, strict=True):
        axes.text(left, 1 - height / 2, column, va="center", weight="bold", color=FAINT)
    for number, row in enumerate(cells[:fit]):
        y = 1 - height * (number + 1.5)
        axes.plot([0, 1], [y + height / 2] * 2, color=EDGE, linewidth=0.5)
        for left, (text, color) in zip(lefts, row, strict=True):
            axes.text(left, y, text, va="center", color=color)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _table(panel: Mapping[str, Any], shown: Sequence[Shown]) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """Names of the columns; text and colour of each cell, by the order that the panel asks for."""
    renamed, key = dict[str, str](), ""
    for transformation in panel.get("transformations", ()):
        renamed |= transformation["options"].get("renameByName", {})
        key = transformation["options"].get("byField", key)
    joined: dict[str, dict[str, Any]] = {}
    for number, series in enumerate(shown):
        row = joined.setdefault(series.labels.get(key, str(number)) if key else str(number), {})
        row |= {name: text for name, text in series.labels.items() if name != "__name__"}
        column = renamed.get(f"Value #{series.query}", renamed.get("Value", ""))
        if column:
            row[column] = series.points[-1][1]
    numbers = list(renamed.values())
    labels = sorted(
        {name for row in joined.values() for name in row} - set(numbers), key=lambda name: (name != key, name)
    )
    columns = [*labels, *numbers]
    ordered = list(joined.values())
    for order in panel["options"].get("sortBy") or ():
        ordered.sort(key=lambda row: row.get(order["displayName"], -1.0), reverse=bool(order.get("desc")))
    return columns, [[_cell(panel, column, row.get(column, "")) for column in columns] for row in ordered]


def _cell(panel: Mapping[str, Any], column: str, value: float | str) -> tuple[str, str]:
    if isinstance(value, str):
        return value, INK
    unit, steps = "short", list[dict[str, Any]]()
    for override in panel["fieldConfig"].get("overrides", ()):
        if override["matcher"]["options"] == column:
            for one in override["properties"]:
                unit = one["value"] if one["id"] == "unit" else unit
                steps = one["value"]["steps"] if one["id"] == "thresholds" else steps
    return units.text(value, unit), color_at(steps, value) if steps else INK
