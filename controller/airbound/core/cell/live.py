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
    from collections.abc import Callable, Collection, Iterable

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
    had_grant: bool = False  # before grants were chosen last
    noted: Reason | None = None  # the refusal of which there was an event
    full_since_us: int = 0  # gets its need and has a queue, which has not become shorter; 0: does not
    full_bytes: int = 0  # of the queue, then

    def observe(self, part: AppPart, path_us: int, now_us: int) -> bool:
        """Take in what a report says of it; whether it was found to take all that it gets."""
        _, _, connections_sending, delivered_bytes, self.queued_bytes, self.uids = part
        elapsed_us, delivered = now_us - self.sampled_at_us, delivered_bytes - self.delivered_bytes
        if delivered > 0 or connections_sending:
            self.seen_at_us = now_us
        self.path_us = path_us
        if delivered < 0:  # its agent started again
            self.sampled_at_us, self.delivered_bytes = now_us, delivered_bytes
        elif elapsed_us > 0:
            weight = elapsed_us / SMOOTHING_US if elapsed_us < SMOOTHING_US else 1.0
            self.used_bps += weight * (delivered * 8e6 / elapsed_us - self.used_bps)
            self.sampled_at_us, self.delivered_bytes = now_us, delivered_bytes
        gets_need = self.granted and self.used_bps * NEED_PER_RATE >= self.need_bps
        if gets_need and self.queued_bytes * 8 > (path_us / 1e6 + QUEUED_S) * self.used_bps:  # has_queue
            return self._takes_all(now_us)
        self.full_since_us = 0
        return False

    @property
    def is_short(self) -> bool:
        """Whether it gets less than it sends: it has a queue, and less than it needs."""
        return self.has_queue and self.used_bps * NEED_PER_RATE < self.need_bps

    @property
    def has_queue(self) -> bool:
        """Whether more than half a second of what it sends waits."""
        queue_s = self.path_us / 1e6 + QUEUED_S
        return self.queued_bytes * 8 > queue_s * self.used_bps

    def needs(self, rate_bps: float, carries_bps: float, claimants: int, now_us: int) -> tuple[float, float]:
        """The rate that it needs, at least `rate_bps`, and the part of the air for that. `carries_bps` is what its
        station's present rate carries, 0 if that is not known: the part is the whole then.
        """
        if carries_bps < self.carries_bps:
            halved = 0.5 ** ((now_us - self.carried_at_us) / RATE_HALVES_US)
            carries_bps = max(carries_bps, self.carries_bps * halved)
        self.carries_bps, self.carried_at_us = carries_bps, now_us
        if carries_bps <= 0:
            return rate_bps, 1.0
        need_bps, own_bps = rate_bps, NEED_PER_RATE * self.used_bps
        if own_bps > need_bps and not self.has_queue:
            need_bps = max(need_bps, min(own_bps, carries_bps / max(1, claimants)))
        return need_bps, min(1.0, need_bps / carries_bps)

    def _takes_all(self, now_us: int) -> bool:
        """Whether it has had a queue for long, although it gets its need."""
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
    outdated: set[Mac] = field(default_factory=set)  # stations whose flows are to be decided again
    rewindowed: set[Mac] = field(default_factory=set)  # stations whose windows are to follow flows' needs again

    def observe(self, mac: Mac, apps: Iterable[AppPart], path_us: Callable[[Address], int], now_us: int) -> bool:
        """Take in a terminal's report; whether a flow began or changed its applications."""
        moved, flows = False, self.flows
        for part in apps:
            if part.application_class != LIVE:
                continue
            address, _, connections_sending, delivered_bytes, queued_bytes, uids = part
            if not uids:
                continue
            flow = flows.get((mac, address))  # type: ignore[call-overload]  # equal to its FlowKey, and made faster
            if flow is None:
                if not connections_sending:
                    continue
                flow = LiveFlow(now_us, now_us, now_us, delivered_bytes, queued_bytes, uids)
                flow.path_us = path_us(address)
                flows[FlowKey(mac, address)] = flow
                moved = True
                continue
            if flow.uids != uids:
                self.outdated.add(mac)
                moved = True
            if flow.observe(part, path_us(address), now_us):
                self._found_false(mac, now_us)
                moved = True
        return moved

    def _found_false(self, mac: Mac, now_us: int) -> None:
        known = self.false_claims.get(mac)
        length_us = min(2 * known.length_us, WITHOUT_GRANT_MOST_US) if known is not None else WITHOUT_GRANT_US
        self.false_claims[mac] = FalseClaim(now_us + length_us, length_us)

    def newly_refused(self) -> list[tuple[FlowKey, Reason]]:
        """The flows that there is no air or no trust for since the last time, but for those that had a grant: that it
        ends is another event.
        """
        found = list[tuple[FlowKey, Reason]]()
        for key, flow in self.flows.items():
            refused, noted = flow.refused, flow.noted
            if refused is None or refused.code not in ADMISSION:
                flow.noted = None
                continue
            if not flow.had_grant and (noted is None or noted.code is not refused.code):
                found.append((key, refused))
            flow.noted = refused
        return found

    def forget(self, stations: Collection[Mac], keep_us: int, now_us: int) -> None:
        """Forget flows that sent nothing for longer than `keep_us` or are of none of these stations, and false claims
        some time after their consequences.
        """
        least_us = now_us - keep_us
        gone = [key for key, flow in self.flows.items() if flow.seen_at_us < least_us or key[0] not in stations]
        for key in gone:
            self._note_end(key.mac, self.flows.pop(key))
        for mac in [mac for mac, claim in self.false_claims.items() if now_us >= claim.until_us + FORGOTTEN_US]:
            del self.false_claims[mac]

    def clear(self) -> None:
        """Forget all flows."""
        for key, flow in self.flows.items():
            self._note_end(key.mac, flow)
        self.flows.clear()

    def _note_end(self, mac: Mac, flow: LiveFlow) -> None:
        """Note what the end of a flow of a station changes."""
        self.outdated.add(mac)
        if flow.window_bps:
            self.rewindowed.add(mac)

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
        used, claims, air_most, rate_bps = 0.0, self.false_claims, parameters.air_most, parameters.rate_bps
        # Those with a grant first, then in the order in which they began.
        ordered = [(not flow.granted, flow.began_at_us, key, flow) for key, flow in self.flows.items()]
        ordered.sort()
        for _, _, key, flow in ordered:
            mac, had_grant = key[0], flow.granted
            refused = restriction(key)
            claim = claims.get(mac) if claims else None
            if refused is None and claim is not None and now_us < claim.until_us:
                refused = Reason(Code.TAKES_ALL, limit=claim.length_us / 1e6)
            need_bps, part = flow.needs(rate_bps, carries_bps(mac), claimants, now_us)
            if refused is None:
                most = air_most * KEPT_AIR if had_grant else air_most
                if used + part > most:
                    refused = Reason(Code.LIVE_AIR, "", used, used + part, air_most)
                else:
                    used += part
            is_granted = refused is None
            if part != flow.part or need_bps != flow.need_bps or is_granted != had_grant:
                flow.part, flow.need_bps = part, need_bps
                if is_granted != had_grant:
                    self.outdated.add(mac)
                self._follow(mac, flow, is_granted=is_granted)
            flow.had_grant, flow.granted, flow.refused = had_grant, is_granted, refused

    def _follow(self, mac: Mac, flow: LiveFlow, *, is_granted: bool) -> None:
        """Have what a flow is admitted and its window follow its need, unless they are near that."""
        admitted_us, window_bps = (admitted_us_per_s(flow.part), flow.need_bps) if is_granted else (0, 0.0)
        had_us, had_bps = flow.admitted_us_per_s, flow.window_bps
        if (admitted_us == had_us and window_bps == had_bps) or (
            _is_near(admitted_us, had_us) and _is_near(window_bps, had_bps)
        ):
            return
        flow.admitted_us_per_s, flow.window_bps = admitted_us, window_bps
        if admitted_us != had_us:
            self.outdated.add(mac)
        if window_bps != had_bps:
            self.rewindowed.add(mac)

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
