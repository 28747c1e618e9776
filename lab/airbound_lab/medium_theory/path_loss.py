# SPDX-License-Identifier: Apache-2.0
"""Signal-to-noise ratio at a distance; pure.

Log-distance path loss: free space (Friis) up to 1 m, then 10 * exponent dB for each ten times the distance. An exponent
of 2 is free space; 3, the default, is ns-3's `LogDistancePropagationLossModel` and stands for indoors with some walls.
No fading and no shadowing, so that a distance has one SNR.
"""

from __future__ import annotations

import math

SPEED_OF_LIGHT_M_PER_S = 299_792_458.0
THERMAL_NOISE_DBM_PER_HZ = -174.0
"""k T at 290 K."""
NOISE_FIGURE_DB = 7.0
EXPONENT = 3.0
TRANSMIT_POWER_DBM = 16.0
"""40 mW, antenna gains included."""
FREQUENCY_MHZ_BY_BAND = {2.4: 2437.0, 5.0: 5180.0}
"""Channels 6 and 36."""


def noise_floor_dbm(width_mhz: float, noise_figure_db: float = NOISE_FIGURE_DB) -> float:
    """Noise in the channel's whole width, as the receiver has it: twice the width, 3 dB more.

    Raises:
        ValueError: a width that is not positive.
    """
    if width_mhz <= 0:
        raise ValueError(f"width_mhz: {width_mhz} is not positive")
    return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(width_mhz * 1e6) + noise_figure_db


def path_loss_db(distance_m: float, frequency_mhz: float, exponent: float = EXPONENT) -> float:
    """Loss between sender and receiver; nearer than 1 m as at 1 m.

    Raises:
        ValueError: a negative distance.
    """
    if distance_m < 0:
        raise ValueError(f"distance_m: {distance_m} is negative")
    at_one_metre_db = 20 * math.log10(4 * math.pi * frequency_mhz * 1e6 / SPEED_OF_LIGHT_M_PER_S)
    return at_one_metre_db + 10 * exponent * math.log10(max(distance_m, 1.0))


def snr_db(
    distance_m: float,
    width_mhz: float,
    band_ghz: float,
    *,
    transmit_power_dbm: float = TRANSMIT_POWER_DBM,
    exponent: float = EXPONENT,
    noise_figure_db: float = NOISE_FIGURE_DB,
) -> float:
    """SNR at a distance, for a channel's width and band (2.4 or 5.0).

    Raises:
        ValueError: a negative distance, a width that is not positive, or another band.
    """
    if band_ghz not in FREQUENCY_MHZ_BY_BAND:
        raise ValueError(f"band_ghz: {band_ghz} is not one of {sorted(FREQUENCY_MHZ_BY_BAND)}")
    loss_db = path_loss_db(distance_m, FREQUENCY_MHZ_BY_BAND[band_ghz], exponent)
    return transmit_power_dbm - loss_db - noise_floor_dbm(width_mhz, noise_figure_db)
