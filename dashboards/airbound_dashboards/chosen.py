# SPDX-License-Identifier: Apache-2.0
"""What the variables of a dashboard may be, asked of Prometheus as Grafana does, and which values are chosen."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from airbound_dashboards import fill
from airbound_dashboards.api import Prometheus, Series


class Span(NamedTuple):
    """A time range, Unix time, and the step in it; all in seconds."""

    from_s: float
    to_s: float
    step_s: float
    scrape_s: float = 15.0

    def values(self) -> dict[str, str]:
        """Grafana's own variables."""
        return fill.durations(self.from_s, self.to_s, self.step_s, self.scrape_s)


def choices(variable: Mapping[str, Any], values: Mapping[str, str], prometheus: Prometheus, span: Span) -> list[str]:
    """The values that a variable may have; `values` are those of the variables before it.

    Raises:
        QueryError: Prometheus does not answer.
        ValueError: the variable's query is of an unknown kind.
    """
    if variable["type"] == "custom":
        return [text.strip() for text in str(variable["query"]).split(",")]
    query = fill.fill(variable["query"]["query"], {**values, **span.values()})
    by_label = fill.label_values(query)
    if by_label is not None:
        selector, label = by_label
        return prometheus.label_values(selector, label, span.from_s, span.to_s)
    expr = fill.query_result(query)
    if expr is None:
        raise ValueError(f"{query}: expected label_values(...) or query_result(...)")
    found = prometheus.instant(expr, span.to_s)
    texts = [fill.as_text(series.labels, series.points[0][1], span.to_s) for series in found]
    return [value for _, value in fill.choices(variable["regex"], texts)]


def chosen(board: Mapping[str, Any], prometheus: Prometheus, span: Span, wanted: Mapping[str, str]) -> dict[str, str]:
    """A value for each variable of a dashboard: the wanted one; all, where that can be chosen; else the first.

    Raises:
        QueryError: Prometheus does not answer.
        LookupError: there is nothing to choose from, or not what is wanted.
    """
    values: dict[str, str] = {}
    for variable in board["templating"]["list"]:
        name = variable["name"]
        if variable["type"] == "datasource":
            values[name] = "prometheus"
            continue
        found = choices(variable, values, prometheus, span)
        if name in wanted and wanted[name] not in found:
            raise LookupError(f"{name}: {wanted[name]} is not among {len(found)} choices: {', '.join(found[:10])}")
        if name in wanted:
            values[name] = wanted[name]
        elif variable.get("includeAll"):
            values[name] = variable["allValue"]
        elif variable.get("current", {}).get("value"):
            values[name] = variable["current"]["value"]
        elif found:
            values[name] = min(found)
        else:
            raise LookupError(f"{name}: there is nothing to choose from")
    return values


def answer(target: Mapping[str, Any], values: Mapping[str, str], prometheus: Prometheus, span: Span) -> list[Series]:
    """What a query of a panel returns; `values` are those of the dashboard's variables.

    Raises:
        KeyError: a variable of the query has no value.
        QueryError: Prometheus does not answer.
    """
    expr = fill.fill(target["expr"], {**values, **span.values()})
    if target.get("instant"):
        return prometheus.instant(expr, span.to_s)
    return prometheus.range(expr, span.from_s, span.to_s, span.step_s)
