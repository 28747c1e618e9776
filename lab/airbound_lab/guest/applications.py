# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH110, PTH123
# pathlib would cost the guest start-up time.
"""The real applications of a run (plan/applications.py): servers, clients, and the recorder of both."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from airbound_lab.guest import system
from airbound_lab.guest.system import GuestError

START_TIMEOUT_S = 5.0
POLL_S = 0.05
RESULT_DIRECTORY = "/run/result"
START_APPLICATION = "start-application"
"""Name of a step of the time line."""


class Applications:
    """All of a run; none unless it asks for them."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._plan = plan["applications"]
        self._servers: list[int] = []
        self._helpers: list[int] = []
        self._clients: dict[int, int] = {}
        self._watch = 0

    def start_servers(self) -> None:
        """Start the servers and the recorder, and wait until they listen."""
        if self._plan is None:
            return
        os.mkdir(self._plan["home"])
        for server in self._plan["servers"]:
            for directory in server["directories"]:
                os.mkdir(directory)
            if server["config"] is not None:
                system.write(server["config_file"], server["config"])
            self._servers.append(system.spawn(server["name"], server["argv"], server["netns"]))
        for client in self._plan["clients"]:
            if client["upload"] is not None:
                system.write(client["upload"]["path"], "")
                os.truncate(client["upload"]["path"], client["upload"]["bytes"])
            if client["pauses"]:
                self._helpers.append(_start_pauses(client))
        for server, pid in zip(self._plan["servers"], self._servers, strict=True):
            _wait(server["name"], pid, server["pid_file"])
        ready = f"{self._plan['home']}/watching"
        self._watch = system.spawn("applications-watch", [*self._plan["watch"]["argv"], f"ready={ready}"])
        _wait("applications-watch", self._watch, ready)

    def start(self, number: int) -> None:
        """Start a client."""
        client = self._plan["clients"][number]
        argv, output = client["argv"], client["output"]
        self._clients[number] = system.spawn(client["name"], argv, client["netns"], output=output)

    def finish(self) -> None:
        """End all, and write how each client fared: its exit status, or None if it still ran."""
        if self._plan is None:
            return
        statuses: dict[int, int | None] = {}
        for number, pid in self._clients.items():
            done, status = os.waitpid(pid, os.WNOHANG)
            statuses[number] = os.waitstatus_to_exitcode(status) if done else None
            if not done:
                _kill(pid)
        os.kill(self._watch, signal.SIGTERM)
        _, status = os.waitpid(self._watch, 0)
        if status != 0:
            output = system.read(f"{system.LOG_DIRECTORY}/applications-watch.log")[-500:]
            raise GuestError(f"applications-watch failed (status {status}): {output}")
        for pid in [*self._helpers, *self._servers]:
            if not system.exited(pid):
                _kill(pid)
        files = [server["arrived"] for server in self._plan["servers"] if server["arrived"] is not None]
        arrived = "".join(system.read(file) for file in files if os.path.exists(file))
        found = {"statuses": statuses, "arrived": arrived}
        system.write(f"{RESULT_DIRECTORY}/applications.json", json.dumps(found))
        for client in self._plan["clients"]:
            if client["record"] is not None and os.path.exists(client["record"]["from"]):
                _copy(client["record"]["from"], f"{RESULT_DIRECTORY}/{client['record']['to']}")


def _start_pauses(client: dict[str, Any]) -> int:
    """Have named pipes, each a file that ends so many seconds after it was opened."""
    for path in client["pauses"]:
        os.mkfifo(path)
    loop = 'pause_s=$1; shift; for pipe; do sleep "$pause_s" >"$pipe"; done'
    words = ["/bin/sh", "-c", loop, "sh", f"{client['pause_s']:g}", *client["pauses"]]
    return system.spawn(f"{client['name']}-pauses", words)


def _wait(name: str, pid: int, path: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not os.path.exists(path):
        if system.exited(pid) or time.monotonic() > deadline:
            raise GuestError(f"{name} did not start: {system.read(f'{system.LOG_DIRECTORY}/{name}.log')[-800:]}")
        time.sleep(POLL_S)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while part := reader.read(1 << 20):
            writer.write(part)
