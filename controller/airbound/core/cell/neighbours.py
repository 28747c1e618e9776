# SPDX-License-Identifier: Apache-2.0
"""Other cells on the channel that nothing limits, and what the windows of ours must be beside them.

Phones of another access point that have no bounds fill every pause that ours leave. Each turn of ours comes later then,
a window that was just large enough is empty until the next one, and what the cell still carries looks like all that it
can: with five such phones beside five of ours (802.11n, 16 ms) ours had 0.4 Mb/s each, theirs 8, and without bounds all
of them 4. An access point that waits longer than its own parameters have it makes that worse, since ACKs of uploads
come last.

So the maxima of the cell grow by a factor until the cell has as much of the channel as all others together, by the rule
of cell/balance.py:

    own      = time that the cell's packets took, or need in a full channel, whichever is more      of the channel
    others   = busy time of the channel less that: other cells, and collisions
    harm     = others / own
    begins   where others have OTHERS_LEAST of the channel, the windows of limited senders are full, and the harm is
             above BEGINS: own collisions count as others
    factor   from 1 to LARGEST, as there; 1 when others have had less for three seconds
    ends     bounds, beyond LARGEST: for RAISED_US windows are raised, and then there are none, until others have had
             less for QUIET_US. What a window of LARGEST times the computed one does not get, none gets that is worth
             having: its RTT is what it is without bounds. So it is beside strong interference, which does not yield

Two cells with bounds have half of the channel each without that. While there is a factor, and until it has been 1 for
QUIET_US, the access point has its own EDCA parameters. Of a full channel others count as OTHERS_MOST at most in the
estimate of the capacity (cell/capacity.py): they take what is left to them.

Nobody reports how many stations the others have. With nine phones beside one ours have half of the channel, where each
of ten would have a tenth without bounds.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.cell.balance import Balance
from airbound.core.cell.unlimited import RAISED_US
from airbound.core.policy import UNBOUNDED

OTHERS_LEAST, OTHERS_MOST = 0.3, 0.5
BEGINS, LARGEST = 1.5, 8.0
QUIET_US = 30_000_000


class ChannelAir(NamedTuple):
    """Shares of the channel's time, 0 to 1."""

    own: float
    others: float


def channel_air(own_us: float, busy_us: int, active_us: int) -> ChannelAir | None:
    """Who had the channel between two surveys; none without a survey, or if the cell's own part is not known."""
    if not active_us or not own_us:
        return None
    return ChannelAir(min(1.0, own_us / active_us), max(0.0, busy_us - own_us) / active_us)


def _beyond() -> Balance:
    return Balance(largest=2 * LARGEST, begins=BEGINS)


@dataclass(slots=True)
class Neighbours:
    """Of one cell. Times are the controller's."""

    air: ChannelAir | None = None  # when a factor was first needed; none: the access point may wait longer
    ended: bool = False  # whether there are no bounds any more
    _balance: Balance = field(default_factory=_beyond)
    _widened_us: int = 0  # when there last was a factor
    _ending_us: int = 0  # since when bounds are about to end; 0: they are not
    _claimed_us: int = 0  # when others last had OTHERS_LEAST

    @property
    def factor(self) -> float:
        """Of all maxima. UNBOUNDED: bounds are about to end, or have ended."""
        return UNBOUNDED if self._ending_us else self._balance.factor

    def observe(self, air: ChannelAir | None, now_us: int, *, held_back: bool) -> bool:
        """Take in, after each measurement, who had the channel; whether windows are to change. `held_back`: whether a
        sender would send more if its window were larger.
        """
        before = self.factor, self.ended
        claims = air is not None and air.others >= OTHERS_LEAST
        if claims:
            self._claimed_us = now_us
        if self._ending_us:
            self._go_on_ending(now_us)
        else:
            own, others = air or (0.0, 0.0)
            # Over half of the channel.
            self._balance.observe([2 * others] if claims else [], [2 * own] if held_back else [], now_us)
            if self._balance.factor > LARGEST:
                self._ending_us = now_us
        if self.factor > 1:
            self.air, self._widened_us = self.air or air, now_us
        elif not claims or now_us - self._widened_us >= QUIET_US:
            self.air = None
        return before != (self.factor, self.ended)

    def _go_on_ending(self, now_us: int) -> None:
        self.ended = self.ended or now_us - self._ending_us >= RAISED_US
        if now_us - self._claimed_us >= QUIET_US:
            self.ended, self._ending_us, self._balance = False, 0, _beyond()
