#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_airtime_uml.py: a controller that only writes down what two more agents of the access point
report, one with the driver's airtime and one with estimates.

    airtime_guest.py AIRBOUND_AP

Writes /run/result/airtime.json: a list of [agent, microseconds of the channel that were busy, microseconds of all
stations' airtime, airtime by direction] of each report.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from airbound.v1 import access_point_pb2, access_point_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENTS = {"measured": ("127.0.0.1:50061", ()), "estimated": ("127.0.0.1:50062", ("--estimate-airtime",))}
REPORTS = 16
RESULT = Path("/run/result/airtime.json")


class Controller(access_point_pb2_grpc.AccessPointServiceServicer):  # type: ignore[misc]  # it is untyped
    """Writes reports down."""

    def __init__(self, agent: str, rows: list[Any], lock: threading.Lock) -> None:
        self._agent, self._rows, self._lock = agent, rows, lock

    def Connect(self, requests: Any, _context: Any) -> Iterator[Any]:  # noqa: N802  (the contract's name)
        for message in requests:
            report = message.report
            up, down = (sum(getattr(s, field) for s in report.stations) for field in ("rx_airtime_us", "tx_airtime_us"))
            sources = sorted({station.airtime_source for station in report.stations})
            with self._lock:
                self._rows.append([self._agent, report.monotonic_us, report.survey.busy_us, up, down, sources])
                if sum(row[0] == self._agent for row in self._rows) >= REPORTS:
                    RESULT.with_suffix(".new").write_text(json.dumps(self._rows), encoding="utf-8")
                    RESULT.with_suffix(".new").replace(RESULT)
            yield access_point_pb2.AccessPointServiceConnectResponse()


def main() -> None:
    rows, lock = [], threading.Lock()
    for agent, (address, flags) in AGENTS.items():
        server = grpc.server(futures.ThreadPoolExecutor(2))
        access_point_pb2_grpc.add_AccessPointServiceServicer_to_server(Controller(agent, rows, lock), server)
        server.add_insecure_port(address)
        server.start()
        command = [sys.argv[1], "--plain-text", "--controller", address, "--interface", "wlan0", "--no-edca"]
        subprocess.Popen([*command, "--hostapd-control", "/run/hostapd", "--state-dir", f"/run/lab/{agent}", *flags])
    threading.Event().wait()


if __name__ == "__main__":
    main()
