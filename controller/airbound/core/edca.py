# SPDX-License-Identifier: Apache-2.0
"""How a radio's transmit queues, and those of its stations, contend for the air (EDCA, IEEE Std 802.11-2020, 10.23.2),
and within which limits an access point's agent lets a controller change that.
"""

from enum import IntEnum
from typing import NamedTuple

AIFSN_MAX, CW_MAX, TXOP_LIMIT_MAX = 15, 1023, 65_535  # what there can be
# What an agent takes at most; more would keep the access point from its own air.
SET_AIFSN_MAX, SET_CW_MIN_MAX, SET_TXOP_LIMIT_MAX = 7, 63, 94
# The same of what it announces to its stations; below the least they would collide again and again.
STATIONS_AIFSN_MIN, STATIONS_CW_MIN_MIN, STATIONS_CW_MAX_MIN = 2, 3, 63


class Category(IntEnum):
    """A transmit queue, by its number in the wire contract."""

    BACKGROUND = 1
    BEST_EFFORT = 2
    VIDEO = 3
    VOICE = 4


class Edca(NamedTuple):
    """One queue's parameters: AIFSN and contention windows in slots, `txop_limit` in units of 32 us. In a set,
    `announced` are the stations', by what the access point announces; the others are those of its own queue.
    `admission`: of what is announced, that only stations that were admitted may use the category (ACM).
    """

    category: Category
    aifsn: int
    cw_min: int
    cw_max: int
    txop_limit: int
    announced: bool = False
    admission: bool = False


def is_contention_window(slots: int) -> bool:
    """Whether a contention window can have this many slots: 2^k - 1."""
    return 0 <= slots <= CW_MAX and not slots & (slots + 1)


def text(category: str, aifsn: int, cw_min: int, cw_max: int, txop_limit: int, *, admission: bool = False) -> str:
    """One queue's parameters for a person."""
    txop = f", TXOP limit {txop_limit * 32} us" if txop_limit else ""
    admitted = ", admitted stations only" if admission else ""
    return f"{category.lower().replace('_', ' ')} AIFSN {aifsn}, CW {cw_min}..{cw_max}{txop}{admitted}"
