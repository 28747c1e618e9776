# SPDX-License-Identifier: Apache-2.0
"""What a saturated 802.11 cell carries in theory; pure. The lab's medium is compared with it.

G. Bianchi: Performance Analysis of the IEEE 802.11 Distributed Coordination Function. IEEE JSAC 18(3), 2000;
with the retry limit of H. Wu et al.: Performance of Reliable Transport Protocol over IEEE 802.11 Wireless LAN.
INFOCOM 2002; classes of stations with contention windows of their own as in J. Robinson, T. Randhawa: Saturation
Throughput Analysis of IEEE 802.11e Enhanced Distributed Coordination Function. IEEE JSAC 22(5), 2004.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SLOT_US = 9.0
SIFS_US = 10.0
DIFS_US = SIFS_US + 2 * SLOT_US
CW_MIN = 15
CW_MAX = 1023
ATTEMPTS_MAX = 7
ACK_BYTES = 14
UDP_IP_LLC_MAC_FCS_BYTES = 8 + 20 + 8 + 24 + 4


@dataclass(frozen=True, slots=True)
class Saturation:
    """A class of stations in the cell's steady state."""

    payload_mbps: float
    """Of the class together."""
    collision_probability: float
    """Of an attempt: that it overlaps with another one."""


def ofdm_airtime_us(frame_bytes: int, rate_mbps: int) -> float:
    """Time on air of an ERP-OFDM frame (IEEE 802.11-2016, 17.4.3 and 18.5.3.2)."""
    symbols = math.ceil((22 + 8 * frame_bytes) / (4 * rate_mbps))
    return 20 + 4 * symbols + 6


def attempt_probability(collision_probability: float, cw_min: int = CW_MIN, cw_max: int = CW_MAX) -> float:
    """Probability that a saturated station transmits in a slot: attempts per frame over the slots they take."""
    attempts = slots = 0.0
    reach, window = 1.0, cw_min
    for _ in range(ATTEMPTS_MAX):
        attempts += reach
        slots += reach * (1 + window / 2)
        reach *= collision_probability
        window = min(2 * window + 1, cw_max)
    return attempts / slots


@dataclass(frozen=True, slots=True)
class Stations:
    """A class of saturated stations with the same contention windows, slots."""

    count: int
    cw_min: int = CW_MIN
    cw_max: int = CW_MAX

    def __post_init__(self) -> None:
        """Raise ValueError for a class without a station."""
        if self.count < 1:
            raise ValueError(f"stations: {self.count} is not a positive number")


def solve(*classes: Stations) -> list[tuple[float, float]]:
    """The fixed point: attempt and collision probability of each class.

    With the probability that a slot is idle, P = product over all stations of (1 - tau), a station of class i collides
    with probability p_i = 1 - P / (1 - tau_i). For a given P each class has one solution, so that P alone is sought,
    by bisection: the larger P is, the more the stations send.
    """
    low, high = 0.0, 1.0
    for _ in range(100):
        idle = (low + high) / 2
        if idle in {low, high}:
            break  # nothing is between them
        taus = [_attempts_if_idle(idle, stations) for stations in classes]
        if math.prod((1 - tau) ** stations.count for tau, stations in zip(taus, classes, strict=True)) > idle:
            low = idle
        else:
            high = idle
    taus = [_attempts_if_idle(low, stations) for stations in classes]
    return [(tau, max(0.0, 1 - low / (1 - tau))) for tau in taus]


def _attempts_if_idle(idle: float, stations: Stations) -> float:
    """A class's tau at which tau and p = 1 - idle / (1 - tau) belong together, by bisection."""
    low, high = 0.0, 1 - idle
    for _ in range(100):
        tau = (low + high) / 2
        if tau in {low, high}:
            break  # nothing is between them
        collision = max(0.0, 1 - idle / (1 - tau))
        if attempt_probability(collision, stations.cw_min, stations.cw_max) > tau:
            low = tau
        else:
            high = tau
    return low


def saturation(*classes: Stations, payload_bytes: int = 1470, rate_mbps: int = 54) -> list[Saturation]:
    """Throughput of UDP payload when every station always has a frame to send, by class.

    Raises:
        ValueError: no class.
    """
    if not classes:
        raise ValueError("no stations")
    solution = solve(*classes)
    data_us = ofdm_airtime_us(payload_bytes + UDP_IP_LLC_MAC_FCS_BYTES, rate_mbps)
    success_us = data_us + SIFS_US + ofdm_airtime_us(ACK_BYTES, 24) + DIFS_US
    collision_us = data_us + SIFS_US + ofdm_airtime_us(ACK_BYTES, 6) + DIFS_US
    idle = math.prod((1 - tau) ** stations.count for (tau, _), stations in zip(solution, classes, strict=True))
    # of the class: that just one of its stations sends, and nobody else
    alone = [stations.count * tau * idle / (1 - tau) for (tau, _), stations in zip(solution, classes, strict=True)]
    some, one = 1 - idle, sum(alone)
    mean_slot_us = idle * SLOT_US + one * success_us + (some - one) * collision_us
    return [
        Saturation(own * payload_bytes * 8 / mean_slot_us, collision)
        for own, (_, collision) in zip(alone, solution, strict=True)
    ]
