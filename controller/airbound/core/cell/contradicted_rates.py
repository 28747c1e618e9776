# SPDX-License-Identifier: Apache-2.0
"""Drivers that report one PHY rate for all their stations: whose it cannot be.

A far station that is taken for a near one has windows for a rate that it does not have, fills them with accesses that
last as long as the standard lets them, and nearly all of the air is its. Its air time shows it: for as many octets it
needs several times the time of others whose rates are said to be the same. By itself that proves nothing, since single
frames cost several times the air of long accesses, at the same rate. But who sends single frames does not use more than
its part of the air.

    contradicted   all senders' last frames have one rate, and in SURE reports in a row this one took SLOWER times as
                   long for an octet as the quickest of those with at least half as many, and PART times its air time
    until          the senders' last frames have different rates, or it takes less than STILL times as long, or AGAIN
                   reports later: who was slow for some seconds has windows so small since that all its frames go singly

Its rate is assumed meanwhile, by its air time (assumed_rates.py). Drivers that measure no air time show nothing here.
Nor does a station whose rate control climbs, since it is slower than it will be.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from airbound.core.reports import Station

SURE, AGAIN = 3, 120
SLOWER, STILL = 2.5, 1.5
PART = 1.2
LEAST_OCTETS, LEAST_AIR_US = 30_000, 2_000  # in an interval: 20 packets; less says nothing of its accesses


class Sender(Protocol):
    """What is known of a station that sends."""

    latest: Station
    contradicted: int  # reports in a row; from SURE on its rate is assumed


class Heard(NamedTuple):
    """What of a sender passed in an interval, both ways."""

    sender: Sender
    octets: int
    air_us: int
    climbing: bool


def contradict(senders: Sequence[Heard]) -> None:
    """Take in an interval of the senders of a cell whose frames are aggregated: in `contradicted` of each."""
    if len({heard.sender.latest.rx_bitrate_kbps for heard in senders}) != 1 or len(senders) == 1:
        for heard in senders:
            heard.sender.contradicted = 0
        return
    bulk = [heard for heard in senders if _is_bulk(heard)]
    if len(bulk) <= 1:
        return
    for sender, octets, air_us, _ in bulk:
        like = (heard for heard in bulk if heard.octets * 2 >= octets)
        quickest = min(like, key=lambda heard: heard.air_us / heard.octets)
        slower = air_us / octets * quickest.octets / quickest.air_us
        if sender.contradicted >= SURE:
            goes_on = slower >= STILL and sender.contradicted < AGAIN
        else:
            goes_on = slower > SLOWER and air_us > PART * quickest.air_us
        sender.contradicted = sender.contradicted + 1 if goes_on else 0


def _is_bulk(heard: Heard) -> bool:
    return heard.octets >= LEAST_OCTETS and heard.air_us >= LEAST_AIR_US and not heard.climbing
