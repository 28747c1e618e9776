# SPDX-License-Identifier: Apache-2.0
"""The medium's model alone, compiled for user space: its own rules, and its saturation throughput against Bianchi's.

A-MPDUs are in test_medium_aggregates.py.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory.bianchi import Stations

from .test_medium_aggregates import compiled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("medium"), "dcf_model_test")


def test_the_rules_of_dcf_hold(program: Path) -> None:
    run = subprocess.run([program, "check"], capture_output=True, text=True, check=False)
    broken = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    assert not broken
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"1..{run.stdout.count('ok ')}"


def saturate(program: Path, *classes: Stations, seed: int, aifsn: int = 2) -> list[dict[str, float]]:
    arguments = [f"{class_.count}:{class_.cw_min}:{class_.cw_max}:{aifsn}:0" for class_ in classes]
    run = subprocess.run([program, "saturate", "30", str(seed), *arguments], capture_output=True, text=True, check=True)
    measured: list[dict[str, float]] = json.loads(run.stdout)
    return measured


@pytest.mark.parametrize("cw_min", [15, 31, 63, 127])
@pytest.mark.parametrize("stations", [1, 2, 5, 10, 20])
def test_saturation_throughput_is_bianchis(program: Path, stations: int, cw_min: int) -> None:
    senders = Stations(stations, cw_min)
    (expected,), (measured,) = bianchi.saturation(senders), saturate(program, senders, seed=1)
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


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_is_offered_time_and_frames_add_up(program: Path, seed: int) -> None:
    run = subprocess.run([program, "fuzz", "200000", str(seed)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout[-2000:]


def test_the_same_seed_draws_the_same_numbers(program: Path) -> None:
    first, again, other = (saturate(program, Stations(10), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
