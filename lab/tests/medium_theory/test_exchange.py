# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory import exchange as arithmetic
from airbound_lab.medium_theory.exchange import exchange, mpdu_bytes, mpdus_max, psdu_bytes, single_sender_mbps
from airbound_lab.medium_theory.ppdu import Band, Rate, airtime_ns, ht, legacy, vht

GHZ_2_4, GHZ_5 = Band.GHZ_2_4, Band.GHZ_5
HT65, HT150, HT300 = ht(7), ht(7, 40, short_guard_interval=True), ht(15, 40, short_guard_interval=True)
VHT433, VHT867 = vht(9, short_guard_interval=True), vht(9, 80, 2, short_guard_interval=True)


def test_a_datagram_in_an_mpdu() -> None:
    assert mpdu_bytes(1470) == 26 + 8 + 20 + 8 + 1470 + 4 == 1536
    assert mpdu_bytes(1470, qos=False) == 1470 + bianchi.UDP_IP_LLC_MAC_FCS_BYTES


@pytest.mark.parametrize(
    ("rate", "each", "mpdus", "expected"),
    [
        (legacy(54), 1534, 1, 1534),
        (HT65, 1534, 1, 1534),
        (HT65, 1534, 2, 1540 + 1538),
        (HT65, 1536, 42, 42 * 1540),
        (VHT433, 1534, 1, 1540),
        (VHT433, 1534, 2, 2 * 1540),
    ],
)
def test_the_length_of_an_a_mpdu(rate: Rate, each: int, mpdus: int, expected: int) -> None:
    assert psdu_bytes(rate, each, mpdus) == expected


@pytest.mark.parametrize(
    ("rate", "mpdus"),
    # 65 Mb/s: 5.484 ms have (5484 - 36) / 4 symbols of 260 bits, 28.7 subframes; 65,535 bytes have 42.6; else 64 MPDUs
    [(legacy(54), 1), (ht(0), 2), (HT65, 28), (ht(15), 42), (HT150, 42), (HT300, 42), (VHT433, 64), (VHT867, 64)],
)
def test_as_many_mpdus_as_the_limits_allow(rate: Rate, mpdus: int) -> None:
    assert mpdus_max(rate, 1536, GHZ_5) == mpdus


@given(
    st.sampled_from([ht(0), ht(3), HT65, ht(8, 40), HT300, vht(0), vht(4), VHT433, VHT867]),
    st.integers(60, 2304),
    st.sampled_from(Band),
)
def test_one_more_would_break_a_limit(rate: Rate, each_bytes: int, band: Band) -> None:
    mpdus = mpdus_max(rate, each_bytes, band)

    def allowed(count: int) -> bool:
        length = psdu_bytes(rate, each_bytes, count)
        in_time = airtime_ns(rate, length, band) - band.extension_ns <= 5_484_000
        return count <= 64 and length <= arithmetic.AMPDU_BYTES_MAX[rate.format] and in_time

    assert allowed(mpdus) or mpdus == 1
    assert not allowed(mpdus + 1)


def test_an_exchange_by_hand() -> None:
    """300 Mb/s at 2.4 GHz: 40 us of preamble, 64,680 bytes in 480 symbols of 1080 bits and 3.6 us, silence."""
    found = exchange(HT300, GHZ_2_4)
    data_us = 40 + 480 * 3.6 + 6
    block_ack_us = 20 + 4 * 3 + 6  # 278 bits in symbols of 96
    assert found.mpdus == 42
    assert found.payload_bits == 42 * 1470 * 8
    assert found.unanswered_ns == found.collision_ns == data_us * 1000 == 1_774_000
    assert found.success_ns == (data_us + 10 + block_ack_us) * 1000


def test_rts_and_cts_by_hand() -> None:
    """RTS 20 + 4 * 2, CTS 20 + 4 * 2 us, a SIFS of 16 us after each; a collision costs the RTS."""
    without, found = exchange(VHT433, GHZ_5), exchange(VHT433, GHZ_5, rts=True)
    assert (
        found.success_ns - without.success_ns == found.unanswered_ns - without.unanswered_ns == 28_000 * 2 + 16_000 * 2
    )
    assert found.collision_ns == 28_000


def test_one_mpdu_has_an_ack() -> None:
    found = exchange(HT65, GHZ_5, mpdus=1)
    assert found.success_ns - found.unanswered_ns == 16_000 + 28_000
    assert exchange(HT65, GHZ_5, mpdus=2).success_ns - exchange(HT65, GHZ_5, mpdus=2).unanswered_ns == 16_000 + 32_000


def test_what_does_not_fit_is_refused() -> None:
    for mpdus in (0, 29):
        with pytest.raises(ValueError, match=f"mpdus: {mpdus} is not between 1 and 28"):
            exchange(HT65, GHZ_5, mpdus=mpdus)


# Payload of a saturated sender, Mb/s, by AIFSN.
@pytest.mark.parametrize(
    ("rate", "band", "rts", "mbps"),
    [
        (legacy(54), GHZ_2_4, False, {2: 29.89, 3: 29.22}),
        (HT65, GHZ_2_4, False, {2: 59.94, 3: 59.84}),
        (HT65, GHZ_2_4, True, {2: 58.99, 3: 58.90}),
        (HT150, GHZ_2_4, False, {2: 135.64, 3: 135.30}),
        (HT150, GHZ_2_4, True, {2: 132.44, 3: 132.12}),
        (HT300, GHZ_2_4, False, {2: 257.59, 3: 256.38}),
        (HT300, GHZ_2_4, True, {2: 246.28, 3: 245.18}),
        (VHT433, GHZ_5, False, {2: 373.80, 3: 372.13}),
        (VHT433, GHZ_5, True, {2: 358.14, 3: 356.62}),
        (VHT867, GHZ_5, False, {2: 680.81, 3: 675.32}),
        (VHT867, GHZ_5, True, {2: 630.62, 3: 625.90}),
    ],
)
def test_a_single_sender(rate: Rate, band: Band, rts: bool, mbps: dict[int, float]) -> None:  # noqa: FBT001
    for aifsn, expected in mbps.items():
        found = single_sender_mbps(exchange(rate, band, rts=rts), band, aifsn=aifsn)
        assert found == pytest.approx(expected, abs=0.01)


def test_a_single_sender_of_802_11g_is_bianchis() -> None:
    (alone,) = bianchi.saturation(bianchi.Stations(1))
    found = single_sender_mbps(exchange(legacy(54), GHZ_2_4, qos=False), GHZ_2_4, aifsn=2)
    assert found == pytest.approx(alone.payload_mbps, rel=1e-12)


@pytest.mark.parametrize("rate", [HT65, HT150, HT300])
def test_the_band_does_not_matter(rate: Rate) -> None:
    """What a SIFS is shorter at 2.4 GHz, a PPDU is longer."""
    found = [single_sender_mbps(exchange(rate, band), band) for band in Band]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@given(st.sampled_from([HT65, HT300, VHT433, VHT867]), st.integers(1, 27))
def test_more_mpdus_carry_more(rate: Rate, mpdus: int) -> None:
    fewer, more = (single_sender_mbps(exchange(rate, GHZ_5, mpdus=count), GHZ_5) for count in (mpdus, mpdus + 1))
    assert fewer < more < rate.mbps
