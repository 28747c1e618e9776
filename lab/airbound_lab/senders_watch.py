# SPDX-License-Identifier: Apache-2.0
"""Asks the controller which stations send, again and again, and writes each answer as a line; for a Python with the
controller's packages. It sleeps in between: virtual time passes only while every process sleeps.

    senders_watch.py HOST:PORT BSSID INTERVAL_MS FILE

A line is {"monotonic_ns": N, "active": [MAC, ...]}, or "active": null where the controller did not answer or knows no
such cell. Goes on until it is killed.
"""

from __future__ import annotations

import json
import sys
import time

from airbound.operator.client import Client, RefusedError, UnreachableError

TIMEOUT_S = 0.5


def active(client: Client, bssid: str) -> list[str] | None:
    """The stations that the controller counts as active senders."""
    try:
        return sorted(station.mac for station in client.stations(bssid).stations if station.active_sender)
    except (RefusedError, UnreachableError):
        return None


def main() -> None:
    """Watch."""
    endpoint, bssid, interval_ms, path = sys.argv[1:]
    interval_ns = int(interval_ms) * 1_000_000
    with Client(endpoint, TIMEOUT_S) as client, open(path, "w", encoding="utf-8", buffering=1) as out:  # noqa: PTH123
        while True:
            time.sleep((interval_ns - time.monotonic_ns() % interval_ns) / 1e9)
            at_ns = time.monotonic_ns()
            out.write(json.dumps({"monotonic_ns": at_ns, "active": active(client, bssid)}) + "\n")


if __name__ == "__main__":
    main()
