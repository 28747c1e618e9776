# SPDX-License-Identifier: Apache-2.0
"""Sets that an access point is sent under a lease: EDCA parameters, limits of windows. Each set replaces the one before
and has a generation; the same one again, with the same generation, prolongs its lease; an empty one releases.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from airbound.core.commands import repeat_after_us
from airbound.core.reasons import Code, Reason

Entry = TypeVar("Entry")


@dataclass(slots=True)
class SentSet(Generic[Entry]):
    """The set last sent on an access point's stream. Times are the controller's; a renewal changes the lease's."""

    generation: int
    entries: tuple[Entry, ...]
    reasons: tuple[Reason, ...]  # the first is the weightiest
    lease_us: int  # what the access point was last given, whatever is configured now
    set_at_us: int
    renewed_at_us: int
    repeats: int = 0  # how often the same set had to be sent again

    @property
    def renew_at_us(self) -> int:
        """When the lease is to be renewed: two more may be lost before it ends."""
        return self.renewed_at_us + self.lease_us // 3

    @property
    def ends_at_us(self) -> int:
        """When the access point is free again unless the lease is renewed."""
        return self.renewed_at_us + self.lease_us


def is_as_sent(
    sent: SentSet[Entry] | None, entries: tuple[Entry, ...], in_force: int, reported_at_us: int, now_us: int
) -> bool:
    """Whether an access point that is to have these entries need not be sent anything now. `in_force` is the generation
    that it reported, at `reported_at_us`.
    """
    if sent is None:
        return not entries and not in_force
    return (
        entries == sent.entries
        and not _is_missing(sent, in_force, reported_at_us)
        and not (entries and now_us >= sent.renew_at_us)
    )


def next_set(
    sent: SentSet[Entry] | None,
    entries: tuple[Entry, ...],
    reasons: tuple[Reason, ...],
    *,
    in_force: int,
    reported_at_us: int,
    lease_ms: int,
    now_us: int,
) -> SentSet[Entry] | None:
    """The set to send to an access point that is to have these entries: a new one, or the one that was sent with
    another lease; none if nothing is to be sent.

    A set that it does not report to be in force, half a lease after it was sent, is sent again, each time after twice
    the wait, at most a minute.
    """
    if is_as_sent(sent, entries, in_force, reported_at_us, now_us):
        return None
    repeats = 0
    if sent is not None and entries == sent.entries:
        if not _is_missing(sent, in_force, reported_at_us):
            sent.lease_us, sent.renewed_at_us = lease_ms * 1000, now_us
            return sent
        reasons, repeats = (Reason(Code.REPEATED, before=in_force),), sent.repeats + 1
    # Above what is in force as well: an earlier process of the controller may have set that.
    generation = max(sent.generation if sent else 0, in_force) + 1
    return SentSet(generation, entries, reasons, lease_ms * 1000, now_us, now_us, repeats)


def _is_missing(sent: SentSet[Entry], in_force: int, reported_at_us: int) -> bool:
    """Whether an access point reports something else in force than it was sent, and had time enough to apply it."""
    expected = sent.generation if sent.entries else 0
    if in_force == expected:
        return False
    return reported_at_us - sent.set_at_us >= repeat_after_us(sent.lease_us, sent.repeats)
