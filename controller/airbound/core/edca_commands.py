# SPDX-License-Identifier: Apache-2.0
"""From what an access point's queues are to be to what, if anything, must be sent to the access point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core import leased_sets
from airbound.core.effects import Effect, Note, SetEdca

if TYPE_CHECKING:
    from airbound.core.cell.access_point import AccessPoint
    from airbound.core.edca import Edca
    from airbound.core.reasons import Reason
    from airbound.core.settings import Settings


def is_as_sent(access_point: AccessPoint, queues: tuple[Edca, ...], now_us: int) -> bool:
    """Whether an access point that is to have these queues' parameters need not be sent anything now."""
    in_force = access_point.edca_generation
    return leased_sets.is_as_sent(access_point.edca_sent, queues, in_force, access_point.reported_at_us, now_us)


def edca_command(
    access_point: AccessPoint, queues: tuple[Edca, ...], reason: Reason, settings: Settings, now_us: int
) -> list[Effect]:
    """What must be sent to an access point that is to have these queues' parameters, or its own if there are none."""
    before, lease_ms = access_point.edca_sent, settings.parameters.safety.lease_ms
    sent = leased_sets.next_set(
        before,
        queues,
        (reason,),
        in_force=access_point.edca_generation,
        reported_at_us=access_point.reported_at_us,
        lease_ms=lease_ms,
        now_us=now_us,
    )
    if sent is None:
        return []
    access_point.edca_sent, reason = sent, sent.reasons[0]
    effect = SetEdca(access_point.stream, sent.generation, queues, lease_ms, reason)
    if sent is before:
        return [effect]
    counter, cell = "edca_sets_total" if queues else "edca_releases_total", access_point.cell
    settings.count(counter, reason.code)
    if cell is not None:
        cell.decided[counter, reason.code] += 1
    note = Note("info", "edca", cell.name if cell else "", (reason,), queues=queues, cell=cell.bssid if cell else b"")
    return [effect, note]
