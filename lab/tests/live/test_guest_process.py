# SPDX-License-Identifier: Apache-2.0
"""What a live cell starts ends with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from airbound_lab.live.guest_process import _end, _start

START = """
import sys, time
from pathlib import Path
from airbound_lab.live.guest_process import _start
print(_start(["sleep", "600"], Path(sys.argv[1]), "log").pid, flush=True)
time.sleep(600)
"""
WITHIN_S = 120.0  # only a failure takes that long


def test_a_guest_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", START, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        guest = int(parent.stdout.readline())
        while Path(f"/proc/{guest}/comm").read_text(encoding="utf-8") != "sleep\n":
            time.sleep(0.01)
        parent.kill()
    until = time.monotonic() + WITHIN_S
    try:
        while _runs(guest):
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        if _runs(guest):
            os.kill(guest, signal.SIGKILL)


def test_the_children_of_a_guest_that_was_killed_are_ended(tmp_path: Path) -> None:
    words = ["sh", "-c", "sleep 600 & echo $! >child; exec sleep 600"]
    guest = _start(words, tmp_path, "log")
    written = tmp_path / "child"
    while not (written.exists() and written.read_text(encoding="utf-8").endswith("\n")):
        time.sleep(0.01)
    child = int(written.read_text(encoding="utf-8"))
    guest.kill()
    guest.wait()
    assert _runs(child)
    _end(guest)
    until = time.monotonic() + WITHIN_S
    while _runs(child):
        assert time.monotonic() < until
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2]
    except FileNotFoundError:
        return False
    return not state.startswith("Z")  # nobody waits for it
