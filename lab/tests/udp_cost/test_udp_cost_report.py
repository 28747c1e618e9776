# SPDX-License-Identifier: Apache-2.0
"""The table of lab/udp_cost/cost.sh, from counts that are made up."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import host

if TYPE_CHECKING:
    from pathlib import Path

REPORT = host.REPOSITORY / "lab" / "udp_cost" / "report.py"


def report(folder: Path, *per_datagram: float, ends: str = "guest ends: done") -> subprocess.CompletedProcess[str]:
    """Run it on phases of 100 datagrams: none, again, all, app of wlan0."""
    states = ("none", "again", "all", "app")
    console = "".join(f"work {phase} wlan0 1 {state}\r\n" for phase, state in enumerate(states, start=1))
    counts = "".join(
        f"phase {phase}\nkernel ffffffff81000000 10 {round(each * 10)} 77\nend\n"
        for phase, each in enumerate(per_datagram, start=1)
    )
    (folder / "console").write_text(f"{console}{ends}\n", encoding="utf-8")
    (folder / "counts").write_text(counts, encoding="utf-8")
    (folder / "datagrams").write_text("100\n", encoding="utf-8")
    return subprocess.run([sys.executable, REPORT, folder], capture_output=True, text=True, check=False)


def test_a_cost_within_the_limit(tmp_path: Path) -> None:
    done = report(tmp_path, 10_000, 10_001, 10_150, 10_300)
    assert done.returncode == 0
    _, none, _, every, app = (line.split() for line in done.stdout.splitlines())
    assert none == ["wlan0", "1", "none", "10000.0", "0.0", "1.0000"]
    assert every[-2:] == ["150.0", "1.0150"]
    assert app[-2:] == ["300.0", "1.0300"]


@pytest.mark.parametrize("counted", [(10_000, 10_001, 10_201, 10_300), (10_000, 10_030, 10_150, 10_300)], ids=str)
def test_a_cost_above_the_limit_and_counts_that_differ_fail(tmp_path: Path, counted: tuple[float, ...]) -> None:
    done = report(tmp_path, *counted)
    assert done.returncode == 1
    assert done.stdout.count("exceeds the limit") == 1


@pytest.mark.parametrize(("ends", "message"), [("guest ends: failed", "did not finish"), ("", "did not finish")])
def test_a_guest_that_failed_is_an_error(tmp_path: Path, ends: str, message: str) -> None:
    done = report(tmp_path, 1, 1, 1, 1, ends=ends)
    assert done.returncode == 2
    assert message in done.stderr
