# SPDX-License-Identifier: Apache-2.0
"""What is known of one terminal, on one stream: its last report, what it sends to, and what it was sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airbound.core.cell.delivered import Delivered
from airbound.core.cell.reporter import Reporter
from airbound.core.cell.sender import Paused, Sender
from airbound.core.leases import Lease
from airbound.core.reports import (
    NO_AGENT,
    NO_FLOWS,
    AppPart,
    BackEnd,
    Destination,
    FlowAbilities,
    FlowState,
    TerminalReport,
)

if TYPE_CHECKING:
    from airbound.core.addresses import Address, Mac
    from airbound.core.class_choices import Chosen
    from airbound.core.effects import Bound, Flow
    from airbound.core.leases import SentSet
    from airbound.core.policy import Decision
    from airbound.core.reasons import Reason

BURST, BACKGROUND = 2, 4  # airbound.v1.ApplicationClass
_ADDRESS, _CLASS, _UIDS = map(AppPart._fields.index, ("address", "application_class", "uids"))


@dataclass(slots=True, eq=False)
class Terminal(Reporter, Sender):
    """One agent on one stream. It ends with its stream; the next one starts from what the terminal reports."""

    mac: Mac = b""  # as the terminal reports it; empty before the first report
    back_end: BackEnd = NO_AGENT.back_end
    takes_arrivals: bool = False
    arrivals_total: int | None = None  # by its last report that says so
    arrived_at_us: int = 0  # the controller's clock, when it arrived last by its own word; 0: it has not said so
    destinations: tuple[Destination, ...] = ()
    generation_in_force: int = 0
    applied_at_us: int = 0  # the controller's clock when it last reported what it was sent in force, or something new
    sending: dict[Address, Destination] = field(default_factory=dict)  # with queued data, by the last report
    sampled_at_us: int = 0  # the controller's clock at that report
    started_at_us: int = 0  # the same, when it began to send: it sent nothing by the report before
    stopped_at_us: int = 0  # the same, when it sent no more
    paused: dict[Address, Paused] = field(default_factory=dict)  # with queued data a moment ago
    bssid: Mac = b""  # of the cell that it is joined to; empty: of none
    unplaced: Reason | None = None  # why it is joined to none
    sent: SentSet[Bound] | None = None
    delivered: Delivered = field(default_factory=Delivered)
    fills_its_window: bool = False  # whether it has more to send to somebody than its windows let it
    sent_decisions: tuple[Decision, ...] = ()  # that the bounds that were sent follow from
    no_bounds: Reason | None = None
    apps: tuple[AppPart, ...] = ()  # by the last report, with the classes that operators chose
    classes_chosen: Chosen = field(default_factory=dict)
    background_uids: frozenset[int] = frozenset()  # of apps
    bursts: tuple[AppPart, ...] = ()  # each that is a burst, while its destination is kept; without present counters
    flow_abilities: FlowAbilities = NO_FLOWS
    flow_state: FlowState | None = None  # as it was reported last
    flows_lease: Lease[Flow] = field(default_factory=Lease)
    paced_uids: frozenset[int] = frozenset()  # whose UDP has a rate in the flows that were sent
    # What the last decision about its flows went by beside the cell's live flows: the rate of all of its UDP, and user
    # ids that are held back. None: it is to be decided again.
    flows_decided: tuple[int, frozenset[int]] | None = None
    flows_applied_at_us: int = 0  # the same of flows as applied_at_us of bounds
    reporting: tuple[int, int, int] | None = None  # when it is to report: what it was sent last, of its settings
    failures_total: int = 0  # decisions that ended in an error of the controller
    superseded_at_us: int = 0  # when a newer stream claimed its MAC; 0: none did
    reports_since_superseded: int = 0  # those that came at once after they had waited somewhere count as one
    superseded_heard_us: tuple[int, int] = (0, 0)  # the last of them: the controller's clock, the agent's
    due_us: int = 0  # of core.deadlines
    due_number: int = 0  # the same

    @property
    def name(self) -> str:
        """Whose terminal it is."""
        return self.stream.principal.name

    @property
    def last_generation(self) -> int:
        """Generation of the last set sent on this stream; 0 if none was."""
        return self.sent.generation if self.sent else 0

    @property
    def has_flows(self) -> bool:
        """Whether it was sent flows, and none that end them since."""
        sent = self.flows_lease.sent
        return sent is not None and bool(sent.entries)

    def _take_flows(self, state: FlowState | None, now_us: int) -> None:
        generation, lease = state.generation if state else 0, self.flows_lease
        sent = lease.sent
        if sent is None or not sent.entries or generation == sent.generation or generation != lease.in_force:
            self.flows_applied_at_us = now_us
        self.flow_state, lease.in_force = state, generation

    def ignores_flows(self) -> bool:
        """Whether it goes on reporting, and for longer than two leases has not reported in force what it was sent."""
        sent = self.flows_lease.sent
        if sent is None or not sent.entries:
            return False
        return self.reported_at_us - self.flows_applied_at_us > 2 * sent.lease_us

    def ignores_bounds(self) -> bool:
        """Whether it goes on reporting, and for longer than two leases has not reported in force what it was sent."""
        sent = self.sent
        if sent is None or not sent.entries:
            return False
        return self.reported_at_us - self.applied_at_us > 2 * sent.lease_us

    def has_bounds_in_force(self) -> bool:
        """Whether it is to have bounds, and reports that some are in force."""
        return self.generation_in_force > 0 and self.sent is not None and bool(self.sent.entries)

    def accept(self, report: TerminalReport, now_us: int, keep_us: int, *, srtt_counts: bool = True) -> bool:
        """Take in a report whose order was accepted; `keep_us` as of Sender.take.

        Returns whether anything has changed that decisions follow from; a smoothed RTT only if `srtt_counts`.
        """
        changed = report.agent is not None
        if report.agent is not None:
            self.agent_version, self.back_end = report.agent.version, report.agent.back_end
            self.takes_arrivals, self.flow_abilities = report.agent.takes_arrivals, report.agent.flows
            self.flows_decided = None
        self.destinations = report.destinations
        if report.arrivals is not None and report.arrivals.source != "controller":  # what it was sent is not its word
            self.arrived_at_us = max(0, now_us - report.arrivals.age_ms * 1000)
        self.delivered.observe(report.delivered_bytes, report.monotonic_us)
        self._take_flows(report.flows, now_us)
        if report.apps or self.apps:
            if not _are_of_the_same(report.apps, self.apps):
                changed = True
                background = (part.uids for part in report.apps if part.application_class == BACKGROUND)
                self.background_uids = frozenset().union(*background)
            self.apps = report.apps
        generation, sent = report.bounds_generation, self.sent
        if sent is None or not sent.entries or generation == sent.generation or generation != self.generation_in_force:
            self.applied_at_us = now_us
        self.generation_in_force = generation
        self.malformed_inputs_total = report.malformed_inputs_total
        if self.superseded_at_us:
            self._heard_again(report.monotonic_us, now_us)
        changed = self.take(report.destinations, now_us, keep_us, srtt_counts=srtt_counts, changed=changed)
        if changed and (report.apps or self.bursts):  # else neither applications nor destinations are others
            self._keep_bursts(report.apps)
        self.fills_its_window = any(destination.fills_window for destination in self.sending.values())
        return changed

    def _keep_bursts(self, apps: tuple[AppPart, ...]) -> None:
        """Between two transfers on a connection each a report has neither, and the second is to have its bound."""
        found = {(part.address, part.uids): part for part in (*self.bursts, *apps) if part.application_class == BURST}
        self.bursts = tuple(part for part in found.values() if self.sends_to((part.address,)))

    def _heard_again(self, monotonic_us: int, now_us: int) -> None:
        """Count a report of a superseded stream, unless it comes in less than half the time after the one before in
        which it was made: both waited then, in a store between replicas or in a queue, and may be of before.
        """
        at_us, before_us = self.superseded_heard_us
        if not self.reports_since_superseded or 2 * (now_us - at_us) >= monotonic_us - before_us:
            self.reports_since_superseded += 1
        self.superseded_heard_us = now_us, monotonic_us


def _are_of_the_same(parts: tuple[AppPart, ...], others: tuple[AppPart, ...]) -> bool:
    """Whether parts differ in their counters alone."""
    if len(parts) != len(others):
        return False
    for part, other in zip(parts, others, strict=True):  # by numbers: with each report, of all parts
        if part[_UIDS] != other[_UIDS] or part[_CLASS] != other[_CLASS] or part[_ADDRESS] != other[_ADDRESS]:
            return False
    return True
