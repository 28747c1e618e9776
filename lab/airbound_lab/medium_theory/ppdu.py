# SPDX-License-Identifier: Apache-2.0
"""How long a PPDU is on air: legacy OFDM, HT in mixed format, VHT for one user; pure.

IEEE 802.11-2016, 17.4.3 (OFDM), 18.5.3 (its 6 us of silence at 2.4 GHz), 19.4.3 (HT), 21.4.3 (VHT). Convolutional code,
no STBC, no extension LTFs. Times are integers, in ns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from airbound_lab.medium_theory.modulations import LEGACY, MODULATIONS, Modulation

if TYPE_CHECKING:
    from fractions import Fraction

SYMBOL_NS, SHORT_SYMBOL_NS = 4000, 3600
SERVICE_BITS, TAIL_BITS = 16, 6
LEGACY_PREAMBLE_NS = 20_000
"""L-STF 8, L-LTF 8 and L-SIG (the legacy SIGNAL field) 4 us."""
HT_SIG_NS, HT_STF_NS, HT_LTF_NS = 8000, 4000, 4000
VHT_SIG_A_NS, VHT_STF_NS, VHT_LTF_NS, VHT_SIG_B_NS = 8000, 4000, 4000, 4000
SIGNAL_EXTENSION_NS = 6000
VHT_ENCODER_MBPS_MAX, VHT_ENCODER_SHORT_MBPS_MAX = 540, 600
"""Of one encoder; Tables 21-30 to 21-61 have one more above this. One does for two streams of HT."""


class Band(Enum):
    """Where the channel is: at 2.4 GHz a SIFS is shorter, and each OFDM PPDU longer by as much."""

    GHZ_2_4 = 2.4
    GHZ_5 = 5.0

    @property
    def sifs_ns(self) -> int:
        """IEEE 802.11-2016, Tables 18-5, 17-21."""
        return 10_000 if self is Band.GHZ_2_4 else 16_000

    @property
    def extension_ns(self) -> int:
        """Silence that is counted as a part of the PPDU."""
        return SIGNAL_EXTENSION_NS if self is Band.GHZ_2_4 else 0


class Format(Enum):
    """What a PPDU looks like."""

    LEGACY = "legacy"
    HT = "HT"
    VHT = "VHT"


# IEEE 802.11-2016, Tables 17-5, 19-6, 21-5: data subcarriers by format and width in MHz.
DATA_SUBCARRIERS = {
    Format.LEGACY: {20: 48},
    Format.HT: {20: 52, 40: 108},
    Format.VHT: {20: 52, 40: 108, 80: 234},
}
MCS_MAX = {Format.HT: 7, Format.VHT: 9}
STREAMS_MAX = 2


@dataclass(frozen=True, slots=True)
class Rate:
    """What decides about the time of a PPDU, except its length."""

    format: Format
    modulation: Modulation
    width_mhz: int = 20
    streams: int = 1
    short_guard_interval: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for what the standard (or, beyond two streams, this file) does not have."""
        if self.width_mhz not in DATA_SUBCARRIERS[self.format]:
            raise ValueError(f"width_mhz: {self.width_mhz} is none of {self.format.value}")
        if not 1 <= self.streams <= STREAMS_MAX:
            raise ValueError(f"streams: {self.streams} is not between 1 and {STREAMS_MAX}")
        if self.format is Format.LEGACY and (self.streams > 1 or self.short_guard_interval):
            raise ValueError("legacy OFDM has one stream and the long guard interval")
        # 21.5: an MCS whose bits do not fill symbols is not allowed (9 at 20 MHz).
        if self.data_bits_per_symbol.denominator != 1:
            raise ValueError(
                f"{self.modulation.name} at {self.width_mhz} MHz, streams: {self.streams}: "
                f"{self.data_bits_per_symbol} bits in a symbol"
            )

    @property
    def data_bits_per_symbol(self) -> Fraction:
        """N_DBPS; a whole number for a valid rate."""
        subcarriers = DATA_SUBCARRIERS[self.format][self.width_mhz]
        return subcarriers * self.streams * self.modulation.bits_per_subcarrier * self.modulation.code_rate

    @property
    def symbol_ns(self) -> int:
        """With its guard interval."""
        return SHORT_SYMBOL_NS if self.short_guard_interval else SYMBOL_NS

    @property
    def mbps(self) -> float:
        """Bits of data per microsecond."""
        return float(self.data_bits_per_symbol * 1000 / self.symbol_ns)

    @property
    def encoders(self) -> int:
        """N_ES: each has its own tail bits."""
        if self.format is not Format.VHT:
            return 1
        limit = VHT_ENCODER_SHORT_MBPS_MAX if self.short_guard_interval else VHT_ENCODER_MBPS_MAX
        return math.ceil(self.mbps / limit)

    @property
    def preamble_ns(self) -> int:
        """Everything before the data; one LTF for each stream (as many as that for up to two)."""
        if self.format is Format.LEGACY:
            return LEGACY_PREAMBLE_NS
        if self.format is Format.HT:
            return LEGACY_PREAMBLE_NS + HT_SIG_NS + HT_STF_NS + HT_LTF_NS * self.streams
        return LEGACY_PREAMBLE_NS + VHT_SIG_A_NS + VHT_STF_NS + VHT_LTF_NS * self.streams + VHT_SIG_B_NS


def legacy(mbps: int) -> Rate:
    """A rate of 802.11a/g.

    Raises:
        ValueError: not one of 6, 9, 12, 18, 24, 36, 48, 54.
    """
    if mbps not in LEGACY:
        raise ValueError(f"mbps: {mbps} is not one of {sorted(LEGACY)}")
    return Rate(Format.LEGACY, LEGACY[mbps])


def ht(mcs: int, width_mhz: int = 20, *, short_guard_interval: bool = False) -> Rate:
    """HT MCS 0..7, one stream, or 8..15, two streams.

    Raises:
        ValueError: another MCS or width.
    """
    streams, index = divmod(mcs, MCS_MAX[Format.HT] + 1)
    if not 0 <= streams < STREAMS_MAX:
        raise ValueError(f"mcs: {mcs} is not between 0 and 15")
    return Rate(Format.HT, MODULATIONS[index], width_mhz, streams + 1, short_guard_interval)


def vht(mcs: int, width_mhz: int = 80, streams: int = 1, *, short_guard_interval: bool = False) -> Rate:
    """VHT MCS 0..9 with one or two streams.

    Raises:
        ValueError: another MCS, width or number of streams, or a combination that the standard leaves out.
    """
    if not 0 <= mcs <= MCS_MAX[Format.VHT]:
        raise ValueError(f"mcs: {mcs} is not between 0 and 9")
    return Rate(Format.VHT, MODULATIONS[mcs], width_mhz, streams, short_guard_interval)


def airtime_ns(rate: Rate, psdu_bytes: int, band: Band) -> int:
    """TXTIME of a PPDU that carries so many bytes.

    Symbols with the short guard interval end where a symbol of 4 us would end (19.4.3, 21.4.3): receivers that go by
    the legacy SIGNAL field know nothing shorter.
    """
    bits = SERVICE_BITS + 8 * psdu_bytes + TAIL_BITS * rate.encoders
    data_ns = math.ceil(bits / rate.data_bits_per_symbol) * rate.symbol_ns
    return rate.preamble_ns + -(-data_ns // SYMBOL_NS) * SYMBOL_NS + band.extension_ns


def response_rate(rate: Rate) -> Rate:
    """Legacy rate of an ACK, block ack or CTS that answers a PPDU, of 6, 12 and 24 Mb/s.

    The highest that is not above the legacy rate with the same modulation and code rate (10.7.6.5, 10.7.9); those that
    legacy OFDM does not have count as 54 Mb/s.
    """
    reference = next((mbps for mbps, modulation in LEGACY.items() if modulation == rate.modulation), 54)
    return legacy(max(mbps for mbps in (6, 12, 24) if mbps <= reference))
