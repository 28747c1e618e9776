# SPDX-License-Identifier: Apache-2.0
"""The part of the medium's driver that makes A-MPDUs, the kernel's own source compiled for user space."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[1] / "kernel"
DRIVER = KERNEL / "src/drivers/net/wireless"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("driver") / "dcf_aggregate_test"
    sources = [
        KERNEL / "tests/dcf_aggregate_test.c",
        *(DRIVER / f"dcf_{name}.c" for name in ("aggregate", "model", "error")),
    ]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, f"-I{DRIVER}", f"-I{KERNEL / 'tests'}", "-o", path, *sources], check=True)
    return path


def test_the_rules_of_aggregation_hold(program: Path) -> None:
    run = subprocess.run([program, "check"], capture_output=True, text=True, check=False)
    broken = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    assert not broken
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"1..{run.stdout.count('ok ')}"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_is_lost_each_mpdu_ends_once_and_in_order(program: Path, seed: int) -> None:
    run = subprocess.run([program, "fuzz", "200000", str(seed)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout[-2000:]
