# SPDX-License-Identifier: Apache-2.0
"""Processor time of a session."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airbound_lab.live import processor_time

LINE = "77 (a ) b (c) S 1 70 60 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 500 600 700"


def test_a_name_may_look_like_fields() -> None:
    assert processor_time.parse(LINE) == (60, 124)


@pytest.mark.parametrize("text", ["", "77", "77 (a) S 1 2 3", "77 a S 1 70 60 0 -1 4194560 1 2 3 4 100 20 3 1 20"])
def test_what_is_no_such_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a line"):
        processor_time.parse(text)


def test_a_session_has_the_time_of_its_processes_and_of_those_that_they_waited_for() -> None:
    code = (
        "import os, time\n"
        "def work():\n"
        "    end = time.process_time() + 0.3\n"
        "    while time.process_time() < end: pass\n"
        "if os.fork() == 0:\n    work(); os._exit(0)\n"
        "os.wait(); work(); print(flush=True); input()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        taken_s = processor_time.of_session(process.pid)
        process.communicate(b"\n")
    assert 0.55 <= taken_s < 60
    assert processor_time.of_session(process.pid) == 0
