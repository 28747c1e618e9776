# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH208
# pathlib would cost the guest start-up time.
"""The recorders of the phones' histories, one `airbound-phone trace` each."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from airbound_lab.guest import system
from airbound_lab.guest.system import TRACEFS, GuestError, exited, read, spawn

START_TIMEOUT_S = 1.0
"""Virtual time: they have to start within the second before time zero."""

POLL_S = 0.01
READY = "airbound-phone trace: recording\n"


class Tracers:
    """All recorders of a run; none if it is not traced."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._tracers = plan["tracers"]
        self._pids: dict[str, int] = {}

    def start(self) -> None:
        """Start all and wait until all record."""
        for tracer in self._tracers:
            self._pids[tracer["name"]] = spawn(tracer["name"], tracer["argv"], tracer["netns"])
        deadline = time.monotonic() + START_TIMEOUT_S
        for name, pid in self._pids.items():
            while READY not in self._output(name):
                if exited(pid) or time.monotonic() > deadline:
                    raise GuestError(f"{name} does not record: {self._output(name)}")
                time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop all, and wait until each has written its records."""
        for pid in self._pids.values():
            os.kill(pid, signal.SIGTERM)
        for name, pid in self._pids.items():
            _, status = os.waitpid(pid, 0)
            if status != 0:
                raise GuestError(f"{name} failed (status {status}): {self._output(name)}")
        # The agents have instances as well.
        own = tuple(f"airbound-{pid}" for pid in self._pids.values())
        if self._pids and (left := [name for name in os.listdir(f"{TRACEFS}/instances") if name in own]):
            raise GuestError(f"left behind in {TRACEFS}/instances: {', '.join(left)}")

    @staticmethod
    def _output(name: str) -> str:
        return read(f"{system.LOG_DIRECTORY}/{name}.log")[-800:]
