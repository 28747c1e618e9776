# SPDX-License-Identifier: Apache-2.0
"""What a sender may have of a cell's capacity: max-min fair shares over what each sender uses.

With n senders that all want as much as they can get, a share is C / n. A sender that uses less than that (UDP at its
rate, an upload that waits for its camera) leaves the rest to the others, in equal parts: the share is the level L at
which

    sum over all senders of min(demand, L) = C

A sender's demand is what it uses, and a part more (`headroom`), so that it can grow: if it does, the level falls with
the next report. D. Bertsekas, R. Gallager: Data Networks, 6.5.2 (max-min flow control).
"""

import math
from collections.abc import Iterable


def demand_bps(used_bps: float, equal_share_bps: float, *, wants_more: bool, headroom: float) -> float:
    """What a sender would take if it were given it; infinite if nobody knows.

    `wants_more`: its window is full, so that what it uses says nothing of what it wants. One that uses nearly an equal
    share is taken to want more, too.
    """
    demand = used_bps * (1 + headroom)
    return math.inf if wants_more or demand >= equal_share_bps else demand


def fair_share_bps(capacity_bps: float, demands_bps: Iterable[float]) -> float:
    """The level L: what each sender with an infinite demand gets.

    Raises:
        ValueError: no demand is infinite.
    """
    left_bps, senders = capacity_bps, 0
    finite = list[float]()
    for demand in demands_bps:
        senders += 1
        if demand < math.inf:
            finite.append(demand)
    if len(finite) == senders:
        raise ValueError("no demand is infinite")
    for demand in sorted(finite):
        if demand * senders >= left_bps:  # it and all larger ones are above the level
            break
        left_bps -= demand
        senders -= 1
    return left_bps / senders
