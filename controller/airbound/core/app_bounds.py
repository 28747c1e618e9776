# SPDX-License-Identifier: Apache-2.0
"""Bounds for single applications of a terminal, by their class, beside those of its destinations. A kernel takes the
one for an application and a destination before all others (kernel/README.md).

- live, with a grant: a minimum that carries the flow's rate over the minimum RTT, so that it has it after a pause and
  after losses as well. A maximum of twice that at least.
- background: the smallest window, while others in the cell send: what is left.
- burst: its terminal's share as a minimum, where others begin with half of it: each transfer has its share from its
  first round trip on, also on a connection of its own, as long as the destination is kept after the one before.
- bulk has what its terminal's share comes to, as applications without a class.

Where a back end cannot select by both, an application's class changes no window.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from airbound.core.cell.live import LIVE, FlowKey
from airbound.core.cell.terminal import BACKGROUND, BURST
from airbound.core.effects import Bound
from airbound.core.policy.types import SEGMENTS_MAX

if TYPE_CHECKING:
    from airbound.core.cell.state import CellState
    from airbound.core.cell.terminal import Terminal
    from airbound.core.policy import Decision

MAX_PER_MIN = 2  # of a live flow, at least: a picture with much movement in it needs more than the mean


def app_bounds(terminal: Terminal, decisions: tuple[Decision, ...], cell: CellState) -> tuple[Bound, ...]:
    """The bounds for applications, by address and uid; none for destinations without a decision."""
    if not terminal.back_end.can_select_uid_destination:
        return ()
    by_address, seen = {decision.destination: decision for decision in decisions}, set[tuple[bytes, int]]()
    found = list[tuple[bytes, int, tuple[int, int]]]()
    for part in (*terminal.apps, *terminal.bursts):
        decision = by_address.get(part.address)
        if decision is None:
            continue
        if part.application_class == LIVE:
            segments = _live_range(terminal, decision, cell)
        elif part.application_class == BACKGROUND and decision.policy_input.active_senders > 1:
            floor = cell.settings.parameters.bdp.floor_segs
            segments = (floor, floor) if floor < decision.range.max_segs else None
        elif part.application_class == BURST and cell.policy.uses_capacity:
            segments = _burst_range(decision)
        else:
            segments = None
        new = [uid for uid in part.uids if (part.address, uid) not in seen]  # of several classes the first counts
        seen |= {(part.address, uid) for uid in new}
        found += [(part.address, uid, segments) for uid in new if segments is not None]
    return tuple(Bound(address, *segments, uid) for address, uid, segments in sorted(found))


def _burst_range(decision: Decision) -> tuple[int, int] | None:
    """A burst's; none if the destination's is the same."""
    given, (least, most) = decision.policy_input, decision.range
    share = given.share_bps / given.connections * given.path_rtt_us / 8e6 / given.segment_bytes
    low = min(max(math.floor(share), least), most)
    return (low, most) if low > least else None


def _live_range(terminal: Terminal, decision: Decision, cell: CellState) -> tuple[int, int] | None:
    """A granted flow's; none if the destination's is enough."""
    flow = cell.live.flows.get(FlowKey(terminal.mac, decision.destination))
    if flow is None or not flow.granted:
        return None
    given = decision.policy_input
    segments = math.ceil(flow.window_bps * given.min_rtt_us / 8e6 / given.segment_bytes) + 1  # and one that is ACKed
    low, high = max(segments, decision.range.min_segs), max(MAX_PER_MIN * segments, decision.range.max_segs)
    if (low, high) == decision.range:
        return None
    return min(low, SEGMENTS_MAX), min(high, SEGMENTS_MAX)
