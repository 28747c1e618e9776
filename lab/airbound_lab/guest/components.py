# SPDX-License-Identifier: Apache-2.0
"""Airbound's own processes in the guest: starting in order, waiting until connected, killing, starting again."""

from __future__ import annotations

import functools
import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.guest.system import GuestError, exited, namespace, read, spawn

if TYPE_CHECKING:
    from collections.abc import Callable

OPENFLOW = "openflow"
"""Name of the component that a switch connects to."""

CONNECT_TIMEOUT_S = 30.0
SETTLE_S = 2.0
"""After the last connection: time for the first reports, so that the controller knows the cell."""

STOP_TIMEOUT_S = 10.0
POLL_S = 0.1
TCP_ESTABLISHED = "01"


class Components:
    """The controller and the agents of one run; none in the modes without Airbound."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._components = {component["name"]: component for component in plan["components"]}
        self._late = set(plan["late_components"])
        self._controller = (plan["controller"]["address"], plan["controller"]["port"])
        self._openflow = (plan["openflow"]["address"], plan["openflow"]["port"])
        self._pids: dict[str, int] = {}
        self.starts = dict.fromkeys(self._components, 0)
        """How often each was started."""

    def start(self, name: str) -> None:
        """Start a component; GuestError if it runs already."""
        if name in self._pids:
            raise GuestError(f"{name} runs already")
        component = self._components[name]
        self._pids[name] = spawn(name, component["argv"], component["netns"], component["environment"])
        self.starts[name] += 1

    def kill(self, name: str) -> None:
        """Kill a component with SIGKILL; GuestError if it does not run."""
        self._signal(name, signal.SIGKILL)
        os.waitpid(self._pids.pop(name), 0)

    def stop(self, name: str) -> None:
        """Have a component end with SIGTERM, and wait for it; GuestError if it does not run, or does not end."""
        self._signal(name, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while not exited(self._pids[name]):
            if time.monotonic() > deadline:
                raise GuestError(f"{name} did not end within {STOP_TIMEOUT_S:g} virtual seconds; see {name}.log")
            time.sleep(POLL_S)
        del self._pids[name]

    def pause(self, name: str) -> None:
        """Suspend a component with SIGSTOP; GuestError if it does not run."""
        self._signal(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Have a component go on with SIGCONT; GuestError if it does not run."""
        self._signal(name, signal.SIGCONT)

    def start_all(self, connect_switch: Callable[[], None]) -> None:
        """Start all but what the time line starts later, each when it can connect; wait until all are connected.

        `connect_switch` is called when whatever a switch could connect to listens.
        """
        present = [name for name in self._components if name not in self._late]
        if not present:
            return
        has_controller = "controller" in present
        if has_controller and "controller" not in self._pids:
            self._start_controller()
        agents = [name for name in present if name not in ("controller", OPENFLOW)]
        for name in agents:
            self.start(name)
        if OPENFLOW in present:
            self.start(OPENFLOW)
            self._wait(OPENFLOW, "listen", lambda: self._listens(self._openflow))
        connect_switch()
        for name in agents if has_controller else ():
            connected = functools.partial(self._connected, self._components[name]["netns"])
            self._wait(name, "connect to the controller", connected)
        time.sleep(SETTLE_S)

    def with_controller(self, do: Callable[[], None]) -> None:
        """Start the controller, then do something that needs it. It goes on unless the time line starts it later.

        Raises:
            GuestError: it does not start or end, or what is done fails.
        """
        self._start_controller()
        do()
        if "controller" in self._late:
            self.stop("controller")
            self.starts["controller"] = 0

    def peak_memory_kib(self) -> dict[str, int]:
        """Return the peak resident memory of each running component."""
        peaks = {}
        for name, pid in self._pids.items():
            for line in read(f"/proc/{pid}/status").splitlines():
                if line.startswith("VmHWM:"):
                    peaks[name] = int(line.split()[1])
        return peaks

    def _start_controller(self) -> None:
        self.start("controller")
        self._wait("controller", "listen", lambda: self._listens(self._controller))

    def _signal(self, name: str, number: signal.Signals) -> None:
        if name not in self._pids:
            raise GuestError(f"{name} does not run")
        os.kill(self._pids[name], number)

    def _wait(self, name: str, what: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while not ready():
            if exited(self._pids[name]):
                raise GuestError(f"{name} ended before it could {what}: {read(f'/run/result/log/{name}.log')[-800:]}")
            if time.monotonic() > deadline:
                raise GuestError(f"{name} did not {what} within {CONNECT_TIMEOUT_S:g} virtual seconds; see {name}.log")
            time.sleep(POLL_S)

    @staticmethod
    def _listens(at: tuple[str, int]) -> bool:
        with namespace("controller"), socket.socket() as probe:
            return probe.connect_ex(at) == 0

    def _connected(self, netns: str) -> bool:
        """Whether a namespace has an established connection to the controller."""
        address, port = self._controller
        # /proc/net/tcp prints the address as one number in the machine's own byte order.
        number = int.from_bytes(socket.inet_aton(address), "little")
        wanted = f"{number:08X}:{port:04X}"
        with namespace(netns):
            lines = read("/proc/thread-self/net/tcp").splitlines()[1:]
        return any(line.split()[2] == wanted and line.split()[3] == TCP_ESTABLISHED for line in lines)


ACTIONS = {
    "start": Components.start,
    "kill": Components.kill,
    "stop": Components.stop,
    "pause": Components.pause,
    "continue": Components.resume,
}
"""By their names in scenarios."""
