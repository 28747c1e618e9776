# SPDX-License-Identifier: Apache-2.0
"""What a saturated 802.11 cell carries in theory; pure. The lab's medium is compared with it.

G. Bianchi: Performance Analysis of the IEEE 802.11 Distributed Coordination Function. IEEE JSAC 18(3), 2000;
with the retry limit of H. Wu et al.: Performance of Reliable Transport Protocol over IEEE 802.11 Wireless LAN.
INFOCOM 2002.
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
    """The cell's steady state."""

    payload_mbps: float
    collision_probability: float
    """Of an attempt: that it overlaps with another one."""


def ofdm_airtime_us(frame_bytes: int, rate_mbps: int) -> float:
    """Time on air of an ERP-OFDM frame (IEEE 802.11-2016, 17.4.3 and 18.5.3.2)."""
    symbols = math.ceil((22 + 8 * frame_bytes) / (4 * rate_mbps))
    return 20 + 4 * symbols + 6


def attempt_probability(collision_probability: float) -> float:
    """Probability that a saturated station transmits in a slot: attempts per frame over the slots they take."""
    attempts = slots = 0.0
    reach, window = 1.0, CW_MIN
    for _ in range(ATTEMPTS_MAX):
        attempts += reach
        slots += reach * (1 + window / 2)
        reach *= collision_probability
        window = min(2 * window + 1, CW_MAX)
    return attempts / slots


def solve(stations: int) -> tuple[float, float]:
    """The fixed point (attempt probability, collision probability), by bisection.

    Raises:
        ValueError: no station.
    """
    if stations < 1:
        raise ValueError(f"stations: {stations} is not a positive number")
    low, high = 0.0, 1.0
    for _ in range(100):
        collision = (low + high) / 2
        if 1 - (1 - attempt_probability(collision)) ** (stations - 1) > collision:
            low = collision
        else:
            high = collision
    return attempt_probability(low), low


def saturation(stations: int, *, payload_bytes: int = 1470, rate_mbps: int = 54) -> Saturation:
    """Throughput of UDP payload when every station always has a frame to send.

    Raises:
        ValueError: no station.
    """
    tau, collision = solve(stations)
    data_us = ofdm_airtime_us(payload_bytes + UDP_IP_LLC_MAC_FCS_BYTES, rate_mbps)
    success_us = data_us + SIFS_US + ofdm_airtime_us(ACK_BYTES, 24) + DIFS_US
    collision_us = data_us + SIFS_US + ofdm_airtime_us(ACK_BYTES, 6) + DIFS_US
    some = 1 - (1 - tau) ** stations
    one = stations * tau * (1 - tau) ** (stations - 1)
    mean_slot_us = (1 - some) * SLOT_US + one * success_us + (some - one) * collision_us
    return Saturation(one * payload_bytes * 8 / mean_slot_us, collision)
