# SPDX-License-Identifier: Apache-2.0
"""The uplink capacity of a cell, in IP bits per second, from what the access point counts.

The trap: bounds limit throughput, so throughput measured under bounds is no capacity; taking it for one lowers the
bounds, which lowers the throughput, and so on down. What the channel *could* carry follows from how full it was:

    u      = (busy_us + frames x (DIFS + slot x CWmin / (contenders + 1))) / active_us
    sample = uplink payload rate / min(1, u)

`busy_us` is the survey's; `frames` are the packets both ways and the downlink's retries, since each exchange
inevitably leaves the channel idle for a DIFS and the smallest of its contenders' back-offs (the mean of the smallest
of k uniform draws from 0..CWmin is CWmin/(k + 1)). `contenders` are the active senders and the access point, which
owes them TCP ACKs: those cost air as well, so what comes out is a capacity of uplink payload as it is now mixed.

Assumptions: 802.11g OFDM timing (parameters); other cells' traffic counts as busy and is taken to grow with ours,
which at part load gives too little and corrects itself as the load rises; uplink collisions are inside `busy_us`.

An interval less busy than `min_utilisation` tells nothing and leaves the estimate. Without a survey there is no u:
the highest uplink rate of the last `max_filter_s` stands in, but never less than the default.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from airbound.core.parameters import CapacityParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Differences between two reports of an access point."""

    duration_us: int
    payload_bytes: int
    frames: int
    active_senders: int
    survey_active_us: int = 0  # 0: no survey
    survey_busy_us: int = 0


def utilisation(interval: Interval, parameters: CapacityParameters) -> float | None:
    """Share of the interval in which the channel was unavailable to further traffic; none without a survey."""
    if interval.survey_active_us <= 0:
        return None
    contenders = max(1, interval.active_senders) + 1
    backoff_us = parameters.slot_us * parameters.cw_min_slots / (contenders + 1)
    spent_us = interval.survey_busy_us + interval.frames * (parameters.difs_us + backoff_us)
    return spent_us / interval.survey_active_us


@dataclass(slots=True)
class CapacityEstimator:
    """Takes intervals in, holds the estimate."""

    parameters: CapacityParameters
    _smoothed_bps: float | None = None
    _rates: deque[tuple[int, float]] = field(default_factory=deque)  # (at_us, bps), falling from oldest to newest
    _best_bitrate_bps: float = 0.0

    def observe_bitrate(self, bitrate_kbps: int) -> None:
        """Take in the uplink PHY rate of a station that sends."""
        self._best_bitrate_bps = max(self._best_bitrate_bps, bitrate_kbps * 1000.0)

    def observe(self, interval: Interval, now_us: int) -> None:
        """Take in what happened between two reports."""
        parameters = self.parameters
        seconds = interval.duration_us / 1e6
        if not 0 < seconds <= parameters.max_interval_s:
            return
        rate_bps = interval.payload_bytes * 8 / seconds
        while self._rates and self._rates[-1][1] <= rate_bps:
            self._rates.pop()
        self._rates.append((now_us, rate_bps))
        used = utilisation(interval, parameters)
        if used is None or used < parameters.min_utilisation or rate_bps <= 0:
            return
        sample = self._sane(rate_bps / min(1.0, used))
        if self._smoothed_bps is None:
            self._smoothed_bps = sample
        else:
            weight = -math.expm1(-seconds / parameters.smoothing_s)
            self._smoothed_bps += weight * (sample - self._smoothed_bps)

    def bps(self, now_us: int) -> float:
        """The estimate, bits of IP payload per second."""
        if self._smoothed_bps is not None:
            return self._sane(self._smoothed_bps)
        window_us = self.parameters.max_filter_s * 1e6
        while self._rates and now_us - self._rates[0][0] > window_us:
            self._rates.popleft()
        highest = self._rates[0][1] if self._rates else 0.0
        return self._sane(max(self.default_bps, highest))

    @property
    def default_bps(self) -> float:
        """What holds before the first sample. Too much only costs a second of queue; too little would hold phones
        down, and the last frame's rate may be a management frame's, so the rate can only raise it.
        """
        return max(self.parameters.default_bps, self.parameters.goodput_per_bitrate * self._best_bitrate_bps)

    @property
    def measured(self) -> bool:
        """Whether the estimate comes from measured utilisation."""
        return self._smoothed_bps is not None

    def _sane(self, bps: float) -> float:
        return min(max(bps, self.parameters.min_bps), self.parameters.max_bps)
