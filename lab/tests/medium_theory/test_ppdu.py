# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory.modulations import LEGACY, MODULATIONS
from airbound_lab.medium_theory.ppdu import Band, Format, Rate, airtime_ns, ht, legacy, response_rate, vht

GHZ_2_4, GHZ_5 = Band.GHZ_2_4, Band.GHZ_5


# IEEE 802.11-2016, Tables 17-4, 19-27 to 19-35, 21-30 to 21-45.
@pytest.mark.parametrize(
    ("rate", "mbps"),
    [
        *[(legacy(mbps), mbps) for mbps in LEGACY],
        *[(ht(0), 6.5), (ht(7), 65), (ht(7, short_guard_interval=True), 72.2), (ht(15), 130)],
        *[(ht(0, 40), 13.5), (ht(7, 40), 135), (ht(7, 40, short_guard_interval=True), 150)],
        *[(ht(15, 40), 270), (ht(15, 40, short_guard_interval=True), 300), (ht(8), 13)],
        *[(vht(8, 20), 78), (vht(9, 40, short_guard_interval=True), 200), (vht(0), 29.3), (vht(7), 292.5)],
        *[(vht(9), 390), (vht(9, short_guard_interval=True), 433.3), (vht(9, 80, 2, short_guard_interval=True), 866.7)],
    ],
)
def test_rates_are_those_of_the_standards_tables(rate: Rate, mbps: float) -> None:
    assert rate.mbps == pytest.approx(mbps, abs=0.0501)


@pytest.mark.parametrize("streams", [1, 2])
def test_an_mcs_that_does_not_fill_symbols_is_refused(streams: int) -> None:
    with pytest.raises(ValueError, match="256-QAM 5/6 at 20 MHz"):
        vht(9, 20, streams)


def test_what_the_standard_does_not_have_is_refused() -> None:
    for bad in (-1, 16):
        with pytest.raises(ValueError, match=f"mcs: {bad} is not between 0 and 15"):
            ht(bad)
    for bad in (-1, 10):
        with pytest.raises(ValueError, match=f"mcs: {bad} is not between 0 and 9"):
            vht(bad)
    with pytest.raises(ValueError, match="width_mhz: 80 is none of HT"):
        ht(0, 80)
    with pytest.raises(ValueError, match="streams: 3 is not between 1 and 2"):
        vht(0, 80, 3)
    with pytest.raises(ValueError, match="mbps: 11 is not one of"):
        legacy(11)
    with pytest.raises(ValueError, match="one stream and the long guard interval"):
        Rate(Format.LEGACY, MODULATIONS[0], streams=2)


# ns-3's tx-duration-test.cc, at 5 GHz; at 2.4 GHz it has 6 us more. With short guard intervals ns-3 does not round to
# symbols of 4 us as the standard does, and of VHT it leaves SIG-B away (4 us): both are added here.
@pytest.mark.parametrize(
    ("rate", "psdu_bytes", "ns3_ns"),
    [
        *[(legacy(54), 1536, 248_000), (legacy(54), 76, 32_000), (legacy(54), 14, 24_000)],
        *[(ht(7), 1536, 228_000), (ht(7), 76, 48_000), (ht(7), 14, 40_000)],
        *[(ht(0, short_guard_interval=True), 1536, 1_742_400), (ht(0, short_guard_interval=True), 76, 126_000)],
        *[(ht(6, short_guard_interval=True), 1536, 226_800), (ht(6, short_guard_interval=True), 14, 39_600)],
        *[(ht(7, 40), 1536, 128_000), (ht(7, 40), 76, 44_000), (ht(7, 40, short_guard_interval=True), 1536, 118_800)],
    ],
)
@pytest.mark.parametrize("band", Band)
def test_times_are_those_of_ns3(rate: Rate, psdu_bytes: int, ns3_ns: int, band: Band) -> None:
    rounded_ns = -(-ns3_ns // 4000) * 4000
    assert airtime_ns(rate, psdu_bytes, band) == rounded_ns + (6000 if band is GHZ_2_4 else 0)


@pytest.mark.parametrize(
    ("rate", "psdu_bytes", "ns3_ns"),
    [
        *[
            (vht(8, 20), 1536, 196_000),
            (vht(8, 20), 76, 48_000),
            (vht(8, 20, short_guard_interval=True), 1536, 180_000),
        ],
        *[(vht(9, 40), 1536, 108_000), (vht(9, 40, short_guard_interval=True), 1536, 100_800), (vht(0), 1536, 460_000)],
        *[(vht(0), 14, 44_000), (vht(0, short_guard_interval=True), 1536, 417_600), (vht(9), 1536, 68_000)],
        *[(vht(9, short_guard_interval=True), 1536, 64_800), (vht(9, short_guard_interval=True), 76, 39_600)],
    ],
)
def test_times_of_vht_are_those_of_ns3_and_sig_b(rate: Rate, psdu_bytes: int, ns3_ns: int) -> None:
    assert airtime_ns(rate, psdu_bytes, GHZ_5) == -(-ns3_ns // 4000) * 4000 + 4000


@pytest.mark.parametrize(
    ("rate", "preamble_us"), [(legacy(6), 20), (ht(7), 36), (ht(15), 40), (vht(0), 40), (vht(0, 80, 2), 44)]
)
def test_preambles(rate: Rate, preamble_us: int) -> None:
    """With a symbol of data each."""
    assert airtime_ns(rate, 0, GHZ_5) == (preamble_us + 4) * 1000


def test_above_600_mbps_a_second_encoder_has_its_own_tail() -> None:
    two, one = vht(9, 80, 2, short_guard_interval=True), vht(6, 80, 2, short_guard_interval=True)
    assert (two.encoders, one.encoders) == (2, 1)
    assert (vht(7, 80, 2).encoders, vht(6, 80, 2).encoders) == (2, 1)
    # 3120 bits in a symbol: with one tail 387 bytes would fit, with two 386 do
    assert airtime_ns(two, 386, GHZ_5) - two.preamble_ns == 4000
    assert airtime_ns(two, 387, GHZ_5) - two.preamble_ns == 8000


@given(st.sampled_from([6, 9, 12, 18, 24, 36, 48, 54]), st.integers(14, 2346))
def test_legacy_is_what_bianchi_has(mbps: int, frame_bytes: int) -> None:
    assert airtime_ns(legacy(mbps), frame_bytes, GHZ_2_4) == bianchi.ofdm_airtime_us(frame_bytes, mbps) * 1000


@given(st.integers(0, 15), st.sampled_from([20, 40]), st.integers(1, 65_535))
def test_a_short_guard_interval_is_never_longer(mcs: int, width_mhz: int, psdu_bytes: int) -> None:
    long, short = ht(mcs, width_mhz), ht(mcs, width_mhz, short_guard_interval=True)
    assert airtime_ns(short, psdu_bytes, GHZ_5) <= airtime_ns(long, psdu_bytes, GHZ_5)
    assert airtime_ns(short, psdu_bytes, GHZ_5) % 4000 == 0
    assert airtime_ns(long, psdu_bytes, GHZ_5) <= airtime_ns(long, psdu_bytes + 1, GHZ_5)


@pytest.mark.parametrize(
    ("rate", "mbps"),
    [(legacy(54), 24), (legacy(18), 12), (legacy(9), 6), (ht(0), 6), (ht(2, 40), 12), (ht(15, 40), 24), (vht(9), 24)],
)
def test_answers_are_at_a_mandatory_rate(rate: Rate, mbps: int) -> None:
    assert response_rate(rate) == legacy(mbps)


def test_a_sifs_and_the_extension_are_as_long_in_both_bands() -> None:
    assert GHZ_2_4.sifs_ns + GHZ_2_4.extension_ns == GHZ_5.sifs_ns + GHZ_5.extension_ns
