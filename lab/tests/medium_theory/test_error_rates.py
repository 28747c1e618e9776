# SPDX-License-Identifier: Apache-2.0
"""The error model's formulas against ns-3's values of the same model, its coefficients against the standard's code."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.medium_theory import error_rates
from airbound_lab.medium_theory.modulations import LEGACY, MODULATIONS, Modulation

# Success rates of frames of 2000 bytes that ns-3's wifi-error-rate-models-test.cc (test case NIST) expects of its
# NistErrorRateModel: legacy rate, SNR, success rate, its tolerance there.
NS3 = [
    *[(6, 2.5, 2.04e-10, 1e-10), (6, 3, 0.020, 1e-3), (6, 4, 0.885, 1e-3), (6, 5, 0.997, 1e-3)],
    *[(9, 6, 0.097, 1e-3), (9, 7, 0.918, 1e-3), (9, 8, 0.998, 1e-3), (9, 9, 0.999, 1e-3)],
    *[(12, 6, 0.0174, 1e-3), (12, 7, 0.881, 1e-3), (12, 8, 0.997, 1e-3), (12, 9, 0.999, 1e-3)],
    *[(18, 8.5, 2.85e-6, 1e-6), (18, 9.5, 0.623, 1e-3), (18, 10.5, 0.985, 1e-3), (18, 11.5, 0.999, 1e-3)],
    *[(24, 12, 2.22e-7, 1e-7), (24, 13, 0.495, 1e-3), (24, 14, 0.974, 1e-3), (24, 15, 0.999, 1e-3)],
    *[(36, 15.5, 0.012, 1e-3), (36, 16.5, 0.818, 1e-3), (36, 17.5, 0.993, 1e-3), (36, 18.5, 0.999, 1e-3)],
    *[(48, 20, 1.3e-4, 1e-4), (48, 21, 0.649, 1e-3), (48, 22, 0.983, 1e-3), (48, 23, 0.999, 1e-3)],
    *[(54, 21, 5.44e-8, 1e-8), (54, 22, 0.410, 1e-3), (54, 23, 0.958, 1e-3), (54, 24, 0.999, 1e-3)],
]


@pytest.mark.parametrize(("mbps", "snr_db", "success", "tolerance"), NS3)
def test_success_rates_are_those_of_ns3(mbps: int, snr_db: float, success: float, tolerance: float) -> None:
    found = 1 - error_rates.loss_probability(LEGACY[mbps], snr_db, 2000)
    assert found == pytest.approx(success, rel=0, abs=tolerance)


def test_the_rate_of_bits_is_that_of_ns3() -> None:
    """The same file's test case MIMO: HT MCS 0 at 4 dB, 2 ms at 6.5 Mb/s."""
    bits = 13_000
    assert 1 - error_rates.loss_probability(MODULATIONS[0], 4, bits // 8) == pytest.approx(0.905685, abs=1e-6)


# IEEE 802.11-2016, 17.3.5.6 and 19.3.11.6: generators 133 and 171 (octal), and of each period of information bits which
# bits of either output are sent.
GENERATORS = (0o133, 0o171)
PUNCTURING = {
    Fraction(1, 2): ((1,), (1,)),
    Fraction(2, 3): ((1, 1), (1, 0)),
    Fraction(3, 4): ((1, 1, 0), (1, 0, 1)),
    Fraction(5, 6): ((1, 1, 0, 1, 0), (1, 0, 1, 0, 1)),
}
REGISTER_BITS = 7


def outputs(register: int, sent: tuple[int, int]) -> int:
    return sum(
        (register & generator).bit_count() % 2 * place for generator, place in zip(GENERATORS, sent, strict=True)
    )


def wrong_bits_by_weight(code_rate: Fraction, weight_max: int) -> Counter[int]:
    """All paths that leave state 0 and come back to it: their wrong information bits, by weight.

    As in the sources, a step is a whole period of the puncturing pattern; a path ends where a period ends in state 0.
    """
    of_output = PUNCTURING[code_rate]
    found: Counter[int] = Counter()
    # (register's six older bits, weight) -> (number of paths, their wrong bits)
    paths = {(0, 0): (1, 0)}
    while paths:
        for sent in zip(*of_output, strict=True):
            paths = after_a_bit(paths, sent, weight_max)
        paths.pop((0, 0), None)  # the correct path; all others start in the first period
        for weight in range(weight_max + 1):
            found[weight] += paths.pop((0, weight), (0, 0))[1]
    return +found


def after_a_bit(
    paths: dict[tuple[int, int], tuple[int, int]], sent: tuple[int, int], weight_max: int
) -> dict[tuple[int, int], tuple[int, int]]:
    following: dict[tuple[int, int], tuple[int, int]] = {}
    for (state, weight), (count, wrong) in paths.items():
        for bit in (0, 1):
            register = bit << (REGISTER_BITS - 1) | state
            then = register >> 1, weight + outputs(register, sent)
            if then[1] <= weight_max:
                before = following.get(then, (0, 0))
                following[then] = before[0] + count, before[1] + wrong + bit * count
    return following


@pytest.mark.parametrize("code_rate", error_rates.WRONG_BITS_BY_WEIGHT)
def test_the_coefficients_are_those_of_the_standards_code(code_rate: Fraction) -> None:
    expected = error_rates.WRONG_BITS_BY_WEIGHT[code_rate]
    assert wrong_bits_by_weight(code_rate, max(expected)) == expected
    assert error_rates.PERIOD_BITS[code_rate] == len(PUNCTURING[code_rate][0])


@pytest.mark.parametrize(
    ("bits", "snr_db", "rate"), [(1, 9.587, 1e-5), (2, 12.597, 1e-5), (4, 19.46, 1e-5), (6, 25.57, 1e-5)]
)
def test_bit_error_rates_without_code_are_those_of_the_textbook(bits: int, snr_db: float, rate: float) -> None:
    """SNR at which one of 100,000 bits is wrong; for each bit of BPSK and QPSK that is 9.59 dB."""
    assert error_rates.raw_bit_error_rate(bits, snr_db) == pytest.approx(rate, rel=0.02)


@given(st.sampled_from(MODULATIONS), st.integers(-40, 160), st.integers(0, 11_454))
def test_a_longer_frame_and_more_noise_lose_more(modulation: Modulation, quarter_db: int, frame_bytes: int) -> None:
    found = error_rates.loss_probability(modulation, quarter_db / 4, frame_bytes)
    assert 0 <= found <= 1
    assert found <= error_rates.loss_probability(modulation, quarter_db / 4, frame_bytes + 1)
    assert found >= error_rates.loss_probability(modulation, quarter_db / 4 + 0.25, frame_bytes)


@pytest.mark.parametrize("modulation", MODULATIONS, ids=lambda modulation: modulation.name)
@pytest.mark.parametrize("loss", [0.01, 0.1, 0.9])
def test_the_snr_of_a_loss_has_that_loss(modulation: Modulation, loss: float) -> None:
    found = error_rates.snr_db_for_loss(modulation, 1500, loss)
    assert error_rates.loss_probability(modulation, found, 1500) == pytest.approx(loss, rel=0.002)


def test_a_faster_mcs_needs_more() -> None:
    needed = [error_rates.snr_db_for_loss(modulation, 1500, 0.1) for modulation in MODULATIONS[:10]]
    assert needed == sorted(needed)


def test_nothing_is_received_always_and_a_negative_length_refused() -> None:
    assert error_rates.loss_probability(MODULATIONS[0], -20, 0) == 0
    assert error_rates.loss_probability(MODULATIONS[0], -20, 1) == 1
    with pytest.raises(ValueError, match="frame_bytes: -1 is negative"):
        error_rates.loss_probability(MODULATIONS[0], 10, -1)
