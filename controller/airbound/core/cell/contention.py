# SPDX-License-Identifier: Apache-2.0
"""What contention costs a full channel: idle slots and collisions before each access that succeeds.

G. Bianchi: Performance Analysis of the IEEE 802.11 Distributed Coordination Function. IEEE JSAC 18(3), 2000. Each of n
stations that always have something to send transmits in a slot with probability tau. That follows from the probability
p = 1 - (1 - tau)^(n - 1) that its attempt collides: an attempt needs 1 + CW/2 slots, CW being doubled after each
collision.
"""

from functools import lru_cache
from typing import NamedTuple

# Of 802.11g's OFDM rates with short slots.
DIFS_US = 28.0  # idle time before each channel access
SLOT_US = 9.0
CW_MIN_SLOTS = 15
ATTEMPTS_MAX = 7
CW_MAX_SLOTS = 1023
_STEPS = 40  # of the bisection: more digits than are used


class Contention(NamedTuple):
    """Idle slots and collisions per access that succeeds, and the probability that an attempt collides."""

    idle_slots: float
    collisions: float
    collides: float


@lru_cache(maxsize=256)
def contention(stations: int, cw_min_slots: int) -> Contention:
    """Of so many stations that always have something to send; `cw_min_slots` is 2^k - 1.

    Raises:
        ValueError: fewer than one station.
    """
    if stations < 1:
        raise ValueError(f"{stations} stations")
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        tau = (low + high) / 2
        if _attempts(1 - (1 - tau) ** (stations - 1), cw_min_slots) > tau:
            low = tau
        else:
            high = tau
    tau = (low + high) / 2
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    return Contention(idle / success, (1 - idle - success) / success, 1 - (1 - tau) ** (stations - 1))


def _attempts(collides: float, cw_min_slots: int) -> float:
    """In a slot, on average."""
    attempts = slots = 0.0
    reach, window = 1.0, cw_min_slots
    for _ in range(ATTEMPTS_MAX):
        attempts += reach
        slots += reach * (1 + window / 2)
        reach *= collides
        window = min(2 * window + 1, CW_MAX_SLOTS)
    return attempts / slots
