# SPDX-License-Identifier: Apache-2.0
"""Rates of phones that send by UDP, QUIC among it, where nothing else limits them: no window of theirs is bounded.

Such a sender has what a sender by TCP has, its share of the cell (cell/shares.py, cell/air.py), and a little more: a
rate leaves no queue from which a frame could be sent in a moment that others leave. It begins when the sender takes
`CLAIMS` of its share beside others, follows the share in steps, and ends when it has taken less than half of its rate
for `LINGERS_US`: what does not want more is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airbound.core.cell.unlimited import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound.core.addresses import Mac

HEADROOM = 1.05
STEP = 1.1  # of a rate, for which a new one is sent
ENDS_BELOW = 0.5
LINGERS_US = 3_000_000
LEAST_BPS = 100_000.0
GIVEN_UP_US = 60_000_000


@dataclass(slots=True)
class Pace:
    """One phone's."""

    bps: float
    claimed_us: int  # when it last took enough of it; the controller's clock


@dataclass(slots=True)
class Pacing:
    """Of one cell."""

    paces: dict[Mac, Pace] = field(default_factory=dict)
    given_up_us: dict[Mac, int] = field(default_factory=dict)  # who did not apply a rate is not sent one before
    had: bool = False  # whether there were some at the report before: those that had them are to be sent that

    def observe(self, shares_bps: Mapping[Mac, float], used: Mapping[Mac, float], now_us: int) -> None:
        """Take in who may be paced, with shares, and what each uses of its share."""
        self.had = bool(self.paces)
        for mac in [mac for mac in self.paces if mac not in shares_bps]:
            del self.paces[mac]
        for mac, share_bps in shares_bps.items():
            wanted_bps, pace = max(LEAST_BPS, HEADROOM * share_bps), self.paces.get(mac)
            used_bps = used.get(mac, 0.0) * share_bps
            if pace is None:
                if used.get(mac, 0.0) >= CLAIMS:
                    self.paces[mac] = Pace(wanted_bps, now_us)
                continue
            if used_bps >= ENDS_BELOW * pace.bps:
                pace.claimed_us = now_us
            elif now_us - pace.claimed_us >= LINGERS_US:
                del self.paces[mac]
                continue
            if max(wanted_bps, pace.bps) > STEP * min(wanted_bps, pace.bps):
                pace.bps = wanted_bps

    def give_up(self, mac: Mac, now_us: int) -> None:
        """Its agent does not apply what it is sent: for some time it counts as one that nothing limits."""
        self.given_up_us = {other: until_us for other, until_us in self.given_up_us.items() if now_us < until_us}
        self.given_up_us[mac] = now_us + GIVEN_UP_US

    def is_given_up(self, mac: Mac, now_us: int) -> bool:
        """Whether that was a while ago at most."""
        return now_us < self.given_up_us.get(mac, 0)
