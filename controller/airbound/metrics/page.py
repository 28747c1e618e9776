# SPDX-License-Identifier: Apache-2.0
"""From a snapshot to what a scrape is answered with. This is the work of the HTTP server's threads. The interpreter
gives the event loop its turn after 5 ms (sys.getswitchinterval) unless a call of C code lasts longer; none here does.
"""

import zlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from airbound.core.addresses import Mac
from airbound.metrics import cell, controller, station, terminal
from airbound.metrics.family import Family
from airbound.metrics.labels import printable
from airbound.metrics.options import Metrics
from airbound.metrics.samples import Snapshot

_GZIP, _LEVEL = 16 + zlib.MAX_WBITS, 1  # lines are so much alike that more effort gains little
_EOF = b"# EOF\n"

Streams = list[terminal.Stream]


@dataclass(frozen=True, slots=True)
class Page:
    """A snapshot as text, in both formats."""

    few: "_Collected"  # what prometheus_client formats
    many: tuple[tuple[Family, list[bytes]], ...]
    _compressed: dict[bool, list[bytes]] = field(default_factory=dict)  # by format

    def chunks(self, *, openmetrics: bool) -> list[bytes]:
        """The text."""
        chunks = [self.few.text(openmetrics=openmetrics)]
        for family, lines in self.many:
            if lines:
                chunks += [family.header(openmetrics=openmetrics).encode(), *lines]
        return [*chunks, _EOF] if openmetrics else chunks

    def compressed(self, *, openmetrics: bool) -> list[bytes]:
        """The same for Content-Encoding gzip; made when it is asked for first."""
        chunks = self._compressed.get(openmetrics)
        if chunks is None:
            stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            parts = [stream.compress(chunk) for chunk in self.chunks(openmetrics=openmetrics)]
            chunks = self._compressed[openmetrics] = [*filter(None, parts), stream.flush()]
        return chunks


class _Collected(Collector):
    """Metrics that are there already."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        return self._metrics

    def text(self, *, openmetrics: bool) -> bytes:
        """Their text, without an end mark."""
        if not openmetrics:
            return generate_latest(self)
        text: bytes = generate_openmetrics(self)  # type: ignore[no-untyped-call]
        return text.removesuffix(_EOF)


class Pages:
    """Makes pages of snapshots, one after the other: counters follow from the snapshots before."""

    def __init__(self, options: Metrics) -> None:
        self._stations = station.StationTables(options.stations_max, options.stations)
        self._cells = cell.CellTables(options.cells_max, self._stations.name)
        self._shows_terminals = options.terminals
        self._terminals = terminal.TerminalTables(options.terminals_max if options.terminals else 0)

    def page(self, snapshot: Snapshot) -> Page:
        """The page of a snapshot."""
        many, without_bounds = self._many(snapshot)
        counted = controller.Counted(
            cells=len(snapshot.cells),
            stations=sum(len(cell_sample.stations) for cell_sample in snapshot.cells),
            terminals=len(snapshot.terminals),
            without_bounds=without_bounds,
            omitted={
                "cells": self._cells.slots.omitted,
                "stations": self._stations.slots.omitted,
                "terminals": self._terminals.slots.omitted,
            },
        )
        few = [
            *controller.metrics(snapshot.controller, counted),
            *PROCESS_COLLECTOR.collect(),
            *PLATFORM_COLLECTOR.collect(),
            *GC_COLLECTOR.collect(),
        ]
        return Page(_Collected(few), many)

    def _many(self, snapshot: Snapshot) -> tuple[tuple[tuple[Family, list[bytes]], ...], Counter[str]]:
        """Lines of cells, stations and terminals; and why those terminals without bounds have none."""
        by_name, joined, without_bounds = self._reported(snapshot)
        self._cells.take(snapshot, joined)
        self._stations.take(
            snapshot.now_us, snapshot.cells, {bssid: terminals.names for bssid, terminals in joined.items()}
        )
        self._terminals.take(snapshot.now_us, by_name)
        cells, stations, terminals = self._cells, self._stations, self._terminals
        tables = (cells.table, cells.decisions, stations.table, terminals.table, terminals.decisions, terminals.classes)
        return tuple(chain.from_iterable(table.lines() for table in tables)), without_bounds

    def _reported(self, snapshot: Snapshot) -> tuple[dict[str, Streams], dict[Mac, cell.Joined], Counter[str]]:
        """What terminals reported: by their names, by their cells; and why those without bounds have none."""
        by_name, joined, without_bounds = dict[str, Streams](), dict[Mac, cell.Joined](), Counter[str]()
        for sample in snapshot.terminals:
            reported = terminal.reported_by(sample)
            name = printable(sample.stream.principal.name)
            by_name.setdefault(name, []).append((sample, reported))
            if sample.no_bounds is not None:
                without_bounds[sample.no_bounds.code.name.lower()] += 1
            if sample.bssid:
                terminals = joined.get(sample.bssid)
                if terminals is None:
                    terminals = joined[sample.bssid] = cell.Joined()
                shown = name if self._shows_terminals else ""
                terminals.add(
                    sample.mac, shown, reported.worst, bounded=terminal.lease_s_of(sample, snapshot.now_us) > 0
                )
        for of_cell in snapshot.cells:
            terminals = joined.get(of_cell.bssid)
            for one in of_cell.stations:
                rtt = station.rtt_of(one.sender)
                if rtt is not None and (terminals is None or one.latest.mac not in terminals.names):
                    terminals = terminals or joined.setdefault(of_cell.bssid, cell.Joined())
                    terminals.add_rtt(rtt)
        return by_name, joined, without_bounds
