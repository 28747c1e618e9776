# SPDX-License-Identifier: Apache-2.0
"""What is the same for every peer that reports on a stream, access point, terminal or switch: the order of its
reports, how old the last one is, and what was refused of them.
"""

from dataclasses import dataclass

from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason, RefusedError

OUT_OF_ORDER_MAX = 5  # in a row; then the stream is ended, so that a clock that once jumped ahead costs a stream only


@dataclass(slots=True, eq=False)
class Reporter:
    """One peer on one stream. `reported_at_us` is the controller's clock, `monotonic_us` the peer's."""

    stream: Stream
    sequence: int = 0
    monotonic_us: int = 0
    reported_at_us: int = 0
    refused_total: int = 0
    malformed_inputs_total: int = 0
    agent_version: str = ""
    last_report: bytes = b""  # the last one that was accepted, as it came
    out_of_order_streak: int = 0
    closed: bool = False  # its end was asked for: what still arrives is ignored

    def accept_order(self, sequence: int, monotonic_us: int, now_us: int) -> None:
        """Take note of a report that is newer than the last.

        Raises:
            RefusedError: it is not newer.
        """
        if sequence <= self.sequence:
            if sequence < self.sequence:  # an equal one was repeated by the network; the next one is newer
                self.out_of_order_streak += 1
            raise RefusedError(Reason(Code.OUT_OF_ORDER, "sequence", before=self.sequence, after=sequence))
        if monotonic_us < self.monotonic_us:
            self.out_of_order_streak += 1
            raise RefusedError(Reason(Code.OUT_OF_ORDER, "monotonic_us", before=self.monotonic_us, after=monotonic_us))
        self.sequence = sequence
        self.monotonic_us = monotonic_us
        self.reported_at_us = now_us
        self.out_of_order_streak = 0

    def is_stale(self, now_us: int, stale_ms: int) -> bool:
        """Whether it is too long ago that it reported."""
        return now_us - self.reported_at_us > stale_ms * 1000
