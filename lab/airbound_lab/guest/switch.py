# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH108, PTH110
# pathlib would cost the guest start-up time.
"""The access point's Open vSwitch, if the plan has one: its database, its daemon, its bridge."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.guest.system import GuestError, exited, read, run, spawn

if TYPE_CHECKING:
    from collections.abc import Callable

SWITCH = "switch"
"""Name of the component in scenarios."""

UPTIME_S = 10.5
"""ovs-vswitchd counts the machine's processors every 10 s of the monotonic clock, for the first time 10 s after boot.
Before that it finds none, and has no thread for packets without a flow (lib/ovs-thread.c, count_cpu_cores)."""

START_TIMEOUT_S = 10.0
POLL_S = 0.1
LOG = "ovs-commands"


class Switch:
    """Open vSwitch in the access point's namespace; nothing at all without one in the plan."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._plan = plan["access_point"]["switch"]
        self._pid: int | None = None
        self.starts = 0
        """How often the daemon was started."""

    def make_bridge(self) -> None:
        """Start the database and the daemon, and make the bridge, still without ports."""
        if self._plan is None:
            return
        os.mkdir(self._plan["directory"])
        run(LOG, self._plan["create"])
        server = spawn("ovsdb-server", self._plan["server"])
        self._wait("ovsdb-server", server, lambda: os.path.exists(self._plan["socket"]))
        run(LOG, self._plan["initialize"])
        time.sleep(max(0.0, UPTIME_S - time.monotonic()))
        self._start_daemon()
        run(LOG, self._plan["bridge"])

    def add_ports(self) -> None:
        """Add the ports, which exist by now."""
        if self._plan is not None:
            run(LOG, self._plan["ports"])

    def connect(self) -> None:
        """Name the controller, which listens by now, if there is one."""
        if self._plan is not None and self._plan["controller"] is not None:
            run(LOG, self._plan["controller"])
            run(LOG, self._plan["forward"])
        self._set_when_connected()

    def start(self) -> None:
        """Start the daemon again as an init script should: the kernel's flows stay until it has flows of its own."""
        if self._pid is not None:
            raise GuestError("the switch runs already")
        run(LOG, self._plan["before_restart"])
        management = self._plan["management"]
        if os.path.exists(management):
            os.unlink(management)  # a killed daemon leaves it
        self._wait("ovs-vswitchd", self._start_daemon(), lambda: os.path.exists(management))
        run(LOG, self._plan["forward"])
        run(LOG, self._plan["after_restart"])
        run(LOG, self._plan["forward"])
        self._set_when_connected()

    def kill(self) -> None:
        """Kill the daemon with SIGKILL."""
        self._signal(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """End the daemon with SIGTERM."""
        self._signal(signal.SIGTERM)
        self._reap()

    def pause(self) -> None:
        """Suspend the daemon."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Have the daemon go on."""
        self._signal(signal.SIGCONT)

    def _start_daemon(self) -> int:
        self._pid = spawn("ovs-vswitchd", self._plan["daemon"])
        self.starts += 1
        return self._pid

    def _set_when_connected(self) -> None:
        if self._plan is not None and self._plan["when_connected"] is not None:
            spawn(LOG, self._plan["when_connected"])

    def _signal(self, number: signal.Signals) -> None:
        if self._pid is None:
            raise GuestError("the switch does not run")
        os.kill(self._pid, number)

    def _reap(self) -> None:
        if self._pid is not None:
            os.waitpid(self._pid, 0)
            self._pid = None

    @staticmethod
    def _wait(name: str, pid: int, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not ready():
            if exited(pid) or time.monotonic() > deadline:
                raise GuestError(f"{name} did not start: {read(f'/run/result/log/{name}.log')[-800:]}")
            time.sleep(POLL_S)


SWITCH_ACTIONS: dict[str, Callable[[Switch], None]] = {
    "start": Switch.start,
    "kill": Switch.kill,
    "stop": Switch.stop,
    "pause": Switch.pause,
    "continue": Switch.resume,
}
"""By their names in scenarios."""
