# SPDX-License-Identifier: Apache-2.0
"""How long an access point's best effort queue is to wait for the air, and when it is to wait longer than its own
parameters have it.

Uploads are clocked by the TCP ACKs that the access point sends. One that contends for the air as its stations do wins
an access for a few ACKs as often as a station does for its data, and with each ACK it puts more data into the stations'
queues. One that waits some slots longer has the data drain first:

    AIFSN = stations' AIFSN + aifsn_extra      2 without WMM (DCF); at most 7, never less than the access point's own

    CWmax = the larger of the stations' and its own

hostapd gives an access point with WMM a CWmax of 63 where its stations have 1023: after collisions it would be back
before them all the same. CWmin and the TXOP limit are the access point's own. All but AIFSN can be configured.

In a cell that only downloads that costs a fifth of the throughput; beside as many uploads downloads gain as well
(docs/measurements.md). So it is for cells with at least `min_senders` active senders in which uploads are a good part
of the payload:

    share = uplink / (uplink + downlink), both averaged over share_smoothing_s with exponential weights
    downlink = sum over stations of max(0, tx_bytes - tx_packets x (link_overhead_bytes + 52))

A pure TCP ACK with time stamps is an IPv4 packet of 52 bytes: the ACKs of a pure upload count as nothing (with SACK
blocks or IPv6 as less than 2 % of its data), and a full packet as a segment's payload. It begins at `on_share` and ends
below `off_share`, or when too few stations have sent for `linger_s`, so that a pause between two bursts ends nothing.
"""

import math
from dataclasses import dataclass

from airbound.core.edca import SET_AIFSN_MAX, SET_CW_MIN_MAX, SET_TXOP_LIMIT_MAX, Category, Edca
from airbound.core.parameters import EdcaParameters
from airbound.core.reasons import Code, Reason
from airbound.core.reports import EdcaState

ACK_BYTES = 52  # of an IPv4 packet that has a TCP header with time stamps and nothing else
DCF_AIFSN = 2


class CannotSetError(ValueError):
    """An access point's queues cannot be set; the text says why, of the access point."""


def best_effort(queues: tuple[Edca, ...]) -> Edca | None:
    """The best effort queue among these, if it is known."""
    return next((queue for queue in queues if queue.category is Category.BEST_EFFORT), None)


def stations_aifsn(state: EdcaState) -> int | None:
    """The AIFSN of the stations' best effort queues; none if the access point has not reported it."""
    if not state.wmm:
        return DCF_AIFSN
    queue = best_effort(state.stations)
    return queue.aifsn if queue else None


def _stations_cw_max(state: EdcaState) -> int:
    """The largest contention window of the stations' best effort queues; 0 if it is not known."""
    queue = best_effort(state.stations)
    return queue.cw_max if queue else 0


def wanted(state: EdcaState, parameters: EdcaParameters) -> Edca:
    """The best effort queue as it is to be beside uploads; equal to the access point's own if there is nothing
    to set.

    Raises:
        CannotSetError: the access point reports too little, or has values of its own that an agent refuses in a set.
    """
    own, stations = best_effort(state.own), stations_aifsn(state)
    if own is None or stations is None:
        raise CannotSetError("it does not report the parameters of its best effort queue")
    aifsn = max(min(stations + parameters.aifsn_extra, SET_AIFSN_MAX), own.aifsn)
    cw_min = own.cw_min if parameters.cw_min is None else parameters.cw_min
    cw_max = max(own.cw_max, _stations_cw_max(state)) if parameters.cw_max is None else parameters.cw_max
    if cw_min > cw_max:  # what is configured counts
        cw_min, cw_max = (cw_min, cw_min) if parameters.cw_max is None else (cw_max, cw_max)
    txop_limit = own.txop_limit if parameters.txop_limit is None else parameters.txop_limit
    queue = Edca(Category.BEST_EFFORT, aifsn, cw_min, cw_max, txop_limit)
    if queue != own and (aifsn > SET_AIFSN_MAX or cw_min > SET_CW_MIN_MAX or txop_limit > SET_TXOP_LIMIT_MAX):
        raise CannotSetError("its own parameters are out of the limits of what can be set")
    return queue


def formula(state: EdcaState, parameters: EdcaParameters) -> str:
    """How the AIFSN follows from what is known, for `wanted` that raises nothing: one line for a person."""
    own, queue = best_effort(state.own), wanted(state, parameters)
    source = "" if state.wmm else " (DCF, no WMM)"
    return (
        f"AIFSN {stations_aifsn(state)} of the stations{source} + {parameters.aifsn_extra},"
        f" at least its own {own.aifsn if own else '?'}, at most {SET_AIFSN_MAX}: {queue.aifsn}"
    )


@dataclass(slots=True)
class ChannelAccess:
    """What one cell carries each way, and whether the access point is to wait longer. Times are the controller's."""

    uplink_bps: float = 0.0  # averaged
    downlink_bps: float = 0.0
    waits: bool | None = None  # longer, when that was last found out; none: never yet
    few_since_us: int = 0  # too few stations have sent since; 0: enough do
    least_share: float = 0.0  # that the share was compared with last

    def restart(self) -> None:
        """Nothing is known any more."""
        self.uplink_bps = self.downlink_bps = 0.0
        self.waits, self.few_since_us = None, 0

    def observe(self, uplink_bps: float, downlink_bps: float, seconds: float, parameters: EdcaParameters) -> None:
        """Take in the payload rates of an interval."""
        weight = -math.expm1(-seconds / parameters.share_smoothing_s)
        self.uplink_bps += weight * (uplink_bps - self.uplink_bps)
        self.downlink_bps += weight * (downlink_bps - self.downlink_bps)

    @property
    def share(self) -> float:
        """The uplink's share of the payload, 0 to 1; 0 while there was none."""
        total = self.uplink_bps + self.downlink_bps
        return self.uplink_bps / total if total else 0.0

    def traffic(self, senders: int, now_us: int, parameters: EdcaParameters, *, was_set: bool) -> Code:
        """UPLOADS, or why they do not. `was_set`: whether the access point has parameters of a controller in
        force; for one that does not know the cell yet, they count as its own decision.
        """
        if self.waits is None:
            self.waits = was_set
        if senders >= parameters.min_senders:
            self.few_since_us = 0
        elif not self.waits:
            return Code.FEW_SENDERS
        else:
            self.few_since_us = self.few_since_us or now_us
            if now_us - self.few_since_us >= parameters.linger_s * 1e6:
                self.waits, self.few_since_us = False, 0
                return Code.FEW_SENDERS
        self.least_share = parameters.off_share if self.waits else parameters.on_share
        self.waits = self.share >= self.least_share
        return Code.UPLOADS if self.waits else Code.DOWNLOADS

    def reason(self, code: Code, senders: int, parameters: EdcaParameters) -> Reason:
        """What `traffic` found out last, with its values."""
        if code is Code.FEW_SENDERS:
            return Reason(code, after=senders, limit=parameters.min_senders)
        return Reason(code, after=self.share, limit=self.least_share if code is Code.DOWNLOADS else parameters.on_share)
