# SPDX-License-Identifier: Apache-2.0
"""Two saturated senders that do not hear each other, one access point that hears both: drawn, not computed; pure.

Written from the rules, without the lab's medium:

- each sender counts its back-off down on a clock of its own, in slots from a SIFS after the last thing that it heard or
  sent, EIFS after a failure of its own; CW doubles with each failure, and is CWmin again after a success or after
  ATTEMPTS_MAX attempts;
- a frame (with RTS, the RTS) during which the other sender sends anything is lost, and what is begun meanwhile is, too;
- otherwise the access point answers a SIFS later, with the ACK or block ack, or with a CTS. The other sender hears it:
  its counter stands still from then until the end of the exchange;
- what a sender begins in that SIFS is lost, since the access point answers the other one.

A formula would have to take the two back-offs as independent; here the sender that has just failed begins again into
the frame of the other one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airbound_lab.medium_theory.bianchi import ATTEMPTS_MAX, CW_MAX, CW_MIN
from airbound_lab.medium_theory.exchange import SLOT_NS, eifs_less_difs_ns

if TYPE_CHECKING:
    from airbound_lab.medium_theory.exchange import Exchange
    from airbound_lab.medium_theory.ppdu import Band

NEVER_NS = 2**63


@dataclass(slots=True)
class _Sender:
    """A sender that waits, or sends since `sends_from_ns`."""

    slots_from_ns: int = 0
    counter: int = 0
    cw: int = CW_MIN
    failures: int = 0
    sends_from_ns: int | None = None
    lost: bool = False
    attempts: int = 0
    lost_attempts: int = 0
    delivered: int = 0

    def begins_ns(self, aifsn: int) -> int:
        if self.sends_from_ns is not None:
            return NEVER_NS
        return self.slots_from_ns + (aifsn + self.counter) * SLOT_NS

    def freeze(self, aifsn: int, now_ns: int) -> None:
        slots = max(0, now_ns - self.slots_from_ns) // SLOT_NS
        self.counter -= min(self.counter, max(0, slots - aifsn))


@dataclass(frozen=True, slots=True)
class HiddenPair:
    """Two senders over some time."""

    payload_mbps: float
    """Of both together."""
    collision_probability: float
    """Of an attempt."""


@dataclass(slots=True)
class _Pair:
    """Both senders; each step is a begin or an end of what may be lost."""

    exchange: Exchange
    band: Band
    aifsn: int
    draw: random.Random
    senders: tuple[_Sender, _Sender] = field(default_factory=lambda: (_Sender(), _Sender()))

    def begin(self, at: int, now_ns: int) -> None:
        sender, other = self.senders[at], self.senders[1 - at]
        sender.sends_from_ns = now_ns
        sender.attempts += 1
        sender.lost = other.sends_from_ns is not None
        if other.sends_from_ns is not None and now_ns < other.sends_from_ns + self.exchange.collision_ns:
            other.lost = True

    def fails(self, at: int, end_ns: int) -> None:
        sender = self.senders[at]
        sender.lost_attempts += 1
        sender.failures += 1
        sender.cw = min(2 * sender.cw + 1, CW_MAX)
        if sender.failures == ATTEMPTS_MAX:
            sender.cw, sender.failures = CW_MIN, 0
        self.waits(at, end_ns + eifs_less_difs_ns(self.band))

    def succeeds(self, at: int, end_ns: int) -> None:
        sender = self.senders[at]
        sender.delivered += 1
        sender.cw, sender.failures = CW_MIN, 0
        self.waits(at, end_ns)

    def waits(self, at: int, from_ns: int) -> None:
        sender = self.senders[at]
        sender.sends_from_ns = None
        sender.slots_from_ns = from_ns + self.band.sifs_ns
        sender.counter = self.draw.randint(0, sender.cw)

    def answer(self, at: int, received_ns: int) -> int:
        """The frame of a sender has been received: what happens until the end of the exchange; when that is."""
        other = self.senders[1 - at]
        answer_ns = received_ns + self.band.sifs_ns
        end_ns = received_ns + self.exchange.success_ns - self.exchange.collision_ns
        began_ns = other.begins_ns(self.aifsn)
        if other.sends_from_ns is None and began_ns < answer_ns:
            self.begin(1 - at, began_ns)
        if other.sends_from_ns is not None:
            own_end_ns = other.sends_from_ns + self.exchange.collision_ns
            self.succeeds(at, end_ns)
            self.fails(1 - at, max(end_ns, own_end_ns))
            return end_ns
        other.freeze(self.aifsn, answer_ns)
        other.slots_from_ns = end_ns + self.band.sifs_ns
        self.succeeds(at, end_ns)
        return end_ns

    def step(self) -> int:
        """The next thing that happens; when it has."""
        begins = [sender.begins_ns(self.aifsn) for sender in self.senders]
        ends = [
            NEVER_NS if sender.sends_from_ns is None else sender.sends_from_ns + self.exchange.collision_ns
            for sender in self.senders
        ]
        if min(ends) <= min(begins):
            at = ends.index(min(ends))
            if self.senders[at].lost:
                self.fails(at, ends[at])
                return ends[at]
            return self.answer(at, ends[at])
        for at in (0, 1):
            if begins[at] == min(begins):
                self.begin(at, begins[at])
        if begins[0] == begins[1]:
            self.senders[0].lost = self.senders[1].lost = True
        return min(begins)


def hidden_pair(exchange: Exchange, band: Band, *, accesses: int, seed: int = 1, aifsn: int = 3) -> HiddenPair:
    """What two senders get that always have something to send, of so many attempts."""
    pair = _Pair(exchange, band, aifsn, random.Random(seed))  # noqa: S311  (a simulation, not a secret)
    for sender in pair.senders:
        sender.counter = pair.draw.randint(0, CW_MIN)
    now_ns = 0
    while sum(sender.attempts for sender in pair.senders) < accesses:
        now_ns = max(now_ns, pair.step())
    attempts, lost, delivered = (
        sum(getattr(sender, name) for sender in pair.senders) for name in ("attempts", "lost_attempts", "delivered")
    )
    return HiddenPair(delivered * exchange.payload_bits * 1000 / now_ns, lost / attempts)
