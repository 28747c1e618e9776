# SPDX-License-Identifier: Apache-2.0
"""What streams sent and was not used, and how streams end."""

from collections import Counter

from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.reporter import OUT_OF_ORDER_MAX
from airbound.core.cell.terminal import Terminal
from airbound.core.effects import CloseStream, Effect, Note, refusal
from airbound.core.events import Disconnected
from airbound.core.placement import Placement
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.core.registry import Registry


class Refusals:
    """Counts refusals and ends streams."""

    def __init__(self, registry: Registry, placement: Placement) -> None:
        self._registry = registry
        self._placement = placement
        self._refused = Counter[Code]()  # of streams on which nothing was accepted before

    def refuse(self, reporter: AccessPoint | Terminal | None, stream: Stream, reason: Reason) -> list[Effect]:
        """Count what a stream sent and was not used."""
        if reporter is None:
            self._refused[reason.code] += 1
            return [refusal(stream.principal, reason, count=self._refused[reason.code])]
        reporter.refused_total += 1
        return [refusal(stream.principal, reason, reporter.bssid, count=reporter.refused_total)]

    def out_of_order(self, reporter: AccessPoint | Terminal, reason: Reason, now_us: int) -> list[Effect]:
        """A report repeats or precedes an earlier one: refused, and the stream's end if that goes on."""
        effects = self.refuse(reporter, reporter.stream, reason)
        if reporter.out_of_order_streak >= OUT_OF_ORDER_MAX:
            streak = Reason(Code.OUT_OF_ORDER_STREAK, after=reporter.out_of_order_streak)
            effects += self.close(reporter, streak, now_us)
        return effects

    def close(self, reporter: AccessPoint | Terminal, reason: Reason, now_us: int) -> list[Effect]:
        """End a stream, once: nothing that arrives on it counts from now on, and nothing is sent on it."""
        if reporter.closed:
            return []
        reporter.closed = True
        effects: list[Effect] = [CloseStream(reporter.stream, reason)]
        if isinstance(reporter, Terminal):
            self._placement.withdraw(reporter)
            effects += self._placement.place_claimed(reporter.mac, now_us)
        return effects

    def disconnected(self, event: Disconnected, now_us: int) -> list[Effect]:
        """A stream has ended."""
        reporter = self._registry.reporters.pop(event.stream.number, None)
        if isinstance(reporter, AccessPoint):
            cell = self._registry.cells.get(reporter.bssid)
            if cell is not None and cell.access_point is reporter:
                cell.access_point = None
                return [Note("info", "disconnected", cell.name, cell=cell.bssid)]
        elif isinstance(reporter, Terminal):
            note = Note("info", "disconnected", reporter.name, terminal=reporter.name, cell=reporter.bssid)
            notes: list[Effect] = [] if event.moved else [note]
            if reporter.closed:
                return notes
            self._placement.withdraw(reporter)
            return [*notes, *self._placement.place_claimed(reporter.mac, now_us)]
        return []
