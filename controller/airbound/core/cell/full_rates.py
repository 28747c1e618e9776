# SPDX-License-Identifier: Apache-2.0
"""The PHY rates that a station's frames would have in a full channel: each way the second highest of the last frames'.

A report has the rate of the last frame only. One that is tried out is a single one; and while frames go singly many
rates are as good as the highest, since its preamble takes longer than its data.

A rate control begins with low rates and climbs as frames succeed. Until a station has sent `SETTLED_PACKETS` its
highest rate so far is the nearest to those of a full channel. minstrel tries a rate with every tenth frame: after 100
nearly every rate of 802.11g has had its turn. In the lab phones that use 5 % of a cell had their full rate after 12 to
123 packets, 3 s at most; those that fill it after 0.6 s at most.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.policy import RateSource
from airbound.core.reports import Station

# Of so many reports' frames the second highest rate counts. After more reports in a row whose last frame had no rate of
# aggregation, a station that sends has no other rates.
KEPT = 8
SETTLED_PACKETS = 100  # that a station has sent since it associated
FORMAT_LEGACY, FORMAT_HT = 1, 2  # airbound.v1.RateFormat
PSDU_MAX_BYTES = {FORMAT_LEGACY: 4_095, FORMAT_HT: 65_535}  # IEEE 802.11-2020, tables 17-21 and 9-184
# The most that a device of 802.11ac can announce (IEEE 802.11-2020, 9.4.2.157.2: 2^(13 + 7) - 1). One of 802.11ax or be
# may announce several times that. Reports do not say what a device announces: above 1.5 Gb/s an aggregate may be longer
# than it is taken for.
PSDU_MAX_OF_LATER_BYTES = 1_048_575


class FullRate(NamedTuple):
    """Bits per second, 0: not known; and the longest PSDU of such a rate's format."""

    up_bps: float = 0.0
    down_bps: float = 0.0
    up_psdu_max_bytes: int = PSDU_MAX_OF_LATER_BYTES
    down_psdu_max_bytes: int = PSDU_MAX_OF_LATER_BYTES
    up_highest_bps: float = 0.0  # of the last frames
    source: RateSource = RateSource.REPORTED


def _kept() -> deque[int]:
    return deque(maxlen=KEPT)


@dataclass(slots=True)
class FullRates:
    """Of one station."""

    _full: FullRate = FullRate()  # noqa: RUF009  # cannot be changed
    _up_kbps: deque[int] = field(default_factory=_kept)
    _down_kbps: deque[int] = field(default_factory=_kept)
    _seen: tuple[int, int, int, int] = (0, 0, 0, 0)
    _equal: int = 0  # reports in a row with the same rates
    _climbing: bool = False
    _legacy: int = 0  # reports in a row whose last frame had no rate of aggregation, while it sent

    def see(self, station: Station, *, climbing: bool = False, sending: bool = False) -> FullRate:
        """Take in the rates of the last frames, and return those of a full channel. `climbing`: whether the station had
        sent fewer than `SETTLED_PACKETS` before them; `sending`: whether it sends data.

        In a station that aggregates the rate of a frame without aggregation, as of those by which it tells that it
        sleeps, says nothing of the others, until all have had such rates while it sent.
        """
        if self._climbing and not climbing:
            self._up_kbps.clear()
            self._down_kbps.clear()
            self._equal = 0
        self._climbing = climbing
        has_legacy = station.aggregates and station.rx_rate_format == FORMAT_LEGACY and station.rx_bitrate_kbps > 0
        if sending:
            self._legacy = self._legacy + 1 if has_legacy else 0
        seen = station.rx_bitrate_kbps, station.rx_rate_format, station.tx_bitrate_kbps, station.tx_rate_format
        if seen == self._seen:
            self._equal += 1
            if self._equal > KEPT and self._legacy <= KEPT:
                return self._full
        else:
            self._seen, self._equal = seen, 0
        up_kbps, up_format, down_kbps, down_format = seen
        up_bps, down_bps, up_max, down_max, up_highest_bps, _ = self._full
        if up_kbps and (self._legacy > KEPT or not has_legacy):
            up_bps, up_highest_bps = self._highest(self._up_kbps, up_kbps)
            up_max = _psdu_max_bytes(up_format)
        if down_kbps and not (station.aggregates and down_format == FORMAT_LEGACY):
            down_bps, _ = self._highest(self._down_kbps, down_kbps)
            down_max = _psdu_max_bytes(down_format)
        self._full = FullRate(up_bps, down_bps, up_max, down_max, up_highest_bps)
        return self._full

    def _highest(self, kept: deque[int], kbps: int) -> tuple[float, float]:
        """That of a full channel, and the highest of all."""
        if self._climbing and kept:
            kbps = max(kbps, kept[-1])
        kept.append(kbps)
        highest = sorted(kept)[-2:]
        return highest[-1 if self._climbing else 0] * 1e3, highest[-1] * 1e3


def _psdu_max_bytes(rate_format: int) -> int:
    return PSDU_MAX_BYTES.get(rate_format, PSDU_MAX_OF_LATER_BYTES)
