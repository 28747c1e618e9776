# SPDX-License-Identifier: Apache-2.0
"""A real controller, programs, and the first line of a kernel's monitor."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

WITHIN_S = 300.0  # only a failure takes that long
HEADER = (
    "time_us state local remote uid ca_state cwnd_segs ssthresh_segs bound_min_segs bound_max_segs srtt_us last_rtt_us "
    "min_rtt_us mss_bytes unsent_bytes unacked_bytes rcvq_bytes acked_bytes local_congestion dup_ack sack "
    "fast_retransmit timeout undo\n"
)
"""The first line of /proc/net/tcp_monitor."""


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def program(name: str) -> str:
    """A test without its tools fails, and is not skipped."""
    found = shutil.which(name)
    assert found, f"{name} is missing: `make setup` installs it"
    return found


class Controller:
    """`airbound controller` with TLS, as a process of its own."""

    def __init__(self, path: Path) -> None:
        self._environment = {
            **os.environ, "AIRBOUND_CA_DIR": str(path / "ca"), "AIRBOUND_TLS_DIR": str(path / "tls"),
        }  # fmt: skip
        file = path / "airbound.toml"
        file.write_text('[tls]\nenrollment = "127.0.0.1:0"\n', encoding="utf-8")
        self._airbound("ca", "init")
        self._airbound("ca", "operator", "owner")
        log = path / "log"
        listen = ("--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0", "--metrics", "")
        with log.open("w", encoding="utf-8") as stderr:
            self._process = subprocess.Popen(
                self._command("controller", "--config", str(file), *listen), stderr=stderr, env=self._environment
            )
        eventually(lambda: "operators on" in log.read_text(encoding="utf-8"))
        text = log.read_text(encoding="utf-8")
        self.enrollment = re.findall(r"info enrolling (\S+):", text)[0]
        self.agents, self.operators = re.findall(r"listening (\S+): .*operators on (\S+)$", text, re.MULTILINE)[0]

    @staticmethod
    def _command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "airbound", *arguments]

    def _airbound(self, *arguments: str) -> str:
        done = subprocess.run(self._command(*arguments), capture_output=True, text=True, check=False,
                              env=self._environment, timeout=WITHIN_S)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, *arguments: str) -> str:
        return self._airbound(*arguments, "--controller", self.operators, "--timeout", "120")

    def end(self) -> None:
        self._process.terminate()
        assert self._process.wait(WITHIN_S) == 0
