# SPDX-License-Identifier: Apache-2.0
"""From what an access point's queues are to be to what, if anything, must be sent to the access point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound.core.commands import repeat_after_us
from airbound.core.effects import Effect, Note, SetEdca
from airbound.core.reasons import Code, Reason

if TYPE_CHECKING:
    from airbound.core.cell.state import AccessPoint
    from airbound.core.edca import Edca
    from airbound.core.settings import Settings


@dataclass(slots=True)
class SentEdca:
    """The set last sent on an access point's stream. Times are the controller's; a renewal changes the lease's."""

    generation: int
    queues: tuple[Edca, ...]
    reason: Reason
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
        """When the access point's own parameters return unless the lease is renewed."""
        return self.renewed_at_us + self.lease_us


def is_as_sent(access_point: AccessPoint, queues: tuple[Edca, ...], now_us: int) -> bool:
    """Whether an access point that is to have these queues' parameters need not be sent anything now."""
    sent = access_point.edca_sent
    if sent is None:
        return not queues and not access_point.edca_generation
    return queues == sent.queues and not _is_missing(access_point, sent) and not (queues and now_us >= sent.renew_at_us)


def edca_command(
    access_point: AccessPoint, queues: tuple[Edca, ...], reason: Reason, settings: Settings, now_us: int
) -> list[Effect]:
    """What must be sent to an access point that is to have these queues' parameters, or its own if there are none.

    A set that it does not report to be in force, half a lease after it was sent, is sent again, each time after twice
    the wait, at most a minute.
    """
    if is_as_sent(access_point, queues, now_us):
        return []
    sent, in_force, repeats = access_point.edca_sent, access_point.edca_generation, 0
    if sent is not None and queues == sent.queues:
        if not _is_missing(access_point, sent):
            return _renewal(access_point, sent, settings, now_us)
        reason, repeats = Reason(Code.REPEATED, before=in_force), sent.repeats + 1
    lease_ms = settings.parameters.safety.lease_ms
    # Above what is in force as well: an earlier process of the controller may have set that.
    generation = max(sent.generation if sent else 0, in_force) + 1
    access_point.edca_sent = SentEdca(generation, queues, reason, lease_ms * 1000, now_us, now_us, repeats)
    counter, cell = "edca_sets_total" if queues else "edca_releases_total", access_point.cell
    settings.count(counter, reason.code)
    if cell is not None:
        cell.decided[counter, reason.code] += 1
    note = Note("info", "edca", cell.name if cell else "", (reason,), queues=queues, cell=cell.bssid if cell else b"")
    return [SetEdca(access_point.stream, generation, queues, lease_ms, reason), note]


def _renewal(access_point: AccessPoint, sent: SentEdca, settings: Settings, now_us: int) -> list[Effect]:
    """The same set again."""
    lease_ms = settings.parameters.safety.lease_ms
    sent.lease_us, sent.renewed_at_us = lease_ms * 1000, now_us
    return [SetEdca(access_point.stream, sent.generation, sent.queues, lease_ms, sent.reason)]


def _is_missing(access_point: AccessPoint, sent: SentEdca) -> bool:
    """Whether an access point reports something else in force than it was sent, and had time enough to apply it."""
    expected = sent.generation if sent.queues else 0
    if access_point.edca_generation == expected:
        return False
    return access_point.reported_at_us - sent.set_at_us >= repeat_after_us(sent.lease_us, sent.repeats)
