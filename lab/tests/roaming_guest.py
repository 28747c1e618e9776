# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_roaming_uml.py: notes what happens to phones that roam, and what the controller knows of it.

    roaming_guest.py PID PHONES BSSID/INTERFACE/NETNS...

It runs in the controller's network namespace. An empty NETNS is that of the process PID. Writes
/run/result/roaming.jsonl, a note on each line, with `at_us` of CLOCK_MONOTONIC:

    joined, left       what hostapd reports of a station (bss, mac)
    listed, not listed what the controller lists, of stations (bss, mac) ...
    in, not in         ... and of terminals (bss, mac)
    decided            the first decision for a terminal (mac, bss, senders, rule)
    shown              how often the controller lists a terminal, if that is not once (mac, times)
    heard              the first TCP data of a station at an access point, and the first after QUIET_S (bss, mac)
    bounds             the rules of a phone's kernel (mac, rules)
    stream             connections of a phone to the controller (mac, ports)
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import grpc

from airbound.v1 import operations_pb2, operations_pb2_grpc

HOSTAPD = Path("/run/hostapd")
OPERATORS = "127.0.0.1:50052"
POLL_S = 0.01
RULES_POLL_S = 0.005
QUIET_S = 0.15
SERVER_PORT = 5001
CONTROLLER_PORT = 50051
ETH_P_ALL, ETH_P_IP, IPPROTO_TCP, ETHERNET_OCTETS = 3, 0x0800, 6, 14
CLONE_NEWNET = 0x40000000


class Notes:
    """Records what happened, in order, on disk at once: the guest is powered off without a notice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file = Path("/run/result/roaming.jsonl").open("w", buffering=1, encoding="ascii")  # noqa: SIM115  # until the end

    def add(self, what: str, **values: Any) -> None:
        with self._lock:
            self._file.write(json.dumps({"at_us": time.monotonic_ns() // 1000, "what": what} | values) + "\n")


def enter(netns: str) -> None:
    """Have this thread enter a network namespace."""
    file = os.open(f"/run/netns/{netns}" if netns else f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(file, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {netns}")


def follow(interface: str, bss: str, notes: Notes) -> None:
    control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    control.bind(f"/run/lab/roaming-{interface}")
    control.connect(str(HOSTAPD / interface))
    control.send(b"ATTACH")
    while True:
        words = control.recv(4096).decode(errors="replace").split()
        for word, what in (("AP-STA-CONNECTED", "joined"), ("AP-STA-DISCONNECTED", "left")):
            if words and words[0].endswith(word):
                notes.add(what, bss=bss, mac=words[1])


def listen(interface: str, netns: str, bss: str, notes: Notes) -> None:
    """Note when TCP data of a station comes."""
    enter(netns)
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    tap.bind((interface, 0))
    heard: dict[bytes, float] = {}
    while True:
        frame, address = tap.recvfrom(128)
        length = int.from_bytes(frame[16:18], "big")
        if address[2] == socket.PACKET_OUTGOING or frame[12:14] != ETH_P_IP.to_bytes(2, "big"):
            continue
        header = (frame[ETHERNET_OCTETS] & 15) * 4
        tcp = frame[ETHERNET_OCTETS + header :]
        if frame[23] != IPPROTO_TCP or int.from_bytes(tcp[2:4], "big") != SERVER_PORT:
            continue
        if length - header - (tcp[12] >> 4) * 4 <= 0:
            continue
        mac, now = frame[6:12], time.monotonic()
        if now - heard.get(mac, -QUIET_S) >= QUIET_S:
            notes.add("heard", bss=bss, mac=mac.hex(":"))
        heard[mac] = now


def read_rules(phone: str, mac: str, notes: Notes) -> None:
    """Note each change of the rules, and of the connections to the controller, in a phone's kernel."""
    enter(phone)
    before: tuple[str, list[str]] | None = None
    while True:
        rules = Path("/proc/thread-self/net/tcp_cwnd_bounds").read_text(encoding="ascii").strip()
        table = Path("/proc/thread-self/net/tcp").read_text(encoding="ascii")
        lines = [line.split() for line in table.splitlines()[1:]]
        port = f":{CONTROLLER_PORT:04X}"
        ports = sorted(line[1] for line in lines if line[2].endswith(port) and line[3] == "01")
        if before is None or before[0] != rules:
            notes.add("bounds", mac=mac, rules=rules)
        if before is None or before[1] != ports:
            notes.add("stream", mac=mac, ports=ports)
        before = rules, ports
        time.sleep(RULES_POLL_S)


class Poll:
    """What the controller knows."""

    def __init__(self, bsss: list[str], notes: Notes) -> None:
        self._bsss, self._notes = bsss, notes
        self._stub: Any = operations_pb2_grpc.OperationsServiceStub(grpc.insecure_channel(OPERATORS))
        self._listed: dict[str, set[str]] = {bss: set() for bss in bsss}
        self._joined: set[tuple[str, str]] = set()
        self._times: dict[str, int] = {}
        self._decided: dict[str, tuple[str, int, str]] = {}

    def forever(self) -> None:
        while True:
            with contextlib.suppress(grpc.RpcError):  # it may not run yet
                self._once()
            time.sleep(POLL_S)

    def _once(self) -> None:
        for bss in self._bsss:
            answer = self._stub.ListStations(operations_pb2.ListStationsRequest(bssid=bss))
            self._listed[bss] = self._changed(
                self._listed[bss], {station.mac for station in answer.stations}, bss, "listed"
            )
        rows = [
            row for page in self._stub.ListTerminals(operations_pb2.ListTerminalsRequest()) for row in page.terminals
        ]
        for row in rows:
            for decision in row.decisions[:1]:
                decided = (
                    row.bssid,
                    decision.active_senders,
                    f"dst {decision.destination}/32 {decision.min_segs} {decision.max_segs}",
                )
                if decided != self._decided.get(row.mac):
                    self._decided[row.mac] = decided
                    self._notes.add("decided", mac=row.mac, bss=decided[0], senders=decided[1], rule=decided[2])
        joined = {(row.bssid, row.mac) for row in rows}
        for bss in self._bsss:
            self._changed(
                {mac for at, mac in self._joined if at == bss}, {mac for at, mac in joined if at == bss}, bss, "in"
            )
        self._joined = joined
        times = {mac: sum(row.mac == mac for row in rows) for mac in {row.mac for row in rows} | {*self._times}}
        for mac, number in times.items():
            if number != self._times.get(mac):
                self._notes.add("shown", mac=mac, times=number)
        self._times = times

    def _changed(self, before: set[str], now: set[str], bss: str, what: str) -> set[str]:
        for mac in now - before:
            self._notes.add(what, bss=bss, mac=mac)
        for mac in before - now:
            self._notes.add(f"not {what}", bss=bss, mac=mac)
        return now


def main() -> None:
    notes, bsss = Notes(), [word.split("/") for word in sys.argv[3:]]
    for bss, interface, netns in bsss:
        threading.Thread(target=follow, args=(interface, bss, notes)).start()
        threading.Thread(target=listen, args=(interface, netns, bss, notes)).start()
    first = len(bsss)
    for number in range(int(sys.argv[2])):
        mac = f"02:00:00:00:{first + number:02x}:00"
        threading.Thread(target=read_rules, args=(f"sta{number + 1}", mac, notes)).start()
    threading.Thread(target=Poll([bss for bss, _, _ in bsss], notes).forever).start()


if __name__ == "__main__":
    main()
