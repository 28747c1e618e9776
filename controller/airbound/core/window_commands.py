# SPDX-License-Identifier: Apache-2.0
"""From the limits that the windows of a cell's stations are to have to what, if anything, must be sent to the access
point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core import leased_sets
from airbound.core.effects import Effect, Note, SetWindows, WindowLimit

if TYPE_CHECKING:
    from airbound.core.cell.access_point import AccessPoint
    from airbound.core.decisions import Decision
    from airbound.core.reasons import Reason
    from airbound.core.settings import Settings

SEGMENTS_MIN = 2  # a connection with less in flight stalls on delayed ACKs; the contract's least


def window_limits(mac: bytes, decisions: tuple[Decision, ...]) -> tuple[WindowLimit, ...]:
    """What the decisions for a station come to: payload that each connection may have in flight. An access point can
    hold a sender back, and not push it: the minima are for phones alone.
    """
    return tuple(
        WindowLimit(
            mac,
            decision.destination,
            max(decision.range.max_segs, SEGMENTS_MIN) * decision.mss_bytes,
        )
        for decision in decisions
    )


def fit_to_access_point(limits: tuple[WindowLimit, ...], most: int) -> tuple[WindowLimit, ...]:
    """The limits that an access point takes: of too many the smallest maxima, as commands.fit_to_back_end; 0: as many
    as there are.
    """
    if not most or len(limits) <= most:
        return limits
    return tuple(sorted(sorted(limits, key=lambda limit: (limit.max_bytes, limit))[:most]))


def is_as_sent(access_point: AccessPoint, limits: tuple[WindowLimit, ...], now_us: int) -> bool:
    """Whether an access point that is to have these limits need not be sent anything now."""
    in_force = access_point.windows_generation
    return leased_sets.is_as_sent(access_point.windows_sent, limits, in_force, access_point.reported_at_us, now_us)


def windows_command(
    access_point: AccessPoint,
    limits: tuple[WindowLimit, ...],
    reasons: tuple[Reason, ...],
    settings: Settings,
    now_us: int,
) -> list[Effect]:
    """What must be sent to an access point that is to have these limits, or none. `reasons` are those of a new set."""
    before, lease_ms = access_point.windows_sent, settings.parameters.safety.lease_ms
    sent = leased_sets.next_set(
        before,
        limits,
        reasons,
        in_force=access_point.windows_generation,
        reported_at_us=access_point.reported_at_us,
        lease_ms=lease_ms,
        now_us=now_us,
    )
    if sent is None:
        return []
    access_point.windows_sent, reasons = sent, sent.reasons
    effect = SetWindows(access_point.stream, sent.generation, limits, lease_ms, reasons[0])
    if sent is before:
        return [effect]
    counter, cell = "window_sets_total" if limits else "window_releases_total", access_point.cell
    settings.count(counter, reasons[0].code)
    if cell is not None:
        cell.decided[counter, reasons[0].code] += 1
    name, bssid = (cell.name, cell.bssid) if cell else ("", b"")
    return [effect, Note("info", "windows", name, reasons, windows=limits, cell=bssid)]
