# SPDX-License-Identifier: Apache-2.0
"""The stations of a cell that send by TCP, as their access point sees it, and what was decided for those that have no
working agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airbound.core.addresses import Address, Mac, mac_text
from airbound.core.cell.sender import Paused, Sender

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound.core.cell.access_point import AccessPoint
    from airbound.core.cell.terminal import Terminal
    from airbound.core.effects import WindowLimit
    from airbound.core.policy import Decision
    from airbound.core.reasons import Reason
    from airbound.core.reports import Destination

FULL = 0.5  # of what its limits let it send: the access point's RTTs are sums of two samples, and rates are averages


@dataclass(slots=True, eq=False)
class StationSender(Sender):
    """A station that sends by TCP, by its access point's reports. Times are the controller's."""

    mac: Mac
    name: str  # the MAC as text: who reports its minimum RTTs
    sending: dict[Address, Destination] = field(default_factory=dict)
    paused: dict[Address, Paused] = field(default_factory=dict)
    sampled_at_us: int = 0
    started_at_us: int = 0
    stopped_at_us: int = 0
    changed: bool = True  # since it was decided
    no_agent: Reason | None = None  # why the access point is to limit it: kept until its agent has bounds in force
    no_limit: Reason | None = None  # why it has no limit; none if it has some
    decisions: tuple[Decision, ...] = ()
    limits: tuple[WindowLimit, ...] = ()  # what the decisions come to
    limited: bool = False  # whether the access point was sent a limit for it
    unlimited_since_us: int = 0  # since when neither its access point nor its agent limits it; 0 while one does

    def fills_its_window(self, payload_bytes_per_s: float) -> bool:
        """Whether it sends about as much as its limits let it: what it sends says nothing then of what it wants. Also
        if that is not known.
        """
        most_bytes_per_s = 0.0
        limits = {limit.address: limit.max_bytes for limit in self.limits}
        for address, destination in self.sending.items():
            if address not in limits or not destination.srtt_us:
                return True
            most_bytes_per_s += limits[address] * destination.connections_sending * 1e6 / destination.srtt_us
        return payload_bytes_per_s >= FULL * most_bytes_per_s


@dataclass(slots=True)
class StationSenders:
    """What a cell's stations send, and what its access point was sent about those without a working agent."""

    senders: dict[Mac, StationSender] = field(default_factory=dict)
    outdated: bool = False  # something of the cell changed that decisions follow from
    reason: Reason | None = None  # why the access point limits the windows that it limits, or none
    omitted: int = 0  # limits that were left out
    failures_total: int = 0  # decisions that ended in an error of the controller
    decided: dict[Mac, tuple[Decision, ...]] = field(default_factory=dict)  # that the last set follows from
    witnesses: dict[Mac, str] = field(default_factory=dict)  # under which name a station's minimum RTTs count

    def why_unlimited(self, mac: Mac) -> Reason | None:
        """Why a station has no limit; none if it has one, and of a station that does not send by TCP."""
        sender = self.senders.get(mac)
        if sender is None:
            return None
        return self.reason if sender.no_limit is None and not sender.limited else sender.no_limit

    def note_unlimited(self, now_us: int) -> None:
        """Note since when nothing limits those that nothing limits now."""
        for sender in self.senders.values():
            if sender.limited or sender.no_agent is None:
                sender.unlimited_since_us = 0
            elif not sender.unlimited_since_us:
                sender.unlimited_since_us = now_us

    def is_handed_over(self, terminal: Terminal) -> bool:
        """Whether a terminal's agent has bounds in force, and its station is limited still."""
        sender = self.senders.get(terminal.mac)
        return sender is not None and sender.limited and terminal.has_bounds_in_force()

    def holds_back(self, mac: Mac, payload_bytes_per_s: float, access_point: AccessPoint | None) -> bool:
        """Whether limits in force hold a station back that sends so much. Were its rate then taken for all that it
        wants, the others would be given the rest, and it would have less from second to second.
        """
        sender = self.senders.get(mac)
        if sender is None or not sender.limited or access_point is None or access_point.windows_lease.sent is None:
            return False
        in_force = access_point.windows_lease.in_force == access_point.windows_lease.sent.generation
        return in_force and sender.fills_its_window(payload_bytes_per_s)

    def take(
        self, reported: Mapping[Mac, tuple[Destination, ...]], now_us: int, keep_us: int, *, srtt_counts: bool
    ) -> None:
        """Take in what the stations send to, by a report of the access point."""
        senders = self.senders
        for mac, destinations in reported.items():
            sender = senders.get(mac)
            if sender is None:
                if not any(destination.connections_sending for destination in destinations):
                    continue
                sender = senders[mac] = StationSender(mac, mac_text(mac))
            sender.changed = sender.take(destinations, now_us, keep_us, srtt_counts=srtt_counts, changed=sender.changed)
        for mac, sender in senders.items():
            if mac not in reported:
                sender.changed = sender.take((), now_us, keep_us, srtt_counts=srtt_counts, changed=sender.changed)
        for mac in [mac for mac, sender in senders.items() if not sender.sends]:
            del senders[mac]

    def forget(self, mac: Mac) -> None:
        """A station is gone."""
        self.senders.pop(mac, None)
        self.witnesses.pop(mac, None)
