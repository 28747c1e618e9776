# SPDX-License-Identifier: Apache-2.0
"""Sets that an agent is sent under a lease: a terminal's bounds, an access point's EDCA parameters and limits of
windows, a switch's rules. Each set replaces the one before and has a generation; an empty one releases.

The rules are the tables of docs/leases.md, from which the tests are made.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from airbound.core.reasons import Code, Reason

Entry = TypeVar("Entry")

REPEATED_AFTER_AT_MOST_US = 60_000_000
_DOUBLINGS_MAX = 16


class Step(Enum):
    """What is to be sent."""

    NOTHING = auto()
    RENEW = auto()  # the lease of the set that was sent
    REPEAT = auto()  # the set that was sent, which the agent does not report to be in force
    REPLACE = auto()  # the set that was sent, by another one


@dataclass(slots=True)
class SentSet(Generic[Entry]):
    """The set last sent on a stream. Times are the controller's; a renewal changes those of the lease."""

    generation: int
    entries: tuple[Entry, ...]
    reasons: tuple[Reason, ...]  # the first is the weightiest
    lease_us: int  # what the agent was last given, whatever is configured now
    set_at_us: int
    renewed_at_us: int
    repeats: int = 0  # how often the same set had to be sent again

    @property
    def renew_at_us(self) -> int:
        """When the lease is to be renewed: two more renewals may be lost before it ends."""
        return self.renewed_at_us + self.lease_us // 3

    @property
    def ends_at_us(self) -> int:
        """When the agent has nothing of the set in force any more unless the lease is renewed."""
        return self.renewed_at_us + self.lease_us

    def is_missing(self, in_force: int, reported_at_us: int) -> bool:
        """Whether the agent reported another generation in force, at a time when it should have applied the set."""
        if in_force == (self.generation if self.entries else 0):
            return False
        return reported_at_us - self.set_at_us >= repeat_after_us(self.lease_us, self.repeats)


@dataclass(slots=True, eq=False)
class Lease(Generic[Entry]):
    """Sets of one kind on one stream: the set that was sent last, and which is in force by the agent's last report."""

    sent: SentSet[Entry] | None = None
    in_force: int = 0  # generation; 0: none

    def is_settled(self, now_us: int) -> bool:
        """Whether the set that was sent is reported in force, and its lease needs no renewal yet."""
        sent = self.sent
        if sent is None or not sent.entries:
            return not self.in_force
        return self.in_force == sent.generation and now_us < sent.renewed_at_us + sent.lease_us // 3

    def step(self, entries: tuple[Entry, ...], reported_at_us: int, now_us: int) -> Step:
        """What to send if these entries are to be in force."""
        return next_step(self.sent, entries, self.in_force, reported_at_us, now_us)


def repeat_after_us(lease_us: int, repeats: int) -> int:
    """How long an agent has to report a set in force before it is sent again, after so many repetitions."""
    return min(lease_us // 2 << min(repeats, _DOUBLINGS_MAX), REPEATED_AFTER_AT_MOST_US)


def next_step(
    sent: SentSet[Entry] | None, entries: tuple[Entry, ...], in_force: int, reported_at_us: int, now_us: int
) -> Step:
    """What to send to an agent that is to have these entries; `in_force` is the generation that it reported, at
    `reported_at_us`.
    """
    if sent is None:
        return Step.REPLACE if entries or in_force else Step.NOTHING
    if entries != sent.entries:
        return Step.REPLACE
    if sent.is_missing(in_force, reported_at_us):
        return Step.REPEAT
    return Step.RENEW if entries and now_us >= sent.renew_at_us else Step.NOTHING


def next_set(
    step: Step,
    sent: SentSet[Entry] | None,
    entries: tuple[Entry, ...],
    reasons: tuple[Reason, ...],
    *,
    in_force: int,
    lease_ms: int,
    now_us: int,
    above: int = 0,
    early_us: int = 0,
) -> SentSet[Entry]:
    """The set to send by a step other than NOTHING. `reasons` are those of a replacement; its generation exceeds
    `above` as well, and its first renewal is `early_us` early.
    """
    lease_us, repeats = lease_ms * 1000, 0
    if sent is not None and step is Step.RENEW:
        sent.lease_us, sent.renewed_at_us = lease_us, now_us
        return sent
    if sent is not None and step is Step.REPEAT:
        reasons, repeats = (Reason(Code.REPEATED, before=in_force),), sent.repeats + 1
    # Above what is in force as well: an earlier process of the controller may have set that.
    generation = max(sent.generation if sent else 0, in_force, above) + 1
    return SentSet(generation, entries, reasons, lease_us, now_us, now_us - early_us, repeats)
