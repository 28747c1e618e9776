# SPDX-License-Identifier: Apache-2.0
"""Stations without a working agent, and the limits that their access point is to set to the windows that their
connections are offered.

A station has no working agent if no terminal is joined as it, or if the terminal's back end cannot set a maximum, does
not report any more, or never reports in force what it is sent. What such a station sends to is known from its access
point's reports, and decided by the same policy, from the same shares, as a terminal's bounds are. The access point can
hold a sender back and nothing else: of a range the maximum counts, in bytes.

A station that is limited stays so until its agent reports bounds in force: neither is there a moment without any, nor
do both go on. (For the second or so in between both have the same maximum.)

An error in one station's decision frees that station and concerns no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airbound.core.addresses import Address, Mac, address_text, mac_text
from airbound.core.cell.failure import internal_error, is_logged
from airbound.core.cell.sender import Paused, Sender
from airbound.core.commands import windows_command
from airbound.core.decisions import Decision, changes, decide
from airbound.core.effects import Effect, Note, WindowLimit
from airbound.core.leases import Step
from airbound.core.reasons import Code, Reason, is_waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound.core.cell.access_point import AccessPoint
    from airbound.core.cell.state import CellState
    from airbound.core.cell.terminal import Terminal
    from airbound.core.reports import Destination, WindowState

FULL = 0.5  # of what its limits let it send: the access point's RTTs are sums of two samples, and rates are averages
REASONS_MAX = 8  # of one set
SEGMENTS_MIN = 2  # a connection with less in flight stalls on delayed ACKs; the contract's least


@dataclass(slots=True, eq=False)
class StationSender(Sender):
    """A station that sends by TCP, by its access point's reports. Times are the controller's."""

    mac: Mac
    name: str  # the MAC as text: who reports its minimum RTTs
    sending: dict[Address, Destination] = field(default_factory=dict)
    paused: dict[Address, Paused] = field(default_factory=dict)
    sampled_at_us: int = 0
    started_at_us: int = 0
    stopped_at_us: int = 0
    changed: bool = True  # since it was decided
    lack: Code = Code.UNSPECIFIED  # why the access point is to limit it; none while its agent bounds it
    no_limit: Code = Code.UNSPECIFIED  # why it has no limit; none if it has some
    decisions: tuple[Decision, ...] = ()
    limits: tuple[WindowLimit, ...] = ()  # what the decisions come to
    limited: bool = False  # whether the access point was sent a limit for it
    error: str = ""  # of the controller, in its last decision

    def fills_its_window(self, payload_bytes_per_s: float) -> bool:
        """Whether it sends about as much as its limits let it: what it sends says nothing then of what it wants. Also
        if that is not known.
        """
        most_bytes_per_s = 0.0
        limits = {limit.address: limit.max_bytes for limit in self.limits}
        for address, destination in self.sending.items():
            if address not in limits or not destination.srtt_us:
                return True
            most_bytes_per_s += limits[address] * destination.connections_sending * 1e6 / destination.srtt_us
        return payload_bytes_per_s >= FULL * most_bytes_per_s


@dataclass(slots=True)
class WindowClamp:
    """What a cell's stations without a working agent send, and what their access point is to do about it."""

    senders: dict[Mac, StationSender] = field(default_factory=dict)
    outdated: bool = False  # something of the cell changed that decisions follow from
    code: Code = Code.UNSPECIFIED  # why the access point limits what it limits
    subject: str = ""  # of that reason, where it has one
    omitted: int = 0  # limits that were left out
    failures_total: int = 0  # decisions that ended in an error of the controller
    decided: dict[Mac, tuple[Decision, ...]] = field(default_factory=dict)  # that the last set follows from
    witnesses: dict[Mac, str] = field(default_factory=dict)  # under which name a station's minimum RTTs count

    def command(self, cell: CellState, now_us: int) -> list[Effect]:
        """What is to be sent to the cell's access point."""
        access_point = cell.access_point
        if access_point is None or access_point.closed or access_point.windows is None:
            return []
        try:
            code, limits = self._decide(cell, access_point, access_point.windows, now_us)
            self.code, step = code, access_point.windows_step(limits, now_us)
            if is_waiting(code) or step is Step.NOTHING:
                return []
            policy_name = cell.settings.parameters.policy
            reasons = self._changes(limits, policy_name) if limits else (self._reason(code, cell),)
        except Exception as error:  # noqa: BLE001  # whatever it is, the terminals' leases go on
            reason = internal_error(error)
            self.code, self.subject, limits, reasons = reason.code, reason.subject, (), (reason,)
            self.failures_total += 1
            cell.settings.count("failures_total")
            step = access_point.windows_step((), now_us)
        effects = windows_command(access_point, step, limits, reasons, settings=cell.settings, now_us=now_us)
        self._sent(limits)
        if self.code is Code.INTERNAL_ERROR and is_logged(self.failures_total):
            effects.append(Note("warning", "failed", cell.name, reasons, cell=cell.bssid))
        return effects

    def _decide(
        self, cell: CellState, access_point: AccessPoint, state: WindowState, now_us: int
    ) -> tuple[Code, tuple[WindowLimit, ...]]:
        """STATIONS_LIMITED and the limits to set, or why there are none."""
        unavailable = cell.unavailable_code(now_us)
        if unavailable:
            return unavailable, ()
        limits = self._limits(cell, now_us)  # computed also where they are not applied: operators are shown them
        fitting = fit_to_access_point(limits, state.limits_max)
        self.omitted = len(limits) - len(fitting)
        restriction = self._restriction(cell, state)
        if restriction or fitting:
            return restriction or Code.STATIONS_LIMITED, () if restriction else fitting
        # What an earlier process of the controller set is not taken while a sample is waited for.
        waits = any(sender.no_limit is Code.NO_RTT_SAMPLE for sender in self.senders.values())
        return Code.NO_RTT_SAMPLE if waits and access_point.windows_sent is None else Code.NO_STATION_TO_LIMIT, ()

    def _restriction(self, cell: CellState, state: WindowState) -> Code:
        """Why no window may be limited, whatever the stations send."""
        settings = cell.settings
        if not settings.parameters.window_clamp.enabled:
            return Code.WINDOW_CLAMP_OFF
        if settings.mode == "observe":
            return Code.OBSERVE_MODE
        if settings.is_cell_exempt(cell.bssid):
            return Code.EXEMPT
        if not state.can_set:
            self.subject = state.refusal
            return Code.CANNOT_SET_WINDOWS
        return Code.UNSPECIFIED

    def reason(self, cell: CellState) -> Reason | None:
        """Why the access point limits the windows that it limits, or none; none before that was decided."""
        return self._reason(self.code, cell) if self.code else None

    def _reason(self, code: Code, cell: CellState) -> Reason:
        match code:
            case Code.STATIONS_LIMITED:
                return Reason(code, after=len(self.decided))
            case Code.CELL_STALE | Code.CELL_LEARNING | Code.OTHER_REPLICA:
                return cell.unavailable_reason(code)
            case Code.CANNOT_SET_WINDOWS | Code.INTERNAL_ERROR:
                return Reason(code, self.subject)
            case _:
                return Reason(code)

    def handed_over(self, terminal: Terminal, cell: CellState, now_us: int) -> list[Effect]:
        """Commands for the access point if a terminal's agent has bounds in force, and its station is limited still."""
        sender = self.senders.get(terminal.mac)
        if sender is None or not sender.limited or not terminal.has_bounds_in_force():
            return []
        return self.command(cell, now_us)

    def holds_back(self, mac: Mac, payload_bytes_per_s: float, access_point: AccessPoint | None) -> bool:
        """Whether limits in force hold a station back that sends so much. Were its rate then taken for all that it
        wants, the others would be given the rest, and it would have less from second to second.
        """
        sender = self.senders.get(mac)
        if sender is None or not sender.limited or access_point is None or access_point.windows_sent is None:
            return False
        in_force = access_point.windows_generation == access_point.windows_sent.generation
        return in_force and sender.fills_its_window(payload_bytes_per_s)

    def take(
        self, reported: Mapping[Mac, tuple[Destination, ...]], now_us: int, keep_us: int, *, srtt_counts: bool
    ) -> None:
        """Take in what the stations send to, by a report of the access point."""
        senders = self.senders
        for mac, destinations in reported.items():
            sender = senders.get(mac)
            if sender is None:
                if not any(destination.connections_sending for destination in destinations):
                    continue
                sender = senders[mac] = StationSender(mac, mac_text(mac))
            sender.changed = sender.take(destinations, now_us, keep_us, srtt_counts=srtt_counts, changed=sender.changed)
        for mac, sender in senders.items():
            if mac not in reported:
                sender.changed = sender.take((), now_us, keep_us, srtt_counts=srtt_counts, changed=sender.changed)
        for mac in [mac for mac, sender in senders.items() if not sender.sends]:
            del senders[mac]

    def forget(self, mac: Mac) -> None:
        """A station is gone."""
        self.senders.pop(mac, None)
        self.witnesses.pop(mac, None)

    def observe_min_rtts(self, cell: CellState, reported: Mapping[Mac, tuple[Destination, ...]], now_us: int) -> bool:
        """Have the stations' minimum RTTs count as a terminal's do; whether one that is shared changed. Of a terminal's
        station its agent's count: one phone is one witness.
        """
        in_flight_us, moved, witnesses = cell.least_in_flight_us(), False, self.witnesses
        for mac, destinations in reported.items():
            terminal, name = cell.terminals.get(mac), witnesses.get(mac)
            if terminal is not None:
                if name != terminal.name:
                    witnesses[mac] = terminal.name
                    if name == mac_text(mac):
                        moved |= cell.min_rtt.withdraw(name, now_us, in_flight_us)
                continue
            if name is None:
                name = witnesses[mac] = mac_text(mac)
            for destination in destinations:
                address, min_rtt_us = destination.address, destination.min_rtt_us
                moved |= cell.min_rtt.observe(name, address, min_rtt_us, now_us, in_flight_us)
        return moved and cell.settings.parameters.min_rtt.share

    def _limits(self, cell: CellState, now_us: int) -> tuple[WindowLimit, ...]:
        """The limits that the cell's stations should have. What nothing changed for is not decided again."""
        found = list[WindowLimit]()
        everything, self.outdated = self.outdated or cell.has_downloads, False
        for sender in self.senders.values():
            try:
                self._decide_one(sender, cell, now_us, everything=everything)
            except Exception as error:  # noqa: BLE001  # whatever it is, the others' limits go on
                sender.error = internal_error(error).subject
                sender.no_limit, sender.decisions, sender.limits, sender.changed = Code.INTERNAL_ERROR, (), (), True
                self.failures_total += 1
                cell.settings.count("failures_total")
            if not sender.no_limit:
                found += sender.limits
        return tuple(found)

    @staticmethod
    def _decide_one(sender: StationSender, cell: CellState, now_us: int, *, everything: bool) -> None:
        """One station's limits, or why it has none."""
        lack = sender.lack = _lack(sender, cell, now_us)
        if not lack:
            sender.no_limit, sender.decisions, sender.limits, sender.changed = Code.AGENT_BOUNDS, (), (), True
            return
        if everything or sender.changed:
            sender.decisions = decide(sender, cell, cell.settings)
            sender.limits = window_limits(sender.mac, sender.decisions)
            sender.changed = False
        if is_station_exempt(sender.mac, cell):
            sender.no_limit = Code.EXEMPT
        else:
            sender.no_limit = Code.UNSPECIFIED if sender.limits else Code.NO_RTT_SAMPLE

    def _changes(self, limits: tuple[WindowLimit, ...], policy_name: str) -> tuple[Reason, ...]:
        """Why a set of these limits, some, replaces the one before; at least one reason, the weightiest first."""
        limited = {limit.mac for limit in limits}
        before = self.decided
        now = {mac: self.senders[mac].decisions for mac in limited}
        reasons = list[Reason]()
        if len(before) != len(now):
            reasons.append(Reason(Code.STATIONS_LIMITED, "", len(before), len(now)))
        for mac, decisions in now.items():
            was = before.get(mac)
            if was is not None and was != decisions:
                reasons += [reason for reason in changes(was, decisions, policy_name) if reason not in reasons]
                if len(reasons) >= REASONS_MAX:
                    break
        return tuple(reasons[:REASONS_MAX]) or (Reason(Code.STATIONS_LIMITED, "", len(before), len(now)),)

    def _sent(self, limits: tuple[WindowLimit, ...]) -> None:
        """Take note of a set that was sent."""
        limited = {limit.mac for limit in limits}
        for mac, sender in self.senders.items():
            sender.limited = mac in limited
        self.decided = {mac: self.senders[mac].decisions for mac in limited}


def lack_of_agent(cell: CellState, mac: Mac, now_us: int) -> Code:
    """Why something else than an agent is to limit a station; none if its agent bounds it, or is about to."""
    terminal = cell.terminals.get(mac)
    if terminal is None:
        return Code.NO_AGENT
    if not terminal.back_end.can_set_max:
        return Code.BACK_END_CANNOT_BOUND
    unavailable = cell.unavailable(terminal, now_us)
    if unavailable is not None and unavailable.code is Code.TERMINAL_STALE:
        return Code.TERMINAL_STALE
    if terminal.ignores_bounds():
        return Code.AGENT_IGNORES_BOUNDS
    return Code.UNSPECIFIED


def _lack(sender: StationSender, cell: CellState, now_us: int) -> Code:
    """The same, but what is limited stays so until its agent has bounds in force."""
    code, terminal = lack_of_agent(cell, sender.mac, now_us), cell.terminals.get(sender.mac)
    if code is Code.UNSPECIFIED and sender.limited and terminal is not None and not terminal.has_bounds_in_force():
        return sender.lack
    return code


def lack_reason(sender: StationSender, cell: CellState) -> Reason | None:
    """Why a station's access point is to limit it, with the values; none if its agent bounds it."""
    terminal, code = cell.terminals.get(sender.mac), sender.lack
    match code:
        case Code.UNSPECIFIED:
            return None
        case Code.BACK_END_CANNOT_BOUND if terminal is not None:
            return Reason(code, terminal.back_end.name)
        case Code.TERMINAL_STALE:
            return Reason(code, limit=cell.settings.parameters.safety.terminal_stale_ms / 1000)
        case Code.AGENT_IGNORES_BOUNDS if terminal is not None:
            return Reason(code, "", terminal.generation_in_force, terminal.last_generation)
        case _:
            return Reason(code)


def no_limit_reason(sender: StationSender, cell: CellState) -> Reason | None:
    """Why a station has no limit; none if it has some."""
    terminal, code = cell.terminals.get(sender.mac), sender.no_limit
    if code is Code.UNSPECIFIED:
        return None if sender.limited else cell.windows.reason(cell)
    if code is Code.AGENT_BOUNDS:
        return Reason(code, terminal.name if terminal is not None else "")
    return Reason(code, sender.error if code is Code.INTERNAL_ERROR else "")


def is_station_exempt(mac: Mac, cell: CellState) -> bool:
    """Whether an operator exempted a station: by its MAC, an IP address of its or the name of its terminal, or with its
    cell.
    """
    settings = cell.settings
    if not settings.exempt and settings.match is None:
        return False
    if settings.is_cell_exempt(cell.bssid):
        return True
    station, terminal = cell.stations.by_mac.get(mac), cell.terminals.get(mac)
    names = [mac_text(mac), *([terminal.name] if terminal is not None else [])]
    names += map(address_text, station.latest.ip_addresses if station is not None else ())
    return any(map(settings.is_terminal_exempt, names))


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
