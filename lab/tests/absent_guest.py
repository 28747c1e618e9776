#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_absent_uml.py: the first station's radio goes where nobody hears it, and does not say so.

    absent_guest.py SECONDS

It goes after so long. Writes to /run/result/absent.json, from that moment and from a second later, what the access
point has of the station (attempts and successes of its rate control, MPDUs that the medium has delivered).
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

DEBUGFS = Path("/sys/kernel/debug")
STATIONS = DEBUGFS / "ieee80211/phy0/netdev:wlan0/stations"
COUNTERS = Path("/sys/module/mac80211_hwsim/parameters/dcf_stats")
RESULT = Path("/run/result/absent.json")
NOBODYS_GROUP = 2
"""hwsim's radios hear those of a group that they share; all are in group 1."""
SETTLING_S = 0.3
"""What is on air ends meanwhile, and minstrel_ht, which does so each 50 ms, adds it to its sums."""


def rate_control() -> tuple[int, int]:
    """MPDUs sent and acknowledged at all rates: the last columns but three of minstrel_ht's table."""
    (station,) = STATIONS.iterdir()
    rows = list(csv.reader((station / "rc_stats_csv").read_text(encoding="ascii").splitlines()))
    return sum(int(row[-4]) for row in rows), sum(int(row[-5]) for row in rows)


def sample() -> dict[str, int]:
    sent, acked = rate_control()
    counters = dict(line.split() for line in COUNTERS.read_text(encoding="ascii").splitlines())
    return {"sent": sent, "acked": acked, "delivered": int(counters["delivered"])}


def main() -> None:
    subprocess.run(["/bin/mount", "-t", "debugfs", "none", DEBUGFS], check=True)
    time.sleep(float(sys.argv[1]))
    (DEBUGFS / "ieee80211/phy1/hwsim/group").write_text(str(NOBODYS_GROUP), encoding="ascii")
    time.sleep(SETTLING_S)
    first = sample()
    time.sleep(1)
    RESULT.write_text(json.dumps([first, sample()]), encoding="ascii")
    time.sleep(3600)


if __name__ == "__main__":
    main()
