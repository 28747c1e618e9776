#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_interference_uml.py: what the medium has counted, and what the access point's driver says of it.

    medium_guest.py INTERVAL_MS

Writes a line of JSON to /run/result/medium.jsonl each time: the monotonic clock in microseconds, the medium's counters
by name, and the channel's busy time of `iw survey dump` in milliseconds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

COUNTERS = Path("/sys/module/mac80211_hwsim/parameters/dcf_stats")
RESULT = Path("/run/result/medium.jsonl")
SURVEY = ("/usr/sbin/iw", "dev", "wlan0", "survey", "dump")


def busy_ms() -> int:
    """Of the channel in use; hwsim reports no other."""
    text = subprocess.run(SURVEY, stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.findall(r"channel busy time:\s*(\d+) ms", text)[0])


def main() -> None:
    with RESULT.open("w", encoding="ascii") as lines:
        while True:
            of_survey = busy_ms()
            counters = dict(line.split() for line in COUNTERS.read_text(encoding="ascii").splitlines())
            row = [time.monotonic_ns() // 1000, {name: int(value) for name, value in counters.items()}, of_survey]
            print(json.dumps(row), file=lines, flush=True)
            time.sleep(int(sys.argv[1]) / 1000)


if __name__ == "__main__":
    main()
