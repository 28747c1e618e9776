# SPDX-License-Identifier: Apache-2.0
"""Shares of a cell's air, where frames are aggregated: each claimant has the same time, and what it carries in it
follows from its own PHY rate. A claimant is a station in a direction: one that sends, one that receives. With equal
throughput the slowest would decide for all of them.

    C_i = what n claimants at the rate of i would carry together     (core/cell/aggregation.py)
    e   = the estimate of the cell's capacity / what the rates of those who use it now would carry
    p_i = max-min fair parts of the air: 1 / n if all want all; less for one that wants less, more for one that needs
          more for `floor_bps`
    S_i = e C_i p_i

With `by = "throughput"` S_i is what it is for every other policy, an equal share of the capacity and what others leave.

D. Bertsekas, R. Gallager: Data Networks, 6.5.2 (max-min flow control).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from airbound.core.addresses import Mac
from airbound.core.cell.aggregation import bulk_bps
from airbound.core.cell.full_rates import FullRate
from airbound.core.cell.shares import NEARLY, fair_share_bps
from airbound.core.cell.stations import Stations, StationState
from airbound.core.parameters import CapacityParameters, Parameters
from airbound.core.policy import Air

FORMAT_HE, FORMAT_EHT = 4, 5  # airbound.v1.RateFormat
BLOCK_ACK_FRAMES = {FORMAT_HE: 256, FORMAT_EHT: 1024}
BLOCK_ACK_FRAMES_BEFORE = 64  # 802.11n and ac
FLOORS_MOST = 0.9  # of the air, that all floors together may take


class Claim(NamedTuple):
    """Parts of the air that somebody wants at most, and is to have at least."""

    wanted: float
    floor: float = 0.0


@dataclass(slots=True)
class AirShares:
    """Of one cell's senders whose frames are aggregated, as they are decided by."""

    by_mac: dict[Mac, Air] = field(default_factory=dict)
    received: list[float] = field(default_factory=list)  # what receivers get, over their parts

    def air_for(self, mac: Mac) -> Air | None:
        """A sender's; none if its frames are not aggregated, or its rate is not known."""
        return self.by_mac.get(mac)

    def update(
        self,
        stations: Stations,
        capacity_bps: float,
        equal_share_bps: float,
        parameters: Parameters,
        wants_more: Callable[[Mac, StationState], bool],
    ) -> bool:
        """Take in who sends and at which rates; whether what decisions follow from moved by more than `change_ratio`.
        `equal_share_bps` is a sender's share of the capacity if all carry as much as each other.
        """
        senders = {mac: state for mac, state in stations.by_mac.items() if stations.is_active(mac)}
        rates = {mac: state.full for mac, state in senders.items() if state.latest.aggregates and state.full.up_bps}
        if not rates:
            had, self.by_mac, self.received = bool(self.by_mac), {}, []
            return had
        receivers = [state for state in stations.by_mac.values() if state.receiving]
        if parameters.shares.by == "throughput":
            shares_bps = dict.fromkeys(rates, equal_share_bps)
            self.received = [state.downlink_bytes_per_s * 8 / equal_share_bps for state in receivers]
        else:
            shares_bps, self.received = _shares_bps(
                senders, receivers, rates, capacity_bps=capacity_bps, parameters=parameters, wants_more=wants_more
            )
        fastest = max(rates, key=lambda mac: rates[mac].up_bps)
        now = {
            mac: Air(
                rate.up_bps,
                BLOCK_ACK_FRAMES.get(senders[mac].latest.rx_rate_format, BLOCK_ACK_FRAMES_BEFORE),
                rate.up_psdu_max_bytes,
                shares_bps[mac],
                rates[fastest].up_bps,
                shares_bps[fastest],
                rate.source,
            )
            for mac, rate in rates.items()
        }
        ratio = parameters.capacity.change_ratio
        if now.keys() == self.by_mac.keys() and not any(
            _moved(air, self.by_mac[mac], ratio) for mac, air in now.items()
        ):
            return False
        self.by_mac = now
        return True


def _moved(now: Air, was: Air, ratio: float) -> bool:
    """Whether one is far enough from what is decided by; then all are taken over, since they follow from each other."""
    if now.frames_most != was.frames_most or now.source is not was.source:
        return True
    far = abs(now.share_bps - was.share_bps) > ratio * was.share_bps
    return far or abs(now.rate_bps - was.rate_bps) > ratio * was.rate_bps


def _shares_bps(
    senders: dict[Mac, StationState],
    receivers: list[StationState],
    rates: dict[Mac, FullRate],
    *,
    capacity_bps: float,
    parameters: Parameters,
    wants_more: Callable[[Mac, StationState], bool],
) -> tuple[dict[Mac, float], list[float]]:
    """What equal parts of the air carry, and what receivers use over theirs, of those whose rates are known."""
    claimants = len(senders) + len(receivers)
    enough = NEARLY / claimants
    carries = {mac: _carries_bps(rate, claimants, parameters.capacity) for mac, rate in rates.items()}
    efficiency = capacity_bps * _per_carried(carries, senders)
    claims = dict[Mac, Claim]()
    for mac, bps in carries.items():
        whole_bps = efficiency * bps
        used = senders[mac].payload_bytes_per_s * 8 / whole_bps
        wanted = math.inf if used >= enough or wants_more(mac, senders[mac]) else used
        claims[mac] = Claim(wanted, min(parameters.shares.floor_bps / whole_bps, wanted))
    others = [Claim(math.inf)] * (len(senders) - len(carries))  # whose rates are not known
    received = list[float]()
    for state in receivers:
        down = FullRate(state.full.down_bps or state.full.up_bps, state.full.up_bps)
        if not down.up_bps:
            others.append(Claim(math.inf))
            continue
        used = state.downlink_bytes_per_s * 8 / (efficiency * _carries_bps(down, claimants, parameters.capacity))
        received.append(used)
        others.append(Claim(math.inf if used >= enough else used))
    level, floors = parts([*claims.values(), *others])
    shares_bps = {
        mac: efficiency * carries[mac] * max(level, floor)
        for (mac, claim), floor in zip(claims.items(), floors, strict=False)
    }
    return shares_bps, [used / level for used in received] if level > 0 else []


def parts(claims: Sequence[Claim]) -> tuple[float, list[float]]:
    """The max-min fair level, at least one claim, and the floors as they can be had: with them each claim's part is
    min(wanted, max(level, floor)), which makes one in all if enough is wanted.
    """
    asked = sum(claim.floor for claim in claims)
    scale = min(1.0, FLOORS_MOST / asked) if asked else 1.0
    floors = [claim.floor * scale for claim in claims]
    above = set[int]()
    while True:
        left = 1.0 - sum(floors[index] for index in above)
        wanted = sorted(claim.wanted for index, claim in enumerate(claims) if index not in above)
        finite = [part for part in wanted if part < math.inf]
        if finite and len(finite) == len(wanted):
            finite.pop()  # the sender that uses most could have what the others leave
        level = fair_share_bps(left, finite, len(wanted) - len(finite)) if wanted else 0.0
        more = {index for index, floor in enumerate(floors) if floor > level} - above
        if not more:
            return level, floors
        above |= more


@lru_cache(maxsize=4096)
def _carries_bps(rate: FullRate, claimants: int, parameters: CapacityParameters) -> float:
    """What so many at this rate carry together."""
    return bulk_bps([(rate, True)] * claimants, parameters)


def _per_carried(carries: dict[Mac, float], senders: dict[Mac, StationState]) -> float:
    """One over what the rates of the senders carry together, each with as much of it as it sends now."""
    payload = {mac: senders[mac].payload_bytes_per_s for mac in carries}
    total = sum(payload.values())
    if not total:
        return sum(1 / bps for bps in carries.values()) / len(carries)
    return sum(payload[mac] / bps for mac, bps in carries.items()) / total
