# SPDX-License-Identifier: Apache-2.0
"""Stations without a working agent (working_agent.py), and the limits that their access point is to set to the windows
that their connections are offered.

What such a station sends to is known from its access point's reports, and decided by the same policy, from the same
shares, as a terminal's bounds are. The access point can hold a sender back and nothing else: of a range the maximum
counts, in bytes.

A station that is limited stays so until its agent reports bounds in force: neither is there a moment without any, nor
do both go on. (For the second or so in between both have the same maximum.)

An error in one station's decision frees that station and concerns no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core.commands import changes, set_command
from airbound.core.decisions import decide
from airbound.core.effects import Effect, Note, SetWindows, WindowLimit
from airbound.core.failure import failed, internal_error
from airbound.core.leases import Step
from airbound.core.reasons import Code, Reason
from airbound.core.restriction import cell_restriction, is_station_exempt, why_bounds_ended
from airbound.core.working_agent import why_no_working_agent

if TYPE_CHECKING:
    from airbound.core.cell.access_point import AccessPoint
    from airbound.core.cell.senders import StationSender, StationSenders
    from airbound.core.cell.state import CellState
    from airbound.core.policy import Decision, Policy
    from airbound.core.reports import WindowState

REASONS_MAX = 8  # of one set
SEGMENTS_MIN = 2  # a connection with less in flight stalls on delayed ACKs; the contract's least


def decide_windows(cell: CellState, now_us: int) -> list[Effect]:
    """Commands for a cell's access point about the windows of stations without a working agent."""
    access_point, windows = cell.access_point, cell.windows
    if access_point is None or access_point.closed or access_point.windows is None:
        return []
    effects = _decide_and_send(cell, access_point, access_point.windows, now_us)
    windows.note_unlimited(now_us)
    return effects


def _decide_and_send(cell: CellState, access_point: AccessPoint, state: WindowState, now_us: int) -> list[Effect]:
    windows, lease, effects = cell.windows, access_point.windows_lease, list[Effect]()
    try:
        reason, limits = _decide(cell, state, now_us, effects)
        windows.reason, step = reason, lease.step(limits, access_point.reported_at_us, now_us)
        if reason.waits or step is Step.NOTHING:
            return effects
        reasons = _changes(windows, limits, cell.settings.policy) if limits else (reason,)
    except Exception as error:  # noqa: BLE001  # whatever it is, the terminals' leases go on
        windows.reason = reason = internal_error(error)
        limits, reasons = (), (reason,)
        windows.failures_total += 1
        effects.append(failed(cell, reason, windows.failures_total))
    _take_note(windows, limits)
    note = Note("info", "windows", cell.name, windows=limits, cell=cell.bssid)
    commands = set_command(
        SetWindows, access_point, lease, limits, reasons, settings=cell.settings, now_us=now_us, note=note
    )
    return commands + effects


def _decide(
    cell: CellState, state: WindowState, now_us: int, notes: list[Effect]
) -> tuple[Reason, tuple[WindowLimit, ...]]:
    """STATIONS_LIMITED and the limits to set, or why there are none."""
    unavailable = cell.unavailable(now_us)
    if unavailable is not None:
        return unavailable, ()
    windows = cell.windows
    limits = _limits(cell, now_us, notes)  # computed also where they are not applied: operators are shown them
    fitting = fit_to_access_point(limits, state.limits_max)
    windows.omitted = len(limits) - len(fitting)
    restricted = _restriction(cell, state)
    if restricted is not None:
        return restricted, ()
    if fitting:
        return Reason(Code.STATIONS_LIMITED, after=len({limit.mac for limit in fitting})), fitting
    # What an earlier process of the controller set is not taken while a sample is waited for.
    waits = any(
        sender.no_limit is not None and sender.no_limit.code is Code.NO_RTT_SAMPLE
        for sender in windows.senders.values()
    )
    is_first = cell.access_point is not None and cell.access_point.windows_lease.sent is None
    return Reason(Code.NO_RTT_SAMPLE if waits and is_first else Code.NO_STATION_TO_LIMIT), ()


def _restriction(cell: CellState, state: WindowState) -> Reason | None:
    """Why no window may be limited, whatever the stations send."""
    if not cell.settings.parameters.window_clamp.enabled:
        return Reason(Code.WINDOW_CLAMP_OFF)
    restricted = cell_restriction(cell)
    if restricted is None and not state.can_set:
        return Reason(Code.CANNOT_SET_WINDOWS, state.refusal)
    return restricted or why_bounds_ended(cell)


def _limits(cell: CellState, now_us: int, notes: list[Effect]) -> tuple[WindowLimit, ...]:
    """The limits that the cell's stations should have. What nothing changed for is not decided again."""
    windows, found = cell.windows, list[WindowLimit]()
    everything, windows.outdated = windows.outdated or cell.has_downloads, False
    for sender in windows.senders.values():
        try:
            _decide_one(sender, cell, now_us, everything=everything)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others' limits go on
            sender.no_limit = internal_error(error)
            sender.decisions, sender.limits, sender.changed = (), (), True
            windows.failures_total += 1
            notes.append(failed(cell, sender.no_limit, windows.failures_total)._replace(level="counted"))
        if sender.no_limit is None:
            found += sender.limits
    return tuple(found)


def _decide_one(sender: StationSender, cell: CellState, now_us: int, *, everything: bool) -> None:
    """One station's limits, or why it has none."""
    found, terminal = why_no_working_agent(cell, sender.mac, now_us), cell.terminals.get(sender.mac)
    is_taken_over = terminal is not None and terminal.has_bounds_in_force()
    if found is not None or not sender.limited or is_taken_over:
        sender.no_agent = found
    if sender.no_agent is None:
        sender.no_limit = Reason(Code.AGENT_BOUNDS, terminal.name if terminal is not None else "")
        sender.decisions, sender.limits, sender.changed = (), (), True
        return
    if everything or sender.changed:
        sender.decisions = decide(sender, cell)
        sender.limits = window_limits(sender.mac, sender.decisions)
        sender.changed = False
    if is_station_exempt(sender.mac, cell):
        sender.no_limit = Reason(Code.EXEMPT)
    else:
        sender.no_limit = None if sender.limits else Reason(Code.NO_RTT_SAMPLE)


def _changes(windows: StationSenders, limits: tuple[WindowLimit, ...], policy: type[Policy]) -> tuple[Reason, ...]:
    """Why a set of these limits, of which there is at least one, replaces the one before; at least one reason, the
    weightiest first.
    """
    limited = {limit.mac for limit in limits}
    before = windows.decided
    now = {mac: windows.senders[mac].decisions for mac in limited}
    reasons = list[Reason]()
    if len(before) != len(now):
        reasons.append(Reason(Code.STATIONS_LIMITED, "", len(before), len(now)))
    for mac, decisions in now.items():
        was = before.get(mac)
        if was is not None and was != decisions:
            reasons += [reason for reason in changes(was, decisions, policy) if reason not in reasons]
            if len(reasons) >= REASONS_MAX:
                break
    return tuple(reasons[:REASONS_MAX]) or (Reason(Code.STATIONS_LIMITED, "", len(before), len(now)),)


def _take_note(windows: StationSenders, limits: tuple[WindowLimit, ...]) -> None:
    """A set was sent."""
    limited = {limit.mac for limit in limits}
    for mac, sender in windows.senders.items():
        sender.limited = mac in limited
    windows.decided = {mac: windows.senders[mac].decisions for mac in limited}


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
