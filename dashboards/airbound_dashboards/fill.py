# SPDX-License-Identifier: Apache-2.0
"""Fills in what Grafana fills in: variables of a query, labels of a legend, and the choices of a variable. Pure."""

import re
from collections.abc import Mapping, Sequence

from airbound_dashboards.api import Labels

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::\w+)?\}|([A-Za-z_]\w*))")
_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_LABEL_VALUES = re.compile(r"label_values\((?:(.*),)?\s*(\w+)\)", re.DOTALL)
_QUERY_RESULT = re.compile(r"query_result\((.*)\)", re.DOTALL)


def fill(text: str, values: Mapping[str, str]) -> str:
    """A query with values for its variables.

    Raises:
        KeyError: a variable has none.
    """
    return _VARIABLE.sub(lambda match: values[match[1] or match[2]], text)


def durations(from_s: float, to_s: float, step_s: float, scrape_s: float) -> dict[str, str]:
    """Grafana's own variables, as its data source for Prometheus computes them."""
    rate_s = max(step_s + scrape_s, 4 * scrape_s)
    return {
        "__interval": f"{max(1, round(step_s))}s",
        "__rate_interval": f"{max(1, round(rate_s))}s",
        "__range": f"{max(1, round(to_s - from_s))}s",
    }


def legend_labels(text: str) -> list[str]:
    """The labels that a legend shows."""
    return _LEGEND.findall(text)


def legend(text: str, labels: Labels) -> str:
    """The name of a series; a label that it does not have is nothing."""
    if not text:
        inside = ", ".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
        return f"{labels.get('__name__', '')}{{{inside}}}"
    return _LEGEND.sub(lambda match: labels.get(match[1], ""), text).strip()


def label_values(query: str) -> tuple[str, str] | None:
    """Selector and label of a variable that asks for values of a label; none if it asks for something else."""
    match = _LABEL_VALUES.fullmatch(query)
    return ((match[1] or "").strip(), match[2]) if match else None


def query_result(query: str) -> str | None:
    """The PromQL of a variable that asks for the result of a query; none if it asks for something else."""
    match = _QUERY_RESULT.fullmatch(query)
    return match[1] if match else None


def as_text(labels: Labels, value: float, at_s: float) -> str:
    """A series as Grafana writes it before a variable's regular expression is applied."""
    inside = ",".join(f'{name}="{text}"' for name, text in labels.items() if name != "__name__")
    return f"{labels.get('__name__', '')}{{{inside}}} {value:g} {at_s * 1000:.0f}"


def choices(regex: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Text and value of each choice by a variable's regular expression, /.../ with groups `text` and `value`."""
    pattern = re.compile(regex.strip("/").replace("(?<", "(?P<"))
    matches = [match for match in map(pattern.search, texts) if match]
    return [(match["text"], match["value"]) for match in matches]
