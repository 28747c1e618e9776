# SPDX-License-Identifier: Apache-2.0
"""Connections within the limit of open files, in a process of its own: the limit cannot be raised again."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "possible", "soft_then"),
    [(1024, 4096, 3000, 3000, 3500), (1024, 4096, 25_000, 3596, 4096), (2048, 4096, 1000, 1000, 2048)],
)
def test_as_many_as_are_wanted_and_possible(soft: int, hard: int, wanted: int, possible: int, soft_then: int) -> None:
    program = (
        "import resource\n"
        "from airbound.runtime.descriptors import connections_max\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        f"print(connections_max({wanted}), *resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60, text=True)
    assert run.stdout.split() == [str(possible), str(soft_then), str(hard)]
