# SPDX-License-Identifier: Apache-2.0
"""What a sender may have of a cell's capacity: max-min fair shares over what each sender uses.

With n senders that all want as much as they can get, a share is C / n. A sender that uses less than that (UDP at its
rate, an upload that waits for its camera) leaves the rest to the others, in equal parts: the share is the level L at
which

    sum over all senders of min(demand, L) = C

A sender's demand is what it uses; if that grows, the level falls with the next report.

D. Bertsekas, R. Gallager: Data Networks, 6.5.2 (max-min flow control).
"""

import math
from collections.abc import Iterable

NEARLY = 0.8  # of an equal share; rates vary by some per cent from second to second


def demand_bps(used_bps: float, equal_share_bps: float, *, wants_more: bool) -> float:
    """What a sender would take if it were given it; infinite if nobody knows.

    `wants_more`: its window is full, so that what it uses says nothing of what it wants. One that uses nearly an equal
    share is taken to want more, too.
    """
    return math.inf if wants_more or used_bps >= NEARLY * equal_share_bps else used_bps


def fair_share_bps(capacity_bps: float, demands_bps: Iterable[float], unlimited: int) -> float:
    """The level L beside finite demands: what each of the `unlimited` gets, at least one sender that wants all it can
    get.
    """
    left_bps, demands = capacity_bps, sorted(demands_bps)
    senders = unlimited + len(demands)
    for demand in demands:
        if demand * senders >= left_bps:  # it and all larger ones are above the level
            break
        left_bps -= demand
        senders -= 1
    return left_bps / senders
