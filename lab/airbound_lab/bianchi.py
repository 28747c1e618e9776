# SPDX-License-Identifier: Apache-2.0
"""Saturation throughput of 802.11 DCF by Bianchi's model, with a finite retry limit; pure.

The yardstick for the medium: n stations that always have a frame to send, all at 54 Mb/s, no loss but collisions.

Source: G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000;
the retry limit as in H. Wu et al., IEEE INFOCOM 2002. Timing: 802.11g with short slots (ERP-OFDM).
"""

from __future__ import annotations

import math

SLOT_US = 9.0
SIFS_US = 10.0
DIFS_US = SIFS_US + 2 * SLOT_US
PREAMBLE_US = 20.0
SYMBOL_US = 4.0
SIGNAL_EXTENSION_US = 6.0
SERVICE_AND_TAIL_BITS = 16 + 6
DATA_BITS_PER_SYMBOL = 216
"""At 54 Mb/s."""
ACK_BITS_PER_SYMBOL = 96
"""At 24 Mb/s, the mandatory rate below."""
ACK_BYTES = 14
FRAME_OVERHEAD_BYTES = 24 + 8 + 20 + 8 + 4
"""MAC header, LLC/SNAP, IPv4, UDP, FCS."""
WINDOW_MIN_SLOTS = 16
DOUBLINGS_MAX = 6
ATTEMPTS_MAX = 7


def frame_us(bytes_: int, bits_per_symbol: int) -> float:
    """Time on the air of a frame of so many bytes, MAC header to FCS."""
    symbols = math.ceil((SERVICE_AND_TAIL_BITS + 8 * bytes_) / bits_per_symbol)
    return PREAMBLE_US + SYMBOL_US * symbols + SIGNAL_EXTENSION_US


def attempt_probability(collision: float) -> float:
    """Chance that a station begins a frame in a given slot, if each of its attempts collides with this chance."""
    attempts = sum(collision**k for k in range(ATTEMPTS_MAX))
    back_off_slots = sum(
        collision**k * (WINDOW_MIN_SLOTS * 2.0 ** min(k, DOUBLINGS_MAX) - 1) / 2 for k in range(ATTEMPTS_MAX)
    )
    return attempts / (attempts + back_off_slots)


def collision_probability(stations: int) -> float:
    """The fixed point of collision chance and attempt chance, by bisection: one grows as the other falls."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if 1 - (1 - attempt_probability(middle)) ** (stations - 1) > middle:
            low = middle
        else:
            high = middle
    return low


def saturation_mbps(stations: int, payload_bytes: int = 1470) -> float:
    """UDP payload per time, all stations together, Mb/s."""
    success_us = (
        frame_us(payload_bytes + FRAME_OVERHEAD_BYTES, DATA_BITS_PER_SYMBOL)
        + SIFS_US
        + frame_us(ACK_BYTES, ACK_BITS_PER_SYMBOL)
        + DIFS_US
    )
    # The losers wait for an ACK that does not come: as long as one that does.
    collision_us = success_us
    attempt = attempt_probability(collision_probability(stations))
    busy = 1 - (1 - attempt) ** stations
    success = stations * attempt * (1 - attempt) ** (stations - 1)
    slot_us = (1 - busy) * SLOT_US + success * success_us + (busy - success) * collision_us
    return success * payload_bytes * 8 / slot_us
