# SPDX-License-Identifier: Apache-2.0
"""How long an access point's best effort queue is to wait for the air, what it is to announce to its stations about
theirs, and when it is to wait longer than its own parameters have it.

Uploads are clocked by the TCP ACKs that the access point sends. One that contends for the air as its stations do wins
an access for a few ACKs as often as a station does for its data, and with each ACK it puts more data into the stations'
queues. One that waits some slots longer has the data drain first:

    AIFSN = stations' AIFSN + aifsn_extra      2 without WMM (DCF); at most 7, never less than the access point's own

    CWmax = the larger of the stations' and its own

hostapd gives an access point with WMM a CWmax of 63 where its stations have 1023: after collisions it would be back
before them all the same. CWmin is the access point's own. The TXOP limit is 0, which OpenWrt has at 2 ms on 802.11ac:
an access point that answers several stations in one access releases them at once, and they collide. Ten phones of
802.11ac, 4 ms (`airbound-lab run --phy 11ac-80 --ap openwrt --terminals 10 --delay-ms 4 --seconds 10 --warmup-seconds 4
--modes cubic,cubic@txop=0`): 402 Mb/s with 2 ms, 484 without. All but AIFSN can be configured.

What it announces to its stations is what is configured (`stations_*`; nothing by default) and for the rest its own, at
the same times, if the access point can set it. The stations' AIFSN and CWmax are then these in the formulas above.

In a cell that only downloads that costs a fifth of the throughput; beside as many uploads downloads gain as well
(docs/why-the-access-point-waits.md). So it is for cells with at least `min_senders` active senders in which uploads are
a good part of the payload:

    share = uplink / (uplink + downlink), both averaged over share_smoothing_s with exponential weights
    downlink = sum over stations of max(0, tx_bytes - tx_packets x (LINK_OVERHEAD_BYTES + 52))

A pure TCP ACK with time stamps is an IPv4 packet of 52 bytes: the ACKs of a pure upload count as nothing (with SACK
blocks or IPv6 as less than 2 % of its data), and a full packet as a segment's payload. It begins at `on_share` and ends
below `off_share`, or when too few stations have sent for `linger_s`, so that a pause between two bursts ends nothing.
"""

import math
from dataclasses import dataclass

from airbound.core.edca import (
    AIFSN_MAX,
    SET_AIFSN_MAX,
    SET_CW_MIN_MAX,
    SET_TXOP_LIMIT_MAX,
    STATIONS_AIFSN_MIN,
    STATIONS_CW_MAX_MIN,
    STATIONS_CW_MIN_MIN,
    Category,
    Edca,
    text,
)
from airbound.core.parameters import EdcaParameters
from airbound.core.reasons import Code, Reason
from airbound.core.reports import EdcaState

DCF_AIFSN = 2


class CannotSetError(ValueError):
    """An access point's queues cannot be set; the text says why, of the access point."""


def best_effort(queues: tuple[Edca, ...]) -> Edca | None:
    """The access point's best effort queue among these, if it is known."""
    return next((queue for queue in queues if queue.category is Category.BEST_EFFORT and not queue.announced), None)


def stations_best_effort(queues: tuple[Edca, ...]) -> Edca | None:
    """What is announced of best effort in a set; none if nothing is."""
    return next((queue for queue in queues if queue.category is Category.BEST_EFFORT and queue.announced), None)


def is_announcing(parameters: EdcaParameters) -> bool:
    """Whether stations are to use other parameters than their access point announces of its own."""
    configured = (
        parameters.stations_aifsn,
        parameters.stations_cw_min,
        parameters.stations_cw_max,
        parameters.stations_txop_limit,
    )
    return any(value is not None for value in configured)


def announcement(state: EdcaState, parameters: EdcaParameters) -> Edca | None:
    """What the access point is to announce of best effort; none if that stays its own, or it cannot set it.

    Raises:
        CannotSetError: the access point announces, where nothing is configured, what an agent refuses in a set.
    """
    own = best_effort(state.stations)
    if not is_announcing(parameters) or not state.can_set_stations or own is None:
        return None
    aifsn = own.aifsn if parameters.stations_aifsn is None else parameters.stations_aifsn
    cw_min = own.cw_min if parameters.stations_cw_min is None else parameters.stations_cw_min
    cw_max = own.cw_max if parameters.stations_cw_max is None else parameters.stations_cw_max
    if cw_min > cw_max:  # what is configured counts
        cw_min, cw_max = (cw_min, cw_min) if parameters.stations_cw_max is None else (cw_max, cw_max)
    txop_limit = own.txop_limit if parameters.stations_txop_limit is None else parameters.stations_txop_limit
    queue = Edca(Category.BEST_EFFORT, aifsn, cw_min, cw_max, txop_limit, announced=True)
    if queue == own._replace(announced=True):
        return None
    if (
        not STATIONS_AIFSN_MIN <= aifsn <= AIFSN_MAX
        or cw_min < STATIONS_CW_MIN_MIN
        or cw_max < STATIONS_CW_MAX_MIN
        or txop_limit > SET_TXOP_LIMIT_MAX
    ):
        raise CannotSetError("what it announces of its own is out of the limits of what can be set")
    return queue


def _announced(state: EdcaState, parameters: EdcaParameters) -> Edca | None:
    """What the stations' best effort queues use while uploads dominate; none if it has not reported that."""
    try:
        return announcement(state, parameters) or best_effort(state.stations)
    except CannotSetError:
        return best_effort(state.stations)


def stations_aifsn(state: EdcaState, parameters: EdcaParameters) -> int | None:
    """The AIFSN of the stations' best effort queues; none if the access point has not reported it."""
    if not state.wmm:
        return DCF_AIFSN
    queue = _announced(state, parameters)
    return queue.aifsn if queue else None


def _stations_cw_max(state: EdcaState, parameters: EdcaParameters) -> int:
    """The largest contention window of the stations' best effort queues; 0 if it is not known."""
    queue = _announced(state, parameters)
    return queue.cw_max if queue else 0


def can_set(state: EdcaState, parameters: EdcaParameters) -> bool:
    """Whether the access point can set any of what is configured."""
    return state.can_set or (state.can_set_stations and is_announcing(parameters))


def wanted_set(state: EdcaState, parameters: EdcaParameters) -> tuple[Edca, ...]:
    """EDCA parameters to set while uploads dominate, limited to what the access point supports; empty: none to set.

    Raises:
        CannotSetError: as `wanted` and `announcement`, if there is nothing else to set.
    """
    queues, error = list[Edca](), None
    for part, is_able in ((wanted, state.can_set), (announcement, state.can_set_stations)):
        if not is_able:
            continue
        try:
            queue = part(state, parameters)
        except CannotSetError as part_error:
            error = part_error
            continue
        if queue is not None and queue not in state.own:
            queues.append(queue)
    if error is not None and not queues:
        raise error
    return tuple(queues)


def wanted(state: EdcaState, parameters: EdcaParameters) -> Edca:
    """The best effort queue as it is to be beside uploads; equal to the access point's own if there is nothing
    to set.

    Raises:
        CannotSetError: the access point reports too little, or has values of its own that an agent refuses in a set.
    """
    own, stations = best_effort(state.own), stations_aifsn(state, parameters)
    if own is None or stations is None:
        raise CannotSetError("it does not report the parameters of its best effort queue")
    aifsn = max(min(stations + parameters.aifsn_extra, SET_AIFSN_MAX), own.aifsn)
    cw_min = own.cw_min if parameters.cw_min is None else parameters.cw_min
    cw_max = max(own.cw_max, _stations_cw_max(state, parameters)) if parameters.cw_max is None else parameters.cw_max
    if cw_min > cw_max:  # what is configured counts
        cw_min, cw_max = (cw_min, cw_min) if parameters.cw_max is None else (cw_max, cw_max)
    queue = Edca(Category.BEST_EFFORT, aifsn, cw_min, cw_max, parameters.txop_limit)
    if queue != own and (aifsn > SET_AIFSN_MAX or cw_min > SET_CW_MIN_MAX):
        raise CannotSetError("its own parameters are out of the limits of what can be set")
    return queue


def formula(state: EdcaState, parameters: EdcaParameters) -> str:
    """How the AIFSN follows from what is known, for `wanted` that raises nothing: one line for a person."""
    own, queue = best_effort(state.own), wanted(state, parameters)
    source = "" if state.wmm else " (DCF, no WMM)"
    return (
        f"AIFSN {stations_aifsn(state, parameters)} of the stations{source} + {parameters.aifsn_extra},"
        f" at least its own {own.aifsn if own else '?'}, at most {SET_AIFSN_MAX}: {queue.aifsn}"
    )


def stations_formula(state: EdcaState, parameters: EdcaParameters) -> str:
    """What is to be announced to the stations, or why nothing is; empty if nothing is configured. For a person."""
    if not is_announcing(parameters):
        return ""
    try:
        queue = announcement(state, parameters)
    except CannotSetError as error:
        return str(error)
    if queue is not None:
        return f"stations' {text(queue.category.name, *queue[1:5])}, as configured"
    if not state.can_set_stations:
        return f"its stations' cannot be set: {state.stations_refusal or 'its agent cannot'}"
    return "its stations use what is configured already"


@dataclass(slots=True)
class ChannelAccess:
    """What one cell carries each way, and whether the access point is to wait longer. Times are the controller's."""

    uplink_bps: float = 0.0  # averaged
    downlink_bps: float = 0.0
    waits: bool | None = None  # longer, when that was last found out; none: never yet
    few_since_us: int = 0  # too few stations have sent since; 0: enough do

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

    def traffic(self, senders: int, now_us: int, parameters: EdcaParameters, *, was_set: bool) -> Reason:
        """UPLOADS, or why they do not. `was_set`: whether the access point has parameters of a controller in
        force; for one that does not know the cell yet, they count as its own decision.
        """
        if self.waits is None:
            self.waits = was_set
        few = Reason(Code.FEW_SENDERS, after=senders, limit=parameters.min_senders)
        if senders >= parameters.min_senders:
            self.few_since_us = 0
        elif not self.waits:
            return few
        else:
            self.few_since_us = self.few_since_us or now_us
            if now_us - self.few_since_us >= parameters.linger_s * 1e6:
                self.waits, self.few_since_us = False, 0
                return few
        least_share = parameters.off_share if self.waits else parameters.on_share
        self.waits = self.share >= least_share
        if self.waits:
            return Reason(Code.UPLOADS, after=self.share, limit=parameters.on_share)
        return Reason(Code.DOWNLOADS, after=self.share, limit=least_share)
