# SPDX-License-Identifier: Apache-2.0
"""The stations' contention window while a live flow without a grant is short.

Many stations that send all they can collide in most of their attempts, the more the smaller their contention window is.
The window at which they carry most grows with their number n (G. Bianchi, Performance Analysis of the IEEE 802.11
Distributed Coordination Function, 2000, eq. 28), with T the length of an access in slots:

    CWmin = n sqrt(2 T)      12 n for a frame of 250 us, 22 n for one of 2 ms

Every station takes over what its access point announces for best effort, whatever it sends and whether it has an agent
or not. So where a live flow cannot have the category for video and has been short for `SHORT_US`, the access point
announces the next power of two of `PER_SENDER` n, until there has been no such flow for `LINGERS_US`. Beside TCP, whose
senders wait for ACKs, a window as large costs throughput, so nothing is announced for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

from airbound.core.edca import CW_MAX

SHORT_US = 5_000_000
LINGERS_US = 20_000_000  # reports of a phone that starves are late
PER_SENDER = 16


@dataclass(slots=True)
class StationsWindow:
    """Of one cell. Times are the controller's."""

    cw_min: int = 0  # that stations are to be announced, slots; 0: none
    _short_since_us: int = 0  # 0: none is
    _seen_us: int = 0  # when there last was a flow without a grant

    def observe(self, senders: int, now_us: int, *, ungranted: bool, short: bool) -> None:
        """Take in whether there are live flows without a grant, and whether one of them is short."""
        if ungranted:
            self._seen_us = now_us
        elif now_us - self._seen_us >= LINGERS_US:
            self.cw_min = self._short_since_us = 0
            return
        if ungranted and not short and not self.cw_min:
            self._short_since_us = 0
            return
        if short:
            self._short_since_us = self._short_since_us or now_us
        if self._short_since_us and now_us - self._short_since_us >= SHORT_US:
            # It only grows while it is in force: a station that goes is no reason to collide again.
            self.cw_min = max(self.cw_min, window(senders))


def window(senders: int) -> int:
    """The contention window for so many, slots."""
    return min(CW_MAX, (1 << max(1, PER_SENDER * senders - 1).bit_length()) - 1)
