# SPDX-License-Identifier: Apache-2.0
"""What `make demo` leaves behind when it is interrupted. The kernel's build is a stand-in; nothing is installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import host

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = "#!/bin/bash\n"
KERNEL = """#!/bin/bash
exec 3>compiler
echo "an object is compiled"
echo compiles >&3
(sleep 60; echo "went on" >&3) &
wait
"""
"""Its compiler is a process of its own, as make is."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With a pipe, `compiler`, that has an end when the compiler has ended."""
    for path, text in (("scripts/setup.sh", NOTHING), ("scripts/build.sh", NOTHING), ("lab/kernel/build.sh", KERNEL)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        (tmp_path / path).chmod(0o755)
    for path in ("scripts/demo.sh", "scripts/lib.sh"):
        shutil.copy(host.REPOSITORY / path, tmp_path / path)
    os.mkfifo(tmp_path / "compiler")
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_demo_ends_the_compiler(checkout: Path, number: signal.Signals) -> None:
    # Where the tests are themselves in the background of a shell, SIGINT is ignored, and stays so in what they start.
    command = ["env", "--default-signal=INT", checkout / "scripts" / "demo.sh"]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
    with demo, (checkout / "compiler").open(encoding="utf-8") as compiler:
        assert compiler.readline() == "compiles\n"
        assert demo.stdout is not None
        # Shown by `tail`, which is there then: between fork and exec bash's child may lose a signal.
        assert any("an object is compiled" in line for line in demo.stdout)
        os.killpg(demo.pid, number)  # as a terminal does
        assert compiler.read() == ""


def test_a_demo_that_fails_ends_the_compiler(checkout: Path) -> None:
    # When the compiler runs, and not before.
    (checkout / "scripts" / "build.sh").write_text("#!/bin/bash\nread -r <started\nexit 1\n", encoding="utf-8")
    os.mkfifo(checkout / "started")
    demo = subprocess.Popen([checkout / "scripts" / "demo.sh"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with demo, (checkout / "compiler").open(encoding="utf-8") as compiler:
        assert compiler.readline() == "compiles\n"
        (checkout / "started").write_text("\n", encoding="utf-8")
        assert compiler.read() == ""
    assert demo.returncode != 0
