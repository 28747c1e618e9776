# SPDX-License-Identifier: Apache-2.0
"""The stations of one cell by its access point's reports: which are associated, and which of them send.

Counters become rates over at least INTERVAL_MIN_US of the access point's own clock: a report sent at once for an
association comes a moment after the last one, and one packet in a millisecond is no sender.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.addresses import Mac, mac_text
from airbound.core.cell.assumed_rates import AssumedRates
from airbound.core.cell.capacity import Interval
from airbound.core.cell.contradicted_rates import SURE, Heard, contradict
from airbound.core.cell.full_rates import SETTLED_PACKETS, FullRate, FullRates
from airbound.core.cell.interval_sums import IntervalSums, Passed
from airbound.core.cell.neighbours import ChannelAir, channel_air
from airbound.core.parameters import CapacityParameters
from airbound.core.policy import RateSource
from airbound.core.reasons import Code, Reason
from airbound.core.reports import AccessPointReport, Station, Survey
from airbound.core.uploads import (
    ACK_BYTES,
    INTERVAL_MIN_US,
    LINK_OVERHEAD_BYTES,
    RECENT_US,
    START_BYTES_PER_S,
    STOP_BYTES_PER_S,
    uploads,
)

STATION_MAX_BYTES_PER_S = 2e10 / 8  # nearly twice the PHY rate of 802.11be with four streams at 320 MHz, 11.5 Gb/s
STATION_MAX_PACKETS_PER_S = 2e7  # that, in packets of 125 bytes
DATA_BYTES = 100  # that a downlink packet is longer than an ACK on average: more than SACK blocks or IPv6 make of it
PAUSE_US = 900_000
SILENT_US = 1_000_000  # for so long who has data queued sends although it is silent
ENDED_US = 2_000_000  # for so long after its terminal sent the last that it had queued a pause of a station is its end
STARTING_US = 500_000  # a report so soon after a start shows a window or two of it, averaged over its whole interval
VAIN_REPORTS = 2  # in which no start of a station counts, for each in which one counted and brought nothing
_CONNECTED_TIME_STEP_US = 1_000_000  # connected time is in whole seconds on some drivers


class Queue(NamedTuple):
    """Whether a station has data queued by its terminal's own report, and for how long that has been so."""

    has_data: bool
    for_us: int


Queues = Callable[[Mac], Queue | None]
"""Of a station; none if that is not known."""


@dataclass(slots=True)
class StationState:
    """A station and the baseline of its counters. `baseline_us` is the access point's clock, `associated_at_us` the
    controller's.
    """

    latest: Station
    baseline: Station
    baseline_us: int
    associated_at_us: int
    sending: bool = False
    payload_bytes_per_s: float = 0.0
    air_ratio: float = 0.0  # part of the time that its frames took, by the driver's counters
    retries_per_s: float = 0.0
    receiving: bool = False
    downlink_bytes_per_s: float = 0.0  # of a station that receives, less what TCP ACKs take
    associated_since: bool = False  # since the last differences
    arrived: bool = False  # associated since the report before; until its terminal was sent that
    silent_us: int = 0  # since when it is silent: the access point's clock; 0: it is not
    rates: FullRates = field(default_factory=FullRates)
    contradicted: int = 0  # reports in a row that say a rate which its air time contradicts
    full: FullRate = FullRate()  # noqa: RUF009  # cannot be changed; while it sends or receives, that of a full channel


@dataclass(slots=True)
class Change:
    """What a report changed about who is associated."""

    appeared: list[Mac] = field(default_factory=list)  # associated, or associated again
    gone: list[Mac] = field(default_factory=list)
    readdressed: list[Mac] = field(default_factory=list)  # other IP addresses than before


@dataclass(slots=True)
class Stations:
    """All stations of a cell."""

    by_mac: dict[Mac, StationState] = field(default_factory=dict)
    active_senders: int = 0  # by their counters, and those that have begun since by their own report
    uplink_bps: float = 0.0
    downlink_bps: float = 0.0  # less what the TCP ACKs of uploads take
    busy_ratio: float | None = None
    active_receivers: int = 0
    measured: bool = False  # whether rates are known: two reports have been compared
    reassociations_total: int = 0
    channel: ChannelAir | None = None  # between the last differences; none: not known
    assumed: AssumedRates = field(default_factory=AssumedRates)
    _last_us: int = 0  # the access point's clock at the last report; 0: there was none
    baseline_us: int = 0  # the access point's clock at the last differences, or at the first report
    _started: set[Mac] = field(default_factory=set)  # that have begun to send since, by their own report
    _fresh: set[Mac] = field(default_factory=set)  # of them, those that began less than STARTING_US ago
    _unshown: set[Mac] = field(default_factory=set)  # of them, those that counted before the last differences
    _ended: set[Mac] = field(default_factory=set)  # that counted, and stopped by their own report since
    _vain: dict[Mac, int] = field(default_factory=dict)  # started and sent nothing: differences until a start counts
    _survey: Survey | None = None
    _incomplete: bool = False  # a sender came or left within the interval

    @property
    def started_count(self) -> int:
        """How many of the active senders are known by their own reports only."""
        return len(self._started)

    def restart(self) -> None:
        """The access point booted: nothing can be compared with what it reported before."""
        self.by_mac.clear()
        self.active_senders, self.active_receivers, self.busy_ratio, self.measured = 0, 0, None, False
        self.uplink_bps = self.downlink_bps = 0.0
        self.channel = None
        self._last_us, self.baseline_us, self._survey, self._incomplete = 0, 0, None, False
        self.assumed = AssumedRates()
        for starts in (self._started, self._fresh, self._unshown, self._ended, self._vain):
            starts.clear()

    def update(self, report: AccessPointReport, now_us: int) -> Change:
        """Take in who is associated now."""
        change = Change()
        before_us, at_us = self._last_us, report.monotonic_us
        known, self.by_mac = self.by_mac, {}
        for station in report.stations:
            mac = station.mac
            state = known.pop(mac, None)
            if state is not None:
                if not _restarted(state.latest, station):
                    if state.latest.ip_addresses != station.ip_addresses:
                        change.readdressed.append(mac)
                    state.latest = station
                    self.by_mac[mac] = state
                    continue
                self.reassociations_total += 1
                self._incomplete |= state.sending
            associated_at_us = now_us - station.connected_time_ms * 1000
            state = StationState(station, station, at_us, associated_at_us)
            if before_us and station.connected_time_ms * 1000 <= at_us - before_us + _CONNECTED_TIME_STEP_US:
                # Its counters began at 0 after the last report: all that they count, counts.
                state.baseline, state.baseline_us, state.associated_since = Station(mac), before_us, True
                state.arrived = True
            change.appeared.append(mac)
            self.by_mac[mac] = state
        for mac, state in known.items():
            self._incomplete |= state.sending
            change.gone.append(mac)
        self._last_us = at_us
        if not before_us:
            self.baseline_us, self._survey = at_us, report.survey
        elif known or change.appeared:
            self._started &= self.by_mac.keys()
            self.active_senders = sum(state.sending for state in self.by_mac.values()) + len(self._started)
        return change

    def started(self, mac: Mac) -> bool:
        """Count a station whose terminal reports that it has begun to send, until differences show whether it does;
        true if that is one active sender more. Before rates are known there is nothing to add to, and after a start
        that brought nothing the counters decide for a while.
        """
        state = self.by_mac.get(mac)
        if not self.measured or state is None or state.sending or mac in self._started or mac in self._vain:
            return False
        self._started.add(mac)
        self.active_senders += 1
        return True

    def stopped(self, mac: Mac) -> bool:
        """End a station whose terminal reports that it sends no more, if it was silent already: it sent by what it had
        queued. True if that is one active sender less.
        """
        state = self.by_mac.get(mac)
        if state is None or not (state.sending and state.silent_us):
            return False
        state.sending = False
        self.active_senders -= 1
        return True

    def count_started(self, age_us: Callable[[Mac], int | None]) -> None:
        """Before differences: how long ago each station that counts by its own report began to send; none if it sends
        no more, and counts no more.
        """
        if not self._started:
            return
        ages_us = {mac: age_us(mac) for mac in self._started}
        ended = {mac for mac, age in ages_us.items() if age is None}
        self._started -= ended
        self._ended |= ended
        self.active_senders -= len(ended)
        self._fresh = {mac for mac, age in ages_us.items() if age is not None and age < STARTING_US}

    def is_active(self, mac: Mac) -> bool:
        """Whether a station is counted as an active sender."""
        state = self.by_mac.get(mac)
        return state is not None and (state.sending or mac in self._started)

    def differences(
        self,
        report: AccessPointReport,
        capacity: CapacityParameters,
        queues: Queues,
    ) -> tuple[Interval | None, list[Reason]]:
        """Rates since the last differences, if that is long enough ago; what the capacity follows from, unless a sender
        came or left meanwhile; and counters that moved further than is possible, whose stations are left out.
        """
        duration_us = report.monotonic_us - self.baseline_us
        if duration_us < INTERVAL_MIN_US:
            return None, []
        sums = IntervalSums(duration_us)
        jumps = self._compare(report, queues, sums)
        if self._started or self._ended or self._vain:
            self._look_at_starts()
        self._fresh.clear()
        self.active_senders, self.measured = sums.active_senders + len(self._started), True
        receiving = sum(state.receiving for state in self.by_mac.values()) if sums.received_bytes else 0
        self.active_receivers = receiving
        active_us, busy_us = self._channel_time(report.survey)
        self.uplink_bps = sums.payload_bytes * 8e6 / duration_us
        self.downlink_bps = sums.downlink_bytes * 8e6 / duration_us
        self.baseline_us, self.channel = report.monotonic_us, None
        if sums.heard:
            contradict(sums.heard)
        if not sums.assumed_rates:
            self.assumed.count = 0
        if self._was_incomplete():
            return None, jumps
        if sums.assumed_rates:
            self.assumed.end(self.uplink_bps + self.downlink_bps, self.by_mac)
        aggregated_us = sums.aggregated_us(capacity)
        self.channel = channel_air(max(sums.airtime_us, aggregated_us), busy_us, active_us)
        return sums.interval(aggregated_us, active_us, busy_us, capacity), jumps

    def _compare(self, report: AccessPointReport, queues: Queues, sums: IntervalSums) -> list[Reason]:
        """Take each station's counters as the baseline of its next differences, and add up what passed since the last;
        the counters that moved further than is possible.
        """
        at_us, jumps = report.monotonic_us, list[Reason]()
        most_packets_per_us, most_bytes_per_us = STATION_MAX_PACKETS_PER_S / 1e6, STATION_MAX_BYTES_PER_S / 1e6
        for state in self.by_mac.values():
            old, new, elapsed_us = state.baseline, state.latest, at_us - state.baseline_us
            elapsed_us = elapsed_us if elapsed_us > INTERVAL_MIN_US else INTERVAL_MIN_US  # noqa: FURB136  # max is a call
            state.baseline, state.baseline_us = new, at_us
            incomplete, state.associated_since = state.associated_since, False
            # Unpacked: fields one by one, of thousands of stations in a second, would take twice as long.
            old_rx_bytes, old_rx_packets, old_tx_bytes, old_tx_packets, old_tx_retries = old[1:6]
            rx_bytes, rx_packets, tx_bytes, tx_packets, tx_retries = new[1:6]
            received_packets, received = rx_packets - old_rx_packets, rx_bytes - old_rx_bytes
            sent_packets, sent, retries = (
                tx_packets - old_tx_packets,
                tx_bytes - old_tx_bytes,
                tx_retries - old_tx_retries,
            )
            if not (received_packets or received or sent_packets or sent or retries or state.sending):
                state.payload_bytes_per_s = state.air_ratio = state.retries_per_s = 0.0  # as most of most cells
                state.receiving = False
                continue
            most, most_bytes = most_packets_per_us * elapsed_us, most_bytes_per_us * elapsed_us
            if max(received, sent) > most_bytes or max(received_packets, sent_packets, retries) > most:
                # A driver's error. Taken for traffic it would spoil the cell's capacity for a while.
                jumps.append(_jump(old, new, elapsed_us))
                self._incomplete = True
                sums.active_senders += state.sending
                continue
            # A null data frame is all header, so a station that only reports to be awake sends nothing.
            payload = max(0, received - received_packets * LINK_OVERHEAD_BYTES)
            state.payload_bytes_per_s = payload * 1e6 / elapsed_us
            state.sending = _sends(state, payload, received_packets, elapsed_us, report, queues)
            air_us = min(max(0, new.airtime_us - old.airtime_us), elapsed_us)
            state.air_ratio, state.retries_per_s = air_us / elapsed_us, retries * 1e6 / elapsed_us
            downlink = sent - sent_packets * (LINK_OVERHEAD_BYTES + ACK_BYTES)
            if state.receiving or downlink > sent_packets * DATA_BYTES:
                sums.received_bytes += self._receive(state, downlink, sent_packets, elapsed_us)
            passed = Passed(received_packets, received, sent_packets, sent, retries)
            sums.add(passed, payload, downlink, air_us)
            self._add_frames(state, passed, payload, air_us, climbing=old_rx_packets < SETTLED_PACKETS, sums=sums)
            self._incomplete |= incomplete and state.sending
        return jumps

    def _add_frames(
        self, state: StationState, passed: Passed, payload: int, air_us: int, *, climbing: bool, sums: IntervalSums
    ) -> None:
        """Add what a station's frames are worth: aggregates at its rates in a full channel, single frames as counted;
        of a sender what its rates say of the cell.
        """
        new = state.latest
        full = state.rates.see(new, climbing=climbing, sending=state.sending)
        if new.aggregates:
            octets = passed.received_bytes + passed.sent_bytes
            if state.contradicted >= SURE or not (full.up_bps or full.down_bps):
                if not sums.assumed_rates:
                    self._begin_assumed()
                sums.assumed_rates += 1
                full = self.assumed.rate(new.mac, octets * 8, air_us)
            full = state.full = sums.add_aggregates(passed, payload, full, receiving=state.receiving)
            if state.sending:
                sums.heard.append(Heard(state, octets, air_us, climbing))
        else:
            sums.add_single_frames(passed, air_us)
        if state.sending:
            sums.add_sender(new.rx_bitrate_kbps, full, passed, air_us, aggregates=new.aggregates, climbing=climbing)

    def _look_at_starts(self) -> None:
        """After differences: end starts that did not bring an upload, but for those of a moment ago."""
        self._vain = {
            mac: left - 1
            for mac, left in self._vain.items()
            if left > 1 and mac in self.by_mac and not self.by_mac[mac].sending
        }
        silent = {mac for mac in self._started | self._ended if mac in self.by_mac and not self.by_mac[mac].sending}
        kept = (silent & self._started & self._fresh) - self._unshown
        for mac in silent - kept:
            self._vain[mac] = VAIN_REPORTS * (2 if mac in self._unshown else 1)
        self._started, self._unshown = kept, set(kept)
        self._ended.clear()

    def _begin_assumed(self) -> None:
        """A station has no rate: what is known of the others."""
        rates = (state.full for state in self.by_mac.values() if state.latest.aggregates)
        self.assumed.begin(rate.up_bps for rate in rates if rate.up_bps and rate.source is RateSource.REPORTED)

    def taken_over(self, uplink_bps: float, downlink_bps: float) -> None:
        """Somebody else has said of every station whether it sends, and what; these are the sums."""
        self._started = {mac for mac in self._started if not self.by_mac[mac].sending}
        self.active_senders = sum(state.sending for state in self.by_mac.values()) + len(self._started)
        self.active_receivers = sum(state.receiving for state in self.by_mac.values())
        self.uplink_bps, self.downlink_bps, self.measured = uplink_bps, downlink_bps, True

    @staticmethod
    def _receive(state: StationState, downlink: int, packets: int, elapsed_us: int) -> int:
        """Find out whether a station receives more than the ACKs of its uploads; its bytes if it does."""
        bytes_per_s = downlink * 1e6 / elapsed_us
        enough = bytes_per_s >= (STOP_BYTES_PER_S if state.receiving else START_BYTES_PER_S)
        state.receiving = enough and downlink > packets * DATA_BYTES
        state.downlink_bytes_per_s = bytes_per_s if state.receiving else 0.0
        return downlink if state.receiving else 0

    def _was_incomplete(self) -> bool:
        """Whether a sender came or left: its air is in the survey, but not all of its bytes are in the counters."""
        incomplete, self._incomplete = self._incomplete, False
        return incomplete

    def _channel_time(self, survey: Survey | None) -> tuple[int, int]:
        """Active and busy time since the last differences."""
        active_us, busy_us = _survey_difference(self._survey, survey)
        self.busy_ratio = busy_us / active_us if active_us else None
        self._survey = survey
        return active_us, busy_us

    def send_priorities(self) -> bool:
        """Whether one of them has ever sent video or voice."""
        return any(state.latest.rx_video_packets or state.latest.rx_voice_packets for state in self.by_mac.values())

    def addresses(self) -> Iterable[Mac]:
        """Who is associated."""
        return self.by_mac.keys()


def _sends(  # noqa: PLR0917  # once for each station that sends anything
    state: StationState,
    payload: int,
    packets: int,
    elapsed_us: int,
    report: AccessPointReport,
    queues: Queues,
) -> bool:
    """Whether a station sends, by what it sent since the last differences and, where its access point looks more often,
    in the last moment.
    """
    station, recent_us = state.latest, report.recent_us
    if not recent_us:
        return uploads(payload, packets, elapsed_us, sending=state.sending)
    if station.silent:
        return _pauses(state, report, queues)
    state.silent_us = 0
    recent = station.recent_rx_bytes - station.recent_rx_packets * LINK_OVERHEAD_BYTES
    queue = queues(station.mac)
    if queue is not None and not queue.has_data and queue.for_us < ENDED_US:
        if not uploads(recent, station.recent_rx_packets, max(recent_us, RECENT_US), sending=True):
            return False
        if queue.for_us < RECENT_US:
            return state.sending  # what came may be from before its end
    if state.sending:
        # A shorter interval may be one of its pauses.
        return elapsed_us < PAUSE_US or uploads(payload, packets, elapsed_us, sending=True)
    started = uploads(recent, station.recent_rx_packets, max(recent_us, RECENT_US), sending=False)
    return started or uploads(payload, packets, elapsed_us, sending=False)


def _pauses(state: StationState, report: AccessPointReport, queues: Queues) -> bool:
    """Whether a station that is silent pauses: by counters it has stopped, and its terminal may know better."""
    state.silent_us = state.silent_us or report.monotonic_us
    if not state.sending or report.monotonic_us - state.silent_us >= SILENT_US:
        return False
    queue = queues(state.latest.mac)
    return queue is not None and queue.has_data


def _jump(old: Station, new: Station, elapsed_us: int) -> Reason:
    """The first counter that moved further than any station can within the time."""
    limits = dict.fromkeys(("rx_bytes", "tx_bytes"), STATION_MAX_BYTES_PER_S)
    limits |= dict.fromkeys(("rx_packets", "tx_packets", "tx_retries"), STATION_MAX_PACKETS_PER_S)
    for name, per_second in limits.items():
        before, after = getattr(old, name), getattr(new, name)
        if (after - before) * 1e6 > per_second * elapsed_us:
            return Reason(Code.COUNTER_JUMP, f"stations[{mac_text(new.mac)}].{name}", before=before, after=after)
    raise AssertionError("no counter moved too far")


def _restarted(old: Station, new: Station) -> bool:
    """Counters run from association: one that fell means that the station left and came back between two reports."""
    old_rx_bytes, old_rx_packets, _, old_tx_packets, old_tx_retries = old[1:6]
    rx_bytes, rx_packets, _, tx_packets, tx_retries = new[1:6]  # tx_bytes of some drivers fall at 2**32
    return (
        rx_bytes < old_rx_bytes
        or rx_packets < old_rx_packets
        or tx_packets < old_tx_packets
        or tx_retries < old_tx_retries
        or new.connected_time_ms < old.connected_time_ms
    )


def _survey_difference(old: Survey | None, new: Survey | None) -> tuple[int, int]:
    """Active and busy time between two surveys; zero if there is nothing to compare or the radio started again."""
    if old is None or new is None or new.active_us <= old.active_us or new.busy_us < old.busy_us:
        return 0, 0
    active_us = new.active_us - old.active_us
    return active_us, min(active_us, new.busy_us - old.busy_us)
