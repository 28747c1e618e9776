# SPDX-License-Identifier: Apache-2.0
"""The library that marks what programs send which have no option for it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from airbound_lab.plan.applications import DSCP_VIDEO

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import socket
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
client = socket.create_connection(listener.getsockname())
accepted, _ = listener.accept()
print(*(each.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) for each in (listener, client, accepted)))
"""


def run(traffic: Path, dscp: str | None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "AIRBOUND_DSCP"}
    environment["LD_PRELOAD"] = str(traffic.parent / "libairbound-mark.so")
    if dscp is not None:
        environment["AIRBOUND_DSCP"] = dscp
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)


def test_every_socket_has_the_mark_and_what_a_listener_accepts(traffic: Path) -> None:
    found = run(traffic, str(DSCP_VIDEO))
    assert (found.stdout.split(), found.stderr) == ([str(DSCP_VIDEO << 2)] * 3, "")


def test_without_a_mark_nothing_is_changed(traffic: Path) -> None:
    assert run(traffic, None).stdout.split() == ["0"] * 3


@pytest.mark.parametrize("dscp", ["64", "-1", "af41", ""])
def test_a_mark_that_is_none_ends_the_program(traffic: Path, dscp: str) -> None:
    found = run(traffic, dscp)
    assert found.returncode < 0
    assert "AIRBOUND_DSCP" in found.stderr
