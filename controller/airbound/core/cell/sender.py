# SPDX-License-Identifier: Apache-2.0
"""A sender: who sends by TCP, and to which destinations, by its last report and those a moment before. A terminal is
one, by its agent's reports; a station without a working agent is one, by its access point's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airbound.core.addresses import is_loopback
from airbound.core.reports import Destination

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound.core.addresses import Address, Mac

_SRTT = Destination._fields.index("srtt_us")  # the last field


class Paused(NamedTuple):
    """A destination as it was when it was last sent to."""

    destination: Destination
    at_us: int


class Sender:
    """What the policies need of a sender. Times are the controller's clock."""

    __slots__ = tuple[str, ...]()  # the attributes are in those of its subclasses

    mac: Mac
    sending: dict[Address, Destination]  # that it sends to, by the last report
    paused: dict[Address, Paused]  # that it sent to a moment ago
    sampled_at_us: int  # at the last report
    started_at_us: int  # when it began to send: it sent nothing by the report before
    stopped_at_us: int  # when it sent no more, and did by the report before

    @property
    def sends(self) -> bool:
        """Whether it sends to anybody, or did a moment ago."""
        return bool(self.sending or self.paused)

    def sends_to(self, addresses: Iterable[Address]) -> bool:
        """Whether it sends to one of these, or did a moment ago."""
        return any(address in self.sending or address in self.paused for address in addresses)

    def take(
        self, destinations: tuple[Destination, ...], now_us: int, keep_us: int, *, srtt_counts: bool, changed: bool
    ) -> bool:
        """Take in a report's destinations. One that paused is kept for `keep_us`, so that a burst after the pause finds
        its bound in place.

        Returns whether anything has changed that decisions follow from, or had `changed` already; a smoothed RTT only
        if `srtt_counts`.
        """
        before, sending = self.sending, {}
        for destination in destinations:
            address = destination.address
            if destination.connections_sending:
                was = before.get(address)
                if was is None and is_loopback(address):
                    continue
                sending[address] = destination
                if was is None or (was != destination if srtt_counts else was[:_SRTT] != destination[:_SRTT]):
                    changed = True
        self.sending = sending
        if sending and not before:
            self.started_at_us = now_us
        elif before and not sending:
            self.stopped_at_us = now_us
        if self.paused or len(sending) < len(before) or changed:
            changed |= self._keep_paused(before, now_us, keep_us)
        self.sampled_at_us = now_us
        return changed

    def _keep_paused(self, before: dict[Address, Destination], now_us: int, keep_us: int) -> bool:
        """Keep what was sent to `before` and no longer is, for a time; whether that changed anything."""
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
