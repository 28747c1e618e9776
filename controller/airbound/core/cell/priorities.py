# SPDX-License-Identifier: Apache-2.0
"""Stations that send video or voice without a grant.

Two findings. While these categories are closed (the access point demands admission, ACM), Linux' stations send what was
not admitted as best effort; a driver that does not look at that is *found*. And where nobody has a grant, the
categories are open: if the channel is busy, and most of what the cell's stations send is in them, the rest is *crowded
out*, and they are to be closed, before whoever needs them can say so.

Frames are seen by their traffic identifiers. A call's few small frames of voice are nobody's harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airbound.core.addresses import Mac
    from airbound.core.cell.stations import StationState
    from airbound.core.reports import Station

VIDEO_PACKETS_PER_S = 20  # 240 kb/s in full frames
VOICE_PACKETS_PER_S = 150  # a call has 50, both ways counted 100
TAKEN_OVER_US = 3_000_000  # after which stations have what a beacon announced
REMEMBERED_US = 60_000_000  # after it was last seen
INTERVAL_MIN_US = 500_000  # a station that associates is reported at once, and its first frames are of voice (EAPOL)
MOST = 0.5  # of what stations send
MANY_PACKETS_PER_S = 200
BUSY = 0.5  # of the time, by the access point's survey: below, nobody waits for long
CLOSED_US = 600_000_000  # closed so long, after most was in them: who keeps to that is not seen meanwhile


@dataclass(slots=True)
class Priorities:
    """Of one cell. Times are the controller's."""

    announced_at_us: int = 0  # when admission was announced; 0: it is not
    station: Mac = b""  # that sends so
    until_us: int = 0
    crowded_until_us: int = 0
    voice: bool = False  # whether it was voice, too
    counted: dict[Mac, Station] = field(default_factory=dict)  # with their counters at the last report
    counted_at_us: int = 0

    def observe(
        self, stations: dict[Mac, StationState], granted: set[Mac], busy_ratio: float | None, now_us: int
    ) -> None:
        """Take in a report's counters, unless the last ones were taken a moment ago. `busy_ratio`: the channel's; none
        if it is not known.
        """
        before, elapsed_us = self.counted, now_us - self.counted_at_us
        if before and elapsed_us < INTERVAL_MIN_US:
            return
        counted = self.counted = {mac: state.latest for mac, state in stations.items()}
        self.counted_at_us = now_us
        if not any(station.rx_video_packets or station.rx_voice_packets for station in counted.values()):
            return  # in most cells
        known: list[tuple[Mac, int, int, int]] = []
        for mac, station in counted.items():
            was = before.get(mac)
            if was is not None and station.rx_packets >= was.rx_packets:
                video, voice = (
                    station.rx_video_packets - was.rx_video_packets,
                    station.rx_voice_packets - was.rx_voice_packets,
                )
                known.append((mac, video, voice, station.rx_packets - was.rx_packets))
        if self.announced_at_us:
            if now_us - self.announced_at_us >= TAKEN_OVER_US:
                self._find(known, granted, elapsed_us, now_us)
        elif busy_ratio is None or busy_ratio >= BUSY:
            self._crowded_out(known, elapsed_us, now_us)

    def _find(self, known: list[tuple[Mac, int, int, int]], granted: set[Mac], elapsed_us: int, now_us: int) -> None:
        for mac, video, voice, _ in known:
            many = voice * 1e6 > VOICE_PACKETS_PER_S * elapsed_us
            if many or (mac not in granted and video * 1e6 > VIDEO_PACKETS_PER_S * elapsed_us):
                self.station, self.until_us = mac, now_us + REMEMBERED_US
                return

    def _crowded_out(self, known: list[tuple[Mac, int, int, int]], elapsed_us: int, now_us: int) -> None:
        video, voice = sum(entry[1] for entry in known), sum(entry[2] for entry in known)
        packets = sum(entry[3] for entry in known)
        if (video + voice) * 1e6 > MANY_PACKETS_PER_S * elapsed_us and video + voice > MOST * packets:
            self.station = max(known, key=lambda entry: entry[1] + entry[2])[0]
            self.crowded_until_us = now_us + CLOSED_US
            self.voice = voice * 1e6 > VOICE_PACKETS_PER_S * elapsed_us

    def is_crowded(self, now_us: int) -> bool:
        """Whether the categories are to be closed, though nobody has a grant."""
        return now_us < self.crowded_until_us

    def closed_by(self, now_us: int) -> Mac:
        """The station for which the categories are to have no advantage; empty if there is none."""
        return self.station if now_us < self.until_us else b""
