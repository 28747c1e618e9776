# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of whole controllers run with real parts: the load generator, HAProxy, Redis, replicas with mutual
TLS. Their figures are this machine's; here only what does not depend on it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(name: str, *arguments: str, results: Path) -> tuple[int, str, dict[str, Any]]:
    words = [sys.executable, str(BENCHMARKS / name), *arguments, "--json", str(results)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False)
    assert results.exists(), ended.stderr
    found: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    return ended.returncode, ended.stdout, found


def test_the_core_s_cost_is_measured_in_cells_of_any_size(tmp_path: Path) -> None:
    options = ("--terminals", "100", "--stations-per-cell", "50", "--aggregate")
    code, printed, found = run("core.py", *options, results=tmp_path / "core.json")
    assert code == 0
    assert set(found) == {"steady", "changing"}
    for name, sizes in found.items():
        [figures] = sizes.values()
        assert all(cost_us > 0 for cost_us in figures.values())
        assert f"{figures['access_point_us_p50']:.0f}" in printed
        assert name in printed


def test_a_cell_with_more_stations_than_there_are_terminals_is_refused() -> None:
    words = [sys.executable, str(BENCHMARKS / "core.py"), "--terminals", "10", "--stations-per-cell", "11"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False)
    assert ended.returncode == 2
    assert "--stations-per-cell: 11: at least 2, and at most --terminals" in ended.stderr


def test_what_classes_cost_is_measured_in_pairs(tmp_path: Path) -> None:
    options = ("--terminals", "40", "--flows", "5", "--pairs", "3")
    code, printed, found = run("classes.py", *options, results=tmp_path / "classes.json")
    assert code == 0
    assert len(found["pairs"]) == 3
    for pair in found["pairs"]:
        assert pair["terminal_ratio"] == pair["with_us"] / pair["without_us"] > 0
        assert f"{pair['ratio']:.3f}" in printed
    assert f"{found['medians']['ratio']:.3f} of all" in printed


def test_churn_leaves_nothing_behind(tmp_path: Path) -> None:
    """Whether memory grows shows in minutes only; that all who went were forgotten shows at once."""
    options = ("--seconds", "25", "--cells", "3", "--terminals", "6")
    _, printed, found = run("churn.py", *options, results=tmp_path / "churn.json")
    assert found["left"] == {"cells": 0, "terminals": 0, "stations": 0}
    load = found["load"]
    assert load["opened_streams"] > 0, printed  # after the first time: of agents that came back
    assert load["handled_reports"] > 0
    assert load["refused_commands"] == 0
    assert found["commands_of_operators"] > 0
    assert set(found["trends"]) == {"controller 0, KiB", "controller 1, KiB", "redis, KiB", "redis, keys"}
    assert all(name in printed for name in found["trends"])


def test_replicas_are_compared(tmp_path: Path) -> None:
    options = ("--seconds", "5", "--warmup", "3", "--cells", "2", "--terminals", "5")
    code, printed, found = run("replicas.py", *options, results=tmp_path / "replicas.json")
    assert code == 0
    assert found["tls"] is True
    assert len(found["setups"]) == 3
    for name, setup in found["setups"].items():
        assert setup["reports_per_core_second"] > 0
        assert f"| {name} |" in printed
    one, two = (found["setups"][name] for name in ("one, Redis", "two, Redis, half of the phones elsewhere"))
    assert found["ratios"]["two to one, Redis"] == 2 * one["cpu_us_per_report"] / two["cpu_us_per_report"]
