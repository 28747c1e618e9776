# SPDX-License-Identifier: Apache-2.0
"""Programs beside the traffic generator, each a server and a client (plan/real_programs.py, plan/quic.py)."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from airbound_lab.guest import system
from airbound_lab.guest.system import GuestError


class RealPrograms:
    """All of a run; none unless it asks for them."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._programs = plan["real_programs"]
        self._servers: list[int] = []
        self._clients: dict[str, int] = {}

    def start(self, t0_ns: int) -> None:
        """Start the servers, and for each client a process that waits until its time has come. `T0_NS` in their words
        is time zero.
        """
        self._servers = [
            system.spawn(f"{part['name']}-server", _at(t0_ns, part["server"]), part["server_netns"])
            for part in self._programs
        ]
        for part in self._programs:
            wait_s = (t0_ns + part["at_ms"] * 1_000_000 - time.monotonic_ns()) / 1e9
            client = _at(t0_ns, part["client"])
            waiting = ["/bin/sh", "-c", 'sleep "$1"; shift; exec "$@"', "sh", f"{wait_s:.9f}", *client]
            self._clients[part["name"]] = system.spawn(part["name"], waiting, part["client_netns"])

    def finish(self) -> None:
        """Wait for the clients, end the servers; GuestError if one of them failed."""
        for name, pid in self._clients.items():
            _check(name, os.waitpid(pid, 0)[1])
        for part, pid in zip(self._programs, self._servers, strict=True):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                _check(f"{part['name']}-server", status)
            else:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _check(name: str, status: int) -> None:
    if status != 0:
        output = system.read(f"{system.LOG_DIRECTORY}/{name}.log")[-500:]
        raise GuestError(f"{name} failed (status {status}): {output}")


def _at(t0_ns: int, words: list[str]) -> list[str]:
    return [str(t0_ns) if word == "T0_NS" else word for word in words]
