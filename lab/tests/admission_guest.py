#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_admission_uml.py: a controller of one more agent of the access point, and two senders, one on a
phone whose packets are all marked as video, and one on the server that marks nothing.

    admission_guest.py AIRBOUND_AP

Writes /run/result/admission.json: for each phase, what the access point reports that the phone sent, what the phone has
received as video, and the last report's states; and how long the phone took to associate again.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from airbound.v1 import access_point_pb2 as messages
from airbound.v1 import access_point_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROLLER = "127.0.0.1:50061"
HOSTAPD = Path("/run/hostapd")
RESULT = Path("/run/result/admission.json")
PHONE, SERVER = ("sta1", "wlan1", "10.0.0.11"), ("server1", "eth0", "10.0.4.1")
"""Network namespace, interface and address."""
MAC = "02:00:00:00:01:00"
PORT, PRIORITY_OF_VIDEO, INTERVAL_S = 9999, 256 + 5, 0.01
PHASE_S, SETTLE_S, PATIENCE_S = 2.0, 0.5, 30.0
LEASE_MS, SHORT_LEASE_MS = 60_000, 1000
BEST_EFFORT = messages.Edca(category=messages.ACCESS_CATEGORY_BEST_EFFORT, aifsn=3, cw_min=15, cw_max=1023)

SENDER = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, int(sys.argv[4]))
sender.bind((sys.argv[1], int(sys.argv[3])))
while True:
    sender.sendto(bytes(200), (sys.argv[2], int(sys.argv[3])))
    time.sleep(float(sys.argv[5]))
"""


class Controller(access_point_pb2_grpc.AccessPointServiceServicer):  # type: ignore[misc]  # it is untyped
    """Keeps the latest report, and sends commands."""

    def __init__(self) -> None:
        self.latest: Any = None
        self._commands: list[Any] = []
        self._changed = threading.Condition()

    def send(self, **command: Any) -> None:
        with self._changed:
            self._commands.append(messages.AccessPointCommand(**command))

    def Connect(self, requests: Any, _context: Any) -> Iterator[Any]:  # noqa: N802  (the contract's name)
        for message in requests:
            with self._changed:
                self.latest = message.report
                waiting, self._commands = self._commands, []
                self._changed.notify_all()
            for command in waiting or [None]:
                yield messages.AccessPointServiceConnectResponse(command=command)

    def station(self) -> Any:
        """Return the phone in the next report, None if it is not there."""
        with self._changed:
            self._changed.wait(PATIENCE_S)
            found = [station for station in self.latest.stations if station.mac.hex(":") == MAC]
        return found[0] if found else None

    def wait(self, *, there: bool) -> float:
        """Wait until the phone is there, or not; return the seconds that it took."""
        begin = time.monotonic()
        while (self.station() is not None) is not there:
            if time.monotonic() - begin > PATIENCE_S:
                raise TimeoutError(f"the phone is never {'there' if there else 'away'}")
        return time.monotonic() - begin


def inside(namespace: str, *command: str) -> list[str]:
    return ["nsenter", f"--net=/run/netns/{namespace}", *command]


def received_as_video(namespace: str, interface: str) -> int:
    """Count what a phone has received with the traffic identifiers of video, by its own kernel."""
    shown = subprocess.run(
        inside(namespace, "iw", "dev", interface, "station", "dump", "-v"), check=True, capture_output=True, text=True
    )
    rows = re.findall(r"^\t\t(\d+)\t(\d+)\t", shown.stdout, re.MULTILINE)
    if not rows:
        raise RuntimeError(f"iw shows no traffic identifier: {shown.stdout!r}")
    return sum(int(received) for tid, received in rows if tid in ("4", "5"))


def video(generation: int, *, lease_ms: int = LEASE_MS, admission: bool = True) -> Any:
    """Make a set with the stations' present values of video and voice, by admission, or best effort's without."""
    categories = {messages.ACCESS_CATEGORY_VIDEO: (2, 7, 15, 94), messages.ACCESS_CATEGORY_VOICE: (2, 3, 7, 47)}
    stations = []
    for category, (aifsn, cw_min, cw_max, txop_limit) in categories.items():
        edca = messages.Edca(category=category, aifsn=aifsn, cw_min=cw_min, cw_max=cw_max, txop_limit=txop_limit)
        if not admission:
            edca.CopyFrom(BEST_EFFORT)
            edca.category = category
        edca.admission = admission
        stations.append(edca)
    return messages.SetEdca(generation=generation, lease_ms=lease_ms, stations=stations)


def flows(generation: int, lease_ms: int) -> Any:
    flow = messages.StationFlow(
        mac=bytes.fromhex(MAC.replace(":", "")),
        address=socket.inet_aton(SERVER[2]),
        category=messages.ACCESS_CATEGORY_VIDEO,
    )
    return messages.SetStationFlows(generation=generation, lease_ms=lease_ms, flows=[flow])


class Phases:
    """What was measured."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.measured: dict[str, Any] = {}

    def _counters(self) -> dict[str, int]:
        station = self._controller.station()
        if station is None:
            raise RuntimeError("the phone is away")
        return {
            "sent": station.rx_packets,
            "sent_as_video": station.rx_video_packets,
            "sent_as_voice": station.rx_voice_packets,
            "received_as_video": received_as_video(*PHONE[:2]),
        }

    def measure(self, name: str) -> None:
        time.sleep(SETTLE_S)
        before = self._counters()
        time.sleep(PHASE_S)
        after = self._counters()
        report = self._controller.latest
        self.measured[name] = {key: after[key] - before[key] for key in after} | {
            "voice_total": after["sent_as_voice"],
            "marked_total": report.station_flows.marked_packets_total,
            "generations": [report.edca.generation, report.station_flows.generation],
            "refused": [report.edca.refused_total, report.station_flows.refused_total],
            "takes": [report.edca.takes_priorities, report.station_flows.can_set],
            "counts": next(s.counts_categories for s in report.stations),
        }


def deauthenticate(interface: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
        control.bind("/run/lab/admission-control")
        control.connect(str(HOSTAPD / interface))
        control.send(f"DEAUTHENTICATE {MAC}".encode())
        if control.recv(4096) != b"OK\n":
            raise RuntimeError("hostapd refused DEAUTHENTICATE")


def main() -> None:
    controller = Controller()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    access_point_pb2_grpc.add_AccessPointServiceServicer_to_server(controller, server)
    server.add_insecure_port(CONTROLLER)
    server.start()
    agent = [sys.argv[1], "--plain-text", "--controller", CONTROLLER, "--interface", "wlan0", "--interval", "100ms"]
    agent += ["--hostapd-control", "/run/hostapd", "--hostapd-config", "/run/lab/hostapd.conf"]
    subprocess.Popen([*agent, "--state-dir", "/run/lab/admission"])
    controller.wait(there=True)
    for (namespace, _, own), other, priority in ((PHONE, SERVER, PRIORITY_OF_VIDEO), (SERVER, PHONE, 0)):
        words = [own, other[2], str(PORT), str(priority), str(INTERVAL_S)]
        subprocess.Popen(inside(namespace, sys.executable, "-c", SENDER, *words))
    phases = Phases(controller)
    phases.measure("before")
    controller.send(set_edca=video(1))
    phases.measure("by admission")
    controller.send(set_station_flows=flows(1, LEASE_MS))
    phases.measure("by admission, flows to the phone")
    deauthenticate("wlan0")
    controller.wait(there=False)
    reassociated_s = controller.wait(there=True)
    phases.measure("associated again")
    controller.send(set_edca=video(2, admission=False))
    phases.measure("without advantage")
    controller.send(set_edca=video(3, lease_ms=SHORT_LEASE_MS))
    controller.send(set_station_flows=flows(2, SHORT_LEASE_MS))
    time.sleep(2 * SHORT_LEASE_MS / 1000)
    phases.measure("the leases ended")
    result = {"phases": phases.measured, "reassociated_s": reassociated_s}
    RESULT.write_text(json.dumps(result), encoding="utf-8")
    threading.Event().wait()


if __name__ == "__main__":
    main()
