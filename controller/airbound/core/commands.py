# SPDX-License-Identifier: Apache-2.0
"""From what a terminal, an access point or a switch is to have to what, if anything, must be sent to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core.addresses import address_text, mac_from_text
from airbound.core.effects import (
    Bound,
    Effect,
    Flow,
    Note,
    RenewLease,
    SetBounds,
    SetFlows,
)
from airbound.core.leases import Entry, Lease, Step, next_set, next_step
from airbound.core.reasons import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound.core.addresses import Mac
    from airbound.core.cell.reporter import Reporter
    from airbound.core.cell.terminal import Terminal
    from airbound.core.policy import Decision, Policy, PolicyInput
    from airbound.core.principals import Stream
    from airbound.core.reports import BackEnd
    from airbound.core.settings import Settings

_GOLDEN_RATIO = 0.618_034  # its multiples modulo 1 are spread evenly, however many there are


def fit_to_back_end(
    decisions: tuple[Decision, ...], back_end: BackEnd, apps: tuple[Bound, ...] = ()
) -> tuple[tuple[Bound, ...], list[Reason]]:
    """The bounds as a back end that can set a maximum takes them, and what it does not take; those for single
    applications only if it takes all of them.
    """
    bounds = [Bound(decision.destination, *decision.range) for decision in decisions]
    if not back_end.can_set_min:
        bounds = [Bound(bound.address, 1, bound.max_segs) for bound in bounds]
        apps = tuple(bound._replace(min_segs=1) for bound in apps)
    if not back_end.can_select_destination and bounds:
        smallest = Bound(b"", min(bound.min_segs for bound in bounds), min(bound.max_segs for bound in bounds))
        return (smallest,), []
    if not back_end.rules_max or len(bounds) + len(apps) <= back_end.rules_max:
        return (*bounds, *apps), []
    if len(bounds) <= back_end.rules_max:
        return tuple(bounds), []
    # The smallest maxima matter most: they are the nearest servers, where a queue hurts first.
    bounds.sort(key=lambda bound: (bound.max_segs, bound.address))
    omitted = [
        Reason(Code.OMITTED_RULES_MAX, address_text(bound.address), limit=back_end.rules_max)
        for bound in bounds[back_end.rules_max :]
    ]
    return tuple(sorted(bounds[: back_end.rules_max])), omitted


def bounds_command(
    terminal: Terminal,
    decisions: tuple[Decision, ...],
    release: Reason | None,
    settings: Settings,
    now_us: int,
    *,
    apps: tuple[Bound, ...] = (),
) -> list[Effect]:
    """What must be sent to a terminal that is to have these decisions' bounds, and those for single applications, or
    none if it is to be released.
    """
    bounds = () if release else fit_to_back_end(decisions, terminal.back_end, apps)[0]
    sent, in_force = terminal.sent, terminal.generation_in_force
    # Pausing is no reason to take what an earlier process of the controller set: it ends with its lease.
    if sent is None and release is not None and release.code is Code.NOT_SENDING:
        return []
    step = next_step(sent, bounds, in_force, terminal.reported_at_us, now_us)
    if step is Step.NOTHING:
        return []
    if step is Step.RENEW:
        return renewal(terminal, settings, now_us)
    lease_ms = settings.parameters.safety.lease_ms
    reasons = (release,) if release else changes(terminal.sent_decisions, decisions, settings.policy)
    if sent is not None and not release and _apps(sent.entries) != _apps(bounds):
        counts = len(_apps(sent.entries)), len(_apps(bounds))
        reasons = (*(() if _is_none(reasons) else reasons), Reason(Code.APPLICATIONS, "", *counts))
    # All phones of a cell are sent bounds at once. Their renewals are not: the phones' ACKs would contend for the air.
    early_us = int(lease_ms * 1000 / 3 * (terminal.stream.number * _GOLDEN_RATIO % 1))
    sent = terminal.sent = next_set(
        step,
        sent,
        bounds,
        reasons,
        in_force=in_force,
        lease_ms=lease_ms,
        now_us=now_us,
        above=terminal.stream.generation,
        early_us=early_us,
    )
    reasons, terminal.sent_decisions = sent.reasons, decisions if bounds else ()
    senders, capacity_bps = (
        (decisions[0].policy_input.active_senders, decisions[0].policy_input.capacity_bps) if bounds else (0, 0.0)
    )
    return [
        SetBounds(terminal.stream, sent.generation, bounds, lease_ms, reasons, senders, capacity_bps),
        Note("info", "bounds", terminal.name, reasons, bounds, None, terminal.name, _cell(terminal, release)),
    ]


def _apps(bounds: tuple[Bound, ...]) -> list[Bound]:
    """Those for single applications."""
    return [bound for bound in bounds if bound.uid is not None]


def _is_none(reasons: tuple[Reason, ...]) -> bool:
    """Whether decisions are as they were: the reason that is left then."""
    return len(reasons) == 1 and reasons[0].code is Code.POLICY


def changes(before: tuple[Decision, ...], after: tuple[Decision, ...], policy: type[Policy]) -> tuple[Reason, ...]:
    """What differs between two sets of decisions; at least one reason, the weightiest first."""
    old, new = ({decision.destination: decision for decision in decisions} for decisions in (before, after))
    started = [Reason(Code.STARTED_SENDING, address_text(address)) for address in new if address not in old]
    stopped = [Reason(Code.STOPPED_SENDING, address_text(address)) for address in old if address not in new]
    cell, own = list[Reason](), list[Reason]()
    for address, decision in new.items():
        if address not in old or old[address].range == decision.range:
            continue
        was, now = old[address].policy_input, decision.policy_input
        cell = cell or _changes_for_all(was, now, policy)
        if was.min_rtt_us != now.min_rtt_us:
            own.append(Reason(Code.MIN_RTT, address_text(address), was.min_rtt_us, now.min_rtt_us))
        if (policy.uses_rtt_ratio or was.by_srtt or now.by_srtt) and was.rtt_ratio != now.rtt_ratio:
            own.append(Reason(Code.RTT_RATIO, address_text(address), was.rtt_ratio, now.rtt_ratio))
    return (*cell, *started, *own, *stopped) or (Reason(Code.POLICY, policy.name),)


def _changes_for_all(was: PolicyInput, now: PolicyInput, policy: type[Policy]) -> list[Reason]:
    """What differs for all destinations alike."""
    found = list[Reason]()
    if was.active_senders != now.active_senders:
        found.append(Reason(Code.ACTIVE_SENDERS, "", was.active_senders, now.active_senders))
    if was.capacity_bps != now.capacity_bps and policy.uses_capacity:
        found.append(Reason(Code.CAPACITY, "", was.capacity_bps, now.capacity_bps))
    shared = was.spare_bps != now.spare_bps or was.air is not None or now.air is not None
    shared |= was.tcp_part != now.tcp_part
    if shared and was.tcp_share_bps != now.tcp_share_bps and policy.uses_capacity:
        found.append(Reason(Code.SHARE, "", was.tcp_share_bps, now.tcp_share_bps))
    if was.air is not None and now.air is not None and was.air.fastest_bps != now.air.fastest_bps:
        found.append(Reason(Code.PHY_RATE, "", was.air.fastest_bps, now.air.fastest_bps))
    if was.found != now.found:
        found.append(Reason(Code.AGGREGATES, "", was.found, now.found))
    if was.stopping != now.stopping:
        found.append(Reason(Code.STOPPING_SENDERS, "", was.stopping, now.stopping))
    if was.widened != now.widened:
        found.append(Reason(Code.WIDENED, "", was.widened, now.widened))
    if was.connections != now.connections:
        found.append(Reason(Code.CONNECTIONS, "", was.connections, now.connections))
    return found


def _cell(terminal: Terminal, release: Reason | None) -> Mac:
    """The cell that a command concerns: also the one that the terminal has just left."""
    if terminal.bssid:
        return terminal.bssid
    return mac_from_text(release.subject) if release and release.code is Code.LEFT_CELL else b""


def is_as_decided(terminal: Terminal) -> bool:
    """Whether a terminal was sent bounds, is to keep them, and has or is about to have them in force."""
    sent = terminal.sent
    return (
        sent is not None
        and bool(sent.entries)
        and terminal.no_bounds is None
        and not sent.is_missing(terminal.generation_in_force, terminal.reported_at_us)
    )


def renewal(terminal: Terminal, settings: Settings, now_us: int) -> list[Effect]:
    """Another lease for the bounds that were sent, if that is due."""
    sent = terminal.sent
    if sent is None or not sent.entries or now_us < sent.renew_at_us:
        return []
    lease_ms = settings.parameters.safety.lease_ms
    sent.lease_us, sent.renewed_at_us = lease_ms * 1000, now_us
    return [RenewLease(terminal.stream, sent.generation, lease_ms)]


def set_command(
    make: Callable[[Stream, int, tuple[Entry, ...], int, Reason], Effect],
    peer: Reporter,
    lease: Lease[Entry],
    entries: tuple[Entry, ...],
    reasons: tuple[Reason, ...],
    *,
    settings: Settings,
    now_us: int,
    note: Note | None = None,
) -> list[Effect]:
    """What must be sent to a peer that is to have these entries in force: a command, made by `make`. If it does more
    than to prolong the lease, it comes with `note`, which gets its reasons. `reasons` are those of a replacement.
    """
    step = lease.step(entries, peer.reported_at_us, now_us)
    if step is Step.NOTHING:
        return []
    lease_ms = settings.parameters.safety.lease_ms
    sent = lease.sent = next_set(
        step, lease.sent, entries, reasons, in_force=lease.in_force, lease_ms=lease_ms, now_us=now_us
    )
    command = make(peer.stream, sent.generation, entries, lease_ms, sent.reasons[0])
    return [command] if step is Step.RENEW or note is None else [command, note._replace(reasons=sent.reasons)]


def flows_renewal(terminal: Terminal, settings: Settings, now_us: int) -> list[Effect]:
    """Another lease for the flows that were sent, of which there are some."""
    sent = terminal.flows_lease.sent
    if sent is None or not sent.entries:
        return []
    lease_ms = settings.parameters.safety.lease_ms
    sent.lease_us, sent.renewed_at_us = lease_ms * 1000, now_us
    return [SetFlows(terminal.stream, sent.generation, sent.entries, lease_ms, sent.reasons[0])]


def flows_command(
    terminal: Terminal, flows: tuple[Flow, ...], reason: Reason, settings: Settings, now_us: int
) -> list[Effect]:
    """What must be sent to a terminal whose packets are to leave so, or as they are if there are no flows."""
    name = terminal.name
    note = Note("info", "flows", name, terminal=name, cell=_cell(terminal, None), flows=flows)
    effects = set_command(
        SetFlows, terminal, terminal.flows_lease, flows, (reason,), settings=settings, now_us=now_us, note=note
    )
    if effects:
        terminal.paced_uids = frozenset(flow.uid for flow in flows if flow.uid is not None and flow.udp_bps)
    return effects
