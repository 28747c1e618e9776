# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH105, PTH110, PTH118, PTH208, PTH202
# pathlib would cost the guest start-up time.
"""Carries out /run/result/plan.json of a live cell (live/plan.py) until /run/result/stop is there; then powers off."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from airbound_lab.guest import main as cell
from airbound_lab.guest import system
from airbound_lab.guest.first_process import RESULT, progress
from airbound_lab.guest.switch import Switch
from airbound_lab.live.guest.devices import Devices
from airbound_lab.live.guest.loop import Loop
from airbound_lab.live.guest.phones import Phone
from airbound_lab.live.guest.traffic import FileServer, Server

STATUS_S = 1.0
CHECK_S = 0.5
CONNECT_MAX_S = 30.0
"""The phones begin when all agents are connected, or after so long: a full cell makes it hard to connect."""
LOGS_CHECK_S = 60.0
LOG_MAX_BYTES = 4 << 20


class Live:
    """The cell while it runs."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Start agents, servers and phones in a cell that is up."""
        self._plan = plan
        self.loop = Loop()
        self.devices = Devices(self.loop, plan)
        self._servers = [
            Server(self.loop, server["netns"], (server["address"], server["port"])) for server in plan["servers"]
        ]
        self._file_servers = [
            FileServer(self.loop, server["netns"], (server["address"], server["downloads_port"]))
            for server in plan["servers"]
        ]
        self._phones = [Phone(self.loop, station, plan) for station in plan["stations"]]
        self._received_bytes: dict[str, int] = {}
        self._status_s = time.monotonic()
        self._begin_s = time.monotonic() + CONNECT_MAX_S
        self._has_begun = False
        self.loop.every(STATUS_S, self._write_status)
        self.loop.every(CHECK_S, self._check)
        self.loop.every(LOGS_CHECK_S, shorten_logs)

    def _check(self) -> None:
        self.devices.reap()
        self.devices.save()
        if not self._has_begun and (self.devices.all_connected() or time.monotonic() > self._begin_s):
            self._has_begun = True
            for phone in self._phones:
                phone.begin()
        if os.path.exists(f"{RESULT}/stop"):
            self.loop.running = False

    def _write_status(self) -> None:
        now_s = time.monotonic()
        seconds, self._status_s = now_s - self._status_s, now_s
        received: dict[str, int] = {}
        for server in self._servers:
            for address, number in server.received_bytes.items():
                received[address] = received.get(address, 0) + number
        phones = []
        for phone, station in zip(self._phones, self._plan["stations"], strict=True):
            address = phone.address
            received[address] = received.get(address, 0) + phone.fetched_bytes
            new_bytes = received[address] - self._received_bytes.get(address, 0)
            phones.append(
                {
                    "name": station["label"],
                    "mac": station["mac"],
                    "agent": station["agent"] is not None,
                    "connected": station["agent"] is not None and self.devices.connected(station["agent"]),
                    "kind": phone.doing.kind if phone.doing is not None else "idle",
                    "doing": phone.doing.describe() if phone.doing is not None else "waits for the agents to connect",
                    "goodput_mbps": round(new_bytes * 8 / 1e6 / seconds, 2),
                    "srtt_ms": phone.srtt_ms(),
                    "uploads": phone.uploads,
                    "errors": phone.errors,
                }
            )
        self._received_bytes = received
        name = self._plan["access_point"]["label"]
        status = {
            "guest_s": round(now_s, 3),
            "access_point": {"name": name, "connected": self.devices.connected(name)},
            "phones": phones,
            "agent_starts": self.devices.starts,
        }
        system.write(f"{RESULT}/guest.json.new", json.dumps(status))
        os.replace(f"{RESULT}/guest.json.new", f"{RESULT}/guest.json")


def shorten_logs() -> None:
    """Empty each log that has become long: nobody else does it, and this cell runs for months."""
    for name in os.listdir(system.LOG_DIRECTORY):
        path = os.path.join(system.LOG_DIRECTORY, name)
        if os.path.getsize(path) > LOG_MAX_BYTES:
            os.truncate(path, 0)


def carry_out(plan: dict[str, Any]) -> None:
    """Run the cell until it is to stop."""
    cell.set_up(plan, Switch(plan))
    progress("starting agents")
    live = Live(plan)
    progress("running")
    live.loop.run()
    progress("stopping")
    live.devices.stop()
