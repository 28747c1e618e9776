# SPDX-License-Identifier: Apache-2.0
"""From decisions to what, if anything, must be sent to the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound.core.addresses import address_text, mac_from_text
from airbound.core.decisions import Decision, changes
from airbound.core.effects import Bound, Effect, Note, RenewLease, SetBounds
from airbound.core.reasons import Code, Reason

if TYPE_CHECKING:
    from airbound.core.addresses import Mac
    from airbound.core.cell.terminal import Terminal
    from airbound.core.reports import BackEnd
    from airbound.core.settings import Settings

REPEATED_AFTER_AT_MOST_US = 60_000_000
_DOUBLINGS_MAX = 16
_GOLDEN_RATIO = 0.618_034  # its multiples modulo 1 are spread evenly, however many there are


@dataclass(slots=True)
class Sent:
    """The set last sent on a terminal's stream. Times are the controller's; a renewal changes those of the lease."""

    generation: int
    bounds: tuple[Bound, ...]
    decisions: tuple[Decision, ...]
    lease_us: int  # what the terminal was last given, whatever is configured now
    set_at_us: int
    renewed_at_us: int
    repeats: int = 0  # how often the same set had to be sent again

    @property
    def renew_at_us(self) -> int:
        """When the lease is to be renewed: two more may be lost before it ends."""
        return self.renewed_at_us + self.lease_us // 3


def fit_to_back_end(decisions: tuple[Decision, ...], back_end: BackEnd) -> tuple[tuple[Bound, ...], list[Reason]]:
    """The bounds as a back end that can set a maximum takes them, and what it does not take."""
    bounds = [Bound(decision.destination, *decision.range) for decision in decisions]
    if not back_end.can_set_min:
        bounds = [Bound(bound.address, 1, bound.max_segs) for bound in bounds]
    if not back_end.can_select_destination and bounds:
        smallest = Bound(b"", min(bound.min_segs for bound in bounds), min(bound.max_segs for bound in bounds))
        return (smallest,), []
    if not back_end.rules_max or len(bounds) <= back_end.rules_max:
        return tuple(bounds), []
    # The smallest maxima matter most: they are the nearest servers, where a queue hurts first.
    bounds.sort(key=lambda bound: (bound.max_segs, bound.address))
    omitted = [
        Reason(Code.OMITTED_RULES_MAX, address_text(bound.address), limit=back_end.rules_max)
        for bound in bounds[back_end.rules_max :]
    ]
    return tuple(sorted(bounds[: back_end.rules_max])), omitted


def command(
    terminal: Terminal,
    decisions: tuple[Decision, ...],
    release: Reason | None,
    settings: Settings,
    now_us: int,
) -> list[Effect]:
    """What must be sent to a terminal that is to have these decisions' bounds, or none if it is to be released.

    A set that the terminal does not report to be in force, half a lease after it was sent, is sent again, each time
    after twice the wait, at most a minute.
    """
    bounds = () if release else fit_to_back_end(decisions, terminal.back_end)[0]
    sent, policy_name = terminal.sent, settings.parameters.policy
    repeats = 0
    if sent is None:
        # Pausing is no reason to take what an earlier process of the controller set: it ends with its lease.
        if not bounds and (not terminal.generation_in_force or (release and release.code is Code.NOT_SENDING)):
            return []
        reasons = (release,) if release else changes((), decisions, policy_name)
    elif bounds != sent.bounds:
        reasons = (release,) if release else changes(sent.decisions, decisions, policy_name)
    elif _is_missing(terminal, sent):
        reasons, repeats = (Reason(Code.REPEATED, before=terminal.generation_in_force),), sent.repeats + 1
    else:
        return renewal(terminal, settings, now_us)
    lease_ms = settings.parameters.safety.lease_ms
    # Above what is in force as well: an earlier process of the controller may have set that.
    generation = max(terminal.last_generation, terminal.generation_in_force, terminal.stream.generation) + 1
    in_force = decisions if bounds else ()
    # All phones of a cell are sent bounds at once. Their renewals are not: the phones' ACKs would contend for the air.
    early_us = int(lease_ms * 1000 / 3 * (terminal.stream.number * _GOLDEN_RATIO % 1))
    terminal.sent = Sent(generation, bounds, in_force, lease_ms * 1000, now_us, now_us - early_us, repeats)
    counter = "sets_total" if bounds else "releases_total"
    settings.count(counter, reasons[0].code)
    terminal.decided[counter, reasons[0].code] += 1
    if terminal.cell is not None:
        terminal.cell.decided[counter, reasons[0].code] += 1
    senders, capacity_bps = (in_force[0].of.active_senders, in_force[0].of.capacity_bps) if in_force else (0, 0.0)
    return [
        SetBounds(terminal.stream, generation, bounds, lease_ms, reasons, senders, capacity_bps),
        Note("info", "bounds", terminal.name, reasons, bounds, None, terminal.name, _cell(terminal, release)),
    ]


def _cell(terminal: Terminal, release: Reason | None) -> Mac:
    """The cell that a command concerns: also the one that the terminal has just left."""
    if terminal.cell is not None:
        return terminal.cell.bssid
    return mac_from_text(release.subject) if release and release.code is Code.LEFT_CELL else b""


def is_as_decided(terminal: Terminal) -> bool:
    """Whether a terminal was sent bounds, is to keep them, and has or is about to have them in force."""
    sent = terminal.sent
    return sent is not None and bool(sent.bounds) and terminal.no_bounds is None and not _is_missing(terminal, sent)


def renewal(terminal: Terminal, settings: Settings, now_us: int) -> list[Effect]:
    """Another lease for the set that was sent, if that is due."""
    sent = terminal.sent
    if sent is None or not sent.bounds or now_us < sent.renew_at_us:
        return []
    lease_ms = settings.parameters.safety.lease_ms
    sent.lease_us, sent.renewed_at_us = lease_ms * 1000, now_us
    return [RenewLease(terminal.stream, sent.generation, lease_ms)]


def _is_missing(terminal: Terminal, sent: Sent) -> bool:
    """Whether a terminal reports something else in force than it was sent, and had time enough to apply it."""
    expected = sent.generation if sent.bounds else 0
    wait_us = repeat_after_us(sent.lease_us, sent.repeats)
    return terminal.generation_in_force != expected and terminal.reported_at_us - sent.set_at_us >= wait_us


def repeat_after_us(lease_us: int, repeats: int) -> int:
    """How long an agent has to report a set in force before it is sent again, after so many repetitions."""
    return min(lease_us // 2 << min(repeats, _DOUBLINGS_MAX), REPEATED_AFTER_AT_MOST_US)
