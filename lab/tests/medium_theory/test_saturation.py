# SPDX-License-Identifier: Apache-2.0
"""Bianchi's model with A-MPDUs: against the model without, ns-3's table, and a cell whose accesses are drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory.bianchi import Stations
from airbound_lab.medium_theory.exchange import exchange, single_sender_mbps
from airbound_lab.medium_theory.ppdu import Band, Rate, ht, legacy, vht
from airbound_lab.medium_theory.saturation import Senders, saturation

if TYPE_CHECKING:
    from conftest import Contend

GHZ_2_4, GHZ_5 = Band.GHZ_2_4, Band.GHZ_5
DCF = exchange(legacy(54), GHZ_2_4, qos=False)
VHT867 = vht(9, 80, 2, short_guard_interval=True)
HT65 = ht(7)


@settings(max_examples=25)
@given(st.integers(1, 30), st.sampled_from([15, 31, 63, 127]))
def test_without_aggregation_it_is_bianchis(count: int, cw_min: int) -> None:
    (found,) = saturation(Senders(count, DCF, 2, cw_min), band=GHZ_2_4)
    (expected,) = bianchi.saturation(Stations(count, cw_min))
    assert found.payload_mbps == pytest.approx(expected.payload_mbps, rel=1e-6)
    assert found.collision_probability == pytest.approx(expected.collision_probability, abs=1e-6)


@settings(max_examples=25)
@given(st.integers(1, 10), st.integers(1, 10), st.sampled_from([(15, 31), (15, 127), (31, 63)]))
def test_so_it_is_with_two_windows(first: int, second: int, windows: tuple[int, int]) -> None:
    found = saturation(Senders(first, DCF, 2, windows[0]), Senders(second, DCF, 2, windows[1]), band=GHZ_2_4)
    expected = bianchi.saturation(Stations(first, windows[0]), Stations(second, windows[1]))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.payload_mbps == pytest.approx(theirs.payload_mbps, rel=1e-6)
        assert ours.collision_probability == pytest.approx(theirs.collision_probability, abs=1e-6)


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("rate", [HT65, VHT867])
@pytest.mark.parametrize("aifsn", [2, 3, 7])
def test_alone_it_is_the_arithmetic(rate: Rate, aifsn: int, rts: bool, refined: bool) -> None:  # noqa: FBT001
    single = exchange(rate, GHZ_5, rts=rts)
    (found,) = saturation(Senders(1, single, aifsn), band=GHZ_5, refined=refined)
    assert found.payload_mbps == pytest.approx(single_sender_mbps(single, GHZ_5, aifsn=aifsn), rel=1e-9)
    assert found.collision_probability == pytest.approx(0, abs=1e-9)


# Rows of the table of 11a at 54 Mb/s in ns-3's wifi-bianchi.cc (bianchiResultsEifs; its simulation is within 1.5 % of
# that): frames of 1500 bytes and 36 of headers, no retry limit. ns-3's formula has the first slot after a success for
# the last sender alone, and an ACK at 24 Mb/s in its EIFS; ours has neither.
@pytest.mark.parametrize(("count", "mbps"), [(5, 29.2861), (10, 27.3763), (15, 26.2078), (20, 25.3325)])
def test_ns3s_table_of_802_11a(monkeypatch: pytest.MonkeyPatch, count: int, mbps: float) -> None:
    monkeypatch.setattr(bianchi, "ATTEMPTS_MAX", 200)
    frame = exchange(legacy(54), GHZ_5, payload_bytes=1500 - 28, qos=False)
    (found,) = saturation(Senders(count, replace(frame, payload_bits=1500 * 8), 2), band=GHZ_5)
    assert found.payload_mbps == pytest.approx(mbps, rel=0.02)


@pytest.mark.parametrize("cw_min", [15, 31, 63, 127])
@pytest.mark.parametrize("count", [1, 2, 5, 10, 20])
@pytest.mark.parametrize(("rate", "rts"), [(HT65, False), (VHT867, False), (VHT867, True)], ids=str)
def test_a_cell_whose_accesses_are_drawn(
    contend: Contend,
    rate: Rate,
    rts: bool,  # noqa: FBT001
    count: int,
    cw_min: int,
) -> None:
    senders = Senders(count, exchange(rate, GHZ_5, rts=rts), cw_min=cw_min)
    ((mbps, collided),) = contend([senders], GHZ_5, 20_000, seed=1)
    (bianchis,), (refined,) = saturation(senders, band=GHZ_5), saturation(senders, band=GHZ_5, refined=True)
    assert mbps == pytest.approx(bianchis.payload_mbps, rel=0.03)
    assert collided == pytest.approx(bianchis.collision_probability, abs=0.025)
    assert mbps == pytest.approx(refined.payload_mbps, rel=0.01)
    assert collided == pytest.approx(refined.collision_probability, abs=0.015)


# By class the first slot matters more: who waits longer seldom has it.
@pytest.mark.parametrize(
    ("classes", "tolerance", "tolerance_refined"),
    [
        ([Senders(2, exchange(legacy(6), GHZ_5)), Senders(3, exchange(VHT867, GHZ_5))], 0.03, 0.03),
        ([Senders(3, exchange(VHT867, GHZ_5)), Senders(3, exchange(VHT867, GHZ_5), cw_min=63)], 0.12, 0.02),
        ([Senders(1, exchange(VHT867, GHZ_5), 2), Senders(5, exchange(VHT867, GHZ_5), 3)], 0.03, 0.1),
        ([Senders(5, exchange(VHT867, GHZ_5), 2), Senders(1, exchange(VHT867, GHZ_5), 3)], 0.2, 0.1),
        ([Senders(3, exchange(VHT867, GHZ_5)), Senders(3, exchange(VHT867, GHZ_5), 7)], 0.25, 0.1),
    ],
    ids=["slow and fast", "windows", "access point first", "access point last", "AIFSN"],
)
def test_several_classes(contend: Contend, classes: list[Senders], tolerance: float, tolerance_refined: float) -> None:
    found = contend(classes, GHZ_5, 60_000, seed=1)
    for refined, near in ((False, tolerance), (True, tolerance_refined)):
        expected = saturation(*classes, band=GHZ_5, refined=refined)
        total_mbps = sum(result.payload_mbps for result in expected)
        assert sum(mbps for mbps, _ in found) == pytest.approx(total_mbps, rel=0.03)
        for result, (mbps, collided) in zip(expected, found, strict=True):
            assert mbps == pytest.approx(result.payload_mbps, rel=near)
            assert collided == pytest.approx(result.collision_probability, abs=0.025)


@pytest.mark.parametrize(("mpdus", "loss"), [(1, 0.3), (8, 0.5), (64, 0.1)])
def test_noise(contend: Contend, mpdus: int, loss: float) -> None:
    """Few MPDUs may all be lost, which widens the window; of many some arrive."""
    senders = Senders(3, exchange(VHT867, GHZ_5, mpdus=mpdus), mpdu_loss=loss)
    (expected,) = saturation(senders, band=GHZ_5, refined=True)
    ((mbps, collided),) = contend([senders], GHZ_5, 20_000, seed=1)
    assert mbps == pytest.approx(expected.payload_mbps, rel=0.02)
    assert collided == pytest.approx(expected.collision_probability, abs=0.02)


def test_with_rts_a_collision_costs_little() -> None:
    plain, protected = (
        saturation(Senders(20, exchange(VHT867, GHZ_5, rts=rts)), band=GHZ_5)[0] for rts in (False, True)
    )
    alone = single_sender_mbps(exchange(VHT867, GHZ_5, rts=True), GHZ_5)
    assert protected.payload_mbps == pytest.approx(alone, rel=0.01)
    assert plain.payload_mbps < 0.8 * protected.payload_mbps
    assert plain.collision_probability == pytest.approx(protected.collision_probability)


def test_aggregation_makes_the_window_matter_more_where_many_send() -> None:
    """A collision costs the whole A-MPDU, a slot is nothing beside it: the best window is wider than with one MPDU."""

    def best(mpdus: int, count: int) -> int:
        aggregate = exchange(VHT867, GHZ_5, mpdus=mpdus)
        windows = [2**bits - 1 for bits in range(2, 11)]
        return max(windows, key=lambda cw: saturation(Senders(count, aggregate, 3, cw), band=GHZ_5)[0].payload_mbps)

    assert best(64, 5) > best(1, 5)
    assert best(64, 20) > best(64, 5)


def test_airtime_is_that_of_the_exchanges() -> None:
    slow, fast = exchange(legacy(6), GHZ_5), exchange(VHT867, GHZ_5)
    first, second = saturation(Senders(2, slow), Senders(2, fast), band=GHZ_5)
    assert first.airtime / second.airtime == pytest.approx(slow.success_ns / fast.success_ns)
    (alone,) = saturation(Senders(1, fast), band=GHZ_5)
    assert alone.airtime == pytest.approx(alone.payload_mbps * fast.success_ns / (fast.payload_bits * 1000))
    assert first.airtime + second.airtime < 1


def test_what_makes_no_sense_is_refused() -> None:
    single = exchange(HT65, GHZ_5)
    with pytest.raises(ValueError, match="no senders"):
        saturation(band=GHZ_5)
    with pytest.raises(ValueError, match="count: 0 is not a positive number"):
        Senders(0, single)
    with pytest.raises(ValueError, match="aifsn: 0 is not a positive number"):
        Senders(1, single, 0)
    for loss in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"mpdu_loss: {loss} is not a probability below 1"):
            Senders(1, single, mpdu_loss=loss)
