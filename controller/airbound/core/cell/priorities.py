# SPDX-License-Identifier: Apache-2.0
"""Stations that send video or voice without a grant, while these categories are closed for granted live flows.

An access point that demands admission for a category (ACM) has Linux' stations send what was not admitted as best
effort. Other drivers may not look at that. Their frames are seen by their traffic identifiers; a call's few small
frames of voice are nobody's harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airbound.core.addresses import Mac
    from airbound.core.cell.stations import StationState

VIDEO_PACKETS_PER_S = 20  # 240 kb/s in full frames
VOICE_PACKETS_PER_S = 150  # a call has 50, both ways counted 100
TAKEN_OVER_US = 3_000_000  # after which stations have what a beacon announced
REMEMBERED_US = 60_000_000  # after it was last seen


@dataclass(slots=True)
class Priorities:
    """Of one cell. Times are the controller's."""

    announced_at_us: int = 0  # when admission was announced; 0: it is not
    station: Mac = b""  # that sends so
    until_us: int = 0
    counts: dict[Mac, tuple[int, int]] = field(default_factory=dict)  # at the last report
    counted_at_us: int = 0

    def observe(self, stations: dict[Mac, StationState], granted: set[Mac], now_us: int) -> None:
        """Take in a report's counters."""
        before, elapsed_us = self.counts, now_us - self.counted_at_us
        self.counts = {
            mac: (state.latest.rx_video_packets, state.latest.rx_voice_packets) for mac, state in stations.items()
        }
        self.counted_at_us = now_us
        if not self.announced_at_us or now_us - self.announced_at_us < TAKEN_OVER_US or elapsed_us <= 0:
            return
        for mac, (video, voice) in self.counts.items():
            old_video, old_voice = before.get(mac, (video, voice))
            many = (voice - old_voice) * 1e6 > VOICE_PACKETS_PER_S * elapsed_us
            if mac not in granted:
                many |= (video - old_video) * 1e6 > VIDEO_PACKETS_PER_S * elapsed_us
            if many:
                self.station, self.until_us = mac, now_us + REMEMBERED_US
                return

    def closed_by(self, now_us: int) -> Mac:
        """The station for which the categories are to have no advantage; empty if there is none."""
        return self.station if now_us < self.until_us else b""
