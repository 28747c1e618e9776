# SPDX-License-Identifier: Apache-2.0
"""The capacity of a cell for uploads, in IP bits per second, from what the access point counts.

The trap: bounds limit throughput, so throughput measured under bounds is no capacity; taking it for one lowers the
bounds, which lowers the throughput, and so on down. What the channel *could* carry follows from how full it was:

    u      = (busy_us + accesses x (DIFS + slot x CWmin / (contenders + 1))) / active_us
    sample = payload rate x (1 - others) / (min(1, u) - others)

The payload is that of uploads and of downloads: what downloads carry is part of what the cell can carry. `busy_us` is
the survey's. Each channel access inevitably leaves the channel idle for a DIFS and the smallest of its contenders'
back-offs (the mean of the smallest of k uniform draws from 0..CWmin is CWmin/(k + 1)). `contenders` are the active
senders and the access point, which owes them TCP ACKs: those cost air as well, so what comes out is a capacity of
uplink payload as it is now mixed. Each packet and each downlink retry is a channel access.

A station of 802.11n or later sends dozens of packets in one access once the channel is full, and single ones while it
is not, or while bounds keep it from queueing: the air time that its packets took says little. Where a station
aggregates,

    sample = payload rate x (1 - others) x active_us / (time that the interval's packets need in a full channel)

and at least the payload rate: senders whose windows are bounded wait for ACKs, collide less than that time allows for,
and carry more. With less than that, windows on long wires would not hold their share, and those on short ones take it.

An interval in which stations had packets, but neither their PHY rates nor, without aggregation, their air time is
known, is no sample. That time follows from packets, their lengths and PHY rates, by aggregation.py; of stations without
aggregation it is what they took.

`others` is the share of the channel that is busy without the cell's stations: beacons, management, neighbours. Uplink
collisions are in nobody's airtime either, so it is measured only while the stations have less than `QUIET` of the
channel, and holds until they have again, or until less than that is busy beside their air time. Where frames are
aggregated it counts as half at most: others may have what the cell's bounds leave them (neighbours.py). 0 where the
access point's driver measures no airtime; then other cells' traffic counts as busy and is taken to grow with ours,
which at part load gives too little and corrects itself as the load rises.

Frames that collide keep the channel busy for less time than their senders give for them, so that in a full cell u comes
out too small and the sample too large. It is never more than a share of the best sender's PHY rate (without
aggregation, where that is known): MOST_PER_BITRATE of it if there is a downlink access for every second uplink
packet, as with TCP, and MOST_PER_BITRATE_UNANSWERED if there is none, as with UDP. In between the time that a packet
takes is between theirs. Senders that wait for no ACKs all contend at once: what one of them could carry is then less by
their collisions, and by the slower rates that follow from those (contention.py, aggregation.py).

Assumptions: 802.11g OFDM timing (contention.py); uplink collisions are inside `busy_us`.

The first samples of a cell are too small: rate control is still climbing, and the air is full of management frames. So
the average begins at `default_bps`, or at what the best PHY rate carries if that is less; a first sample that is larger
counts at once. Otherwise a phone that uploads a photo in a quiet cell would have a third of its capacity for seconds.
The rate control of a new station climbs, then and later (until `SETTLED_PACKETS` of full_rates.py). While that of a
sender does, the best PHY rate raises what it carries and does not lower it, and a sample that is less than the
average counts by the share of the air that the other stations have. After `CLIMBING_S` of samples in a row that had
such senders all count again: many stations whose rates are slow for good need long for their first packets. The first
samples with all rates settled replace a beginning that was too low: what is more than the average counts as a share of
all such samples so far, the first one alone.

An interval in which the cell's own part was less than MIN_UTILISATION is no sample; nor is one of stations that
aggregate, if its packets needed less than `NEEDED_LEAST` of the time. Of one in which less than `LIGHT` of the channel
was used, and for short packets, the sample is what the senders' PHY rates carry of full ones: the agents' own reports
are most of what a cell at rest sends, and a full channel has no more of them. Without a survey there is no u: then,
without aggregation, the highest rate of payload of the last MAX_FILTER_S stands in, and at least what the PHY rates
of the stations that send now should carry. That floor is needed against the trap; it follows the rates, which are
averaged over `smoothing_s`, so that one frame at a high rate is forgotten within seconds. Until rates have been
averaged for some time the floor is no less than `default_bps`: at first a station's last frame is often a management
frame, or rate control is still climbing.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from airbound.core.cell.aggregation import GOODPUT_PER_BITRATE, RATE_LOST_TO_COLLISIONS
from airbound.core.cell.contention import CW_MIN_SLOTS, DIFS_US, SLOT_US, contention
from airbound.core.cell.neighbours import OTHERS_MOST
from airbound.core.parameters import CapacityParameters

Source = Literal["default", "bitrate", "busy_time", "throughput"]
FULL_PACKET_BITS = 12_000  # of IP
GOODPUT_PER_BITRATE_AGGREGATED = 0.65  # uplink TCP over the PHY rate where frames are aggregated (802.11n and later)
MOST_PER_BITRATE = 0.47  # without aggregation, uplink IP throughput is never more: measured at 54 Mb/s (decision 0025)
MOST_PER_BITRATE_UNANSWERED = 0.57  # the same of packets for which nothing is sent back, as of UDP
ANSWERS_OF_TCP = 0.5  # downlink accesses for an uplink packet: an ACK for every second segment
AVERAGED_ENOUGH = 0.95  # three time constants
QUIET = 0.1
NEEDED_LEAST = 0.01
MIN_UTILISATION = 0.05  # without aggregation: an interval of which the cell had less is no sample
MAX_FILTER_S = 10.0  # without a survey: the highest uplink rate of so long
MAX_INTERVAL_S = 10.0  # a longer gap between reports is no sample
LIGHT = 0.5
SHORT_BYTES = 1300  # of IP: fewer than this on average
CLIMBING_S = 3.0  # full_rates.py has how long it takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Differences between two reports of an access point."""

    duration_us: int
    payload_bytes: int  # uplink
    frames: int  # both ways, without aggregation: packets and downlink retries, each a channel access
    uplink_frames: int = 0  # of them, those that the stations sent
    aggregated_frames: int = 0  # both ways, of stations that aggregate
    active_senders: int
    downlink_bytes: int = 0  # payload of downloads: not the ACKs of uploads
    goodput_bps: float = 0.0  # what the PHY rates of the active senders should carry; 0: no rate is known
    best_bitrate_bps: float = 0.0  # of the active senders, if none of them aggregates; 0: not known
    climbing: float = 0.0  # share of the stations' air of senders whose rate control has only begun
    aggregated_us: float = 0.0  # that the packets of stations that aggregate need in a full channel
    airtime_us: int = 0  # of all stations, both ways; 0: not measured
    unaggregated_airtime_us: int = 0  # of those that do not aggregate
    has_short_packets: bool = False
    bulk_bps: float = 0.0  # then what the active senders carry in full ones at their PHY rates; 0: not known
    survey_active_us: int = 0  # 0: no survey
    survey_busy_us: int = 0


def expected_goodput_bps(rates: list[tuple[int, bool]]) -> float:
    """What senders at these PHY rates (kb/s, whether they aggregate) should carry together; 0 if no rate is known.

    Each gets as many channel accesses as the others, so the rates combine as a harmonic mean: the slow ones decide.
    """
    known = [
        kbps * 1e3 * (GOODPUT_PER_BITRATE_AGGREGATED if aggregates else GOODPUT_PER_BITRATE)
        for kbps, aggregates in rates
        if kbps > 0
    ]
    return len(known) / sum(1 / bps for bps in known) if known else 0.0


def utilisation(interval: Interval) -> float | None:
    """Share of the interval in which the channel was unavailable to further traffic; none without a survey."""
    if interval.survey_active_us <= 0:
        return None
    return (interval.survey_busy_us + interval.frames * access_us(interval)) / interval.survey_active_us


def access_us(interval: Interval) -> float:
    """How long the channel is idle before an access of those that do not aggregate."""
    contenders = max(1, interval.active_senders) + 1
    return DIFS_US + SLOT_US * CW_MIN_SLOTS / (contenders + 1)


def needed(interval: Interval) -> float | None:
    """Share of the interval that its packets would have needed in a full channel, where stations aggregate; none if
    that is not known of all.
    """
    needed_us = interval.aggregated_us
    if interval.frames:
        share = interval.frames / (interval.frames + interval.aggregated_frames)
        airtime_us = interval.unaggregated_airtime_us or interval.survey_busy_us * share
        if not airtime_us:
            return None
        needed_us += airtime_us
        needed_us += interval.frames * access_us(interval)
    return needed_us / interval.duration_us


def has_short_packets(up_bytes: int, up_packets: int, down_bytes: int, down_packets: int) -> bool:
    """Whether the packets of the direction with more payload are short on average."""
    if up_bytes >= down_bytes:
        return up_bytes < up_packets * SHORT_BYTES
    return down_bytes < down_packets * SHORT_BYTES


def most_per_bitrate(interval: Interval) -> float:
    """The largest share of the best PHY rate that the interval's mix of packets can carry upward."""
    with_acks = MOST_PER_BITRATE
    if not interval.uplink_frames:
        return with_acks
    without = _most_per_bitrate_unanswered(interval)
    answers = (interval.frames - interval.uplink_frames) / interval.uplink_frames
    return 1 / (1 / without + min(1.0, answers / ANSWERS_OF_TCP) * (1 / with_acks - 1 / without))


def _most_per_bitrate_unanswered(interval: Interval) -> float:
    alone, bitrate_bps = MOST_PER_BITRATE_UNANSWERED, interval.best_bitrate_bps
    if not bitrate_bps:
        return alone
    bits_us = FULL_PACKET_BITS * 1e6 / bitrate_bps
    alone_us = bits_us / alone
    one, all_of_them = (contention(n, CW_MIN_SLOTS) for n in (1, max(1, interval.active_senders)))
    sent_us = max(bits_us, alone_us - one.idle_slots * SLOT_US)
    slower_us = RATE_LOST_TO_COLLISIONS * all_of_them.collides * bits_us
    idle_us = (all_of_them.idle_slots - one.idle_slots) * SLOT_US
    return bits_us / (alone_us + idle_us + all_of_them.collisions * sent_us + slower_us)


@dataclass(slots=True)
class CapacityEstimator:
    """Takes intervals in and gives the estimate. Reading it changes nothing."""

    parameters: CapacityParameters
    _smoothed_bps: float | None = None
    _goodput_bps: float = 0.0
    _most_bps: float = math.inf  # that the best PHY rate can carry
    _averaged: float = 0.0  # how far the average of the PHY rates has got, 0 to 1
    _climbing_s: float = 0.0  # of samples in a row that had such senders
    _settled_s: float = 0.0  # of all samples that had none, and were of more than a cell at rest
    _others: float | None = None  # share of the channel that the cell's own stations do not have; None: not known yet
    _rates: deque[tuple[int, float]] = field(default_factory=deque)  # (at_us, bps), falling from oldest to newest

    def observe(self, interval: Interval, now_us: int) -> None:
        """Take in what happened between two reports."""
        seconds = interval.duration_us / 1e6
        if not 0 < seconds <= MAX_INTERVAL_S:
            return
        weight = -math.expm1(-seconds / self.parameters.smoothing_s)
        climbing = interval.climbing if self._climbing_s < CLIMBING_S else 0.0
        self._observe_bitrates(interval, weight, may_fall=not climbing)
        rate_bps = (interval.payload_bytes + interval.downlink_bytes) * 8 / seconds
        self._keep(rate_bps, now_us)
        self._observe_others(interval, weight)
        share = self._share(interval)
        if share is None or rate_bps <= 0:
            return
        full_bps = rate_bps / share
        is_at_rest = share < LIGHT and interval.has_short_packets
        if is_at_rest:
            full_bps = interval.bulk_bps
        if not full_bps:
            return
        others = self._others or 0.0
        full_bps *= 1 - (min(others, OTHERS_MOST) if interval.aggregated_frames else others)
        sample = self._limited(max(full_bps, rate_bps) if interval.aggregated_frames else full_bps)
        self._average(sample, interval, weight, climbing=climbing, is_at_rest=is_at_rest)

    def _average(self, sample: float, interval: Interval, weight: float, *, climbing: float, is_at_rest: bool) -> None:
        seconds, before_bps = interval.duration_us / 1e6, self._smoothed_bps
        if before_bps is None:
            before_bps = max(sample, min(self.parameters.default_bps, self._most_bps))
        if not interval.climbing:
            self._climbing_s = 0.0
        if is_at_rest and sample < before_bps and (climbing or not interval.aggregated_frames):
            return  # in 802.11g rate control tries slower rates in a cell at rest
        if interval.climbing:
            self._climbing_s += seconds
        if not (climbing or is_at_rest):
            self._settled_s += seconds
            if sample > before_bps:
                weight = max(weight, seconds / self._settled_s)
        if sample < before_bps:
            weight *= 1 - climbing
        self._smoothed_bps = before_bps + weight * (sample - before_bps)

    def _observe_bitrates(self, interval: Interval, weight: float, *, may_fall: bool) -> None:
        if interval.goodput_bps > 0:
            step = interval.goodput_bps - self._goodput_bps
            self._goodput_bps += step * (weight if self._goodput_bps else 1.0)
            self._averaged += weight * (1 - self._averaged)
        if interval.best_bitrate_bps:
            most_bps = most_per_bitrate(interval) * interval.best_bitrate_bps
            if may_fall or most_bps > self._most_bps:
                self._most_bps = most_bps
        elif interval.goodput_bps > 0:
            self._most_bps = math.inf  # a sender aggregates

    def _observe_others(self, interval: Interval, weight: float) -> None:
        own_us, active_us = interval.airtime_us, interval.survey_active_us
        if not own_us or not active_us:
            return
        others = max(0, interval.survey_busy_us - own_us) / active_us
        before = self._others
        if own_us < QUIET * active_us or (before is not None and others < before):
            before = others if before is None else before
            self._others = before + weight * (others - before)

    def _share(self, interval: Interval) -> float | None:
        """Of the channel, beside what others take, that the interval's payload took or, where frames are aggregated,
        needs; None: it is no sample.
        """
        if interval.aggregated_frames:
            share, least = needed(interval), NEEDED_LEAST
        else:
            share, least = utilisation(interval), MIN_UTILISATION
            if share is not None:
                share = min(1.0, share) - (self._others or 0.0)
        return share if share is not None and share >= least else None

    def _keep(self, rate_bps: float, now_us: int) -> None:
        rates = self._rates
        while rates and rates[-1][1] <= rate_bps:
            rates.pop()
        rates.append((now_us, rate_bps))
        oldest_us = now_us - MAX_FILTER_S * 1e6
        while rates[0][0] < oldest_us:
            rates.popleft()

    def estimate(self) -> tuple[float, Source]:
        """The estimate, bits of IP payload per second, and what it comes from."""
        if self._smoothed_bps is not None:
            return self._limited(min(self._smoothed_bps, self._most_bps)), "busy_time"
        floor, source = self._goodput_bps, "bitrate"
        if self._averaged < AVERAGED_ENOUGH and floor < self.parameters.default_bps:
            floor, source = self.parameters.default_bps, "default"
        highest = self._rates[0][1] if self._rates else 0.0
        if highest > floor:
            return self._limited(highest), "throughput"
        return self._limited(floor), source  # type: ignore[return-value]  # a str of the tuples above

    @property
    def bps(self) -> float:
        """The estimate alone."""
        return self.estimate()[0]

    @property
    def measured_bps(self) -> float:
        """The smoothed measurement; 0 if there is none yet."""
        return self._smoothed_bps or 0.0

    def restore(self, measured_bps: float) -> None:
        """Go on from another estimator's measurement, unless there is one already."""
        if measured_bps > 0 and self._smoothed_bps is None:
            self._smoothed_bps = self._limited(measured_bps)
            self._settled_s = self.parameters.smoothing_s

    def _limited(self, bps: float) -> float:
        return min(max(bps, self.parameters.min_bps), self.parameters.max_bps)
