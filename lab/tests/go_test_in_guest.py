# SPDX-License-Identifier: Apache-2.0
"""Go tests that need a patched kernel (build tag `patched`), on a link in the lab's guest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from airbound_lab.run import boot, host

GUEST = Path(__file__).with_name("go_test_guest.py")
REPOSITORY = Path(__file__).parents[2]
SEED = 1
WALL_LIMIT_S = 300


def assert_passes(package: str, name: str, folder: Path, *, line: str, loss: str) -> None:
    """Build a test of a package, run it on a kernel line, on a link with these losses, and assert that it passes."""
    host.check_tools()
    program = folder / "package.test"
    environment = os.environ | {"CGO_ENABLED": "0"}
    build = ["go", "test", "-c", "-tags", "patched", "-o", str(program), package]
    subprocess.run(build, cwd=REPOSITORY, env=environment, check=True)
    command = boot.command_line(host.kernel(None, line), 0, "fixed", "fixed", SEED)
    command = [word for word in command if not word.startswith("init=")]
    command += [f"init={GUEST}", f"airbound_test={program}", f"airbound_name={name}", f"airbound_loss={loss}"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    lines = done.stdout.splitlines()
    assert "EXIT 0" in lines, done.stdout + done.stderr
    # A test that was skipped exits with 0, too.
    assert any(text.startswith(f"--- PASS: {name} ") for text in lines), done.stdout
