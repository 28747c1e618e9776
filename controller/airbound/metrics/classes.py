# SPDX-License-Identifier: Apache-2.0
"""What of a terminal's connections is of applications of each class. Only classes that it has reported have series."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.reports import COUNTER_MAX
from airbound.metrics.family import Family
from airbound.metrics.labels import label_set
from airbound.metrics.table import Column
from airbound.metrics.totals import Totals
from airbound.v1 import terminal_pb2

NAMES = {
    terminal_pb2.APPLICATION_CLASS_LIVE: "live",
    terminal_pb2.APPLICATION_CLASS_BURST: "burst",
    terminal_pb2.APPLICATION_CLASS_BULK: "bulk",
    terminal_pb2.APPLICATION_CLASS_BACKGROUND: "background",
}
OTHER = "other"
"""A class of a later version."""

Part = tuple[str, tuple[Mac, Address], int, int, int]
"""Class, which terminal's destination, connections that send, bytes queued, bytes delivered."""


class Shown(NamedTuple):
    """One class of a terminal."""

    connections_sending: int
    queued_bytes: int
    delivered_bytes: int


_LABELS = ("terminal", "class")
COLUMNS = (
    Column(
        Family(
            "airbound_terminal_class_sending_connections", "gauge",
            "Connections with unsent or unacknowledged data whose application is of this class; of classes that its"
            " table of applications has given.", _LABELS,
        ),
        attrgetter("connections_sending"),
    ),
    Column(
        Family(
            "airbound_terminal_class_queued_bytes", "gauge", "Unsent and unacknowledged bytes of the class.", _LABELS
        ),
        attrgetter("queued_bytes"),
    ),
    Column(
        Family(
            "airbound_terminal_class_delivered_bytes_total", "counter",
            "Bytes of the class that were acknowledged.", _LABELS,
        ),
        attrgetter("delivered_bytes"),
    ),
)  # fmt: skip


def parts(mac: Mac, destination: terminal_pb2.Destination) -> list[Part]:
    """Of a destination that has some: one for each name, since several classes may be `OTHER`. Values that nobody has
    checked count as 0 if they are absurd.
    """
    key, found = (mac, destination.address), dict[str, Part]()
    for part in destination.classes:
        values = (part.connections_sending, part.queued_bytes, part.delivered_bytes)
        sending, queued, delivered = (value if value <= COUNTER_MAX else 0 for value in values)
        name = NAMES.get(part.application_class, OTHER)
        before = found.get(name, (name, key, 0, 0, 0))
        found[name] = (name, key, before[2] + sending, before[3] + queued, before[4] + delivered)
    return [*found.values()]


class ClassSeries:
    """What is kept of a terminal's classes from one snapshot to the next."""

    __slots__ = ("_totals",)

    def __init__(self) -> None:
        self._totals: dict[str, Totals] = {}

    def update(self, label: str, reported: Sequence[Part]) -> list[tuple[str, Shown]]:
        """Take in the parts as they are now; the labels and the values of each class."""
        for name, *_ in reported:
            # Prometheus sees nothing of a counter's growth before its first sample: what was delivered until the class
            # is seen first is left out, as with the terminal's other counters.
            self._totals.setdefault(name, Totals(1))
        rows = []
        for name, totals in self._totals.items():
            own = [part for part in reported if part[0] == name]
            (delivered,) = totals.update([(key, (delivered,)) for _, key, _, _, delivered in own])
            shown = Shown(sum(part[2] for part in own), sum(part[3] for part in own), delivered)
            rows.append((f"{label_set({'terminal': label, 'class': name})} ", shown))
        return rows
