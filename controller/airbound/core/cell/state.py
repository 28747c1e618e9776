# SPDX-License-Identifier: Apache-2.0
"""One cell: everything that is known of it, who is joined to it, and what follows.

Rules of this file:
- an event of the cell touches this cell alone;
- a terminal is decided again when something changed that its decisions follow from: in its own report, or of the cell
  (active senders, the capacity or what others leave of it by more than `change_ratio`, a shared minimum RTT), when the
  access point reports again after it was stale, with each of its reports while there are downloads (bounds then follow
  the smoothed RTT), or when something of it is due. Nearly all reports change nothing, and cost no decision;
- an error in one terminal's decision frees that terminal and concerns no other; so does one in a decision about the
  access point, its own queues or its stations' windows, which are taken with each of its reports, and when something
  of it is due.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

from airbound.core.addresses import Address, Mac, mac_text
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.capacity import CapacityEstimator
from airbound.core.cell.channel_access import CannotSetError, ChannelAccess, can_set, wanted_set
from airbound.core.cell.failure import internal_error, is_logged
from airbound.core.cell.memory import CellMemory
from airbound.core.cell.min_rtt import MinRtt
from airbound.core.cell.restriction import restriction
from airbound.core.cell.shares import demand_bps, fair_share_bps
from airbound.core.cell.stations import Change, Queue, Stations
from airbound.core.cell.terminal import Terminal
from airbound.core.cell.window_clamp import WindowClamp
from airbound.core.commands import bounds_command, edca_command, is_as_decided, renewal
from airbound.core.decisions import Decision, decide
from airbound.core.edca import Edca
from airbound.core.effects import CellChanged, Effect, Note
from airbound.core.leases import Step
from airbound.core.parameters import EdcaParameters
from airbound.core.principals import Principal
from airbound.core.reasons import Code, Reason, is_waiting
from airbound.core.reports import COUNTER_MAX, UNKNOWN_RADIO, AccessPointReport, EdcaState, Radio
from airbound.core.settings import Settings
from airbound.core.switch_rates import SwitchRates, count_by_switch

SEGMENT_BYTES = 1500
NEVER_US = 2**63
QUEUED_US = 2_000_000  # for so long a terminal has data queued by its last report: it reports once a second meanwhile
RELAYED_MS = 3_000  # that a report may come later if another replica passes it on, each other one at most
UPLOADS_MOST, UPLOADS_ALONE = 0.9, 0.95  # of the payload: downloads matter below the one, until above the other


@dataclass(slots=True, eq=False)
class CellState:
    """One BSS. Times ending in `_at_us` are the controller's, `monotonic_us` is the access point's."""

    bssid: Mac
    settings: Settings
    access_point: AccessPoint | None = None  # none while no agent is connected
    reported_by: Principal | None = None  # the last that did, connected or not
    ssid: bytes = b""
    center_frequency_mhz: int = 0
    radio: Radio = UNKNOWN_RADIO
    monotonic_us: int = 0
    reported_at_us: int = 0
    measured_at_us: int = 0  # when rates were last taken
    stations: Stations = field(default_factory=Stations)
    terminals: dict[Mac, Terminal] = field(default_factory=dict)  # those that are joined
    decided_capacity_bps: float = 0.0  # what decisions use: the estimate, but for small changes
    left_bps: float = 0.0  # what a sender that wants more may have beside an equal share of it
    has_downloads: bool = False  # that fill the access point's queue
    channel_access: ChannelAccess = field(default_factory=ChannelAccess)
    edca_code: Code = Code.UNSPECIFIED  # why the access point's queues have the parameters that they have
    edca_subject: str = ""  # of that reason, where it has one
    edca_traffic: Code = Code.UNSPECIFIED  # what the traffic calls for, applied or not
    edca_failures_total: int = 0  # decisions about them that ended in an error of the controller
    windows: WindowClamp = field(default_factory=WindowClamp)  # of stations without a working agent
    datapath_id: int = 0  # of the OpenFlow switch that the BSS is a port of; 0: not known
    decided: Counter[tuple[str, Code]] = field(default_factory=Counter)  # what was sent, as Settings.counters
    _wanted_of: tuple[EdcaState, EdcaParameters, tuple[Edca, ...]] | None = None
    capacity: CapacityEstimator = field(init=False)
    min_rtt: MinRtt = field(init=False)
    switch_rates: SwitchRates | None = None  # of the cell's OpenFlow switch, while there is one
    counted_by_switch: bool = False  # whether it says who sends, since the access point does not count
    by_switch: bool = False  # whether its switch alone reports it: no access point's agent does
    epoch: int = 0  # of this replica's ownership; 0 where there are no replicas
    owned_until_us: int = NEVER_US  # commands are sent before this time only
    due_us: int = 0  # of core.deadlines
    due_number: int = 0  # the same

    def __post_init__(self) -> None:
        self.capacity = CapacityEstimator(self.settings.parameters.capacity)
        self.min_rtt = MinRtt(self.settings.parameters.min_rtt)
        self.decided_capacity_bps = self.capacity.bps

    @property
    def name(self) -> str:
        """The BSSID as text."""
        return mac_text(self.bssid)

    def reconfigure(self, settings: Settings) -> None:
        """Go on under other settings, or their new parameters, with what is known."""
        self.settings = settings
        self.capacity.parameters = self.settings.parameters.capacity
        self.min_rtt.parameters = self.settings.parameters.min_rtt
        self.windows.outdated = True
        self._moved(self.stations.active_senders, measured=self.stations.measured)

    def report_by(self, principal: Principal) -> None:
        """Whose access point reports the cell from now on. Another machine's clock and counters cannot be compared with
        those of the one before.
        """
        if self.reported_by not in {None, principal}:
            self.monotonic_us = COUNTER_MAX + 1  # later than any, so that the next report counts as one after a boot
        self.reported_by = principal

    # Owners

    def memory(self, now_us: int) -> CellMemory:
        """What the next owner needs."""
        reported_by = self.reported_by.name if self.reported_by is not None else ""
        return CellMemory(self.capacity.measured_bps, self.min_rtt.seen(now_us), reported_by)

    def restore(self, memory: CellMemory, now_us: int) -> None:
        """Go on with what the owner before knew."""
        self.capacity.restore(memory.capacity_bps)
        self.min_rtt.restore(memory.min_rtts, now_us)
        self._capacity_moved()

    def is_owned(self, now_us: int) -> bool:
        """Whether this replica may command the cell."""
        return now_us < self.owned_until_us

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
            self.channel_access.restart()
        else:
            before = None
        was_stale = now_us - self.reported_at_us > self.settings.parameters.safety.cell_stale_ms * 1000
        self.monotonic_us, self.reported_at_us = report.monotonic_us, now_us
        self.ssid, self.center_frequency_mhz, self.radio = report.ssid, report.center_frequency_mhz, report.radio
        change = stations.update(report, now_us)
        if before:
            change.gone += [mac for mac in before if mac not in stations.by_mac]
        parameters = self.settings.parameters
        baseline_us = stations.baseline_us
        stations.count_started(lambda mac: self._sending_us(mac, now_us))
        interval, jumps = stations.differences(
            report, parameters.senders, parameters.capacity, lambda mac: self.queue(mac, now_us)
        )
        self.counted_by_switch = self._count_by_switch(now_us)
        if stations.baseline_us != baseline_us:
            self.measured_at_us = now_us
            seconds = (stations.baseline_us - baseline_us) / 1e6
            self.channel_access.observe(stations.uplink_bps, stations.downlink_bps, seconds, parameters.edca)
        if interval is not None:
            self.capacity.observe(interval, now_us)
        self.min_rtt.expire(now_us)
        min_rtt_moved = bool(report.destinations or self.windows.witnesses) and self._stations_send(report, now_us)
        return change, self._moved(senders, measured=measured) or was_stale or min_rtt_moved, jumps

    def _stations_send(self, report: AccessPointReport, now_us: int) -> bool:
        """Take in what the access point saw its stations send to; whether a minimum RTT that is shared changed."""
        safety, reported = self.settings.parameters.safety, report.destinations
        for mac in [mac for mac in self.windows.witnesses if mac not in self.stations.by_mac]:
            self.windows.forget(mac)
        keep_us = safety.sending_keep_ms * 1000
        self.windows.take(reported, now_us, keep_us, srtt_counts=self.settings.srtt_counts)
        return self.windows.observe_min_rtts(self, reported, now_us)

    def count_by_switch(self, now_us: int) -> bool:
        """The cell's switch counted anew, or does not any more: whether the cell's terminals must be decided again."""
        senders, measured = self.stations.active_senders, self.stations.measured
        self.counted_by_switch = self._count_by_switch(now_us)
        return self._moved(senders, measured=measured)

    def _count_by_switch(self, now_us: int) -> bool:
        stale_ms = self.settings.parameters.openflow.stale_ms
        return self.switch_rates is not None and count_by_switch(self.stations, self.switch_rates, now_us, stale_ms)

    def _moved(self, senders: int, *, measured: bool) -> bool:
        """Whether what decisions follow from has changed."""
        moved = self._capacity_moved()
        moved |= self.stations.active_senders != senders or self.stations.measured != measured
        moved |= self._downloads_moved()  # before the shares: downloads have theirs
        return self._left_moved() or moved

    def _downloads_moved(self) -> bool:
        """Whether bounds must follow the RTT, which downloads make, or must no longer do so."""
        had, share = self.has_downloads, self.channel_access.share
        self.has_downloads = self.stations.active_receivers > 0 and share < (UPLOADS_ALONE if had else UPLOADS_MOST)
        return had or self.has_downloads

    def _capacity_moved(self) -> bool:
        """Take the estimate over for decisions if it moved far enough."""
        bps, used_bps = self.capacity.bps, self.decided_capacity_bps
        moved = abs(bps - used_bps) > self.settings.parameters.capacity.change_ratio * used_bps
        if moved:
            self.decided_capacity_bps = bps
        return moved

    def _left_moved(self) -> bool:
        """Take over what senders leave of their shares, if that moved far enough or is nothing any more."""
        equal_bps = self.decided_capacity_bps / (self.stations.active_senders or 1)
        left_bps, used_bps = self._fair_share_bps(equal_bps) - equal_bps, self.left_bps
        ratio = self.settings.parameters.capacity.change_ratio
        moved = abs(left_bps - used_bps) > ratio * (equal_bps + used_bps) or (not left_bps and used_bps != 0)
        if moved:
            self.left_bps = left_bps
        return moved

    def _fair_share_bps(self, equal_bps: float) -> float:
        """Max-min fair over what the senders use; an equal share while all of them want all that they can get."""
        demands = [math.inf] * self.stations.started_count
        for mac, station in self.stations.by_mac.items():
            if station.receiving and self.has_downloads:
                demands.append(demand_bps(station.downlink_bytes_per_s * 8, equal_bps, wants_more=False))
            if station.sending:
                terminal = self.terminals.get(mac)
                wants_more = terminal is not None and terminal.fills_its_window()
                if not wants_more and self.windows.senders:
                    wants_more = self.windows.holds_back(mac, station.payload_bytes_per_s, self.access_point)
                demands.append(demand_bps(station.payload_bytes_per_s * 8, equal_bps, wants_more=wants_more))
        finite = sorted(demand for demand in demands if demand < math.inf)
        if not finite:
            return self.decided_capacity_bps / (len(demands) or 1)
        if len(finite) == len(demands):
            finite.pop()  # whoever uses most could have what the others leave
        return fair_share_bps(self.decided_capacity_bps, finite, len(demands) - len(finite))

    def terminal_reported(self, terminal: Terminal, now_us: int, *, changed: bool = True) -> list[Effect]:
        """Take in the minimum RTTs of a joined terminal's report; commands for it and for those that share them.

        `changed`: whether the report changed anything else that decisions follow from, as Terminal.accept returns.
        """
        moved = list[Address]()
        in_flight_us = self.least_in_flight_us()
        for destination in terminal.destinations:
            address, min_rtt_us = destination.address, destination.min_rtt_us
            if self.min_rtt.observe(terminal.name, address, min_rtt_us, now_us, in_flight_us):
                moved.append(address)
        if not moved and not changed:
            return self.due(terminal, now_us)
        senders = self.stations.active_senders
        if changed and (self._started(terminal) or self._stopped(terminal)):
            self._left_moved()
            effects = [self.senders_changed(senders), *self.decide_all(now_us)]
            return [*effects, *self.decide_windows(now_us), self.changed()]
        effects = self.decide(terminal, now_us)
        self.windows.outdated |= bool(moved)
        if moved and self.settings.parameters.min_rtt.share:
            for other in self.terminals.values():
                if other is not terminal and other.sends_to(moved):
                    effects += self.decide(other, now_us)
        return effects

    def least_in_flight_us(self) -> int:
        """What the cell's senders have in flight at their smallest windows, in time on the air."""
        segments = self.stations.active_senders * self.settings.parameters.bdp.floor_segs
        return round(segments * SEGMENT_BYTES * 8e6 / self.decided_capacity_bps)

    def queue(self, mac: Mac, now_us: int) -> Queue | None:
        """Whether a station has data queued, by its terminal's last report; none if that is not known."""
        terminal = self.terminals.get(mac)
        if terminal is None:
            return None
        if not terminal.sending:
            return Queue(has_data=False, for_us=now_us - terminal.stopped_at_us)  # a start is reported at once
        if now_us - terminal.sampled_at_us > QUEUED_US:
            return None
        return Queue(has_data=True, for_us=now_us - terminal.started_at_us)

    def _began_at_us(self, terminal: Terminal) -> int:
        """When a joined terminal that sends began to do so here: one that roams had begun elsewhere before."""
        station = self.stations.by_mac.get(terminal.mac)
        associated_at_us = station.associated_at_us if station is not None else 0
        return max(terminal.started_at_us, associated_at_us)

    def _sending_us(self, mac: Mac, now_us: int) -> int | None:
        """For how long the terminal of a station has been sending here, by its own report; none if it does not."""
        terminal = self.terminals.get(mac)
        return now_us - self._began_at_us(terminal) if terminal is not None and terminal.sending else None

    def _started(self, terminal: Terminal) -> bool:
        """Whether a joined terminal has begun to send here since rates were last taken, and its station is counted for
        that: its first bounds, and those of the others, must not wait for the access point's next report.
        """
        began = bool(terminal.sending) and self._began_at_us(terminal) >= self.measured_at_us
        return began and self.stations.started(terminal.mac)

    def _stopped(self, terminal: Terminal) -> bool:
        """Whether the station of a joined terminal counted for nothing but what it had queued, and that is gone."""
        return not terminal.sending and self.stations.stopped(terminal.mac)

    # Decisions

    def decide_all(self, now_us: int) -> list[Effect]:
        """Commands for every terminal that is joined."""
        effects = list[Effect]()
        self.windows.outdated = True
        for terminal in self.terminals.values():
            effects += self.decide(terminal, now_us)
        return effects

    def due(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for a joined terminal if nothing changed that its decisions follow from: at most a renewal, unless
        time itself brings a change.
        """
        try:
            if is_as_decided(terminal) and self.unavailable(terminal, now_us) is None:
                return renewal(terminal, self.settings, now_us)
        except Exception as error:  # noqa: BLE001  # the others' leases go on, as in decide
            return self._failed(terminal, error, now_us)
        return self.decide(terminal, now_us)

    def decide(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for one terminal that is joined."""
        try:
            reason = self.unavailable(terminal, now_us) or restriction(terminal, self.settings)
            decisions: tuple[Decision, ...] = ()
            if reason is None:
                decisions = decide(terminal, self, self.settings)
                if not decisions:
                    reason = Reason(Code.NO_RTT_SAMPLE)
            terminal.no_bounds = reason
            if reason is not None and reason.waits:
                return []
            return bounds_command(terminal, decisions, reason, self.settings, now_us)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others' leases go on
            return self._failed(terminal, error, now_us)

    def _failed(self, terminal: Terminal, error: Exception, now_us: int) -> list[Effect]:
        reason = internal_error(error)
        terminal.no_bounds = reason
        terminal.failures_total += 1
        self.settings.count("failures_total")
        effects = bounds_command(terminal, (), reason, self.settings, now_us)
        if not is_logged(terminal.failures_total):
            return effects
        return [*effects, Note("warning", "failed", terminal.name, (reason,), terminal=terminal.name, cell=self.bssid)]

    def unavailable(self, terminal: Terminal, now_us: int) -> Reason | None:
        """Why nothing can be decided for a terminal that is joined."""
        if not self.is_owned(now_us):
            return Reason(Code.OTHER_REPLICA, self.name)
        safety = self.settings.parameters.safety
        stale_ms = safety.terminal_stale_ms + (RELAYED_MS if terminal.stream.moved else 0)
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
        if sent is None or not sent.entries:
            return 0
        safety = self.settings.parameters.safety
        stale_at_us = min(
            terminal.reported_at_us + (safety.terminal_stale_ms + RELAYED_MS * terminal.stream.moved) * 1000 + 1,
            self.reported_at_us + safety.cell_stale_ms * 1000 + 1,
        )
        # A terminal that waits has its lease end: nothing is renewed.
        return stale_at_us if terminal.no_bounds is not None else min(sent.renew_at_us, stale_at_us)

    def unavailable_code(self, now_us: int) -> Code:
        """Why nothing can be decided for the access point; UNSPECIFIED if it can."""
        if not self.is_owned(now_us):
            return Code.OTHER_REPLICA
        if now_us - self.reported_at_us > self.settings.parameters.safety.cell_stale_ms * 1000:
            return Code.CELL_STALE
        return Code.UNSPECIFIED if self.stations.measured else Code.CELL_LEARNING

    def unavailable_reason(self, code: Code) -> Reason:
        """The same with its values."""
        stale = code is Code.CELL_STALE
        return Reason(code, self.name, limit=self.settings.parameters.safety.cell_stale_ms / 1000 if stale else None)

    # The access point's own queues

    def decide_edca(self, now_us: int) -> list[Effect]:
        """Commands for the access point."""
        access_point = self.access_point
        if access_point is None or access_point.closed:
            return []
        try:
            code = self.edca_code = self._edca_code(access_point, now_us)
            state = access_point.edca
            queues = self._wanted(state) if code is Code.UPLOADS and state is not None else ()
            step = access_point.edca_step(queues, now_us)
            if is_waiting(code) or step is Step.NOTHING:
                return []
            return edca_command(
                access_point, step, queues, self._edca_reason(code), settings=self.settings, now_us=now_us
            )
        except Exception as error:  # noqa: BLE001  # whatever it is, the terminals' leases go on
            reason = internal_error(error)
            self.edca_code, self.edca_subject = reason.code, reason.subject
            self.edca_failures_total += 1
            self.settings.count("failures_total")
            step = access_point.edca_step((), now_us)
            effects = edca_command(access_point, step, (), reason, settings=self.settings, now_us=now_us)
            if not is_logged(self.edca_failures_total):
                return effects
            return [*effects, Note("warning", "failed", self.name, (reason,), cell=self.bssid)]

    def _edca_code(self, access_point: AccessPoint, now_us: int) -> Code:
        """UPLOADS if the queues are to be set, or why not. Nearly all reports change nothing: a reason with
        its values is made when somebody is to see it.
        """
        parameters, state = self.settings.parameters, access_point.edca
        unavailable = self.unavailable_code(now_us)
        if unavailable:
            return unavailable
        # Found out also where it is not applied: hysteresis goes on, and operators are shown what it would be.
        was_set = state is not None and state.generation > 0
        senders = self.stations.active_senders
        traffic = self.edca_traffic = self.channel_access.traffic(senders, now_us, parameters.edca, was_set=was_set)
        restriction = self._edca_restriction(state)
        if restriction is not None or state is None or traffic is not Code.UPLOADS:
            return restriction or traffic
        try:
            return traffic if self._wanted(state) else Code.EDCA_OFF
        except CannotSetError as error:
            self.edca_subject = str(error)
            return Code.CANNOT_SET_EDCA

    def _edca_restriction(self, state: EdcaState | None) -> Code | None:
        """Why the access point must have its own parameters, whatever the traffic."""
        settings = self.settings
        if not settings.parameters.edca.enabled:
            return Code.EDCA_OFF
        if settings.mode == "observe":
            return Code.OBSERVE_MODE
        if settings.is_cell_exempt(self.bssid):
            return Code.EXEMPT
        if state is None or not can_set(state, settings.parameters.edca):
            self.edca_subject = state.refusal if state else ""
            return Code.CANNOT_SET_EDCA
        return None

    @property
    def edca_reason(self) -> Reason | None:
        """Why the access point's queues have the parameters that they have; none before that was decided."""
        return self._edca_reason(self.edca_code) if self.edca_code else None

    @property
    def edca_traffic_reason(self) -> Reason | None:
        """What the traffic calls for, applied or not; none while it is not known."""
        return self._edca_reason(self.edca_traffic) if self.edca_traffic else None

    def _edca_reason(self, code: Code) -> Reason:
        parameters = self.settings.parameters
        match code:
            case Code.FEW_SENDERS | Code.DOWNLOADS | Code.UPLOADS:
                return self.channel_access.reason(code, self.stations.active_senders, parameters.edca)
            case Code.CELL_STALE | Code.CELL_LEARNING | Code.OTHER_REPLICA:
                return self.unavailable_reason(code)
            case Code.CANNOT_SET_EDCA | Code.INTERNAL_ERROR:
                return Reason(code, self.edca_subject)
            case _:
                return Reason(code)

    def _wanted(self, state: EdcaState) -> tuple[Edca, ...]:
        """As channel_access.wanted_set; reports that change nothing carry the same state."""
        parameters = self.settings.parameters.edca
        known = self._wanted_of
        if known is None or known[0] is not state or known[1] is not parameters:
            known = self._wanted_of = state, parameters, wanted_set(state, parameters)
        return known[2]

    def decide_access_point(self, now_us: int) -> list[Effect]:
        """Commands for the access point, of either kind."""
        effects = self.decide_edca(now_us)
        if self.access_point is not None and self.access_point.windows is not None:
            effects += self.decide_windows(now_us)
        return effects

    def decide_windows(self, now_us: int) -> list[Effect]:
        """Commands for the access point about the windows of stations without a working agent."""
        return self.windows.command(self, now_us)

    @property
    def forget_ms(self) -> int:
        """How long after its last report the cell is forgotten: one of a switch alone ends when that is gone."""
        parameters = self.settings.parameters
        return parameters.openflow.stale_ms if self.by_switch else parameters.safety.forget_ms

    def due_at_us(self) -> int:
        """When the cell must be looked at without a report: its access point's leases, or to forget it."""
        safety = self.settings.parameters.safety
        due_us = self.reported_at_us + self.forget_ms * 1000 + 1
        stale_at_us = self.reported_at_us + safety.cell_stale_ms * 1000 + 1
        access_point = self.access_point
        if access_point is None or access_point.closed:
            return due_us
        for sent, code in (
            (access_point.edca_sent, self.edca_code),
            (access_point.windows_sent, self.windows.code),
        ):
            if sent is not None and sent.entries:
                # While the cell is learned anew nothing is renewed.
                due_us = min(due_us, stale_at_us if is_waiting(code) else min(sent.renew_at_us, stale_at_us))
        return due_us

    def changed(self) -> CellChanged:
        """For those who watch."""
        return CellChanged(self.bssid)

    def senders_changed(self, before: int) -> Note:
        """For the log: there were so many active senders."""
        reason = Reason(Code.ACTIVE_SENDERS, "", before, self.stations.active_senders)
        return Note("info", "senders", self.name, (reason,), cell=self.bssid)

    def computed(self, terminal: Terminal) -> tuple[Decision, ...]:
        """What the policy computes for a terminal now, sent or not."""
        return decide(terminal, self, self.settings)
