# SPDX-License-Identifier: Apache-2.0
"""Live flows of a cell: what applications of class live send to one address each, by their terminals' reports, and
which of them have the category for video.

A live flow needs a rate at every moment:

    need = rate_bps, or 1.25 x what it sent lately if that is more and it has no queue, at most what an equal part of
           the air carries
    part = need / what its station's PHY rate carries, by the highest rate of late: where many contend, rate control of
           older phones falls to the lowest, until the flow has its category

Flows are granted in the order in which they began, as long as their parts are at most `air_most` together. Others get
what everybody gets. A granted flow keeps its grant until it ends: what it needs may vary by a fifth.

A source that makes a rate leaves its queue nearly empty when it gets that, or has it shorter from second to second
after an outage. A flow that claims to be live, gets its need and for `TAKES_ALL_US` has more than half a second of it
queued, and no less at the end, is something else, a file for example: no flow of its station has a grant for a minute,
the next time for twice as long, whatever it calls itself and wherever it sends meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from airbound.core.cell.aggregation import GOODPUT_PER_BITRATE
from airbound.core.reasons import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound.core.addresses import Address, Mac
    from airbound.core.parameters import LiveParameters
    from airbound.core.reports import AppPart

LIVE = 1  # airbound.v1.ApplicationClass
NEED_PER_RATE = 1.25  # a picture with much movement in it needs more than the mean
SMOOTHING_US = 3_000_000
QUEUED_S = 0.5  # of its rate, beyond what is on its way
TAKES_ALL_US = 5_000_000
SHORTER = 0.9  # of a queue, when it has become so
WITHOUT_GRANT_US, WITHOUT_GRANT_MOST_US = 60_000_000, 3_600_000_000
FORGOTTEN_US = 3_600_000_000  # after it has had no grant: the next time is the first again
RATE_HALVES_US = 10_000_000  # of a highest rate that was not seen again
KEPT_AIR = 1.2  # times air_most, until a flow that has a grant loses it
ADMITTED_PER_PART = 2.0  # retransmissions, and rates that fall from one moment to the next
ADMITTED_LEAST_US = 20_000  # a second
ADMISSION = frozenset({Code.LIVE_AIR, Code.TAKES_ALL})  # refusals for the flow's own sake
STEP = 1.5  # no new set, and no other window, for less


class FlowKey(NamedTuple):
    """A station's live connections to an address."""

    mac: Mac
    address: Address


@dataclass(slots=True)
class LiveFlow:
    """One flow. Times are the controller's."""

    began_at_us: int
    seen_at_us: int  # when it last sent
    sampled_at_us: int
    delivered_bytes: int
    queued_bytes: int
    uids: tuple[int, ...]
    used_bps: float = 0.0  # smoothed
    path_us: int = 0  # minimum RTT
    carries_bps: float = 0.0  # what its station's rate carries, the highest of late
    carried_at_us: int = 0
    part: float = 0.0  # of the air, that it needs
    need_bps: float = 0.0
    window_bps: float = 0.0  # the need that its window is for: it follows in steps
    admitted_us_per_s: int = 0
    refused: Reason | None = None  # why it has no grant
    granted: bool = False
    noted: Reason | None = None  # the refusal of which there was an event
    full_since_us: int = 0  # gets its need and has a queue, which has not become shorter; 0: does not
    full_bytes: int = 0  # of the queue, then

    def observe(self, part: AppPart, path_us: int, now_us: int) -> bool:
        """Take in what a report says of it; whether it was found to take all that it gets."""
        elapsed_us, delivered = now_us - self.sampled_at_us, part.delivered_bytes - self.delivered_bytes
        if delivered > 0 or part.connections_sending:
            self.seen_at_us = now_us
        self.queued_bytes, self.uids, self.path_us = part.queued_bytes, part.uids, path_us
        if delivered < 0:  # its agent started again
            self.sampled_at_us, self.delivered_bytes = now_us, part.delivered_bytes
        elif elapsed_us > 0:
            weight = min(1.0, elapsed_us / SMOOTHING_US)
            self.used_bps += weight * (delivered * 8e6 / elapsed_us - self.used_bps)
            self.sampled_at_us, self.delivered_bytes = now_us, part.delivered_bytes
        return self._takes_all(now_us)

    @property
    def is_short(self) -> bool:
        """Whether it gets less than it sends: it has a queue, and less than it needs."""
        return self.has_queue and self.used_bps * NEED_PER_RATE < self.need_bps

    @property
    def has_queue(self) -> bool:
        """Whether more than half a second of what it sends waits."""
        queue_s = self.path_us / 1e6 + QUEUED_S
        return self.queued_bytes * 8 > queue_s * self.used_bps

    def carries(self, bps: float, now_us: int) -> None:
        """Take in what its station's present rate carries; 0 if that is not known."""
        if bps < self.carries_bps:
            bps = max(bps, self.carries_bps * 0.5 ** ((now_us - self.carried_at_us) / RATE_HALVES_US))
        self.carries_bps, self.carried_at_us = bps, now_us

    def _takes_all(self, now_us: int) -> bool:
        gets_need = self.granted and self.used_bps * NEED_PER_RATE >= self.need_bps
        if not gets_need or not self.has_queue:
            self.full_since_us = 0
            return False
        if not self.full_since_us or self.queued_bytes < SHORTER * self.full_bytes:
            self.full_since_us, self.full_bytes = now_us, self.queued_bytes
        if now_us - self.full_since_us < TAKES_ALL_US:
            return False
        self.full_since_us = 0
        return True


@dataclass(slots=True)
class FalseClaim:
    """Of a station: a flow of it that claimed to be live took all that it got. Times are the controller's."""

    until_us: int  # no grant before
    length_us: int  # for how long that is


@dataclass(slots=True)
class LiveFlows:
    """Of one cell."""

    flows: dict[FlowKey, LiveFlow] = field(default_factory=dict)
    false_claims: dict[Mac, FalseClaim] = field(default_factory=dict)
    failures_total: int = 0  # decisions about them that ended in an error of the controller

    def observe(self, mac: Mac, apps: Iterable[AppPart], path_us: Callable[[Address], int], now_us: int) -> bool:
        """Take in a terminal's report; whether a flow began or changed its applications."""
        moved = False
        for part in apps:
            if part.application_class != LIVE or not part.uids:
                continue
            key: FlowKey = tuple.__new__(FlowKey, (mac, part.address))  # without a call of Python code
            flow = self.flows.get(key)
            if flow is None:
                if not part.connections_sending:
                    continue
                flow = LiveFlow(now_us, now_us, now_us, part.delivered_bytes, part.queued_bytes, part.uids)
                flow.path_us = path_us(key.address)
                self.flows[key] = flow
                moved = True
                continue
            moved |= flow.uids != part.uids
            if flow.observe(part, path_us(key.address), now_us):
                self._found_false(mac, now_us)
                moved = True
        return moved

    def _found_false(self, mac: Mac, now_us: int) -> None:
        known = self.false_claims.get(mac)
        length_us = min(2 * known.length_us, WITHOUT_GRANT_MOST_US) if known is not None else WITHOUT_GRANT_US
        self.false_claims[mac] = FalseClaim(now_us + length_us, length_us)

    def newly_refused(self, granted_before: Iterable[FlowKey]) -> list[tuple[FlowKey, Reason]]:
        """The flows that there is no air or no trust for since the last time, but for those that had a grant: that it
        ends is another event.
        """
        found, before = list[tuple[FlowKey, Reason]](), set(granted_before)
        for key, flow in self.flows.items():
            refused = flow.refused if flow.refused is not None and flow.refused.code in ADMISSION else None
            known = flow.noted is not None and refused is not None and flow.noted.code is refused.code
            if refused is not None and not known and key not in before:
                found.append((key, refused))
            flow.noted = refused
        return found

    def forget(self, is_gone: Callable[[FlowKey, LiveFlow], bool], now_us: int) -> None:
        """Forget flows that ended, and false claims some time after their consequences."""
        for key in [key for key, flow in self.flows.items() if is_gone(key, flow)]:
            del self.flows[key]
        for mac in [mac for mac, claim in self.false_claims.items() if now_us >= claim.until_us + FORGOTTEN_US]:
            del self.false_claims[mac]

    def choose(
        self,
        parameters: LiveParameters,
        restriction: Callable[[FlowKey], Reason | None],
        carries_bps: Callable[[Mac], float],
        claimants: int,
        now_us: int,
    ) -> None:
        """Grant flows. `restriction`: why a flow may have no grant; `carries_bps`: what the PHY rate of a station
        carries, 0 if that is not known; `claimants`: how many share the air.
        """
        used, claims = 0.0, self.false_claims
        for key, flow in sorted(self.flows.items(), key=_first_granted):
            refused = restriction(key)
            claim = claims.get(key.mac) if claims else None
            if refused is None and claim is not None and now_us < claim.until_us:
                refused = Reason(Code.TAKES_ALL, limit=claim.length_us / 1e6)
            flow.carries(carries_bps(key.mac), now_us)
            flow.need_bps, flow.part = _need(flow, parameters, claimants)
            if refused is None:
                most = parameters.air_most * (KEPT_AIR if flow.granted else 1.0)
                if used + flow.part > most:
                    refused = Reason(Code.LIVE_AIR, "", used, used + flow.part, parameters.air_most)
                else:
                    used += flow.part
            flow.granted, flow.refused = refused is None, refused
            admitted_us = admitted_us_per_s(flow.part) if flow.granted else 0
            window_bps = flow.need_bps if flow.granted else 0.0
            if admitted_us == flow.admitted_us_per_s and window_bps == flow.window_bps:
                continue
            if not _is_near(admitted_us, flow.admitted_us_per_s) or not _is_near(window_bps, flow.window_bps):
                flow.admitted_us_per_s, flow.window_bps = admitted_us, window_bps

    @property
    def granted(self) -> int:
        """How many have the category."""
        return sum(flow.granted for flow in self.flows.values())

    @property
    def short(self) -> int:
        """How many get less than they send."""
        return sum(flow.is_short for flow in self.flows.values())

    @property
    def granted_part(self) -> float:
        """Of the air, that they need."""
        return sum(flow.part for flow in self.flows.values() if flow.granted)


def _first_granted(entry: tuple[FlowKey, LiveFlow]) -> tuple[bool, int, FlowKey]:
    """The order in which flows are granted."""
    key, flow = entry
    return not flow.granted, flow.began_at_us, key


def _need(flow: LiveFlow, parameters: LiveParameters, claimants: int) -> tuple[float, float]:
    """The rate that a flow needs, and the part of the air for that; the whole if its station's rate is not known."""
    if flow.carries_bps <= 0:
        return parameters.rate_bps, 1.0
    most_bps, own_bps = flow.carries_bps / max(1, claimants), 0.0 if flow.has_queue else NEED_PER_RATE * flow.used_bps
    need_bps = max(parameters.rate_bps, min(own_bps, most_bps))
    return need_bps, min(1.0, need_bps / flow.carries_bps)


def admitted_us_per_s(part: float) -> int:
    """What a flow that needs a part of the air is admitted."""
    return min(1_000_000, round(part * ADMITTED_PER_PART * 1e6) + ADMITTED_LEAST_US)


def _is_near(one: float, other: float) -> bool:
    """Whether two times, or two rates, are so near that another set is not worth sending."""
    if not one or not other:
        return one == other
    return max(one, other) <= STEP * min(one, other)


def carried_bps(rate_kbps: int) -> float:
    """What a station at a PHY rate carries by itself, if its frames go singly, as a slow flow's do."""
    return rate_kbps * 1e3 * GOODPUT_PER_BITRATE
