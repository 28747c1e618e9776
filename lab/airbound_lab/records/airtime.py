# SPDX-License-Identifier: Apache-2.0
"""What an access point's kernel counted of its stations' time on the air, as `iw dev INTERFACE station dump` prints it
(NL80211_STA_INFO_RX_DURATION and TX_DURATION in the kernel's nl80211.h); pure.
"""

from __future__ import annotations

import re
from typing import NamedTuple

STATION = re.compile(r"^Station ((?:[0-9a-f]{2}:){5}[0-9a-f]{2}) ", re.MULTILINE)
VALUE = re.compile(r"^\s+(rx duration|tx duration|connected time):\s+(\d+) ", re.MULTILINE)


class Airtime(NamedTuple):
    """Of one station, since it associated."""

    up_us: int
    down_us: int
    connected_s: int


def parse(text: str) -> dict[str, Airtime]:
    """By MAC address. A station whose driver does not count has none."""
    found = {}
    _, *parts = STATION.split(text)
    for mac, rest in zip(parts[::2], parts[1::2], strict=True):
        values = {name: int(value) for name, value in VALUE.findall(rest)}
        if {"rx duration", "tx duration", "connected time"} <= values.keys():
            found[mac] = Airtime(values["rx duration"], values["tx duration"], values["connected time"])
    return found
