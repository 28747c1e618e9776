# SPDX-License-Identifier: Apache-2.0
"""The agents and the link to the outside: started, and started again when they end."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.guest.system import GuestError, mount, namespace, read, spawn
from airbound_lab.live.guest import credentials

if TYPE_CHECKING:
    from airbound_lab.live.guest.loop import Loop

RESTART_S = (1.0, 30.0)
"""Wait before an agent that ended is started again: doubles from the first to the second."""
TCP_ESTABLISHED = "01"
STOP_TIMEOUT_S = 5.0
POLL_S = 0.1


class Devices:
    """Starts what the plan names, and restarts it."""

    def __init__(self, loop: Loop, plan: dict[str, Any]) -> None:
        """Start all."""
        self._loop = loop
        self._agents: dict[str, dict[str, Any]] = {agent["name"]: agent for agent in plan["agents"]}
        self._pids: dict[int, str] = {}
        self._wait_s = dict.fromkeys(self._agents, RESTART_S[0])
        self.starts = dict.fromkeys(self._agents, 0)
        # /proc/net/tcp prints the address as one number in the machine's own byte order.
        address = int.from_bytes(socket.inet_aton(plan["controller"]["address"]), "little")
        self._controller = f"{address:08X}:{plan['controller']['port']:04X}"
        link = plan["link"]
        os.mkdir(link["directory"])  # noqa: PTH102  (pathlib would cost the guest start-up time)
        mount("hostfs", link["directory"], options=link["host_directory"])
        self._link = spawn("link", link["argv"], link["netns"])
        for name in self._agents:
            if self._agents[name]["has_credentials"]:
                credentials.load(name)
            self._start(name)

    def connected(self, name: str) -> bool:
        """Whether an agent has an established connection to the controller."""
        with namespace(self._agents[name]["netns"]):
            lines = read("/proc/thread-self/net/tcp").splitlines()[1:]
        return any(line.split()[2:4] == [self._controller, TCP_ESTABLISHED] for line in lines)

    def all_connected(self) -> bool:
        """Whether all agents have."""
        return all(self.connected(name) for name in self._agents)

    def reap(self) -> None:
        """See what has ended.

        Raises:
            GuestError: the link, or a program of the cell itself.
        """
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            name = self._pids.pop(pid, None)
            if name is None:
                what = "the link" if pid == self._link else "hostapd or wpa_supplicant"
                raise GuestError(f"{what} ended (status {status}): {read('/run/result/log/link.log')[-500:]}")
            self._loop.after(self._wait_s[name], lambda name=name: self._start(name))  # type: ignore[misc]
            self._wait_s[name] = min(2 * self._wait_s[name], RESTART_S[1])

    def save(self) -> None:
        """Keep what enrolment and renewal have brought."""
        for name, agent in self._agents.items():
            if agent["has_credentials"]:
                credentials.save(name)

    def stop(self) -> None:
        """End the agents with SIGTERM: they release what they have set."""
        for pid in self._pids:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while self._pids and time.monotonic() < deadline:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            self._pids.pop(pid, None)
            if not pid:
                time.sleep(POLL_S)
        self.save()

    def _start(self, name: str) -> None:
        agent = self._agents[name]
        self._pids[spawn(name, agent["argv"], agent["netns"])] = name
        self.starts[name] += 1
