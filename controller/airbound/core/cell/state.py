# SPDX-License-Identifier: Apache-2.0
"""One cell: everything that is known of it and of who is joined to it, and what was sent last. What follows from that
is decided elsewhere (core/cell_decisions.py).

An event of the cell touches this cell alone. Its methods say whether something moved that decisions follow from: active
senders, the capacity or what others leave of it by more than `change_ratio`, a shared minimum RTT, or that the access
point reports again after it was stale.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from airbound.core.addresses import Address, Mac, mac_text
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.air import AirShares
from airbound.core.cell.balance import Balance
from airbound.core.cell.capacity import CapacityEstimator
from airbound.core.cell.channel_access import ChannelAccess
from airbound.core.cell.full_windows import QUARTER, FullWindows
from airbound.core.cell.kept_txop import KeptTxop
from airbound.core.cell.live import LiveFlows
from airbound.core.cell.memory import CellMemory
from airbound.core.cell.min_rtt import MinRtt
from airbound.core.cell.neighbours import Neighbours
from airbound.core.cell.pacing import Pacing
from airbound.core.cell.priorities import Priorities
from airbound.core.cell.senders import StationSenders
from airbound.core.cell.shares import NEARLY, demand_bps, fair_share_bps
from airbound.core.cell.stations import Change, Queue, Stations, StationState
from airbound.core.cell.stations_window import StationsWindow
from airbound.core.cell.switch_rates import SwitchRates, count_by_switch
from airbound.core.cell.terminal import Terminal
from airbound.core.cell.unlimited import Unlimited
from airbound.core.edca import Edca
from airbound.core.parameters import EdcaParameters
from airbound.core.policy import UNBOUNDED, CellFacts, Policy
from airbound.core.principals import Principal
from airbound.core.reasons import Code, Reason
from airbound.core.reports import COUNTER_MAX, UNKNOWN_RADIO, AccessPointReport, Destination, EdcaState, Radio
from airbound.core.settings import Settings

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
    spare_bps: float = 0.0  # what a sender that wants more may have beside an equal share of it
    has_downloads: bool = False  # that fill the access point's queue
    channel_access: ChannelAccess = field(default_factory=ChannelAccess)
    edca_reason: Reason | None = None  # why the access point's queues have the parameters that they have
    edca_traffic: Reason | None = None  # what the traffic calls for, applied or not
    bounded_at_us: int = 0  # when bounds or limits of windows were last in force, or the cell was first decided
    edca_failures_total: int = 0  # decisions about them that ended in an error of the controller
    edca_wanted: tuple[EdcaState, EdcaParameters, tuple[Edca, ...]] | None = None  # the last set, and what it is of
    windows: StationSenders = field(default_factory=StationSenders)
    datapath_id: int = 0  # of the OpenFlow switch that the BSS is a port of; 0: not known
    capacity: CapacityEstimator = field(init=False)
    min_rtt: MinRtt = field(init=False)
    air: AirShares = field(default_factory=AirShares)
    sent_before: tuple[Mac, ...] = ()  # whose parts of the air there were at the report before
    unlimited: Unlimited = field(default_factory=Unlimited)
    full_windows: FullWindows = field(default_factory=FullWindows)
    has_little_used: bool = False  # whether one that wants more used little of an equal share when shares were made
    directions: Balance = field(default_factory=Balance)  # beside downloads
    neighbours: Neighbours = field(default_factory=Neighbours)
    kept_txop: KeptTxop = field(default_factory=KeptTxop)
    live: LiveFlows = field(default_factory=LiveFlows)
    priorities: Priorities = field(default_factory=Priorities)
    pacing: Pacing = field(default_factory=Pacing)
    stations_window: StationsWindow = field(default_factory=StationsWindow)
    policy: Policy = field(init=False)  # with what it learned here
    switch_rates: SwitchRates | None = None  # of the cell's OpenFlow switch, while there is one
    counted_by_switch: bool = False  # whether it says who sends, since the access point does not count
    by_switch: bool = False  # whether its switch alone reports it: no access point's agent does
    epoch: int = 0  # of this replica's ownership; 0 where there are no replicas
    moves_total: int = 0  # stations that came from another cell
    disputes_total: int = 0  # stations that it claimed and another cell went on to hear
    owned_until_us: int = NEVER_US  # commands are sent before this time only
    due_us: int = 0  # of core.deadlines
    due_number: int = 0  # the same

    def __post_init__(self) -> None:
        self.capacity = CapacityEstimator(self.settings.parameters.capacity)
        self.min_rtt = MinRtt(self.settings.parameters.min_rtt)
        self.decided_capacity_bps = self.capacity.bps
        self.policy = self.settings.policy(self.settings.parameters)

    @property
    def name(self) -> str:
        """The BSSID as text."""
        return mac_text(self.bssid)

    def reconfigure(self, settings: Settings) -> None:
        """Go on under other settings, or their new parameters, with what is known."""
        self.settings = settings
        self.capacity.parameters = self.settings.parameters.capacity
        self.min_rtt.parameters = self.settings.parameters.min_rtt
        self.policy = settings.policy(settings.parameters)
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

    def observe_report(self, report: AccessPointReport, now_us: int) -> tuple[Change, bool, list[Reason]]:
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
        was_stale = self.is_stale(now_us)
        self.monotonic_us, self.reported_at_us = report.monotonic_us, now_us
        self.ssid, self.center_frequency_mhz, self.radio = report.ssid, report.center_frequency_mhz, report.radio
        change = stations.update(report, now_us)
        if before:
            change.gone += [mac for mac in before if mac not in stations.by_mac]
        parameters = self.settings.parameters
        baseline_us = stations.baseline_us
        stations.count_started(lambda mac: self._sending_us(mac, now_us))
        interval, jumps = stations.differences(report, parameters.capacity, lambda mac: self.queue(mac, now_us))
        self.counted_by_switch = self._count_by_switch(now_us)
        if stations.baseline_us != baseline_us:
            self.measured_at_us = now_us
            seconds = (stations.baseline_us - baseline_us) / 1e6
            self._look_at_full_windows(stations.baseline_us - baseline_us)
            self.channel_access.observe(stations.uplink_bps, stations.downlink_bps, seconds, parameters.edca)
        if interval is not None:
            self.capacity.observe(interval, now_us)
        self.min_rtt.expire(now_us)
        min_rtt_moved = bool(report.destinations or self.windows.witnesses) and self._stations_send(report, now_us)
        if stations.assumed.count:
            stations.assumed.is_limited = any(
                state.sending and self.wants_more(mac, state) for mac, state in stations.by_mac.items()
            )
        moved = self._moved(senders, measured=measured) or was_stale or min_rtt_moved
        if stations.baseline_us != baseline_us:
            moved |= self.policy.observe(self._facts(), now_us)
        return change, moved, jumps

    def _facts(self) -> CellFacts:
        """What a policy may learn from. Of RTTs each sender has one, whatever it reports: the smallest of its own. None
        is known beside a sender that nothing limits, nor while windows grow beside downloads, nor where no bounds are
        in force, as in observe mode: there it is not the length of the aggregates that makes them.
        """
        stations, air = self.stations, self.air.by_mac
        one_stopped = any(mac not in air for mac in self.sent_before)
        self.sent_before = tuple(air)
        rtts_us, as_computed = list[int](), not self.unlimited.mac and self.widened_for(aggregates=True) == 1
        for mac in air if as_computed and self.is_bounded() and not self.bounds_have_ended else ():
            terminal = self.terminals.get(mac)
            sender = terminal if terminal is not None and terminal.sending else self.windows.senders.get(mac)
            if sender is not None:
                own_us = [destination.srtt_us for destination in sender.sending.values() if destination.srtt_us]
                rtts_us += [min(own_us)] if own_us else []
        return CellFacts(
            stations.active_senders,
            self.decided_capacity_bps,
            stations.uplink_bps,
            stations.downlink_bps,
            statistics.median(rtts_us) if rtts_us else 0.0,
            next(iter(air.values())).fastest_bps if air else 0.0,
            one_stopped,
        )

    def _stations_send(self, report: AccessPointReport, now_us: int) -> bool:
        """Take in what the access point saw its stations send to; whether a minimum RTT that is shared changed."""
        safety, reported = self.settings.parameters.safety, report.destinations
        for mac in [mac for mac in self.windows.witnesses if mac not in self.stations.by_mac]:
            self.min_rtt.leave(self.windows.witnesses[mac])
            self.windows.forget(mac)
        keep_us = safety.sending_keep_ms * 1000
        self.windows.take(reported, now_us, keep_us, srtt_counts=self.settings.policy.uses_rtt_ratio)
        return self._observe_stations(reported, now_us)

    def _observe_stations(self, reported: Mapping[Mac, tuple[Destination, ...]], now_us: int) -> bool:
        """Have the stations' minimum RTTs count as a terminal's do; whether one that is shared changed. Of a terminal's
        station its agent's count: one phone is one witness.
        """
        in_flight_us, moved, witnesses = self.least_in_flight_us(), False, self.windows.witnesses
        for mac, destinations in reported.items():
            terminal, name = self.terminals.get(mac), witnesses.get(mac)
            if terminal is not None:
                if name != terminal.name:
                    witnesses[mac] = terminal.name
                    if name == mac_text(mac):
                        moved |= self.min_rtt.withdraw(name, now_us, in_flight_us, self.most_in_flight_us)
                continue
            if name is None:
                name = witnesses[mac] = mac_text(mac)
            for destination in destinations:
                address, min_rtt_us = destination.address, destination.min_rtt_us
                moved |= self.min_rtt.observe(name, address, min_rtt_us, now_us, in_flight_us, self.most_in_flight_us)
        return moved and self.settings.parameters.min_rtt.share

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
        moved |= self._spare_moved()
        return self._air_moved() or moved

    def _air_moved(self) -> bool:
        """The same of senders' parts of the air, where the policy goes by them."""
        if not self.settings.policy.shares_air:
            had, self.air = bool(self.air.by_mac), AirShares()
            return had
        capacity_bps = self.decided_capacity_bps
        equal_bps = capacity_bps / (self.stations.active_senders or 1) + self.spare_bps
        return self.air.update(self.stations, capacity_bps, equal_bps, self.settings.parameters, self.wants_more)

    def wants_more(self, mac: Mac, station: StationState) -> bool:
        """Whether a sender's window is full, so that what it sends says nothing of what it wants."""
        terminal = self.terminals.get(mac)
        if terminal is not None and terminal.fills_its_window and mac not in self.full_windows.doubted:
            return True
        return bool(self.windows.senders) and self.windows.holds_back(
            mac, station.payload_bytes_per_s, self.access_point
        )

    def share_bps(self, mac: Mac) -> float:
        """What a sender may have, as it was decided last."""
        air = self.air.air_for(mac)
        if air is not None:
            return air.share_bps
        return self.decided_capacity_bps / (self.stations.active_senders or 1) + self.spare_bps

    def _used(self, mac: Mac, station: StationState) -> float:
        """What a sender uses, over its share."""
        share_bps = self.share_bps(mac)
        return station.payload_bytes_per_s * 8 / share_bps if share_bps > 0 else 1.0

    def _look_at_full_windows(self, elapsed_us: int) -> None:
        """Find out which terminals' reports of full windows count for nothing. Where nobody counts what they send, or
        downloads, other cells or senders that nothing limits take their parts, all count.
        """
        seen, stations = self.full_windows, self.stations.by_mac
        if not self.has_little_used and not seen.is_waiting:
            return  # nearly always
        takers = self.has_downloads or self.widened_for(aggregates=True) != 1 or self.bounds_have_ended
        if takers or self.counted_by_switch:
            seen.forget()
            return
        claimed = dict[Mac, float]()
        for mac, terminal in self.terminals.items():
            station = stations.get(mac)
            if station is not None and station.sending and terminal.fills_its_window:
                claimed[mac] = self._used(mac, station)
        others = list[float]()
        for mac, station in stations.items():
            if station.sending and mac not in claimed:
                used = self._used(mac, station)
                if used >= NEARLY or self.wants_more(mac, station):
                    others.append(used)
        seen.observe(claimed, others, elapsed_us, stations)

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

    def _spare_moved(self) -> bool:
        """Take over what senders leave of their shares, if that moved far enough or is nothing any more."""
        equal_bps = self.decided_capacity_bps / (self.stations.active_senders or 1)
        spare_bps, used_bps = self._fair_share_bps(equal_bps) - equal_bps, self.spare_bps
        ratio = self.settings.parameters.capacity.change_ratio
        moved = abs(spare_bps - used_bps) > ratio * (equal_bps + used_bps) or (not spare_bps and used_bps != 0)
        if moved:
            self.spare_bps = spare_bps
        return moved

    def _fair_share_bps(self, equal_bps: float) -> float:
        """Max-min fair over what the senders use; an equal share while all of them want all that they can get."""
        demands = [math.inf] * self.stations.started_count
        # With shares of air a sender's own may be larger than an equal one.
        little_bps, has_little = (NEARLY if self.air.by_mac else QUARTER) * equal_bps, False
        for mac, station in self.stations.by_mac.items():
            if station.receiving and self.has_downloads:
                demands.append(demand_bps(station.downlink_bytes_per_s * 8, equal_bps, wants_more=False))
            if station.sending:
                wants_more, used_bps = self.wants_more(mac, station), station.payload_bytes_per_s * 8
                if wants_more and used_bps < little_bps:
                    has_little = True
                demands.append(demand_bps(used_bps, equal_bps, wants_more=wants_more))
        self.has_little_used = has_little
        finite = sorted(demand for demand in demands if demand < math.inf)
        if not finite:
            return self.decided_capacity_bps / (len(demands) or 1)
        if len(finite) == len(demands):
            finite.pop()  # the sender that uses most could have what the others leave
        return fair_share_bps(self.decided_capacity_bps, finite, len(demands) - len(finite))

    def observe_terminal(self, terminal: Terminal, now_us: int) -> list[Address]:
        """Take in the minimum RTTs of a joined terminal's report; the destinations whose shared one changed."""
        moved, in_flight_us = list[Address](), self.least_in_flight_us()
        for destination in terminal.destinations:
            address, min_rtt_us = destination.address, destination.min_rtt_us
            if self.min_rtt.observe(terminal.name, address, min_rtt_us, now_us, in_flight_us, self.most_in_flight_us):
                moved.append(address)
        return moved

    def leave(self, terminal: Terminal) -> None:
        """A terminal is joined to the cell no more."""
        del self.terminals[terminal.mac]
        self.min_rtt.leave(terminal.name)

    def has_started_or_stopped(self, terminal: Terminal) -> bool:
        """Whether a joined terminal's report changed how many active senders there are, and so the shares."""
        if not self._started(terminal) and not self._stopped(terminal):
            return False
        self._spare_moved()
        self._air_moved()
        return True

    def least_in_flight_us(self) -> int:
        """What the cell's senders have in flight at their smallest windows, in time on the air."""
        segments = self.stations.active_senders * self.settings.parameters.bdp.floor_segs
        return round(segments * SEGMENT_BYTES * 8e6 / self.decided_capacity_bps)

    def most_in_flight_us(self) -> int:
        """What they have at most, by the bounds and limits of windows that were sent. Each is taken to have the median:
        how many connections a phone has is its own word.
        """
        sizes = list[float]()
        for terminal in self.terminals.values():
            if terminal.sent is not None and terminal.sending:
                largest = {bound.address: bound.max_segs for bound in terminal.sent.entries if bound.uid is None}
                sizes.append(
                    SEGMENT_BYTES
                    * sum(
                        largest.get(address, 0) * destination.connections_sending
                        for address, destination in terminal.sending.items()
                    )
                )
        for sender in self.windows.senders.values():
            connections = {address: each.connections_sending for address, each in sender.sending.items()}
            if sender.limited:
                sizes.append(sum(limit.max_bytes * connections.get(limit.address, 0) for limit in sender.limits))
        median = statistics.median(sizes) if sizes else 0.0
        return round(self.stations.active_senders * median * 8e6 / self.decided_capacity_bps)

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

    def widened_for(self, *, aggregates: bool) -> float:
        """By how much maxima of senders are larger than computed: of those whose frames are aggregated, or are not."""
        if self.kept_txop.raises:
            return UNBOUNDED
        beside = self.unlimited.factor * self.neighbours.factor
        return beside * (self.directions.factor if aggregates else 1.0)

    @property
    def bounds_have_ended(self) -> bool:
        """Whether there are neither bounds nor limits, whatever anybody sends."""
        return self.kept_txop.ended or self.unlimited.ended or self.neighbours.ended

    def is_bounded(self) -> bool:
        """Whether bounds or limits of windows are in force, by the last reports."""
        limits = self.access_point.windows_lease.in_force if self.access_point is not None else 0
        return limits > 0 or any(terminal.generation_in_force for terminal in self.terminals.values())

    # Time

    def unavailable(self, now_us: int) -> Reason | None:
        """Why nothing can be decided for the access point."""
        if now_us >= self.owned_until_us:
            return Reason(Code.OTHER_REPLICA, self.name)
        if now_us >= self.stale_at_us:
            return Reason(Code.CELL_STALE, self.name, limit=self.settings.parameters.safety.cell_stale_ms / 1000)
        return None if self.stations.measured else Reason(Code.CELL_LEARNING, self.name)

    def unavailable_for(self, terminal: Terminal, now_us: int) -> Reason | None:
        """Why nothing can be decided for a terminal that is joined."""
        stale_at_us = self.terminal_stale_at_us(terminal)
        if now_us >= stale_at_us and terminal.sends and self.is_owned(now_us):
            return Reason(Code.TERMINAL_STALE, limit=(stale_at_us - 1 - terminal.reported_at_us) / 1e6)
        return self.unavailable(now_us)

    def is_stale(self, now_us: int) -> bool:
        """Whether it is too long ago that the cell was reported."""
        return now_us >= self.stale_at_us

    def terminal_stale_at_us(self, terminal: Terminal) -> int:
        """When nothing is known any more of a terminal that sent by its last report."""
        stale_ms = self.settings.parameters.safety.terminal_stale_ms + RELAYED_MS * terminal.stream.moved
        return terminal.reported_at_us + stale_ms * 1000 + 1

    @property
    def stale_at_us(self) -> int:
        """When it will be too long ago that the cell was reported."""
        return self.reported_at_us + self.settings.parameters.safety.cell_stale_ms * 1000 + 1

    @property
    def forget_ms(self) -> int:
        """How long after its last report the cell is forgotten: one of a switch alone ends when that is gone."""
        parameters = self.settings.parameters
        return parameters.openflow.stale_ms if self.by_switch else parameters.safety.forget_ms
