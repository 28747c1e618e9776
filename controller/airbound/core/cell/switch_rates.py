# SPDX-License-Identifier: Apache-2.0
"""What stations send and receive by their switch: counters become rates, and rates say who is an active sender.

A switch counts Ethernet frames; what a station sends in IP is that less 14 octets for each. Two levels, as with the
counters of access points (uploads.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.cell.stations import Queue, Queues, Stations
from airbound.core.switch_reports import TCP, Traffic
from airbound.core.uploads import (
    ACK_BYTES,
    INTERVAL_MIN_US,
    RECENT_US,
    START_BYTES_PER_S,
    STOP_BYTES_PER_S,
    Pauses,
    is_data,
)

ETHERNET_BYTES = 14
SAME_US = 600_000  # Open vSwitch brings its counters up to date every 500 ms (max-revalidator) unless told otherwise
DATA_BYTES = 100  # as in stations.py: what is longer than this on average is no stream of ACKs

PairKey = tuple[Address, int]


class PairRate(NamedTuple):
    """A station's traffic with one address by one protocol. `traffic` has the counters."""

    traffic: Traffic
    uplink_bps: float = 0.0  # of IP
    downlink_bps: float = 0.0


@dataclass(slots=True)
class StationRate:
    """A station's traffic."""

    pairs: dict[PairKey, PairRate] = field(default_factory=dict)
    uplink_bps: float = 0.0
    downlink_bps: float = 0.0
    download_bps: float = 0.0  # less what the TCP ACKs of uploads take
    sending: bool = False
    receiving: bool = False
    pauses: Pauses = field(default_factory=Pauses)
    upload_bytes: float = 0.0  # since the counters of before: of pairs that are no stream of ACKs


@dataclass(slots=True)
class SwitchRates:
    """Of one switch."""

    stations: dict[Mac, StationRate] = field(default_factory=dict)
    measured: bool = False  # whether two reports have been compared
    taken_at_us: int = 0  # of the controller's clock
    _at_us: int = 0  # of the switch's clock
    _traffic: tuple[Traffic, ...] = ()  # at that time

    def take(self, traffic: Iterable[Traffic], monotonic_us: int, now_us: int, queues: Queues) -> None:
        """Counters at a moment of the switch's clock, later than the one before."""
        self.taken_at_us = now_us
        traffic = tuple(traffic)
        elapsed_us, known, first = monotonic_us - self._at_us, self.stations, not self._at_us
        if not first and elapsed_us < (SAME_US if traffic == self._traffic else INTERVAL_MIN_US):
            return
        self._traffic = traffic
        self.stations, self._at_us, self.measured = {}, monotonic_us, not first
        for counted in traffic:
            station, was = self.stations.get(counted.mac), known.get(counted.mac)
            if station is None:
                station = self.stations[counted.mac] = StationRate()
                if was is not None:
                    station.sending, station.pauses = was.sending, was.pauses
            before = was.pairs.get((counted.address, counted.protocol)) if was is not None else None
            station.pairs[counted.address, counted.protocol] = (
                PairRate(counted)
                if first
                else self._rate(station, counted, before.traffic if before else None, elapsed_us)
            )
        for mac, station in self.stations.items():
            old = known.get(mac)
            self._find_sending(station, elapsed_us, queues(mac))
            level = STOP_BYTES_PER_S if old and old.receiving else START_BYTES_PER_S
            station.receiving = station.download_bps >= level * 8

    def _find_sending(self, station: StationRate, elapsed_us: int, queue: Queue | None) -> None:
        """Whether it sends: as of an access point's stations, but that the switch does not know of pauses."""
        octets, queues = station.upload_bytes, queue.has_data if queue is not None else None
        silent = station.pauses.take(self._at_us, elapsed_us, octets, queues=queues)
        if station.sending:
            station.sending = not silent
        else:
            station.sending = octets * 1e6 >= START_BYTES_PER_S * max(elapsed_us, RECENT_US)

    @staticmethod
    def _rate(station: StationRate, now: Traffic, old: Traffic | None, elapsed_us: int) -> PairRate:
        """A pair that is new began at 0; one whose counters fell began again."""
        if old is None or now.uplink_bytes < old.uplink_bytes or now.downlink_bytes < old.downlink_bytes:
            old = Traffic(now.mac, now.address, now.protocol, 0, 0, 0, 0)
        up, up_packets = now.uplink_bytes - old.uplink_bytes, now.uplink_packets - old.uplink_packets
        down, down_packets = now.downlink_bytes - old.downlink_bytes, now.downlink_packets - old.downlink_packets
        up, down = max(0, up - ETHERNET_BYTES * up_packets), max(0, down - ETHERNET_BYTES * down_packets)
        uplink_bps, downlink_bps = up * 8e6 / elapsed_us, down * 8e6 / elapsed_us
        if is_data(up, up_packets, sending=station.sending):
            station.upload_bytes += up - ACK_BYTES * up_packets
        station.uplink_bps += uplink_bps
        station.downlink_bps += downlink_bps
        data = max(0, down - ACK_BYTES * down_packets) if now.protocol == TCP else down
        if now.protocol != TCP or down > DATA_BYTES * down_packets:
            station.download_bps += data * 8e6 / elapsed_us
        return PairRate(now, uplink_bps, downlink_bps)

    @property
    def active_senders(self) -> int:
        """Stations that send."""
        return sum(station.sending for station in self.stations.values())

    def clear(self) -> None:
        """Nothing is known any more."""
        self.stations, self.measured, self._at_us, self._traffic = {}, False, 0, ()


def has_counters(stations: Stations) -> bool:
    """Whether an access point counts what its stations send: without nl80211 it reports who is there, and zeros."""
    return not stations.by_mac or any(any(state.latest[1:6]) for state in stations.by_mac.values())


def count_by_switch(stations: Stations, rates: SwitchRates, now_us: int, stale_ms: int) -> bool:
    """Have the switch say which of a cell's stations send, in place of an access point that does not count; whether it
    did. Of a switch that is silent for too long nothing is known: its stations do not send.
    """
    if not stations.by_mac or has_counters(stations):
        return False
    if now_us - rates.taken_at_us > stale_ms * 1000:
        rates.clear()
    elif not rates.measured and rates.stations:
        return False  # its second report comes in a moment
    uplink_bps = downlink_bps = 0.0
    for mac, state in stations.by_mac.items():
        rate = rates.stations.get(mac)
        state.sending = rate is not None and rate.sending
        state.payload_bytes_per_s = rate.uplink_bps / 8 if rate else 0.0
        state.receiving = rate is not None and rate.receiving
        state.downlink_bytes_per_s = rate.download_bps / 8 if rate else 0.0
        uplink_bps += rate.uplink_bps if rate else 0.0
        downlink_bps += rate.download_bps if rate else 0.0
    stations.taken_over(uplink_bps, downlink_bps)
    return rates.measured
