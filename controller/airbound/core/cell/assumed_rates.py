# SPDX-License-Identifier: Apache-2.0
"""The PHY rate of a station whose frames are aggregated and whose driver reports no rate, neither up nor down. Without
one a window could not hold an aggregate, and the cell would have no estimate of its capacity. In this order:

    AIR_TIME   second highest of KEPT intervals of  bits both ways / air time / FRAMES_SHARE
    CELL       median of the rates that are known of the cell's stations
    CARRIED    ROOM x the most that the cell carried / what of the PHY rate senders carry, at least LEAST_BPS

Air time has the costs of accesses in it, so bits over air time are never more than the rate, and less the shorter
accesses are. A rate that is taken for too low makes windows too small, accesses shorter, and the next one lower: so it
is the second highest, and divided by the frames' share of a long access (802.11ac, two streams: 50 frames of 15 us
beside some 190 us of preambles, block acks and ACKs).

What a cell carried is no bound while windows make it so. So ROOM is left above it, and it counts only while somebody
has more to send than its window lets it. Windows then grow by a quarter with each report until the cell carries no more
for it: the assumed rate stays a quarter above. Before SAMPLES_LEAST such intervals it is BEGIN_BPS: windows that are
too large cost delay, as they would without any bounds, and windows that are too small cost throughput.
"""

import statistics
from collections import deque
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from airbound.core.addresses import Mac
from airbound.core.cell.full_rates import FullRate
from airbound.core.policy import RateSource

KEPT = 8  # intervals of a station, as full_rates.py keeps
LEAST_AIR_US = 2_000  # of an interval: less is a few single frames
FRAMES_SHARE = 0.8  # of the air time of long accesses
CARRIED_KEPT = 10
SAMPLES_LEAST = 3
ROOM = 1.25
CARRIED_PER_BITRATE = 0.65  # capacity.py: uplink TCP over the PHY rate, where frames are aggregated
LEAST_BPS = 65e6  # 802.11n, 20 MHz, one stream, long guard interval
BEGIN_BPS = 866.7e6  # 802.11ac, 80 MHz, two streams


@dataclass(slots=True)
class AssumedRates:
    """Of one cell's stations."""

    count: int = 0  # stations whose rate was assumed in the last interval
    is_limited: bool = False  # whether a sender has more to send than its window lets it
    noted_at_us: int = 0  # the controller's clock when one was last assumed; 0: the log has no word of it
    _known_bps: list[float] = field(default_factory=list)  # in the last interval
    _by_mac: dict[Mac, deque[float]] = field(default_factory=dict)
    _carried_bps: deque[float] = field(default_factory=lambda: deque(maxlen=CARRIED_KEPT))

    def begin(self, known_bps: Iterable[float]) -> None:
        """Before the stations of an interval: the rates that are known of the cell's stations, bits per second."""
        self.count, self._known_bps = 0, sorted(known_bps)

    def rate(self, mac: Mac, bits: int, air_us: int) -> FullRate:
        """The rate of a station without any, that sent and was sent so much in an interval; air time 0: not known."""
        self.count += 1
        if air_us >= LEAST_AIR_US:
            kept = self._by_mac.setdefault(mac, deque(maxlen=KEPT))
            kept.append(bits * 1e6 / air_us / FRAMES_SHARE)
        else:
            kept = self._by_mac.get(mac, deque())
        if kept:
            bps, source = sorted(kept)[-2:][0], RateSource.AIR_TIME
        elif self._known_bps:
            bps, source = statistics.median(self._known_bps), RateSource.CELL
        else:
            bps, source = self._most_bps(), RateSource.CARRIED
        return FullRate(bps, bps, source=source)

    def end(self, carried_bps: float, stations: Container[Mac]) -> None:
        """After the stations of an interval in which all senders were there from its beginning to its end, if any of
        their rates was assumed: payload both ways, and who is associated.
        """
        if self.is_limited:
            self._carried_bps.append(carried_bps)
        for mac in [mac for mac in self._by_mac if mac not in stations]:
            del self._by_mac[mac]

    def _most_bps(self) -> float:
        """By what the cell carried."""
        if len(self._carried_bps) < SAMPLES_LEAST:
            return BEGIN_BPS
        return max(LEAST_BPS, ROOM * max(self._carried_bps) / CARRIED_PER_BITRATE)
