# SPDX-License-Identifier: Apache-2.0
"""The medium's model alone, compiled for user space: its own rules, and its saturation throughput against Bianchi's."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from airbound_lab import bianchi

KERNEL = Path(__file__).parents[1] / "kernel"
MODEL = KERNEL / "src/drivers/net/wireless"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("medium") / "dcf_model_test"
    sources = [KERNEL / "tests/dcf_model_test.c", MODEL / "dcf_model.c"]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, f"-I{MODEL}", "-o", path, *sources], check=True)
    return path


def test_the_rules_of_dcf_hold(program: Path) -> None:
    run = subprocess.run([program, "check"], capture_output=True, text=True, check=False)
    broken = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    assert not broken
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"1..{run.stdout.count('ok ')}"


def saturate(program: Path, stations: int, seed: int) -> dict[str, float]:
    run = subprocess.run(
        [program, "saturate", str(stations), "30", str(seed)], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(run.stdout)
    return measured


@pytest.mark.parametrize("stations", [1, 2, 5, 10])
def test_saturation_throughput_is_bianchis(program: Path, stations: int) -> None:
    expected = bianchi.saturation(stations)
    measured = saturate(program, stations, seed=1)
    assert measured["payload_mbps"] == pytest.approx(expected.payload_mbps, rel=0.05)
    assert measured["collision_probability"] == pytest.approx(expected.collision_probability, abs=0.02)


def test_same_seed_same_result(program: Path) -> None:
    assert saturate(program, 5, seed=7) == saturate(program, 5, seed=7)
    assert saturate(program, 5, seed=7) != saturate(program, 5, seed=8)


def test_bianchi_with_one_station_is_arithmetic() -> None:
    # DIFS 28 + mean back-off 7.5 slots + frame 254 + SIFS 10 + ACK 34 us
    alone = bianchi.saturation(1)
    assert alone.payload_mbps == pytest.approx(1470 * 8 / (28 + 67.5 + 254 + 10 + 34), rel=1e-9)
    assert alone.collision_probability == pytest.approx(0, abs=1e-9)


def test_bianchi_needs_a_station() -> None:
    with pytest.raises(ValueError, match="stations: 0"):
        bianchi.saturation(0)
