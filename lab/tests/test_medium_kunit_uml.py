# SPDX-License-Identifier: Apache-2.0
"""KUnit tests of the medium in the lab's own kernels (hwsim_dcf_test.c): the model does there what it does in user
space, and what the driver makes of mac80211's frames and rates.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import host

from .test_medium_aggregates import compiled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.uml

WALL_LIMIT_S = 300
SUITES = {"hwsim_dcf_model": 2, "hwsim_dcf_driver": 17}
"""Tests of each suite; of one with parameters each counts."""
FUZZ_SEEDS = 8


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def ktap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the kernel prints, which powers off when its tests are done."""
    command = [
        *("setarch", "-R", str(host.kernel(None, request.param)), "mem=256M", "con=null", "con0=null,fd:1"),
        *("time-travel=inf-cpu", "airbound_seed=1", "loglevel=7", "panic=-1", "norandmaps"),
        *("mac80211_hwsim.radios=2", "kunit.enable=1", "kunit.filter_glob=hwsim_dcf*", "kunit_shutdown=poweroff"),
    ]
    folder = tmp_path_factory.mktemp("kunit")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    run = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=WALL_LIMIT_S, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
    return run.stdout


@pytest.mark.parametrize("suite", SUITES)
def test_every_test_of_a_suite_passes(ktap: str, suite: str) -> None:
    assert "not ok" not in ktap, ktap[-2000:]
    assert re.search(rf"^ok \d+ {suite}$", ktap, re.MULTILINE)
    totals = re.search(rf"^# {suite}: .*\n# Totals: pass:(\d+) fail:(\d+) skip:(\d+) total:\d+$", ktap, re.MULTILINE)
    assert totals, ktap[-2000:]
    assert [int(total) for total in totals.groups()] == [SUITES[suite], 0, 0]


def test_the_model_in_the_kernel_does_what_it_does_in_user_space(ktap: str, tmp_path: Path) -> None:
    runs = re.findall(r"# random_calls: fuzz (\d+) (\d+): (.*, digest [0-9a-f]{16})$", ktap, re.MULTILINE)
    assert [int(seed) for _, seed, _ in runs] == list(range(1, FUZZ_SEEDS + 1))
    program = compiled(tmp_path, "dcf_model_test")
    for steps, seed, in_the_kernel in runs:
        run = subprocess.run([program, "fuzz", steps, seed], capture_output=True, text=True, check=True)
        assert f" checks, {in_the_kernel}, 0 failures" in run.stdout, f"seed {seed}"
