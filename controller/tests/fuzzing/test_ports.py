# SPDX-License-Identifier: Apache-2.0
"""A short run of the fuzzer at a real controller's ports; `make bench ARGS=fuzz` is a long one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from airbound_testing.fuzzing import CERTIFICATES, LAYERS, OCTETS_MAX, PORTS, digest, plan

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"
SEED = int(os.environ.get("SEED", "1"))
CONNECTIONS = 250


def run(results: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    words = [sys.executable, str(FUZZ), "--seed", str(SEED), "--terminals", "3", "--json", str(results), *options]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=500, check=False)
    assert results.exists(), ended.stderr
    found: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    return ended.returncode, ended.stdout, found


def test_what_is_sent_follows_from_the_seed_and_the_number() -> None:
    plans = [plan(SEED, number) for number in range(400)]
    assert digest(plans) == digest(plan(SEED, number) for number in range(400))
    assert digest(plans) != digest(plan(SEED + 1, number) for number in range(400))
    assert len({digest([one]) for one in plans}) == 400
    assert {(one.port, one.layer) for one in plans} == {(port, layer) for port in PORTS for layer in LAYERS}
    shown = {(one.port, one.certificate) for one in plans if one.layer == "http2"}
    assert shown == {(port, role) for port, roles in CERTIFICATES.items() for role in roles}
    assert max(sum(map(len, one.pieces)) for one in plans) <= OCTETS_MAX


def test_the_controller_serves_as_before(tmp_path: Path) -> None:
    code, printed, found = run(tmp_path / "fuzz.json", "--connections", str(CONNECTIONS))
    assert (code, found["findings"]) == (0, []), printed
    assert found["connections"] == CONNECTIONS
    assert found["sends"] == digest(plan(SEED, number) for number in range(CONNECTIONS))
    assert sum(sum(counts.values()) for counts in found["outcomes"].values()) == CONNECTIONS
    counted = found["counted"]
    for name in ("handshakes_failed_total{not_tls}", "handshakes_failed_total{no_certificate}"):
        assert counted[f"airbound_{name}"] > 0
    assert "the controller serves as before" in printed


def test_behind_a_front_as_well_and_what_is_wrong_is_found(tmp_path: Path) -> None:
    """No controller has 1 GB less afterwards."""
    options = ("--front", "--connections", str(CONNECTIONS), "--memory-mb=-1000")
    code, printed, found = run(tmp_path / "fuzz.json", *options)
    assert code == 1, printed
    (finding,) = found["findings"]
    assert finding == f"its memory grew by {found['memory_grown_mb']:.0f} MB"
    assert f"WRONG: {finding}" in printed


def test_options_that_make_no_sense_are_refused() -> None:
    ended = subprocess.run(
        [sys.executable, str(FUZZ), "--connections", "0"], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 2
    assert "--connections: 0 is below 1" in ended.stderr
