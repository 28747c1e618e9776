# SPDX-License-Identifier: Apache-2.0
"""The machine on which commands of the documents run."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Machine


@pytest.fixture
def _ctrl_c_is_ignored() -> Iterator[None]:
    """As a shell without job control starts what it puts into the background."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_ctrl_c_is_ignored")
def test_ctrl_c_ends_what_is_started_also_where_the_tests_ignore_it(tmp_path: Path) -> None:
    show = ["grep", "SigIgn", "/proc/self/status"]
    ignored = subprocess.run(show, capture_output=True, text=True, check=True).stdout.split()[1]
    assert int(ignored, 16) & 0b110 == 0b110  # SIGINT is bit 1, SIGQUIT bit 2
    with Machine(tmp_path) as machine:
        printed, _ = machine.watch(" ".join(show))
        assert int(printed.split()[1], 16) & 0b110 == 0
        _, status = machine.watch("bash -c 'echo started; exec sleep 600'")
        assert status in {-signal.SIGINT, 128 + signal.SIGINT}
