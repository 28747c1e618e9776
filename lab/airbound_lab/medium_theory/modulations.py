# SPDX-License-Identifier: Apache-2.0
"""Modulations and code rates of OFDM: legacy (802.11a/g), HT (802.11n) and VHT (802.11ac); pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Modulation:
    """A constellation with the rate of its convolutional code."""

    name: str
    bits_per_subcarrier: int
    """Coded bits of a symbol on one subcarrier: 1 is BPSK, 2 QPSK, 4 16-QAM, 6 64-QAM, 8 256-QAM."""
    code_rate: Fraction


# IEEE 802.11-2016, Tables 19-27 and 21-30: HT MCS 0..7 (8..15 with two streams) and VHT MCS 0..9 have the first ten in
# this order. The numbers are those of enum dcf_modulation in lab/kernel/src/drivers/net/wireless/dcf_error.h.
MODULATIONS = (
    Modulation("BPSK 1/2", 1, Fraction(1, 2)),
    Modulation("QPSK 1/2", 2, Fraction(1, 2)),
    Modulation("QPSK 3/4", 2, Fraction(3, 4)),
    Modulation("16-QAM 1/2", 4, Fraction(1, 2)),
    Modulation("16-QAM 3/4", 4, Fraction(3, 4)),
    Modulation("64-QAM 2/3", 6, Fraction(2, 3)),
    Modulation("64-QAM 3/4", 6, Fraction(3, 4)),
    Modulation("64-QAM 5/6", 6, Fraction(5, 6)),
    Modulation("256-QAM 3/4", 8, Fraction(3, 4)),
    Modulation("256-QAM 5/6", 8, Fraction(5, 6)),
    Modulation("BPSK 3/4", 1, Fraction(3, 4)),
)

# IEEE 802.11-2016, Table 17-4: the modulation of a legacy rate, by its Mb/s.
LEGACY = {
    6: MODULATIONS[0],
    9: MODULATIONS[10],
    12: MODULATIONS[1],
    18: MODULATIONS[2],
    24: MODULATIONS[3],
    36: MODULATIONS[4],
    48: MODULATIONS[5],
    54: MODULATIONS[6],
}
