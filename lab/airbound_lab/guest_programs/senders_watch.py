# SPDX-License-Identifier: Apache-2.0
"""Asks the controller which stations send and what the cell carries, again and again, and writes each answer as a line;
for a Python with the controller's packages. It sleeps in between: virtual time passes only while every process sleeps.

    senders_watch.py HOST:PORT BSSID INTERVAL_MS FILE NETNS/INTERFACE/MAC...

A line is {"monotonic_ns": N, "active": [MAC, ...], "capacity_bps": N, "sent": {MAC: [OCTETS, PACKETS]}}, or null for
"active" and "capacity_bps" where the controller did not answer or knows no such cell. What was sent is by the counters
of each phone's interface: Ethernet frames that its queue passed to its radio. Goes on until it is killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from typing import TYPE_CHECKING

from airbound.operator.client import Client, RefusedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

TIMEOUT_S = 0.5
_CLONE_NEWNET = 0x40000000
_TX_BYTES, _TX_PACKETS = 8, 9  # of a line of /proc/net/dev


def open_counters(netns: str) -> TextIO:
    """/proc/net/dev of a named network namespace: it stays that of the namespace in which it was opened."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    if libc.setns(there, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {netns}")
    counters = open("/proc/self/net/dev", encoding="ascii")  # noqa: PTH123, SIM115  # open until the end
    if libc.setns(home, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot leave the network namespace {netns}")
    os.close(there)
    os.close(home)
    return counters


def sent(lines: Iterable[str], interface: str) -> tuple[int, int]:
    """Octets and packets that an interface sent; none while it is not there."""
    for line in lines:
        name, colon, counters = line.partition(":")
        if colon and name.strip() == interface:
            values = counters.split()
            return int(values[_TX_BYTES]), int(values[_TX_PACKETS])
    return 0, 0


def active(client: Client, bssid: str) -> list[str] | None:
    """The stations that the controller counts as active senders."""
    try:
        return sorted(station.mac for station in client.stations(bssid).stations if station.active_sender)
    except (RefusedError, UnreachableError):
        return None


def capacity_bps(client: Client, bssid: str) -> int | None:
    """What the controller takes for the cell's capacity, IP bits per second."""
    try:
        return next((cell.capacity_bps for cell in client.cells(bssid).cells), None)
    except (RefusedError, UnreachableError):
        return None


def main() -> None:
    """Watch."""
    endpoint, bssid, interval_ms, path, *phones = sys.argv[1:]
    counters = [
        (open_counters(netns), interface, mac) for netns, interface, mac in (phone.split("/") for phone in phones)
    ]
    interval_ns = int(interval_ms) * 1_000_000
    with Client(endpoint, TIMEOUT_S) as client, open(path, "w", encoding="utf-8", buffering=1) as out:  # noqa: PTH123
        while True:
            time.sleep((interval_ns - time.monotonic_ns() % interval_ns) / 1e9)
            at_ns = time.monotonic_ns()
            sends = {}
            for file, interface, mac in counters:
                file.seek(0)
                sends[mac] = sent(file, interface)
            line = {
                "monotonic_ns": at_ns,
                "active": active(client, bssid),
                "capacity_bps": capacity_bps(client, bssid),
                "sent": sends,
            }
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
