# SPDX-License-Identifier: Apache-2.0
"""What is known of one cell, from its access point's reports alone.

Counters become rates over at least `min_interval_ms` of the access point's own clock: a report sent at once for an
association comes a moment after the last one, and one packet in a millisecond is no sender.
"""

from dataclasses import dataclass, field

from airbound.core.capacity import CapacityEstimator, Interval
from airbound.core.parameters import CapacityParameters, SenderParameters
from airbound.core.reports import AccessPointReport, ReportRefusedError, Station, Survey

STATION_MAX_BPS = 2e10  # nearly twice the PHY rate of 802.11be with four streams at 320 MHz, 11.5 Gb/s
STATION_MAX_PACKETS_PER_S = 2e7  # that, in packets of 125 bytes


@dataclass(slots=True)
class StationState:
    """A station and the baseline of its counters."""

    baseline: Station
    baseline_us: int  # the access point's clock
    latest: Station
    associated_at_us: int  # the controller's clock
    sending: bool = False
    payload_bytes_per_s: float = 0.0
    joined: bool = False  # since the last differences


@dataclass(slots=True)
class Cell:
    """One BSS. Times ending in `_at_us` are the controller's, `monotonic_us` the access point's."""

    bssid: str
    senders: SenderParameters
    capacity_parameters: CapacityParameters
    stream: int = 0  # 0: no agent connected
    ssid: bytes = b""
    center_frequency_mhz: int = 0
    sequence: int = 0
    monotonic_us: int = 0
    reported_at_us: int = 0
    stations: dict[str, StationState] = field(default_factory=dict)
    uplink_bps: float = 0.0
    busy_ratio: float | None = None
    refused_total: int = 0
    behind_total: int = 0  # reports in a row that were older than one before them
    reassociations_total: int = 0
    capacity: CapacityEstimator = field(init=False)
    _baseline_us: int = 0
    _survey: Survey | None = None
    _incomplete: bool = False

    def __post_init__(self) -> None:
        self.capacity = CapacityEstimator(self.capacity_parameters)

    def reconfigure(self, senders: SenderParameters, capacity: CapacityParameters) -> None:
        """Go on under other parameters with what is known."""
        self.senders, self.capacity_parameters, self.capacity.parameters = senders, capacity, capacity

    @property
    def active_senders(self) -> int:
        """The paper's n: stations whose uplink counter moves, agent or not."""
        return sum(station.sending for station in self.stations.values())

    def accept(self, stream: int, report: AccessPointReport, now_us: int) -> list[ReportRefusedError]:
        """Take in a report; the counters in it that jumped, which are left out.

        Raises:
            ReportRefusedError: the report is not newer than the last of its stream.
        """
        if stream == self.stream:
            if report.sequence <= self.sequence:
                raise ReportRefusedError("sequence", report.sequence, f"stale: {self.sequence} came before")
            if report.monotonic_us < self.monotonic_us:
                raise ReportRefusedError("monotonic_us", report.monotonic_us, f"stale: {self.monotonic_us} came before")
        elif report.monotonic_us < self.monotonic_us:
            self._start_anew()  # the access point booted: nothing can be compared with what it said before
        previous_us = self.monotonic_us if self._baseline_us else None
        self.stream = stream
        self.sequence = report.sequence
        self.monotonic_us = report.monotonic_us
        self.reported_at_us = now_us
        self.ssid = report.ssid
        self.center_frequency_mhz = report.center_frequency_mhz
        self._update_stations(report, previous_us, now_us)
        if previous_us is None:
            self._baseline_us, self._survey = report.monotonic_us, report.survey
        elif report.monotonic_us - self._baseline_us >= self.senders.min_interval_ms * 1000:
            return self._take_differences(report, now_us)
        return []

    def _start_anew(self) -> None:
        self.stations.clear()
        self._baseline_us, self._survey = 0, None
        self.uplink_bps, self.busy_ratio = 0.0, None

    def _update_stations(self, report: AccessPointReport, previous_us: int | None, now_us: int) -> None:
        known, self.stations = self.stations, {}
        for station in report.stations:
            state = known.pop(station.mac, None)
            if state is not None and _restarted(state.latest, station):
                self.reassociations_total += 1
                state = None
            if state is None:
                associated_at_us = now_us - station.connected_time_ms * 1000
                state = StationState(station, report.monotonic_us, station, associated_at_us)
                if previous_us is not None and _began_since(station, report.monotonic_us - previous_us):
                    state.baseline, state.baseline_us, state.joined = Station(mac=station.mac), previous_us, True
            state.latest = station
            self.stations[station.mac] = state
        if any(state.sending for state in known.values()):
            self._incomplete = True

    def _take_differences(self, report: AccessPointReport, now_us: int) -> list[ReportRefusedError]:
        duration_us = report.monotonic_us - self._baseline_us
        payload_bytes = frames = 0
        jumps = list[ReportRefusedError]()
        for state in self.stations.values():
            old, new = state.baseline, state.latest
            packets = new.rx_packets - old.rx_packets
            # A null data frame is all header, so a station that only says it is awake sends nothing.
            payload = max(0, new.rx_bytes - old.rx_bytes - packets * self.senders.link_overhead_bytes)
            elapsed_us = max(report.monotonic_us - state.baseline_us, self.senders.min_interval_ms * 1000)
            jumped = _jumped(old, new, elapsed_us)
            if jumped is not None:
                # A driver's error. Taken for traffic it would spoil the cell's capacity for a while.
                jumps.append(jumped)
                self._incomplete = True
                state.baseline, state.baseline_us, state.joined = new, report.monotonic_us, False
                continue
            state.payload_bytes_per_s = payload * 1e6 / elapsed_us
            level = self.senders.stop_bytes_per_s if state.sending else self.senders.start_bytes_per_s
            state.sending = state.payload_bytes_per_s >= level
            self._incomplete |= state.joined and state.sending
            state.baseline, state.baseline_us, state.joined = new, report.monotonic_us, False
            payload_bytes += payload
            frames += packets + new.tx_packets - old.tx_packets + new.tx_retries - old.tx_retries
            if state.sending:
                self.capacity.observe_bitrate(new.rx_bitrate_kbps)
        active_us, busy_us = _survey_difference(self._survey, report.survey)
        self.uplink_bps = payload_bytes * 8e6 / duration_us
        self.busy_ratio = busy_us / active_us if active_us else None
        self._baseline_us, self._survey = report.monotonic_us, report.survey
        # The air of a sender that came or left within the interval is in the survey, but not all of its bytes are here.
        if not self._incomplete:
            interval = Interval(
                duration_us=duration_us,
                payload_bytes=payload_bytes,
                frames=frames,
                active_senders=self.active_senders,
                survey_active_us=active_us,
                survey_busy_us=busy_us,
            )
            self.capacity.observe(interval, now_us)
        self._incomplete = False
        return jumps


def _jumped(old: Station, new: Station, elapsed_us: int) -> ReportRefusedError | None:
    """The first counter that went further than any station can within the time."""
    limits = {"rx_bytes": STATION_MAX_BPS / 8}
    limits |= dict.fromkeys(("rx_packets", "tx_packets", "tx_retries"), STATION_MAX_PACKETS_PER_S)
    for name, per_second in limits.items():
        moved = getattr(new, name) - getattr(old, name)
        if moved * 1e6 > per_second * elapsed_us:
            where = f"stations[{new.mac}].{name}"
            return ReportRefusedError(where, getattr(new, name), f"{moved} more within {elapsed_us / 1e6:.3g} s")
    return None


def _restarted(old: Station, new: Station) -> bool:
    """Counters run from association: one that fell means the station left and came back between two reports."""
    fields = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "tx_retries", "connected_time_ms")
    return any(getattr(new, field) < getattr(old, field) for field in fields)


def _began_since(station: Station, elapsed_us: int) -> bool:
    """Whether a station's counters began at 0 within the time; connected time is in whole seconds on some drivers."""
    return station.connected_time_ms * 1000 <= elapsed_us + 1_000_000


def _survey_difference(old: Survey | None, new: Survey | None) -> tuple[int, int]:
    """Active and busy time between two surveys; zero if there is nothing to compare or the radio started anew."""
    if old is None or new is None or new.active_us <= old.active_us or new.busy_us < old.busy_us:
        return 0, 0
    active_us = new.active_us - old.active_us
    return active_us, min(active_us, new.busy_us - old.busy_us)
