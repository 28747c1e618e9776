# SPDX-License-Identifier: Apache-2.0
"""What is known of one terminal: its last report, what it sends to, and what it was sent."""

import ipaddress
from dataclasses import dataclass, field

from airbound.core.commands import Held
from airbound.core.decisions import Decision, Sending
from airbound.core.reports import ReportRefusedError, TerminalReport


@dataclass(slots=True)
class Terminal:
    """One agent, by its MAC."""

    mac: str
    stream: int = 0  # 0: not connected
    report: TerminalReport | None = None
    reported_at_us: int = 0
    observed: bool = False  # whether the report's minimum RTTs were taken in
    sending: dict[str, Sending] = field(default_factory=dict)
    held: Held | None = None
    last_generation: int = 0
    decisions: tuple[Decision, ...] = ()
    no_bounds_reason: str = ""
    refused_total: int = 0
    behind_total: int = 0  # reports in a row that were older than one before them
    failures_total: int = 0  # decisions that ended in an error of ours

    def accept(self, stream: int, report: TerminalReport, now_us: int, hold_us: int) -> None:
        """Take in a report.

        Raises:
            ReportRefusedError: the report is not newer than the last of its stream.
        """
        last = self.report
        if stream == self.stream and last is not None:
            if report.sequence <= last.sequence:
                raise ReportRefusedError("sequence", report.sequence, f"stale: {last.sequence} came before")
            if report.monotonic_us < last.monotonic_us:
                raise ReportRefusedError("monotonic_us", report.monotonic_us, f"stale: {last.monotonic_us} came before")
        if stream != self.stream:
            self.held = None  # whoever is at the other end may hold anything
        self.stream = stream
        self.report = report
        self.reported_at_us = now_us
        self.observed = False
        self._update_sending(report, now_us, hold_us)

    def _update_sending(self, report: TerminalReport, now_us: int, hold_us: int) -> None:
        held = {
            address: Sending(sending.destination, sending.at_us, now=False)
            for address, sending in self.sending.items()
            if now_us - sending.at_us <= hold_us
        }
        now = {
            destination.address: Sending(destination, now_us, now=True)
            for destination in report.destinations
            if destination.connections_sending and not ipaddress.ip_address(destination.address).is_loopback
        }
        self.sending = held | now

    def disconnect(self) -> None:
        """The stream ended; the lease at the terminal runs out by itself."""
        self.stream = 0
        self.held = None
