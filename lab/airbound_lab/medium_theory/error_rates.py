# SPDX-License-Identifier: Apache-2.0
"""How often a frame is lost to noise: the NIST error model; pure.

G. Pei, T. Henderson: Validation of OFDM error rate model in ns-3. Boeing Research & Technology, 2010; it is ns-3's
`NistErrorRateModel`. A hard-decision Viterbi decoder errs with a probability per bit of at most

    pe = 1 / (2 b) * sum over d of c(d) D^d,    D = sqrt(4 p (1 - p))

where p is the bit error rate of the modulation in white Gaussian noise, c(d) how many information bits are wrong in all
paths of weight d that leave the correct one, and b how many information bits a period of the puncturing pattern has.
The sum is over the first nine or ten weights. Bits err independently, so that a frame of n bits is lost with
1 - (1 - pe)^n.

c(d) of rates 1/2, 2/3 and 3/4 are from Frenger et al.: Multi-rate Convolutional Codes; those of 5/6 from D. Haccoun,
G. Begin: High-Rate Punctured Convolutional Codes for Viterbi and Sequential Decoding, IEEE Transactions on
Communications 37(11), 1989. The tests derive them from the standard's generators and puncturing patterns.

The SNR is that of the channel's whole width, as in ns-3: no loss of synchronization, no fading, no gain by soft
decisions (about 2 dB) or by several antennas, and a preamble is never missed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound_lab.medium_theory.modulations import Modulation

# By code rate: information bits of a period, and c(d) from the smallest weight on.
_HALF = {10: 36, 12: 211, 14: 1404, 16: 11633, 18: 77433, 20: 502690, 22: 3322763, 24: 21292910, 26: 134365911}
_TWO_THIRDS = (6, [3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123])
_THREE_QUARTERS = (5, [42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675])
_FIVE_SIXTHS = (4, [92, 528, 8694, 79453, 792114, 7375573, 67884974, 610875423, 5427275376, 47664215639])
PERIOD_BITS = {Fraction(1, 2): 1, Fraction(2, 3): 2, Fraction(3, 4): 3, Fraction(5, 6): 5}
WRONG_BITS_BY_WEIGHT: Mapping[Fraction, Mapping[int, int]] = {
    Fraction(1, 2): _HALF,
    Fraction(2, 3): dict(enumerate(_TWO_THIRDS[1], _TWO_THIRDS[0])),
    Fraction(3, 4): dict(enumerate(_THREE_QUARTERS[1], _THREE_QUARTERS[0])),
    Fraction(5, 6): dict(enumerate(_FIVE_SIXTHS[1], _FIVE_SIXTHS[0])),
}


def raw_bit_error_rate(bits_per_subcarrier: int, snr_db: float) -> float:
    """Probability that a coded bit is received wrong; Gray-coded square QAM, nearest neighbours only."""
    snr = 10 ** (snr_db / 10)
    if bits_per_subcarrier == 1:
        return math.erfc(math.sqrt(snr)) / 2
    # QPSK is a square constellation of side 2.
    side_bits = bits_per_subcarrier // 2
    side = 1 << side_bits
    return (side - 1) / (side * side_bits) * math.erfc(math.sqrt(3 * snr / (2 * (side * side - 1))))


def decoded_bit_error_rate(modulation: Modulation, snr_db: float) -> float:
    """Probability that an information bit is wrong after decoding, at most 1."""
    raw = raw_bit_error_rate(modulation.bits_per_subcarrier, snr_db)
    distance = math.sqrt(4 * raw * (1 - raw))
    weights = WRONG_BITS_BY_WEIGHT[modulation.code_rate]
    total = math.fsum(bits * distance**weight for weight, bits in weights.items())
    return min(1.0, total / (2 * PERIOD_BITS[modulation.code_rate]))


def byte_log2_loss(modulation: Modulation, snr_db: float) -> float:
    """-log2 of the probability that a byte is received: a frame of n bytes is received with 2^-(n times this)."""
    error = decoded_bit_error_rate(modulation, snr_db)
    return math.inf if error >= 1 else -8 * math.log1p(-error) / math.log(2)


def loss_probability(modulation: Modulation, snr_db: float, frame_bytes: int) -> float:
    """Probability that a frame (MAC header to FCS) is lost to noise.

    Raises:
        ValueError: a negative length.
    """
    if frame_bytes < 0:
        raise ValueError(f"frame_bytes: {frame_bytes} is negative")
    if frame_bytes == 0:
        return 0.0
    return -math.expm1(-frame_bytes * byte_log2_loss(modulation, snr_db) * math.log(2))


def snr_db_for_loss(modulation: Modulation, frame_bytes: int, loss: float) -> float:
    """SNR at which a frame is lost with a given probability, by bisection between -20 and 60 dB."""
    low, high = -20.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        if loss_probability(modulation, middle, frame_bytes) > loss:
            low = middle
        else:
            high = middle
    return high
