# SPDX-License-Identifier: Apache-2.0
"""What a dashboard shows of a time range: the series of each panel, and events."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from airbound_dashboards import chosen, fill
from airbound_dashboards.api import Labels, Prometheus
from airbound_dashboards.chosen import Span


class Shown(NamedTuple):
    """One series of a panel: its name, its labels, which query it is of, and its points; none is not a number."""

    name: str
    labels: Labels
    query: str
    points: list[tuple[float, float]]


class Content(NamedTuple):
    """Of one dashboard."""

    title: str
    values: dict[str, str]  # of its variables
    panels: list[tuple[Mapping[str, Any], list[Shown]]]  # rows have no series
    events_s: list[float]


def content(board: Mapping[str, Any], prometheus: Prometheus, span: Span, wanted: Mapping[str, str]) -> Content:
    """All of it.

    Raises:
        QueryError: Prometheus does not answer.
        LookupError: a variable has no choice, or not the wanted one.
    """
    own = chosen.chosen(board, prometheus, span, wanted)
    values = {**own, **span.values()}
    panels = [
        (panel, [shown for target in panel.get("targets", ()) for shown in _series(target, prometheus, span, values)])
        for panel in board["panels"]
    ]
    events_s = set[float]()
    for annotation in board.get("annotations", {}).get("list", ()):
        events_s |= _events(annotation, prometheus, span, values)
    return Content(board["title"], own, panels, sorted(events_s))


def _series(target: Mapping[str, Any], prometheus: Prometheus, span: Span, values: Mapping[str, str]) -> list[Shown]:
    shown = []
    for series in chosen.answer(target, values, prometheus, span):
        points = [(at_s, value) for at_s, value in series.points if math.isfinite(value)]
        if points:
            name = fill.legend(target.get("legendFormat", ""), series.labels)
            shown.append(Shown(name, series.labels, target["refId"], points))
    return shown


def _events(annotation: Mapping[str, Any], prometheus: Prometheus, span: Span, values: Mapping[str, str]) -> set[float]:
    """When each event began."""
    begun = set[float]()
    for series in prometheus.range(fill.fill(annotation["expr"], values), span.from_s, span.to_s, span.step_s):
        if annotation.get("useValueForTime"):
            begun |= {value / 1000 for _, value in series.points if span.from_s <= value / 1000 <= span.to_s}
            continue
        before_s = -math.inf
        for at_s, _ in series.points:
            if at_s > before_s + 1.5 * span.step_s:
                begun.add(at_s)
            before_s = at_s
    return begun
