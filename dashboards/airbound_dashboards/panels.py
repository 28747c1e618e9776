# SPDX-License-Identifier: Apache-2.0
"""Kinds of panels: what is the same for all of a kind. Widths are of a grid of 24 columns."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from grafana_foundation_sdk.builders import (
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    GraphDrawStyle,
    GraphThresholdsStyleMode,
    HeatmapCalculationMode,
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from airbound_dashboards.query import Query
from airbound_dashboards.variables import DATASOURCE

BITS, SECONDS, RATIO, SHARE, COUNT, BYTES, PER_S = "bps", "s", "short", "percentunit", "short", "bytes", "ops"
SEGMENTS, RPM, EVENTS, DBM = "short", "none", "cps", "dBm"
GOOD, WARN, BAD = "green", "#eab839", "red"

Steps = Sequence[tuple[float | None, str]]
NO_STEPS: Steps = ((None, "#3274d9"),)
# Three times the minimum RTT is about a full queue of one window; beyond five, interaction is felt to be slow.
RATIO_STEPS: Steps = ((None, GOOD), (3, WARN), (5, BAD))
SHARE_STEPS: Steps = ((None, GOOD), (0.8, WARN), (0.95, BAD))
FAIRNESS_STEPS: Steps = ((None, BAD), (0.6, WARN), (0.8, GOOD))
NONE_IS_GOOD: Steps = ((None, GOOD), (1, BAD))
SOME_IS_GOOD: Steps = ((None, BAD), (1, GOOD))
RPM_STEPS: Steps = ((None, BAD), (200, WARN), (1000, GOOD))
# Changes of less than 2 % say nothing here: `airbound check` measures smaller ones.
MORE_IS_GOOD: Steps = ((None, BAD), (-0.02, "#8a96a3"), (0.02, GOOD))
LESS_IS_GOOD: Steps = ((None, GOOD), (-0.02, "#8a96a3"), (0.02, BAD))
LATENCY_STEPS: Steps = ((None, GOOD), (0.02, WARN), (0.1, BAD))

Builder = TypeVar("Builder", bound=Any)


def row(title: str) -> dashboard.Row:
    """A headline."""
    return dashboard.Row(title)


def lines(
    title: str,
    description: str,
    queries: Query | Sequence[Query],
    *,
    unit: str,
    w: int = 8,
    h: int = 8,
    stacked: bool = False,
    bars: bool = False,
    steps: Steps = (),
    most: float | None = None,
    least: float | None = 0,
    links: Sequence[dashboard.DashboardLink] = (),
    table_legend: bool = False,
    fill_below: Mapping[str, str] | None = None,
) -> timeseries.Panel:
    """Values over time. `steps` are drawn as dashed lines; `fill_below` fills from a series down to another."""
    made = _common(timeseries.Panel(), title, description, queries, w, h)
    legend = common.VizLegendOptions().show_legend(True).placement(LegendPlacement.BOTTOM)
    if table_legend:
        legend = legend.display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.RIGHT).calcs(["lastNotNull"])
    else:
        legend = legend.display_mode(LegendDisplayMode.LIST)
    made = (
        made.unit(unit)
        .legend(legend)
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
        .draw_style(GraphDrawStyle.BARS if bars else GraphDrawStyle.LINE)
        .line_width(1)
        .fill_opacity(60 if bars else 30 if stacked else 5)
        .show_points(VisibilityMode.NEVER)
        .span_nulls(False)
    )
    if stacked or bars:
        made = made.stacking(common.StackingConfig().mode(StackingMode.NORMAL).group("A"))
    if steps:
        style = common.GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
        made = made.thresholds(_thresholds(steps)).thresholds_style(style)
    if most is not None:
        made = made.max(most)
    if least is not None:
        made = made.min(least)
    for series, other in (fill_below or {}).items():
        made = made.override_by_name(series, [DynamicConfigValue(id_val="custom.fillBelowTo", value=other)])
    return made.data_links(list(links)) if links else made


def value(
    title: str,
    description: str,
    query: Query,
    *,
    unit: str,
    w: int = 3,
    h: int = 4,
    steps: Steps = NO_STEPS,
    decimals: int | None = None,
    name: bool = False,
    none: str = "none",
) -> stat.Panel:
    """One large number, or the name of the only series; `none` stands there if there is no data."""
    made = _common(stat.Panel(), title, description, query, w, h)
    made = (
        made.unit(unit)
        .thresholds(_thresholds(steps))
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(BigValueGraphMode.NONE if name or query.instant else BigValueGraphMode.AREA)
        .text_mode(BigValueTextMode.NAME if name else BigValueTextMode.VALUE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .no_value(none)
    )
    return made.decimals(decimals) if decimals is not None else made


def values(
    title: str, description: str, queries: Query | Sequence[Query], *, unit: str, w: int = 8, h: int = 6
) -> stat.Panel:
    """A number for each series, with its name."""
    made = _common(stat.Panel(), title, description, queries, w, h)
    return (
        made.unit(unit)
        .thresholds(_thresholds(NO_STEPS))
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(BigValueGraphMode.NONE)
        .text_mode(BigValueTextMode.VALUE_AND_NAME)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .no_value("none")
    )


def heat(
    title: str, description: str, query: Query, *, unit: str, w: int = 8, h: int = 8, low: float = 1.0
) -> heatmap.Panel:
    """How many series have which value over time; or a histogram's buckets, if the query has them."""
    made = _common(heatmap.Panel(), title, description, query, w, h)
    color = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64).exponent(0.5)
    made = made.color(color).tooltip(heatmap.HeatmapTooltip().mode(TooltipDisplayMode.SINGLE).show_color_scale(True))
    if query.format == "heatmap":
        return made.calculate(False).y_axis(heatmap.YAxisConfig().unit(unit))
    buckets = common.HeatmapCalculationBucketConfig().mode(HeatmapCalculationMode.SIZE)
    scale = common.ScaleDistributionConfig().type(ScaleDistribution.LOG).log(2)
    calculation = common.HeatmapCalculationOptions().y_buckets(buckets.scale(scale))
    return made.calculate(True).calculation(calculation).y_axis(heatmap.YAxisConfig().unit(unit).min(low))


def states(title: str, description: str, query: Query, *, w: int = 8, h: int = 6) -> statetimeline.Panel:
    """From when until when each series was there."""
    made = _common(statetimeline.Panel(), title, description, query, w, h)
    return (
        made.show_value(VisibilityMode.NEVER)
        .merge_values(True)
        .row_height(0.7)
        .thresholds(_thresholds(NO_STEPS))
        .legend(common.VizLegendOptions().show_legend(False))
    )


def rows(
    title: str,
    description: str,
    queries: Sequence[Query],
    *,
    key: str,
    w: int = 24,
    h: int = 9,
    units: Mapping[str, str] | None = None,
    steps: Mapping[str, Steps] | None = None,
    links: Mapping[str, dashboard.DashboardLink] | None = None,
    sort: str = "",
) -> table.Panel:
    """A table: a row for each value of the label `key`, and a column for each query, called by its legend. Of a query
    without a legend only the labels are shown.
    """
    made = _common(table.Panel(), title, description, queries, w, h)
    ids = [chr(ord("A") + number) for number in range(len(queries))]
    values = [f"Value #{ref}" if len(queries) > 1 else "Value" for ref in ids]
    names = {name: query.legend for name, query in zip(values, queries, strict=True) if query.legend}
    if len(queries) > 1:
        made = made.with_transformation(
            DataTransformerConfig(id_val="joinByField", options={"byField": key, "mode": "outer"})
        )
    times = ["Time", *(f"Time {number}" for number in range(1, len(queries) + 1))]
    hidden = dict.fromkeys([*times, *(name for name in values if name not in names)], True)
    made = made.with_transformation(
        DataTransformerConfig(
            id_val="organize", options={"excludeByName": hidden, "indexByName": {}, "renameByName": names}
        )
    )
    for column, unit in (units or {}).items():
        made = made.override_by_name(column, [DynamicConfigValue(id_val="unit", value=unit)])
    for column, column_steps in (steps or {}).items():
        properties = [
            DynamicConfigValue(id_val="thresholds", value=_thresholds(column_steps).build()),
            DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
        ]
        made = made.override_by_name(column, properties)
    for column, link in (links or {}).items():
        made = made.override_by_name(column, [DynamicConfigValue(id_val="links", value=[link.build()])])
    if sort:
        made = made.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)])
    return made


def _common(  # noqa: PLR0917  # as its callers have them
    made: Builder, title: str, description: str, queries: Query | Sequence[Query], w: int, h: int
) -> Builder:
    """What all kinds have. Queries are called A, B, C, ..."""
    several = [queries] if isinstance(queries, Query) else list(queries)
    made = made.title(title).description(description).datasource(DATASOURCE).span(w).height(h)
    for number, query in enumerate(several):
        made = made.with_target(_target(query, chr(ord("A") + number)))
    return made


def _target(query: Query, ref: str) -> prometheus.Dataquery:
    made = prometheus.Dataquery().expr(query.expr).ref_id(ref).datasource(DATASOURCE)
    made = made.format(PromQueryFormat(query.format))
    if query.legend and query.format != "table":
        made = made.legend_format(query.legend)
    return made.instant() if query.instant else made.range()


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    thresholds = [Threshold(value=at, color=color) for at, color in steps]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(thresholds)
