# SPDX-License-Identifier: Apache-2.0
"""What a terminal's TCP delivers, by what its agent reports of all destinations together."""

from __future__ import annotations

from dataclasses import dataclass

from airbound.core.policy.types import IPV4_HEADER_BYTES

INTERVAL_MIN_US = 500_000
MSS_BYTES = 1448
PER_PAYLOAD = (MSS_BYTES + IPV4_HEADER_BYTES) / MSS_BYTES  # of IP packets that are full


@dataclass(slots=True)
class Delivered:
    """The last rate, between reports of one agent."""

    bps: float | None = None  # of IP packets; none: not known
    _bytes: int = 0
    _at_us: int = 0  # the agent's clock; 0: there was no report

    def observe(self, delivered_bytes: int, monotonic_us: int) -> None:
        """Take in a report. The sum falls when a destination is reported no more: such an interval says nothing. Of an
        agent that has counted nothing so far that is all that is known.
        """
        elapsed_us, grown = monotonic_us - self._at_us, delivered_bytes - self._bytes
        if 0 <= elapsed_us < INTERVAL_MIN_US:
            return
        if self._at_us and elapsed_us > 0 and grown >= 0 and delivered_bytes:
            self.bps = grown * 8e6 * PER_PAYLOAD / elapsed_us
        self._bytes, self._at_us = delivered_bytes, monotonic_us
