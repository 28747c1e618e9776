# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_arrival_uml.py and test_roams_uml.py: what a phone that arrives at an access point sends and
receives, packet by packet.

    arrival_guest.py PID PHONE MAC SERVER ADDRESS CONNECTIONS BSSID/INTERFACE/NETNS...

PHONE and SERVER are network namespaces; an empty NETNS is that of the process PID. Opens CONNECTIONS connections from
the phone to a server of its own at ADDRESS, each of which sends RECORD_BYTES every RECORD_INTERVAL_S. Writes to
/run/result, a line each, with times of CLOCK_MONOTONIC in microseconds:

    arrival-associations  time bssid: hostapd has associated the phone
    arrival-sent          time bytes sequence-number local-port server-port: a segment with data leaves the phone's TCP
    arrival-heard         the same, when it has come to an access point
    arrival-received      the same, of a segment with data that has come to the phone
"""

from __future__ import annotations

import ctypes
import os
import selectors
import socket
import struct
import sys
import threading
import time
from pathlib import Path

RESULT = Path("/run/result")
HOSTAPD = Path("/run/hostapd")
PORTS = (5001, 5002, 1935, 8081)
"""Of the lab's traffic, of the connections that are opened here, and of the applications of test_arrival_uml.py."""
RECORD_BYTES, RECORD_INTERVAL_S = 1000, 0.5
OPENED_AFTER_S = 0.02
"""From one connection to the next: a listener's queue is short."""
FLUSH_S = 0.1
ETH_P_ALL, ETH_P_IP, IPPROTO_TCP, ETHERNET_OCTETS = 3, 0x0800, 6, 14
CLONE_NEWNET = 0x40000000


def enter(netns: str) -> None:
    """Have this thread enter a network namespace."""
    file = os.open(f"/run/netns/{netns}" if netns else f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(file, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {netns}")


class Lines:
    """A file that is on disk soon: the guest is powered off without a notice."""

    def __init__(self, name: str) -> None:
        self._file = (RESULT / name).open("a", encoding="ascii")
        self._flushed_s = 0.0

    def add(self, *values: object) -> None:
        now_ns = time.monotonic_ns()
        self._file.write(" ".join(map(str, (now_ns // 1000, *values))) + "\n")
        if now_ns / 1e9 - self._flushed_s >= FLUSH_S:
            self._file.flush()
            self._flushed_s = now_ns / 1e9


def follow(interface: str, bssid: str, mac: str) -> None:
    control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    control.bind(f"/run/lab/arrival-{interface}")
    control.connect(str(HOSTAPD / interface))
    control.send(b"ATTACH")
    associations = Lines(f"arrival-associations-{interface}")
    while True:
        words = control.recv(4096).decode(errors="replace").split()
        if words and words[0].endswith("AP-STA-CONNECTED") and words[1] == mac:
            associations.add(bssid)


def watch(netns: str, interface: str, name: str, mac: str, *, outgoing: bool, download: bool = False) -> None:
    """Note each segment with data that the phone sends, at an interface (empty: at all of the namespace), or each one
    to the phone."""
    enter(netns)
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    if interface:
        tap.bind((interface, 0))
    wanted, lines = bytes.fromhex(mac.replace(":", "")), Lines(name)
    while True:
        frame, address = tap.recvfrom(128)
        station = frame[:6] if download else frame[6:12]
        if (address[2] == socket.PACKET_OUTGOING) != outgoing or station != wanted:
            continue
        if frame[12:14] != ETH_P_IP.to_bytes(2, "big") or frame[23] != IPPROTO_TCP:
            continue
        header = (frame[ETHERNET_OCTETS] & 15) * 4
        local, remote, sequence = struct.unpack_from("!HHI", frame, ETHERNET_OCTETS + header)
        # The end that was there first: the server, or a phone that downloads. Ports are as seen from the other end.
        data_bytes = int.from_bytes(frame[16:18], "big") - header - (frame[ETHERNET_OCTETS + header + 12] >> 4) * 4
        if remote in PORTS and data_bytes > 0:
            lines.add(data_bytes, sequence, local, remote)


def serve(netns: str, address: str) -> None:
    enter(netns)
    listener = socket.create_server((address, PORTS[1]), backlog=256)
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            ready = key.fileobj
            assert isinstance(ready, socket.socket)
            if ready is listener:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)
            elif not ready.recv(1 << 16):
                waiting.unregister(ready)


def send_records(netns: str, address: str, connections: int) -> None:
    enter(netns)
    opened = []
    for _ in range(connections):
        time.sleep(OPENED_AFTER_S)
        opened.append(socket.create_connection((address, PORTS[1])))
        opened[-1].settimeout(0)
    while True:
        for sock in opened:
            try:
                sock.send(bytes(RECORD_BYTES))
            except BlockingIOError:
                continue
        time.sleep(RECORD_INTERVAL_S)


def main() -> None:
    _, _, phone, mac, server, address, connections, *access_points = sys.argv
    threads = [threading.Thread(target=watch, args=(phone, "", "arrival-sent", mac), kwargs={"outgoing": True})]
    received = (phone, "", "arrival-received", mac)
    threads.append(threading.Thread(target=watch, args=received, kwargs={"outgoing": False, "download": True}))
    for word in access_points:
        bssid, interface, netns = word.split("/")
        threads.append(threading.Thread(target=follow, args=(interface, bssid, mac)))
        heard = (netns, interface, f"arrival-heard-{interface}", mac)
        threads.append(threading.Thread(target=watch, args=heard, kwargs={"outgoing": False}))
    if int(connections):
        threads.append(threading.Thread(target=serve, args=(server, address)))
        threads.append(threading.Thread(target=send_records, args=(phone, address, int(connections))))
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main()
