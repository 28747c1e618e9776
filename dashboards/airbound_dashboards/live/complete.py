# SPDX-License-Identifier: Apache-2.0
"""Which queries of the dashboards, and which recording rules, have no data yet at the live site."""

import functools
import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from airbound_dashboards.api import Prometheus
from airbound_dashboards.chosen import Span, answer, chosen
from airbound_dashboards.generate import texts
from airbound_dashboards.live.site import CONTROLLED

WANTED = {"bssid": CONTROLLED, "terminal": "phone-3"}


class Asked(NamedTuple):
    """One query of a panel."""

    board: str
    panel: dict[str, Any]
    target: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.board}: {self.panel['title']}: {self.target['refId']}"


@functools.cache
def boards() -> dict[str, dict[str, Any]]:
    """Each dashboard, as Grafana is given it, by its name."""
    return {name: json.loads(text) for name, text in texts().items()}


def queries() -> Iterator[Asked]:
    """Of every panel of every dashboard."""
    for name, board in boards().items():
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield Asked(name, panel, target)


def values(name: str, prometheus: Prometheus, span: Span) -> dict[str, str]:
    """Of the dashboard's variables.

    Raises:
        LookupError: a variable has no choice yet.
        QueryError: Prometheus does not answer.
    """
    board = boards()[name]
    names = {variable["name"] for variable in board["templating"]["list"]}
    return chosen(board, prometheus, span, {key: value for key, value in WANTED.items() if key in names})


def without_data(prometheus: Prometheus, span: Span) -> list[str]:
    """The queries that return no number in a span, and the records that have no sample at its end.

    Raises:
        QueryError: Prometheus does not answer, or refuses a query.
    """
    missing = [
        rule["name"]
        for group in prometheus.get("rules")["groups"]
        for rule in group["rules"]
        if rule["type"] == "recording" and not prometheus.instant(rule["name"], span.to_s)
    ]
    of_board: dict[str, dict[str, str]] = {}
    for asked in queries():
        try:
            if asked.board not in of_board:
                of_board[asked.board] = values(asked.board, prometheus, span)
        except LookupError as error:
            return [*missing, f"{asked.board}: {error}"]
        found = answer(asked.target, of_board[asked.board], prometheus, span)
        if not any(math.isfinite(value) for one in found for _, value in one.points):
            missing.append(str(asked))
    return missing
