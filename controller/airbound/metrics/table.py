# SPDX-License-Identifier: Apache-2.0
"""Samples of many objects of one kind: a row for each object, a column for each of its series."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeVar

from airbound.metrics.family import Family

Item = TypeVar("Item")
Values = list[float | None]


class Column(NamedTuple):
    """One series of each object: of which metric, what its value is (None: no sample), and under which of the object's
    sets of labels it is shown.
    """

    family: Family
    value: Callable[[Any], float | None]
    labels: int = 0


class Table:
    """Columns, those of one metric side by side, and the objects of a snapshot after the other.

    Lines that would be as they were in the snapshot before are not made again: most of what is shown of an object
    hardly ever changes, and to compare takes a tenth of the time.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._labels: list[tuple[str, ...]] = []
        self._objects: list[Any] = []
        self._kept: dict[int, tuple[Sequence[str], Values, list[bytes]]] = {}

    def add(self, labels: tuple[str, ...], row: Any) -> None:
        """An object, and its sets of labels: `{...}` and a space."""
        self._labels.append(labels)
        self._objects.append(row)

    def lines(self) -> Iterator[tuple[Family, list[bytes]]]:
        """The lines of each metric, in chunks; a metric without samples has none. Then the objects are forgotten."""
        labels = list(zip(*self._labels, strict=True))
        for family, group in groupby(enumerate(self._columns), key=lambda numbered: numbered[1].family):
            columns = list(group) if self._objects else []
            shown: list[tuple[Sequence[str], Values]] = [
                (labels[column.labels], [*map(column.value, self._objects)]) for _, column in columns
            ]
            if family.kind == "summary" and shown:  # OpenMetrics wants an object's quantiles side by side
                shown = [(_interleaved([column for column, _ in shown]), _interleaved([value for _, value in shown]))]
            chunks = list[bytes]()
            for (number, _), (family_values, values) in zip(columns, shown, strict=False):
                chunks += self._lines(number, family, family_values, values)
            yield family, chunks
        self._labels, self._objects = [], []

    def _lines(self, number: int, family: Family, labels: Sequence[str], values: Values) -> list[bytes]:
        kept = self._kept.get(number)
        if kept is None or kept[1] != values or kept[0] != labels:
            kept = self._kept[number] = labels, values, family.lines(labels, values)
        return kept[2]


def _interleaved(columns: Sequence[Sequence[Item]]) -> list[Item]:
    return list(chain.from_iterable(zip(*columns, strict=True)))
