# SPDX-License-Identifier: Apache-2.0
"""The table of `airbound-handover survey` (phone-agent/survey/log.go), by the phone's clock and by the server's."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    class _Rows(Iterator[list[str]], Protocol):
        line_num: int


COLUMNS = ("series", "sequence", "phone_unix_us", "server_unix_us", "delay_us", "uncertainty_us", "event")
UP = ("tcp_up", "udp_up")
DOWN = "udp_down"
EVENT = "event"


class Packet(NamedTuple):
    """One packet: when it was at the phone and at the server, each by the clock there, and its delay. A packet that is
    lost has no time at the server; without the clocks' difference there is no delay.
    """

    phone_us: int
    server_us: int | None
    delay_s: float | None


class Arrival(NamedTuple):
    """An event of the phone's; the server's time is None if the clocks' difference is not known."""

    phone_us: int
    server_us: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Ride:
    """A whole table."""

    packets: Mapping[str, Sequence[Packet]]
    arrivals: Sequence[Arrival]
    uncertainty_s: float | None
    """How wrong delays may be: the largest of the table."""

    @property
    def begin_us(self) -> int:
        """The first time of the phone's clock."""
        return min(packet.phone_us for packets in self.packets.values() for packet in packets)

    @property
    def server_begin_us(self) -> int | None:
        """The first time of the server's clock."""
        times = [one.server_us for packets in self.packets.values() for one in packets if one.server_us is not None]
        return min(times, default=None)

    def by_phone(self, series: str) -> list[tuple[float, float]]:
        """Points of figures 2 to 4, in s: of packets up when they were sent, down when they came, and the delay."""
        begin_us = self.begin_us
        return [
            ((one.phone_us - begin_us) / 1e6, one.delay_s) for one in self.packets[series] if one.delay_s is not None
        ]

    def by_server(self, series: str) -> list[tuple[float, float]]:
        """Points of figure 5, in s: of packets up when they came, of those down when they were sent, and the delay."""
        begin_us = self.server_begin_us or 0
        return [
            ((one.server_us - begin_us) / 1e6, one.delay_s)
            for one in self.packets[series]
            if one.delay_s is not None and one.server_us is not None
        ]

    def lost(self, series: str) -> list[float]:
        """When packets up were sent that never came, in s."""
        return [(one.phone_us - self.begin_us) / 1e6 for one in self.packets[series] if one.server_us is None]


def read(lines: Iterable[str], name: str) -> Ride:
    """Read a table; `name` is for errors.

    Raises:
        UsageError: it is none.
    """
    try:
        return _read(csv.reader(lines), name)
    except csv.Error as error:
        raise UsageError(f"{name}: {error}") from error


def _read(rows: _Rows, name: str) -> Ride:
    if tuple(next(rows, ())) != COLUMNS:
        raise UsageError(f"{name}: line 1 is not {','.join(COLUMNS)}: not a table of airbound-handover survey")
    packets: dict[str, list[Packet]] = {series: [] for series in (*UP, DOWN)}
    arrivals = list[Arrival]()
    worst_us: int | None = None
    for row in rows:
        where = f"{name}: line {rows.line_num}"
        if len(row) != len(COLUMNS):
            raise UsageError(f"{where}: {len(row)} columns, not {len(COLUMNS)}")
        series, _, phone, server, delay, uncertainty, text = row
        try:
            phone_us = int(phone)
            server_us, delay_us, uncertainty_us = (int(each) if each else None for each in (server, delay, uncertainty))
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error
        if uncertainty_us is not None:
            worst_us = max(worst_us or 0, uncertainty_us)
        if series == EVENT:
            arrivals.append(Arrival(phone_us, server_us, text))
        elif series in packets:
            packets[series].append(Packet(phone_us, server_us, None if delay_us is None else delay_us / 1e6))
        else:
            raise UsageError(f"{where}: no series {series!r}")
    if not any(packets.values()):
        raise UsageError(f"{name}: no packet in it")
    return Ride(packets, arrivals, None if worst_us is None else worst_us / 1e6)
