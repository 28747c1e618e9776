# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines of phones and access point, by name, and what `tc` calls them; pure."""

from __future__ import annotations

from typing import Literal, get_args

Qdisc = Literal["pfifo", "pfifo_fast", "fq_codel", "fq", "cake", "cake-ack-filter", "cake-diffserv4"]
QDISCS: tuple[str, ...] = get_args(Qdisc)

CAKE = {
    "cake": "cake unlimited",
    "cake-ack-filter": "cake unlimited ack-filter",
    "cake-diffserv4": "cake unlimited diffserv4",
}


def arguments(qdisc: str, packets: int) -> str:
    """Arguments of `tc qdisc`. CAKE does not shape here, and its limit is in bytes: its own default is kept. pfifo_fast
    (three bands by priority) has the limit of its interface, 1000 packets.
    """
    if qdisc in CAKE:
        return CAKE[qdisc]
    if qdisc == "pfifo_fast":
        return qdisc
    return f"{qdisc} limit {packets}"
