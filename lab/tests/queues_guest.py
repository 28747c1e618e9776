#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_transmit_queues_uml.py: what mac80211's queues at the access point have, again and again.

    queues_guest.py INTERVAL_MS

Writes a line of JSON to /run/result/queues.jsonl each time: for each station the microseconds of air time that are
pending in the driver (null without AQL), and the packets that wait in mac80211.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

DEBUGFS = Path("/sys/kernel/debug")
STATIONS = DEBUGFS / "ieee80211/phy0/netdev:wlan0/stations"
RESULT = Path("/run/result/queues.jsonl")


def pending_us(station: Path) -> int | None:
    """Of the first line of the file `aql`, one depth for each access category. Without AQL there is none."""
    try:
        text = (station / "aql").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    return sum(map(int, re.findall(r": (\d+) us", text.splitlines()[0])))


def waiting_packets(station: Path) -> int:
    """Of the file `aqm`: traffic identifier, category, bytes, packets, ..., under a headline."""
    lines = (station / "aqm").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[3]) for line in lines[1:])


def main() -> None:
    interval_s = int(sys.argv[1]) / 1000
    subprocess.run(["/bin/mount", "-t", "debugfs", "none", DEBUGFS], check=True)
    with RESULT.open("w", encoding="ascii") as lines:
        while True:
            stations = [[pending_us(station), waiting_packets(station)] for station in sorted(STATIONS.iterdir())]
            print(json.dumps(stations), file=lines, flush=True)
            time.sleep(interval_s)


if __name__ == "__main__":
    main()
