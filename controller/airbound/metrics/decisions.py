# SPDX-License-Identifier: Apache-2.0
"""Counters of what was decided about one cell or terminal, by action and first reason.

A reason has a series once it has occurred: of some forty most cells and terminals have five or so. Prometheus sees
nothing of a counter's growth before its first sample, so the first page that shows a reason shows 0.
"""

from collections.abc import Iterable, Mapping
from operator import itemgetter

from airbound.core.reasons import Code
from airbound.metrics.family import Family
from airbound.metrics.labels import label_set
from airbound.metrics.table import Column

Key = tuple[str, Code]  # the core's counter, and the reason
Counts = tuple[tuple[Key, int], ...]

ACTIONS = {  # the core's counters: what was decided about, and what
    "sets_total": ("bounds", "set"),
    "releases_total": ("bounds", "release"),
    "edca_sets_total": ("edca", "set"),
    "edca_releases_total": ("edca", "release"),
    "window_sets_total": ("windows", "set"),
    "window_releases_total": ("windows", "release"),
}
CELL = Family(
    "airbound_cell_decisions_total",
    "counter",
    "Sets and releases of bounds, EDCA parameters and limits of windows in the cell, by their first reason; of reasons"
    " that occurred.",
    ("bssid", "subject", "action", "reason"),
)
TERMINAL = Family(
    "airbound_terminal_decisions_total",
    "counter",
    "Sets and releases of its bounds, by their first reason; of reasons that occurred.",
    ("terminal", "action", "reason"),
)
CELL_COLUMN, TERMINAL_COLUMN = Column(CELL, itemgetter(0)), Column(TERMINAL, itemgetter(0))


class DecisionCounts:
    """What is kept of one object's decisions from one snapshot to the next. `labels` are those of the object."""

    __slots__ = ("_counts", "_family", "_labels", "_lines", "_parts", "_seen", "_series")

    def __init__(self, family: Family) -> None:
        self._family = family
        self._counts: dict[Key, int] = {}
        self._seen: dict[int, Counts] = {}  # by part: a stream's counters end with it, the total does not
        self._labels: dict[str, str] = {}
        self._lines: dict[Key, str] = {}
        self._parts: tuple[tuple[int, Counts], ...] = ()
        self._series: list[tuple[str, int]] = []  # as of `_parts`; empty if the next ones differ in any case

    def update(self, labels: Mapping[str, str], parts: Iterable[tuple[int, Counts]]) -> list[tuple[str, int]]:
        """Take in the parts as they are now; labels and value of each series."""
        parts = tuple(parts)
        if self._series and parts == self._parts and labels == self._labels:
            return self._series  # nearly always: nothing was decided since
        self._parts = parts
        if labels != self._labels:
            self._labels, self._lines = dict(labels), {}
        fresh, seen, counts = set[Key](), self._seen, self._counts
        self._seen = {}
        for part, now in parts:
            before = seen.get(part, ())
            self._seen[part] = now
            if now == before:
                continue
            was = dict(before)
            for key, count in now:
                if key not in counts:
                    fresh.add(key)
                grown = count - was.get(key, 0)
                counts[key] = counts.get(key, 0) + (grown if grown >= 0 else count)
        series = [(self._line(key), 0 if key in fresh else count) for key, count in counts.items()]
        self._series = [] if fresh else series
        return series

    def _line(self, key: Key) -> str:
        line = self._lines.get(key)
        if line is None:
            subject, action = ACTIONS[key[0]]
            more = {"subject": subject, "action": action, "reason": key[1].name.lower()}
            labels = {name: value for name, value in more.items() if name in self._family.labels}
            line = self._lines[key] = f"{label_set(self._labels | labels)} "
        return line
