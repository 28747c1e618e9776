# SPDX-License-Identifier: Apache-2.0
"""What streams sent and was not used, and how streams end."""

from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.streams import OUT_OF_ORDER_MAX
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

    def refuse(self, reporter: AccessPoint | Terminal | None, stream: Stream, reason: Reason) -> list[Effect]:
        """Count what a stream sent and was not used."""
        self._registry.settings.count("refused_total", reason.code)
        if reporter is None:
            count = self._registry.settings.counters["refused_total", reason.code]
        else:
            reporter.refused_total += 1
            count = reporter.refused_total
        if count & (count - 1):
            return []  # a broken agent repeats itself every second: the log gets the 1st, 2nd, 4th, 8th, ...
        cell = reporter.cell if reporter else None
        return [refusal(stream.principal, reason, cell.bssid if cell else b"")]

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
        self._registry.settings.count("closed_total", reason.code)
        effects: list[Effect] = [CloseStream(reporter.stream, reason)]
        if isinstance(reporter, Terminal):
            self._placement.withdraw(reporter)
            effects += self._placement.place_claimed(reporter.mac, now_us)
        return effects

    def disconnected(self, event: Disconnected, now_us: int) -> list[Effect]:
        """A stream has ended."""
        reporter = self._registry.reporters.pop(event.stream.number, None)
        if isinstance(reporter, AccessPoint):
            if reporter.cell is not None and reporter.cell.access_point is reporter:
                reporter.cell.access_point = None
                return [Note("info", "disconnected", reporter.cell.name, cell=reporter.cell.bssid)]
        elif isinstance(reporter, Terminal):
            cell = reporter.cell.bssid if reporter.cell else b""
            note = Note("info", "disconnected", reporter.name, terminal=reporter.name, cell=cell)
            notes: list[Effect] = [] if event.moved else [note]
            if reporter.closed:
                return notes
            self._placement.withdraw(reporter)
            return [*notes, *self._placement.place_claimed(reporter.mac, now_us)]
        return []
