# SPDX-License-Identifier: Apache-2.0
"""A cell as one queue: what each sender gets, and how long a round trip takes. Pure but for random numbers.

The uplink carries `capacity` bytes per second. Windows that exceed the bandwidth-delay product wait in one queue, which
adds the same delay q to every RTT. With r_i = w_i / (base_i + q), by Little's law, q is where the sum of r_i is the
capacity; 0 if that is not reached. Windows grow by GROWTH_SEGS each step; beyond `buffer` bytes senders lose packets
and go back, as CUBIC does, to 0.7 of their windows.
It is no measurement of anything: it moves what the dashboards show.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

SEGMENT_BYTES = 1448
GROWTH_SEGS, BACK_TO, LOSES = 12, 0.7, 0.4
_HALVINGS = 40


@dataclass(slots=True)
class Sender:
    """One phone with one connection. Counters are since it began."""

    base_rtt_s: float
    sends: bool = True
    weight: float = 1.0  # airtime for each byte
    cwnd_segs: float = 10.0
    bounds: tuple[int, int] | None = None
    limit_segs: float = 1e9  # what its application asks for
    rtt_s: float = 0.0
    bytes_per_s: float = 0.0
    delivered_bytes: float = 0.0
    losses: int = 0

    def grow(self) -> None:
        """One step without a loss."""
        self.cwnd_segs = self._bounded(self.cwnd_segs + GROWTH_SEGS)

    def lose(self) -> None:
        """A loss."""
        self.losses += 1
        self.cwnd_segs = self._bounded(self.cwnd_segs * BACK_TO)

    def _bounded(self, cwnd_segs: float) -> float:
        cwnd_segs = min(max(2.0, cwnd_segs), self.limit_segs)
        return cwnd_segs if self.bounds is None else min(max(cwnd_segs, self.bounds[0]), self.bounds[1])


@dataclass(slots=True)
class Medium:
    """What a cell's senders share."""

    capacity_bytes_per_s: float
    buffer_bytes: float
    chance: random.Random

    def step(self, senders: Sequence[Sender], seconds: float) -> None:
        """Go on by some seconds."""
        active = [sender for sender in senders if sender.sends]
        delay_s = self.queueing_delay_s(active)
        full = delay_s * self.capacity_bytes_per_s > self.buffer_bytes
        for sender in senders:
            if not sender.sends:
                sender.bytes_per_s = 0.0
                continue
            sender.rtt_s = sender.base_rtt_s + delay_s
            sender.bytes_per_s = sender.cwnd_segs * SEGMENT_BYTES / sender.rtt_s
            sender.delivered_bytes += sender.bytes_per_s * seconds
            if full and self.chance.random() < LOSES:
                sender.lose()
            else:
                sender.grow()

    def queueing_delay_s(self, active: Sequence[Sender]) -> float:
        """The delay that all packets have in the queue."""

        def rate(delay_s: float) -> float:
            return sum(sender.cwnd_segs * SEGMENT_BYTES / (sender.base_rtt_s + delay_s) for sender in active)

        if rate(0.0) <= self.capacity_bytes_per_s:
            return 0.0
        low_s, high_s = 0.0, sum(sender.cwnd_segs for sender in active) * SEGMENT_BYTES / self.capacity_bytes_per_s
        for _ in range(_HALVINGS):
            middle_s = (low_s + high_s) / 2
            low_s, high_s = (middle_s, high_s) if rate(middle_s) > self.capacity_bytes_per_s else (low_s, middle_s)
        return high_s
