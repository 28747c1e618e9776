# SPDX-License-Identifier: Apache-2.0
"""Cells whose access point keeps a TXOP limit of its own that nobody can set to 0: there are no bounds in them.

With a TXOP limit an access point answers several stations in one access and releases them at once, and they collide as
often as without bounds (cell/channel_access.py has it set to 0 for that reason). What bounds save in accesses is gone
then, and what they cost, shorter aggregates, is left: 5 to 15 % of what CUBIC carries. Windows that are large enough
for 0.98 of that have CUBIC's RTT (docs/results.md, "What if the access point's queues cannot be set?").

    begins   where stations aggregate frames, the access point has a TXOP limit of its own for best effort, and reports
             that its parameters cannot be set. If there are bounds, for RAISED_US windows are raised, and then there
             are none, as beside a sender that nothing limits (cell/unlimited.py)
    ends     when one of this is no longer so. A driver that refuses is asked again after a minute: until a set is in
             force, or TRIED_US after the access point's agent says again that it can set one, it has not ended
"""

from dataclasses import dataclass

from airbound.core.cell.channel_access import best_effort
from airbound.core.cell.unlimited import RAISED_US
from airbound.core.reports import EdcaState

TXOP_UNIT_US = 32
TRIED_US = 5_000_000


@dataclass(slots=True)
class KeptTxop:
    """Of one cell. Times are the controller's."""

    limit_us: int = 0  # the TXOP limit that is kept; 0: none, or it can be set
    refusal: str = ""  # why it cannot, in the access point's words
    ended: bool = False  # whether there are no bounds any more
    _since_us: int = 0
    _refused_us: int = 0  # when it was last reported that it cannot be set

    def observe(self, state: EdcaState | None, now_us: int, *, concerned: bool, bounded: bool) -> bool:
        """Take in what the access point reports of its queues; whether decisions follow from something else now.
        `concerned`: whether stations aggregate and the policy gives them windows for that; `bounded`: whether bounds or
        limits are in force.
        """
        was = bool(self.limit_us), self.ended
        own = best_effort(state.own) if state is not None else None
        limit_us = own.txop_limit * TXOP_UNIT_US if own is not None else 0
        if state is None or not concerned or not limit_us:
            self.limit_us, self.refusal, self.ended = 0, "", False
        elif not state.can_set:
            self._since_us = self._since_us if self.limit_us else now_us
            self.limit_us, self.refusal, self._refused_us = limit_us, state.refusal, now_us
            self.ended = self.ended or not bounded or now_us - self._since_us >= RAISED_US
        elif state.generation or now_us - self._refused_us >= TRIED_US:
            self.limit_us, self.refusal, self.ended = 0, "", False
        return was != (bool(self.limit_us), self.ended)

    @property
    def raises(self) -> bool:
        """Whether bounds are about to end: windows are raised to what connections without bounds would have."""
        return self.limit_us > 0 and not self.ended
