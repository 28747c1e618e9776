# SPDX-License-Identifier: Apache-2.0
"""What is known of one terminal, on one stream: its last report, what it sends to, and what it was sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from airbound.core.addresses import is_loopback
from airbound.core.cell.streams import Reporter
from airbound.core.reports import NO_AGENT, BackEnd, Destination, TerminalReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound.core.addresses import Address, Mac
    from airbound.core.cell.state import CellState
    from airbound.core.commands import Sent
    from airbound.core.reasons import Code, Reason


_SRTT = Destination._fields.index("srtt_us")  # the last field


class Paused(NamedTuple):
    """A destination as it was when it last had queued data."""

    destination: Destination
    at_us: int


@dataclass(slots=True, eq=False)
class Terminal(Reporter):
    """One agent on one stream. It ends with its stream; the next one starts from what the terminal reports."""

    mac: Mac = b""  # as the terminal reports it; empty before the first report
    back_end: BackEnd = NO_AGENT.back_end
    destinations: tuple[Destination, ...] = ()
    generation_in_force: int = 0
    sending: dict[Address, Destination] = field(default_factory=dict)  # with queued data, by the last report
    sampled_at_us: int = 0  # the controller's clock at that report
    started_at_us: int = 0  # the same, when it began to send: it sent nothing by the report before
    paused: dict[Address, Paused] = field(default_factory=dict)  # with queued data a moment ago
    cell: CellState | None = None  # the one that it is joined to
    unplaced: Reason | None = None  # why it is joined to none
    sent: Sent | None = None
    no_bounds: Reason | None = None
    reporting: tuple[int, int, int] | None = None  # when it is to report: what it was sent last, of its settings
    failures_total: int = 0  # decisions that ended in an error of the controller
    decided: Counter[tuple[str, Code]] = field(default_factory=Counter)  # what was sent, as Settings.counters
    superseded_at_us: int = 0  # when a newer stream claimed its MAC; 0: none did
    reports_since_superseded: int = 0
    due_us: int = 0  # of core.deadlines

    @property
    def name(self) -> str:
        """Whose terminal it is."""
        return self.stream.principal.name

    @property
    def last_generation(self) -> int:
        """Generation of the last set sent on this stream; 0 if none was."""
        return self.sent.generation if self.sent else 0

    @property
    def sends(self) -> bool:
        """Whether it sends to anybody, or did a moment ago."""
        return bool(self.sending or self.paused)

    def sends_to(self, addresses: Iterable[Address]) -> bool:
        """Whether it sends to one of these, or did a moment ago."""
        return any(address in self.sending or address in self.paused for address in addresses)

    def fills_its_window(self) -> bool:
        """Whether it has more to send to somebody than its congestion windows let it, by its last report."""
        return any(destination.fills_window for destination in self.sending.values())

    def accept(self, report: TerminalReport, now_us: int, keep_us: int, *, srtt_counts: bool = True) -> bool:
        """Take in a report whose order was accepted. A destination that paused is kept for `keep_us`, so that a burst
        after the pause finds its bound in place.

        Returns whether anything has changed that decisions follow from; a smoothed RTT only if `srtt_counts`.
        """
        changed = report.agent is not None
        if report.agent is not None:
            self.agent_version, self.back_end = report.agent.version, report.agent.back_end
        self.destinations = report.destinations
        self.generation_in_force = report.bounds_generation
        self.malformed_inputs_total = report.malformed_inputs_total
        if self.superseded_at_us:
            self.reports_since_superseded += 1
        before, sending = self.sending, {}
        for destination in report.destinations:
            address = destination.address
            if destination.connections_sending and not is_loopback(address):
                sending[address] = destination
                was = before.get(address)
                if was is None or (was != destination if srtt_counts else was[:_SRTT] != destination[:_SRTT]):
                    changed = True
        self.sending = sending
        if sending and not before:
            self.started_at_us = now_us
        if self.paused or len(sending) < len(before) or changed:
            changed |= self._keep_paused(before, now_us, keep_us)
        self.sampled_at_us = now_us
        return changed

    def _keep_paused(self, before: dict[Address, Destination], now_us: int, keep_us: int) -> bool:
        """Keep what sent `before` and no longer does, for a time; whether that changed anything."""
        paused = {
            address: entry
            for address, entry in self.paused.items()
            if address not in self.sending and now_us - entry.at_us <= keep_us
        }
        changed = len(paused) < len(self.paused)
        for address, destination in before.items():
            if address not in self.sending:
                changed = True
                if now_us - self.sampled_at_us <= keep_us:
                    paused[address] = Paused(destination, self.sampled_at_us)
        self.paused = paused
        return changed
