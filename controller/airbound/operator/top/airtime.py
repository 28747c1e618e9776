# SPDX-License-Identifier: Apache-2.0
"""Shares of the airtime that a cell's stations took, from their counters at successive reports.

A share is of what the stations took together, not of the time: how much time passed between two reports is nothing that
the views of stations say.
"""

from collections import deque
from collections.abc import Iterable

from airbound.v1 import access_point_pb2, operations_pb2

SAMPLES = 4  # reports: shares are over the last three seconds


class AirtimeShares:
    """The shares of one cell's stations, by MAC address."""

    def __init__(self) -> None:
        self._samples: deque[dict[str, int]] = deque(maxlen=SAMPLES)
        self.by_mac: dict[str, float] = {}

    def take(self, stations: Iterable[operations_pb2.StationView]) -> None:
        """Take in the stations as they are now. The same report again changes nothing."""
        sample = {
            station.mac: station.rx_airtime_us + station.tx_airtime_us
            for station in stations
            if station.airtime_source != access_point_pb2.AIRTIME_SOURCE_UNSPECIFIED
        }
        if self._samples and sample == self._samples[-1]:
            return
        self._samples.append(sample)
        first = self._samples[0]
        # A counter that is smaller than before belongs to another association.
        taken = {mac: max(0, us - first[mac]) for mac, us in sample.items() if mac in first}
        total = sum(taken.values())
        self.by_mac = {mac: us / total for mac, us in taken.items()} if total else {}
