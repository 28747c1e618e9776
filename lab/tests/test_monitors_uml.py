# SPDX-License-Identifier: Apache-2.0
"""Both monitors of the phone's agent, tcp_monitor and sock_diag, on the same connections of a patched kernel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from airbound_lab.run import boot, host

pytestmark = pytest.mark.uml

GUEST = Path(__file__).with_name("monitors_guest.py")
REPOSITORY = Path(__file__).parents[2]
PACKAGE = "./phone-agent/monitor/sockdiag"
SEED = 1
WALL_LIMIT_S = 300


def test_both_monitors_report_the_same(tmp_path: Path) -> None:
    host.check_tools()
    program = tmp_path / "sockdiag.test"
    environment = os.environ | {"CGO_ENABLED": "0"}
    build = ["go", "test", "-c", "-tags", "patched", "-o", str(program), PACKAGE]
    subprocess.run(build, cwd=REPOSITORY, env=environment, check=True)
    command = boot.command_line(host.kernel(None), 0, "fixed", "fixed", SEED)
    command = [word for word in command if not word.startswith("init=")] + [f"init={GUEST}", f"airbound_test={program}"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    lines = done.stdout.splitlines()
    assert "EXIT 0" in lines, done.stdout + done.stderr
    # A test that was skipped exits with 0, too.
    assert any(line.startswith("--- PASS: TestBothMonitorsOfAPatchedKernelAgree") for line in lines), done.stdout
