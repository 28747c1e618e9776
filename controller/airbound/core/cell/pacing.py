# SPDX-License-Identifier: Apache-2.0
"""Rates of UDP, QUIC among it, of phones with an agent: no window limits it.

A phone has one share of the cell (cell/shares.py, cell/air.py), whatever it sends. What it sends by UDP is what its
access point counts less what its agent reports as delivered by TCP. The two share as two senders do, max-min fair:

    UDP's part = share                           the phone sends no TCP
                 half of the share               TCP's windows are full
                 share - what TCP has            else, but no less than half
    rate       = UDP's part x HEADROOM           a rate leaves no queue from which a frame could be sent in a moment
                                                 that others leave
    TCP's part = 1 - what UDP has / share        of its windows; no less than half

A rate begins when UDP has taken `CLAIMS` of its part beside other senders of the cell, follows the part in steps, and
ends when less than half of the rate was used for `LINGERS_US`: what does not want more is left alone. Beside TCP both
begin when UDP has had more than LEAST_TAKEN of the share for `BEGINS_US`: TCP that starts delivers a round trip later
than the access point counts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from airbound.core.cell.unlimited import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound.core.addresses import Mac

HEADROOM = 1.05
STEP = 1.1  # of a rate, for which a new one is sent
ENDS_BELOW = 0.5
LINGERS_US = 3_000_000
LEAST_BPS = 100_000.0
GIVEN_UP_US = 60_000_000
LEAST_TAKEN, TAKEN_STEP, TAKEN_MOST = 0.15, 0.1, 0.5  # of the share, by UDP beside TCP
BEGINS_US = 2_500_000


class Use(NamedTuple):
    """What a phone that can be given a rate sends, bits of IP packets a second."""

    share_bps: float  # above 0
    sent_bps: float  # by its access point
    tcp_bps: float | None = None  # delivered, by its agent; none: it sends no TCP
    tcp_wants_more: bool = False

    @property
    def udp_bps(self) -> float:
        """What is left of what it sends."""
        return max(0.0, self.sent_bps - (self.tcp_bps or 0.0))

    @property
    def udp_part_bps(self) -> float:
        """What its UDP may have."""
        if self.tcp_bps is None:
            return self.share_bps
        half_bps = self.share_bps / 2
        return half_bps if self.tcp_wants_more else max(half_bps, self.share_bps - self.tcp_bps)


@dataclass(slots=True)
class Pace:
    """One phone's rate."""

    bps: float
    claimed_us: int  # when it last took enough of it; the controller's clock


@dataclass(slots=True)
class Beside:
    """UDP of a phone that sends TCP as well."""

    since_us: int  # when it began to have enough to count
    seen_us: int  # when it last had
    taken: float = 0.0  # of the share, that its TCP is not to have; 0 until that has lasted


@dataclass(slots=True)
class Pacing:
    """Of one cell."""

    paces: dict[Mac, Pace] = field(default_factory=dict)
    beside: dict[Mac, Beside] = field(default_factory=dict)
    given_up_us: dict[Mac, int] = field(default_factory=dict)  # who did not apply a rate is not sent one before
    had: bool = False  # whether there were some at the report before: those that had them are to be sent that

    def observe(self, uses: Mapping[Mac, Use], now_us: int) -> bool:
        """Take in what those send that may be paced; whether what is left to TCP of one moved."""
        self.had = bool(self.paces)
        for mac in self.paces.keys() - uses.keys():
            del self.paces[mac]
        moved = False
        for mac in self.beside.keys() - uses.keys():
            moved |= self.beside.pop(mac).taken > 0
        for mac, use in uses.items():
            moved |= self._observe_beside(mac, use, now_us)
            if use.tcp_bps is None or self.tcp_part(mac) < 1 or mac in self.paces:
                self._observe_pace(mac, use, now_us)
        return moved

    def _observe_pace(self, mac: Mac, use: Use, now_us: int) -> None:
        part_bps, pace = use.udp_part_bps, self.paces.get(mac)
        wanted_bps = max(LEAST_BPS, HEADROOM * part_bps)
        if pace is None:
            if use.udp_bps >= CLAIMS * part_bps:
                self.paces[mac] = Pace(wanted_bps, now_us)
            return
        if use.udp_bps >= ENDS_BELOW * pace.bps:
            pace.claimed_us = now_us
        elif now_us - pace.claimed_us >= LINGERS_US:
            del self.paces[mac]
            return
        if max(wanted_bps, pace.bps) > STEP * min(wanted_bps, pace.bps):
            pace.bps = wanted_bps

    def _observe_beside(self, mac: Mac, use: Use, now_us: int) -> bool:
        """Whether what TCP has not of the share moved."""
        taken, known = min(use.udp_bps / use.share_bps, TAKEN_MOST), self.beside.get(mac)
        counts = use.tcp_bps is not None and taken >= LEAST_TAKEN
        if known is None:
            if counts:
                self.beside[mac] = Beside(now_us, now_us)
            return False
        if not counts:
            if use.tcp_bps is not None and known.taken and now_us - known.seen_us < LINGERS_US:
                return False
            return self.beside.pop(mac).taken > 0
        known.seen_us = now_us
        if now_us - known.since_us < BEGINS_US or abs(taken - known.taken) < TAKEN_STEP:
            return False
        known.taken = taken
        return True

    def tcp_part(self, mac: Mac) -> float:
        """How much of its windows a phone's TCP may have."""
        beside = self.beside.get(mac)
        return 1.0 if beside is None else 1.0 - beside.taken

    def give_up(self, mac: Mac, now_us: int) -> None:
        """Its agent does not apply what it is sent: for some time it counts as one that nothing limits."""
        self.given_up_us = {other: until_us for other, until_us in self.given_up_us.items() if now_us < until_us}
        self.given_up_us[mac] = now_us + GIVEN_UP_US

    def is_given_up(self, mac: Mac, now_us: int) -> bool:
        """Whether that was a while ago at most."""
        return now_us < self.given_up_us.get(mac, 0)
