# SPDX-License-Identifier: Apache-2.0
"""Prometheus's HTTP API, as much of it as Grafana uses."""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, NamedTuple

TIMEOUT_S = 60.0

Labels = dict[str, str]


class QueryError(Exception):
    """Prometheus does not answer, or refuses: the text says which query and why."""


class Series(NamedTuple):
    """Labels, and pairs of time (Unix, seconds) and value."""

    labels: Labels
    points: list[tuple[float, float]]


class Prometheus:
    """One server, by its URL."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url}: expected http://... or https://...")
        self._url = url.rstrip("/")

    def instant(self, expr: str, at_s: float) -> list[Series]:
        """The value of each series at one moment.

        Raises:
            QueryError: see there.
        """
        result = self.get("query", query=expr, time=f"{at_s:.3f}")
        if result["resultType"] == "scalar":
            return [Series({}, [_point(result["result"])])]
        return [Series(series["metric"], [_point(series["value"])]) for series in result["result"]]

    def range(self, expr: str, from_s: float, to_s: float, step_s: float) -> list[Series]:
        """The values of each series at each step.

        Raises:
            QueryError: see there.
        """
        result = self.get("query_range", query=expr, start=f"{from_s:.3f}", end=f"{to_s:.3f}", step=f"{step_s:g}")
        return [Series(series["metric"], [_point(value) for value in series["values"]]) for series in result["result"]]

    def label_values(self, selector: str, label: str, from_s: float, to_s: float) -> list[str]:
        """The values that a label has in the series of a selector.

        Raises:
            QueryError: see there.
        """
        found = self.get(
            f"label/{label}/values", **{"match[]": selector, "start": f"{from_s:.3f}", "end": f"{to_s:.3f}"}
        )
        return list(found)

    def get(self, path: str, **parameters: str) -> Any:
        """What one path of the API returns.

        Raises:
            QueryError: see there.
        """
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        asked = parameters.get("query", path)
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:  # noqa: S310  # checked above
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise QueryError(f"{asked}: {error.read().decode(errors='replace')[:500]}") from error
        except (OSError, ValueError) as error:
            raise QueryError(f"{asked}: {error}") from error
        return answer["data"]


def _point(pair: list[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])
