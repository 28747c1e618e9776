# SPDX-License-Identifier: Apache-2.0
"""What Prometheus would read: over HTTP, by prometheus_client's parsers."""

import asyncio
import gzip
import http.client
from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
TIMEOUT_S = 120.0


class Response(NamedTuple):
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Samples:
    """All samples of a page.

    Raises:
        ValueError: a parser does not read it, or a series is there twice.
    """

    def __init__(self, page: str, *, openmetrics: bool = False) -> None:
        self.by_series: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        families = openmetrics_families(page) if openmetrics else text_families(page)  # type: ignore[no-untyped-call]
        for family in families:
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                if key in self.by_series:
                    raise ValueError(f"{sample.name}{sample.labels} is there twice")
                self.by_series[key] = sample.value

    def value(self, name: str, **labels: str) -> float:
        """The value of one series.

        Raises:
            KeyError: there is no such series.
        """
        return self.by_series[name, frozenset(labels.items())]

    def labels(self, name: str) -> list[dict[str, str]]:
        """The labels of each series of a metric."""
        return [dict(labels) for found, labels in self.by_series if found == name]

    def names(self) -> set[str]:
        """The names of all series."""
        return {name for name, _ in self.by_series}


def get(port: int, path: str = "/metrics", method: str = "GET", **headers: str) -> Response:
    """One request; blocks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return Response(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


async def scrape(port: int, *, openmetrics: bool = False) -> Samples:
    """A page as Prometheus asks for it."""
    accept = OPENMETRICS if openmetrics else "text/plain"
    response = await asyncio.to_thread(get, port, Accept=accept, Accept_Encoding="gzip")
    return Samples(gzip.decompress(response.body).decode(), openmetrics=openmetrics)
