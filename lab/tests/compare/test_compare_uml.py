# SPDX-License-Identifier: Apache-2.0
"""A comparison of real cells, made twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from airbound_lab import cli

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.uml

TINY = [
    *("--terminals", "2", "--delays", "4,4+64", "--rate-control", "minstrel", "--seeds", "1"),
    *("--modes", "cubic,vegas@cake-ack-filter,bdp+vegas", "--seconds", "6", "--warmup-seconds", "3"),
    *("--subject", "bdp+vegas", "--jobs", "1"),
]


def test_the_second_time_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", *TINY, "--directory", str(tmp_path)]) == 0
    first = capsys.readouterr()
    assert "6 of 6 runs to make" in first.err
    assert "[6/6] uplink, 802.11g, minstrel (today), 2 phones, 4+64 ms: bdp+vegas, seed 1: " in first.err
    stored = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    assert len(stored) == 6

    assert cli.main(["compare", *TINY, "--directory", str(tmp_path)]) == 0
    second = capsys.readouterr()
    assert second.err == ""
    assert second.out == first.out
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()} == stored

    conditions = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))["conditions"]
    for condition in conditions:
        assert all(mode["total_mbps"]["median"] > 15 for mode in condition["modes"].values())
    # Bounds shorten the RTT of a whole cell; without them CUBIC fills the queue.
    rtt_ms = {name: mode["rtt_mean_ms"]["median"] for name, mode in conditions[0]["modes"].items()}
    assert rtt_ms["bdp+vegas"] < rtt_ms["cubic"] / 5
