# SPDX-License-Identifier: Apache-2.0
"""The medium's model with hidden stations, compiled for user space, against a simulation that knows nothing of it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from airbound_lab.medium_theory.exchange import exchange
from airbound_lab.medium_theory.hidden import hidden_pair
from airbound_lab.medium_theory.ppdu import Band, Rate, ht, legacy, vht
from airbound_lab.medium_theory.saturation import Senders, saturation

from .test_medium_aggregates import compiled

if TYPE_CHECKING:
    from pathlib import Path

ATTEMPTS = 100_000
SENDER = "1:15:1023:3:0"
CELLS: dict[str, tuple[Rate, Band, str]] = {
    "11g 54": (legacy(54), Band.GHZ_2_4, "2 legacy:540:1:20:0"),
    "11n 65": (ht(7), Band.GHZ_2_4, "2 ht:7:1:20:0"),
    "11ac 867": (vht(9, 80, 2, short_guard_interval=True), Band.GHZ_5, "5 vht:9:2:80:1"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("medium"), "dcf_model_test")


def senders(program: Path, cell: str, *classes: str, rts: bool, command: str = "hidden") -> list[dict[str, float]]:
    rate, band, words = CELLS[cell]
    seconds = 1 + ATTEMPTS // 2 * exchange(rate, band).success_ns // 1_000_000_000
    ghz, modulation = words.split()
    arguments = [command, str(seconds), "1", ghz, f"{modulation}:{int(rts)}:0", *classes]
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    found: list[dict[str, float]] = json.loads(run.stdout)
    return found


def total_mbps(found: list[dict[str, float]]) -> float:
    return sum(sender["payload_mbps"] for sender in found)


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_a_hidden_pair_has_what_a_simulation_has(
    program: Path,
    cell: str,
    rts: bool,  # noqa: FBT001
) -> None:
    rate, band, _ = CELLS[cell]
    expected = hidden_pair(exchange(rate, band, rts=rts), band, accesses=ATTEMPTS)
    found = senders(program, cell, SENDER, SENDER, rts=rts)
    assert total_mbps(found) == pytest.approx(expected.payload_mbps, rel=0.03)
    for sender in found:
        assert sender["collision_probability"] == pytest.approx(expected.collision_probability, abs=0.015)


@pytest.mark.parametrize("cell", CELLS)
def test_rts_restores_what_hidden_stations_cost(program: Path, cell: str) -> None:
    rate, band, _ = CELLS[cell]
    (heard,) = saturation(Senders(2, exchange(rate, band, rts=True)), band=band)
    without, with_rts = (total_mbps(senders(program, cell, SENDER, SENDER, rts=rts)) for rts in (False, True))
    assert without < with_rts
    assert with_rts > 0.9 * heard.payload_mbps


def test_long_frames_that_nothing_protects_hardly_pass(program: Path) -> None:
    """A-MPDUs of 5.4 ms: only where both back-offs differ by more than 600 slots neither hits the other."""
    (heard,) = saturation(Senders(2, exchange(ht(7), Band.GHZ_2_4)), band=Band.GHZ_2_4)
    found = senders(program, "11n 65", SENDER, SENDER, rts=False)
    assert total_mbps(found) < 0.05 * heard.payload_mbps


def test_without_a_pair_nothing_is_hidden(program: Path) -> None:
    """One class has no other that it could be hidden from."""
    both = [
        senders(program, "11n 65", "2:15:1023:3:0", rts=False, command=command) for command in ("hidden", "aggregate")
    ]
    assert both[0] == both[1]
