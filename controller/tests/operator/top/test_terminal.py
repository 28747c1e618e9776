# SPDX-License-Identifier: Apache-2.0
"""`airbound top` in a real terminal: which colours reach it, and how it ends."""

import asyncio
import os
import pty
import re
import subprocess
import sys
import termios
import threading

import pytest

from airbound.operator import cli
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, LiveController

ESCAPE = re.compile(rb"\x1b\[([0-9;]*)m")


def run(operators: str, color: str, environment: dict[str, str]) -> tuple[int, bytes]:
    """Run until a cell is shown, and end it by a key: the exit code, and what was written to the terminal."""
    terminal, other_end = pty.openpty()
    termios.tcsetwinsize(other_end, (24, 80))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
    child = subprocess.Popen(
        [sys.executable, "-m", "airbound", "top", "--controller", operators, "--plain-text", "--color", color],
        stdin=other_end, stdout=other_end, stderr=other_end, env=environment | {"TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(other_end)
    patience = threading.Timer(3 * WAIT_S, child.kill)
    patience.start()
    written, asked = b"", False
    while True:
        try:
            written += os.read(terminal, 65_536)
        except OSError:
            break  # it has ended
        if BSSID.encode() in written and b"Quit" in written and not asked:
            asked = True
            os.write(terminal, b"q")
    os.close(terminal)
    code = child.wait(WAIT_S)
    patience.cancel()
    return code, written


def colors(written: bytes) -> set[int]:
    """The numbers of colours among the attributes: 30 to 37, 38 for those of no palette, and so on; not the default."""
    numbers = {int(number) for codes in ESCAPE.findall(written) for number in codes.split(b";") if number}
    return {number for number in numbers if 30 <= number <= 107} - {39, 49}


@pytest.mark.parametrize(
    ("color", "environment", "colored"),
    [("auto", {}, True), ("auto", {"NO_COLOR": "1"}, False), ("never", {}, False), ("always", {"NO_COLOR": "1"}, True)],
)
async def test_the_terminals_own_colours_or_none(color: str, environment: dict[str, str], *, colored: bool) -> None:
    async with LiveController() as live:
        await live.senders(1)
        code, written = await asyncio.to_thread(run, live.operators, color, environment)
    assert code == cli.OK
    found = colors(written)
    assert bool(found) == colored
    assert not found & {38, 48}  # these have no palette: they would not suit every background
    assert b"\x1b[?1049l" in written  # the screen from before is back
