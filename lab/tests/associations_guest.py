#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_associations_uml.py, beside the access point's agent: has hostapd throw stations out, and notes
when the controller knows.

    associations_guest.py observe BSSID...     in the controller's network namespace
    associations_guest.py relay DIRECTORY      in that of the access point

The first writes /run/result/associations.json: hostapd's events, and each change of the stations that the controller
lists, with the times of CLOCK_MONOTONIC in ms. The second makes sockets in the directory that answer as a hostapd which
was built without CONFIG_CTRL_IFACE_MIB, and are the real ones otherwise.
"""

from __future__ import annotations

import contextlib
import json
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
INTERFACES = ("wlan0", "wlan0b")
POLL_S = 0.02
SETTLE_S = 4.0
BETWEEN_S = 2.5
UNKNOWN = b"UNKNOWN COMMAND\n"


class Notes:
    """What happened, in order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all: list[dict[str, Any]] = []

    def add(self, what: str, bss: str, mac: str) -> None:
        with self.lock:
            self.all.append({"at_ms": time.monotonic() * 1e3, "what": what, "bss": bss, "mac": mac})


class Control:
    """A client of hostapd's control socket of one interface."""

    def __init__(self, interface: str, purpose: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"/run/lab/associations-{purpose}-{interface}")
        self.socket.connect(str(HOSTAPD / interface))

    def command(self, text: str) -> str:
        self.socket.send(text.encode())
        return self.socket.recv(4096).decode()


def follow(interface: str, bss: str, notes: Notes) -> None:
    control = Control(interface, "events")
    if control.command("ATTACH") != "OK\n":
        raise RuntimeError("hostapd refused ATTACH")
    while True:
        words = control.socket.recv(4096).decode(errors="replace").split()
        for word, what in (("AP-STA-CONNECTED", "joined"), ("AP-STA-DISCONNECTED", "left")):
            if words and words[0].endswith(word):
                notes.add(what, bss, words[1])


def relay(directory: Path, interface: str) -> None:
    """Pass datagrams on between each client and hostapd; refuse the commands of the list."""
    directory.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(directory / interface))
    clients: dict[Any, socket.socket] = {}

    def back(own: socket.socket, client: Any) -> None:
        while True:
            with contextlib.suppress(OSError):
                listener.sendto(own.recv(65536), client)

    while True:
        datagram, client = listener.recvfrom(65536)
        if datagram.split(b" ")[0] in (b"STA-FIRST", b"STA-NEXT", b"STA"):
            listener.sendto(UNKNOWN, client)
            continue
        if client not in clients:
            own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            own.bind(f"\0relay-{interface}-{len(clients)}")
            own.connect(str(HOSTAPD / interface))
            clients[client] = own
            threading.Thread(target=back, args=(own, client), daemon=True).start()
        clients[client].send(datagram)


def poll(stub: Any, bsss: list[str], notes: Notes) -> None:
    """Note each change of what the controller lists."""
    listed: dict[str, set[str]] = {bss: set() for bss in bsss}
    while True:
        for bss in bsss:
            try:
                answer = stub.ListStations(operations_pb2.ListStationsRequest(bssid=bss))
                now = {station.mac for station in answer.stations}
            except grpc.RpcError:
                now = set()  # there is no such cell yet
            for mac in now - listed[bss]:
                notes.add("listed", bss, mac)
            for mac in listed[bss] - now:
                notes.add("not listed", bss, mac)
            listed[bss] = now
        time.sleep(POLL_S)


def stations(notes: Notes) -> list[str]:
    with notes.lock:
        return sorted({note["mac"] for note in notes.all if note["what"] == "listed"})


def main() -> None:
    role, rest = sys.argv[1], sys.argv[2:]
    if role == "observe":
        observe(rest)
        return
    threads = [threading.Thread(target=relay, args=(Path(rest[0]), interface)) for interface in INTERFACES]
    for thread in threads:
        thread.start()


def observe(bsss: list[str]) -> None:
    interfaces = INTERFACES[: len(bsss)]
    notes = Notes()
    channel = grpc.insecure_channel(OPERATORS)
    stub: Any = operations_pb2_grpc.OperationsServiceStub(channel)
    for interface, bss in zip(interfaces, bsss, strict=True):
        threading.Thread(target=follow, args=(interface, bss, notes), daemon=True).start()
    threading.Thread(target=poll, args=(stub, bsss, notes), daemon=True).start()
    time.sleep(SETTLE_S)
    first, second = Control(interfaces[0], "commands"), Control(interfaces[-1], "more-commands")
    macs = stations(notes)
    if len(bsss) == 1:
        for mac in macs:
            for verb in ("DISASSOCIATE", "DEAUTHENTICATE"):
                first.command(f"{verb} {mac}")
                time.sleep(BETWEEN_S)
    else:
        for mac in macs:  # to the other BSS, and back
            for here, there in ((first, second), (second, first)):
                there.command(f"DENY_ACL DEL_MAC {mac}")
                here.command(f"DENY_ACL ADD_MAC {mac}")
                time.sleep(BETWEEN_S)
    result = Path("/run/result/associations.json")
    result.with_suffix(".new").write_text(json.dumps(notes.all), encoding="utf-8")
    result.with_suffix(".new").replace(result)


if __name__ == "__main__":
    main()
