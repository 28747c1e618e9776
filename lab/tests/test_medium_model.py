# SPDX-License-Identifier: Apache-2.0
"""The medium's model alone, compiled for user space: its own rules, and its throughput against arithmetic and theory.

`airbound_lab.medium_theory` has been written from the standard, independently of the model.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from airbound_lab import bianchi
from airbound_lab.bianchi import Stations
from airbound_lab.medium_theory import exchange, ppdu, saturation
from airbound_lab.medium_theory.ppdu import Band, Format, Rate
from airbound_lab.medium_theory.saturation import Senders

KERNEL = Path(__file__).parents[1] / "kernel"
MODEL = KERNEL / "src/drivers/net/wireless"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("medium") / "dcf_model_test"
    sources = [KERNEL / "tests/dcf_model_test.c", MODEL / "dcf_model.c", MODEL / "dcf_error.c"]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, f"-I{MODEL}", "-o", path, *sources], check=True)
    return path


def test_the_rules_of_dcf_hold(program: Path) -> None:
    run = subprocess.run([program, "check"], capture_output=True, text=True, check=False)
    broken = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    assert not broken
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"1..{run.stdout.count('ok ')}"


def saturate(program: Path, *classes: Stations, seed: int, aifsn: int = 2) -> list[dict[str, float]]:
    arguments = [f"{of.count}:{of.cw_min}:{of.cw_max}:{aifsn}:0" for of in classes]
    run = subprocess.run([program, "saturate", "30", str(seed), *arguments], capture_output=True, text=True, check=True)
    measured: list[dict[str, float]] = json.loads(run.stdout)
    return measured


@pytest.mark.parametrize("cw_min", [15, 31, 63, 127])
@pytest.mark.parametrize("stations", [1, 2, 5, 10, 20])
def test_saturation_throughput_is_bianchis(program: Path, stations: int, cw_min: int) -> None:
    of = Stations(stations, cw_min)
    (expected,), (measured,) = bianchi.saturation(of), saturate(program, of, seed=1)
    assert measured["payload_mbps"] == pytest.approx(expected.payload_mbps, rel=0.05)
    assert measured["collision_probability"] == pytest.approx(expected.collision_probability, abs=0.02)


@pytest.mark.parametrize("windows", [(15, 31), (15, 63), (31, 127)])
@pytest.mark.parametrize("counts", [(1, 1), (2, 5), (5, 5), (1, 10)])
def test_so_is_that_of_two_classes_with_windows_of_their_own(
    program: Path, counts: tuple[int, int], windows: tuple[int, int]
) -> None:
    classes = [Stations(count, cw_min) for count, cw_min in zip(counts, windows, strict=True)]
    expected, measured = bianchi.saturation(*classes), saturate(program, *classes, seed=1)
    total_mbps = sum(model.payload_mbps for model in expected)
    assert sum(medium["payload_mbps"] for medium in measured) == pytest.approx(total_mbps, rel=0.05)
    for model, medium in zip(expected, measured, strict=True):
        # Bianchi has all stations count down in every slot. In the first slot of an idle period only the last sender
        # can have a counter of 0, and sends alone there; who draws 0 more often, the smaller window, gains by that.
        assert medium["payload_mbps"] == pytest.approx(model.payload_mbps, rel=0.12)
        assert medium["collision_probability"] == pytest.approx(model.collision_probability, abs=0.02)


@pytest.mark.parametrize("extra", [1, 2, 5])
def test_alone_each_slot_of_aifs_more_costs_a_slot_for_each_frame(program: Path, extra: int) -> None:
    (standard,), (later,) = (saturate(program, Stations(1), seed=1, aifsn=aifsn) for aifsn in (2, 2 + extra))
    cycle_us = 1470 * 8 / standard["payload_mbps"]
    assert 1470 * 8 / later["payload_mbps"] == pytest.approx(cycle_us + 9 * extra, rel=1e-3)


def test_same_seed_same_result(program: Path) -> None:
    assert saturate(program, Stations(5), seed=7) == saturate(program, Stations(5), seed=7)
    assert saturate(program, Stations(5), seed=7) != saturate(program, Stations(5), seed=8)


def test_bianchi_with_one_station_is_arithmetic() -> None:
    # DIFS 28 + mean back-off 7.5 slots + frame 254 + SIFS 10 + ACK 34 us
    (alone,) = bianchi.saturation(Stations(1))
    assert alone.payload_mbps == pytest.approx(1470 * 8 / (28 + 67.5 + 254 + 10 + 34), rel=1e-9)
    assert alone.collision_probability == pytest.approx(0, abs=1e-9)


RATES = {
    "11g, 54 Mb/s": (ppdu.legacy(54), Band.GHZ_2_4),
    "11n, 65 Mb/s": (ppdu.ht(7), Band.GHZ_2_4),
    "11n, 72 Mb/s": (ppdu.ht(7, short_guard_interval=True), Band.GHZ_2_4),
    "11n, 6.5 Mb/s": (ppdu.ht(0), Band.GHZ_2_4),
    "11n, 150 Mb/s": (ppdu.ht(7, 40, short_guard_interval=True), Band.GHZ_5),
    "11n, 300 Mb/s": (ppdu.ht(15, 40, short_guard_interval=True), Band.GHZ_5),
    "11ac, 433 Mb/s": (ppdu.vht(9, short_guard_interval=True), Band.GHZ_5),
    "11ac, 867 Mb/s": (ppdu.vht(9, streams=2, short_guard_interval=True), Band.GHZ_5),
    "11ac, 58.5 Mb/s": (ppdu.vht(1, streams=1), Band.GHZ_5),
}
SECONDS = 20


def words(rate: Rate, *, rts: bool, loss_ppm: int) -> str:
    mcs = round(rate.mbps * 10) if rate.format is Format.LEGACY else ppdu.MODULATIONS.index(rate.modulation)
    flags = f"{int(rate.short_guard_interval)}:{int(rts)}"
    return f"{rate.format.value.lower()}:{mcs}:{rate.streams}:{rate.width_mhz}:{flags}:{loss_ppm}"


def aggregate(
    program: Path, name: str, *classes: Senders, rts: bool = False, loss_ppm: int = 0, seed: int = 1
) -> list[dict[str, float]]:
    rate, band = RATES[name]
    arguments = [f"{of.count}:{of.cw_min}:{of.cw_max}:{of.aifsn}:0" for of in classes]
    numbers = [str(SECONDS), str(seed), "2" if band is Band.GHZ_2_4 else "5", words(rate, rts=rts, loss_ppm=loss_ppm)]
    run = subprocess.run([program, "aggregate", *numbers, *arguments], capture_output=True, text=True, check=True)
    measured: list[dict[str, float]] = json.loads(run.stdout)
    return measured


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("name", RATES)
def test_a_single_senders_goodput_is_that_of_the_frames(program: Path, name: str, rts: bool) -> None:
    rate, band = RATES[name]
    of = exchange.exchange(rate, band, rts=rts)
    (measured,) = aggregate(program, name, Senders(1, of), rts=rts)
    assert measured["payload_mbps"] == pytest.approx(exchange.single_sender_mbps(of, band), rel=0.01)


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("cw_min", [15, 31, 63, 127])
@pytest.mark.parametrize("stations", [1, 2, 5, 10, 20])
@pytest.mark.parametrize("name", RATES)
def test_saturation_with_aggregation_is_bianchis(
    program: Path, name: str, stations: int, cw_min: int, rts: bool
) -> None:
    rate, band = RATES[name]
    of = Senders(stations, exchange.exchange(rate, band, rts=rts), cw_min=cw_min)
    (expected,), (measured,) = saturation.saturation(of, band=band), aggregate(program, name, of, rts=rts)
    assert measured["payload_mbps"] == pytest.approx(expected.payload_mbps, rel=0.05)
    assert measured["collision_probability"] == pytest.approx(expected.collision_probability, abs=0.03)


@pytest.mark.parametrize("loss_ppm", [10_000, 100_000, 500_000])
@pytest.mark.parametrize("name", ["11g, 54 Mb/s", "11n, 65 Mb/s", "11ac, 867 Mb/s"])
def test_so_is_it_with_losses_on_the_link(program: Path, name: str, loss_ppm: int) -> None:
    rate, band = RATES[name]
    of = Senders(5, exchange.exchange(rate, band), mpdu_loss=loss_ppm / 1e6)
    (expected,), (measured,) = saturation.saturation(of, band=band), aggregate(program, name, of, loss_ppm=loss_ppm)
    assert measured["payload_mbps"] == pytest.approx(expected.payload_mbps, rel=0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_is_offered_time_and_frames_add_up(program: Path, seed: int) -> None:
    run = subprocess.run([program, "fuzz", "200000", str(seed)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout[-2000:]


def test_the_same_seed_draws_the_same_numbers(program: Path) -> None:
    of = Senders(10, exchange.exchange(*RATES["11ac, 867 Mb/s"]))
    first, again, other = (aggregate(program, "11ac, 867 Mb/s", of, loss_ppm=1000, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
