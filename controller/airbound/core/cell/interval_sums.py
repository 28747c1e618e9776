# SPDX-License-Identifier: Apache-2.0
"""What the stations of a cell did in one interval, added up, and what the cell's capacity follows from."""

from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.cell.aggregation import Packets, bulk_bps, full_channel_us
from airbound.core.cell.capacity import LIGHT, Interval, expected_goodput_bps, has_short_packets
from airbound.core.cell.contradicted_rates import Heard
from airbound.core.cell.full_rates import FullRate
from airbound.core.parameters import CapacityParameters
from airbound.core.uploads import LINK_OVERHEAD_BYTES


class Passed(NamedTuple):
    """By how much the counters of a station moved: what the access point received from it and sent to it."""

    received_packets: int
    received_bytes: int
    sent_packets: int
    sent_bytes: int
    retries: int


@dataclass(slots=True)
class IntervalSums:
    """Of the stations that were added. A station that is quiet is not."""

    duration_us: int
    payload_bytes: int = 0
    downlink_bytes: int = 0  # less what TCP ACKs take
    received_bytes: int = 0  # of them, those to stations that receive
    uplink_packets: int = 0
    downlink_packets: int = 0
    airtime_us: int = 0
    active_senders: int = 0
    assumed_rates: int = 0  # stations whose rate is assumed
    heard: list[Heard] = field(default_factory=list)  # of senders with aggregates
    _aggregated_packets: int = 0
    _single_frames: int = 0  # with retries
    _single_uplink_frames: int = 0
    _single_air_us: int = 0
    _up: list[Packets] = field(default_factory=list)
    _down: list[Packets] = field(default_factory=list)
    _faster: list[tuple[int, Packets]] = field(default_factory=list)  # in place of those of `_up`
    _rates: list[tuple[int, bool]] = field(default_factory=list)  # of senders
    _full: list[tuple[FullRate, bool]] = field(default_factory=list)  # of senders
    _best_bps: float = 0.0
    _climbing_us: int = 0
    _climbing_packets: int = 0

    def add(self, passed: Passed, payload: int, downlink: int, air_us: int) -> None:
        """Add a station's bytes and its air time."""
        self.payload_bytes += payload
        if downlink > 0:
            self.downlink_bytes += downlink
        self.airtime_us += air_us
        self.uplink_packets += passed.received_packets
        self.downlink_packets += passed.sent_packets

    def add_aggregates(self, passed: Passed, payload: int, full: FullRate, *, receiving: bool) -> FullRate:
        """Add what a station sent and received in aggregates; the rates that it has in a full channel."""
        packets, sent = passed.received_packets, passed.sent_packets
        self._aggregated_packets += packets + sent
        if full.up_bps < full.down_bps:
            # In a channel that is not full frames go singly, and its rate control finds no rate faster than another.
            # What the access point sends at passes the same air.
            own = full
            full = full._replace(up_bps=full.down_bps, up_psdu_max_bytes=full.down_psdu_max_bytes)
            self._faster.append((len(self._up), (packets, payload, full.up_bps, full.up_psdu_max_bytes)))
            self._up.append((packets, payload, own.up_bps or full.up_bps, own.up_psdu_max_bytes))
        else:
            self._up.append((packets, payload, full.up_bps, full.up_psdu_max_bytes))
        octets = max(0, passed.sent_bytes - sent * LINK_OVERHEAD_BYTES)
        if 2 * sent > packets and not receiving:
            # ACKs of single packets: of many that come at once TCP answers every second one (RFC 5681, 4.2).
            octets, sent = octets * packets // (2 * sent), packets // 2
        self._down.append((sent, octets, full.down_bps, full.down_psdu_max_bytes))
        return full

    def add_single_frames(self, passed: Passed, air_us: int) -> None:
        """Add what a station without aggregates sent and received."""
        self._single_air_us += air_us
        self._single_frames += passed.received_packets + passed.sent_packets + passed.retries
        self._single_uplink_frames += passed.received_packets

    def add_sender(
        self, bitrate_kbps: int, full: FullRate, passed: Passed, air_us: int, *, aggregates: bool, climbing: bool
    ) -> None:
        """Add a station that sends. `climbing`: its rate control has not settled."""
        self.active_senders += 1
        self._rates.append((bitrate_kbps, aggregates))
        self._full.append((full, aggregates))
        self._best_bps = max(self._best_bps, full.up_highest_bps)
        if climbing:
            self._climbing_us += air_us
            self._climbing_packets += passed.received_packets + passed.sent_packets

    def aggregated_us(self, capacity: CapacityParameters) -> float:
        """How long the channel takes for what passed in aggregates, if it is full."""
        if not self._aggregated_packets:
            return 0.0
        found_us = full_channel_us(self._up, self._down, self.active_senders, capacity)
        if self._faster and found_us < LIGHT * self.duration_us:
            for index, packets in self._faster:
                self._up[index] = packets
            found_us = full_channel_us(self._up, self._down, self.active_senders, capacity)
        if self.assumed_rates and found_us > self.duration_us:
            return float(self.duration_us)  # what passed had the time: a rate by air time may be too low
        return found_us

    def interval(self, aggregated_us: float, active_us: int, busy_us: int, capacity: CapacityParameters) -> Interval:
        """What the capacity follows from; `active_us` and `busy_us` are the survey's."""
        short = has_short_packets(
            self.payload_bytes, self.uplink_packets, self.received_bytes, self.downlink_packets
        )  # fmt: skip
        packets = max(1, self.uplink_packets + self.downlink_packets)
        return Interval(
            duration_us=self.duration_us,
            payload_bytes=self.payload_bytes,
            downlink_bytes=self.received_bytes,
            frames=self._single_frames,
            uplink_frames=self._single_uplink_frames,
            aggregated_frames=self._aggregated_packets,
            aggregated_us=aggregated_us,
            airtime_us=self.airtime_us,
            unaggregated_airtime_us=self._single_air_us,
            has_short_packets=short,
            bulk_bps=bulk_bps(self._full, capacity) if short else 0.0,
            active_senders=self.active_senders,
            goodput_bps=expected_goodput_bps(self._rates),
            best_bitrate_bps=0.0 if any(aggregates for _, aggregates in self._rates) else self._best_bps,
            climbing=self._climbing_us / self.airtime_us if self.airtime_us else self._climbing_packets / packets,
            survey_active_us=active_us,
            survey_busy_us=busy_us,
        )
