# SPDX-License-Identifier: Apache-2.0
"""One cell: everything that is known of it, who is joined to it, and what follows.

Rules of this file:
- an event of the cell touches this cell alone;
- a terminal is decided again when something changed that its decisions follow from: in its own report, or of the cell
  (active senders, the capacity by more than `change_ratio`, a shared minimum RTT), when the access point reports again
  after it was stale, or when something of it is due. Nearly all reports change nothing, and cost no decision;
- an error in one terminal's decision frees that terminal and concerns no other.
"""

import traceback
from dataclasses import dataclass, field

from airbound.core.addresses import Address, Mac, mac_text
from airbound.core.cell.capacity import CapacityEstimator
from airbound.core.cell.min_rtt import MinRtt
from airbound.core.cell.stations import Change, Stations
from airbound.core.cell.streams import Reporter
from airbound.core.cell.terminal import Terminal
from airbound.core.commands import command, is_as_decided, renewal
from airbound.core.decisions import Decision, decide
from airbound.core.effects import CellChanged, Effect, Note
from airbound.core.principals import Principal
from airbound.core.reasons import Code, Reason
from airbound.core.reports import COUNTER_MAX, AccessPointReport
from airbound.core.settings import Settings

ERROR_MAX_CHARACTERS = 200


@dataclass(slots=True, eq=False)
class AccessPoint(Reporter):
    """An access point's agent on one stream, for one cell."""

    cell: "CellState | None" = None


@dataclass(slots=True, eq=False)
class CellState:
    """One BSS. Times ending in `_at_us` are the controller's, `monotonic_us` is the access point's."""

    bssid: Mac
    settings: Settings
    access_point: AccessPoint | None = None  # none while no agent is connected
    reported_by: Principal | None = None  # the last that did, connected or not
    ssid: bytes = b""
    center_frequency_mhz: int = 0
    monotonic_us: int = 0
    reported_at_us: int = 0
    measured_at_us: int = 0  # when rates were last taken
    stations: Stations = field(default_factory=Stations)
    terminals: dict[Mac, Terminal] = field(default_factory=dict)  # those that are joined
    decided_capacity_bps: float = 0.0  # what decisions use: the estimate, but for small changes
    capacity: CapacityEstimator = field(init=False)
    min_rtt: MinRtt = field(init=False)
    due_us: int = 0  # of core.deadlines

    def __post_init__(self) -> None:
        self.capacity = CapacityEstimator(self.settings.parameters.capacity)
        self.min_rtt = MinRtt(self.settings.parameters.min_rtt)
        self.decided_capacity_bps = self.capacity.bps

    @property
    def name(self) -> str:
        """The BSSID as text."""
        return mac_text(self.bssid)

    def reconfigure(self) -> None:
        """Go on under the settings' new parameters with what is known."""
        self.capacity.parameters = self.settings.parameters.capacity
        self.min_rtt.parameters = self.settings.parameters.min_rtt
        self._capacity_moved()

    def report_by(self, principal: Principal) -> None:
        """Whose access point reports the cell from now on. Another machine's clock and counters cannot be compared with
        those of the one before.
        """
        if self.reported_by not in {None, principal}:
            self.monotonic_us = COUNTER_MAX + 1  # later than any, so that the next report counts as one after a boot
        self.reported_by = principal

    # Reports

    def access_point_reported(self, report: AccessPointReport, now_us: int) -> tuple[Change, bool, list[Reason]]:
        """Take in a report whose order was accepted: who came and went, whether the cell's terminals must be decided
        again, and what of the report was refused.
        """
        stations = self.stations
        senders, measured = stations.active_senders, stations.measured
        if report.monotonic_us < self.monotonic_us:
            before = set(stations.addresses())
            stations.restart()
        else:
            before = None
        was_stale = now_us - self.reported_at_us > self.settings.parameters.safety.cell_stale_ms * 1000
        self.monotonic_us, self.reported_at_us = report.monotonic_us, now_us
        self.ssid, self.center_frequency_mhz = report.ssid, report.center_frequency_mhz
        change = stations.update(report, now_us)
        if before:
            change.gone += [mac for mac in before if mac not in stations.by_mac]
        parameters = self.settings.parameters
        baseline_us = stations.baseline_us
        interval, jumps = stations.differences(report, parameters.senders, parameters.capacity)
        if stations.baseline_us != baseline_us:
            self.measured_at_us = now_us
        if interval is not None:
            self.capacity.observe(interval, now_us)
        self.min_rtt.expire(now_us)
        return change, self._moved(senders, measured=measured) or was_stale, jumps

    def _moved(self, senders: int, *, measured: bool) -> bool:
        """Whether what decisions follow from has changed."""
        capacity_moved = self._capacity_moved()
        return capacity_moved or self.stations.active_senders != senders or self.stations.measured != measured

    def _capacity_moved(self) -> bool:
        """Take the estimate over for decisions if it moved far enough."""
        bps, used_bps = self.capacity.bps, self.decided_capacity_bps
        moved = abs(bps - used_bps) > self.settings.parameters.capacity.change_ratio * used_bps
        if moved:
            self.decided_capacity_bps = bps
        return moved

    def terminal_reported(self, terminal: Terminal, now_us: int, *, changed: bool = True) -> list[Effect]:
        """Take in the minimum RTTs of a joined terminal's report; commands for it and for those that share them.

        `changed`: whether the report changed anything else that decisions follow from, as Terminal.accept returns.
        """
        moved = list[Address]()
        for destination in terminal.destinations:
            if self.min_rtt.observe(terminal.name, destination.address, destination.min_rtt_us, now_us):
                moved.append(destination.address)
        if not moved and not changed:
            return self.due(terminal, now_us)
        if changed and self._started(terminal):
            senders = self.stations.active_senders
            reason = Reason(Code.ACTIVE_SENDERS, "", senders - 1, senders)
            return [Note("info", "senders", self.name, (reason,)), *self.decide_all(now_us), self.changed()]
        effects = self.decide(terminal, now_us)
        if moved and self.settings.parameters.min_rtt.share:
            for other in self.terminals.values():
                if other is not terminal and other.sends_to(moved):
                    effects += self.decide(other, now_us)
        return effects

    def _started(self, terminal: Terminal) -> bool:
        """Whether a joined terminal has begun to send since rates were last taken, and its station is counted for that:
        its first bounds, and those of the others, must not wait for the access point's next report.
        """
        began = bool(terminal.sending) and terminal.started_at_us >= self.measured_at_us
        return began and self.stations.started(terminal.mac)

    # Decisions

    def decide_all(self, now_us: int) -> list[Effect]:
        """Commands for every terminal that is joined."""
        effects = list[Effect]()
        for terminal in self.terminals.values():
            effects += self.decide(terminal, now_us)
        return effects

    def due(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for a joined terminal if nothing changed that its decisions follow from: at most a renewal, unless
        time itself brings a change.
        """
        try:
            if is_as_decided(terminal) and self._unavailable(terminal, now_us) is None:
                return renewal(terminal, self.settings, now_us)
        except Exception as error:  # noqa: BLE001  # the others' leases go on, as in decide
            return self._failed(terminal, error, now_us)
        return self.decide(terminal, now_us)

    def decide(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for one terminal that is joined."""
        try:
            reason = self._unavailable(terminal, now_us) or restriction(terminal, self.settings)
            decisions: tuple[Decision, ...] = ()
            if reason is None:
                decisions = decide(terminal, self, self.settings)
                if not decisions:
                    reason = Reason(Code.NO_RTT_SAMPLE)
            terminal.no_bounds = reason
            if reason is not None and reason.waits:
                return []
            return command(terminal, decisions, reason, self.settings, now_us)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others' leases go on
            return self._failed(terminal, error, now_us)

    def _failed(self, terminal: Terminal, error: Exception, now_us: int) -> list[Effect]:
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARACTERS]
        reason = Reason(Code.INTERNAL_ERROR, f"{what}, in {where.name}, line {where.lineno}")
        terminal.no_bounds = reason
        terminal.failures_total += 1
        self.settings.count("failures_total")
        effects = command(terminal, (), reason, self.settings, now_us)
        if terminal.failures_total & (terminal.failures_total - 1):
            return effects  # the log gets the 1st, 2nd, 4th, 8th, ...
        return [*effects, Note("warning", "failed", terminal.name, (reason,))]

    def _unavailable(self, terminal: Terminal, now_us: int) -> Reason | None:
        """Why nothing can be decided for a terminal that is joined."""
        safety = self.settings.parameters.safety
        stale_ms = safety.terminal_stale_ms
        if now_us - terminal.reported_at_us > stale_ms * 1000 and terminal.sends:
            return Reason(Code.TERMINAL_STALE, limit=stale_ms / 1000)
        if now_us - self.reported_at_us > safety.cell_stale_ms * 1000:
            return Reason(Code.CELL_STALE, self.name, limit=safety.cell_stale_ms / 1000)
        if not self.stations.measured:
            return Reason(Code.CELL_LEARNING, self.name)
        return None

    def due_for(self, terminal: Terminal) -> int:
        """When a terminal must be decided without a report: a lease to renew or a time-out; 0 if it has no bounds."""
        sent = terminal.sent
        if sent is None or not sent.bounds:
            return 0
        safety = self.settings.parameters.safety
        stale_at_us = min(
            terminal.reported_at_us + safety.terminal_stale_ms * 1000 + 1,
            self.reported_at_us + safety.cell_stale_ms * 1000 + 1,
        )
        # A terminal that waits has its lease end: nothing is renewed.
        return stale_at_us if terminal.no_bounds is not None else min(sent.renew_at_us, stale_at_us)

    def changed(self) -> CellChanged:
        """For those who watch."""
        return CellChanged(self.bssid)

    def computed(self, terminal: Terminal) -> tuple[Decision, ...]:
        """What the policy computes for a terminal now, sent or not."""
        return decide(terminal, self, self.settings)


def restriction(terminal: Terminal, settings: Settings) -> Reason | None:
    """Why a terminal must have no bounds, whatever is known of its cell."""
    if settings.mode == "observe":
        return Reason(Code.OBSERVE_MODE)
    if terminal.name in settings.exempt:
        return Reason(Code.EXEMPT)
    if not terminal.back_end.can_set_max:
        return Reason(Code.BACK_END_CANNOT_BOUND, terminal.back_end.name)
    if not terminal.sends:
        return Reason(Code.NOT_SENDING)
    return None
