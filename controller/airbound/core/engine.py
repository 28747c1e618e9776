# SPDX-License-Identifier: Apache-2.0
"""The engine: an event and the time go in, effects come out. It routes: what is known and decided is the cells'.

Rules of this file:
- no I/O, no clock; the same events at the same times give the same effects, whatever the host does;
- an event is handled whole before its effects are acted on;
- an event concerns the stream that it comes from and the cell of that stream's access point or terminal; only an
  operator's choice and a changed configuration concern all;
- whenever in doubt a terminal gets no bounds: the kernel's defaults are always safe.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from airbound.core import arrivals
from airbound.core.addresses import Mac, exempt_cell, exempt_name
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.cell_decisions import CellDecisions
from airbound.core.cells import Cells
from airbound.core.choices import Choices
from airbound.core.claims import HEARD_AGAIN
from airbound.core.class_choices import reclassified
from airbound.core.effects import Effect
from airbound.core.events import (
    AccessPointReported,
    ClassSet,
    Disconnected,
    Disowned,
    Event,
    Exempted,
    ModeSet,
    Owned,
    Reconfigured,
    Refused,
    SwitchReported,
    TerminalReported,
    Tick,
)
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Mode, Parameters
from airbound.core.placement import Placement
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.refusals import Refusals
from airbound.core.registry import Registry
from airbound.core.restriction import is_station_exempt
from airbound.core.switches import Switches

ARRIVALS_APART_US = 1_000_000
"""How old an arrival is differs by less between a terminal's reports."""


class Engine:
    """All cells and terminals of one controller. `now_us` is any clock that never runs backwards. With `replicas` a
    cell is commanded only while it is owned; without, always.
    """

    def __init__(
        self,
        parameters: Parameters,
        mode: Mode = "control",
        exempt: Iterable[str] = (),
        overrides: Sequence[CellOverride] = (),
        *,
        replicas: bool = False,
    ) -> None:
        registry = self._registry = Registry(parameters, mode, exempt, overrides)
        self.settings, self.modes, self.class_choices = registry.settings, registry.modes, registry.class_choices
        self._decisions = CellDecisions(registry.deadlines)
        self._placement = Placement(registry, self._decisions)
        self._refusals = Refusals(registry, self._placement)
        self._cells = Cells(registry, self._decisions, self._placement, self._refusals, replicas=replicas)
        self.switches = Switches(registry, self._decisions, self._cells)
        choices = Choices(registry, self._decisions, self._placement)
        self._handlers: dict[type, Callable[[Any, int], list[Effect]]] = {
            TerminalReported: self._take_terminal_report,
            AccessPointReported: self._cells.take_report,
            SwitchReported: self.switches.take_report,
            Refused: lambda event, _: self._refused(event),
            Disconnected: lambda event, now_us: (
                self._refusals.disconnected(event, now_us) + self.switches.disconnected(event, now_us)
            ),
            Tick: lambda _, now_us: self._tick(now_us),
            ModeSet: choices.mode_set,
            Exempted: choices.exempted,
            ClassSet: choices.class_set,
            Owned: self._cells.owned,
            Disowned: self._cells.disowned,
            Reconfigured: choices.reconfigured,
        }

    def handle(self, event: Event, now_us: int) -> list[Effect]:
        """Take in one event; what it calls for, in the order it is to be done."""
        return self._handlers[type(event)](event, now_us)

    def next_deadline_us(self) -> int | None:
        """When a Tick is due: a lease to renew, or a time-out."""
        return self._registry.deadlines.next_us()

    @property
    def cells(self) -> Mapping[Mac, CellState]:
        """Every cell that was reported within `forget_ms`."""
        return MappingProxyType(self._registry.cells)

    def ownership_of(self, stream: Stream) -> tuple[Mac, int]:
        """Cell and epoch that commands on a terminal's stream follow from; empty and 0 if it is in no cell."""
        terminal = self._registry.reporters.get(stream.number)
        cell = self._registry.cell_joined(terminal) if isinstance(terminal, Terminal) else None
        return (cell.bssid, cell.epoch) if cell is not None else (b"", 0)

    def doubt(self, bssid: Mac) -> None:
        """A cell may be another replica's by now: command nothing until it is owned anew."""
        cell = self.cells.get(bssid)
        if cell is not None:
            cell.owned_until_us = 0

    def rival_access_point(self, bssid: Mac, access_point: str, now_us: int) -> str:
        """The name of another access point that reports a cell here, so that the stream of this one at another replica
        may not take the cell over; empty if there is none.
        """
        cell = self._registry.cells.get(bssid)
        if cell is None or cell.access_point is None or cell.access_point.closed:
            return ""
        name = cell.access_point.stream.principal.name
        is_stale = cell.access_point.is_stale(now_us, cell.settings.parameters.safety.cell_stale_ms)
        return "" if is_stale or name == access_point else name

    def heartbeat_ms_of(self, stream: Stream) -> int:
        """How often a terminal reports at least, by what it was sent."""
        terminal = self._registry.reporters.get(stream.number)
        sent = terminal.reporting if isinstance(terminal, Terminal) else None
        return (sent or self.settings.reporting)[1]

    def terminals(self) -> list[Terminal]:
        """Every terminal that has reported on its stream, unless the stream is being closed."""
        return self._registry.terminals()

    def cell_joined(self, terminal: Terminal) -> CellState | None:
        """The cell that a terminal is joined to."""
        return self._registry.cell_joined(terminal)

    def cell_of(self, mac: Mac) -> CellState | None:
        """The cell that a station is in."""
        return self._registry.associations.cell_of(mac)

    def mode_of(self, bssid: Mac) -> Mode:
        """The mode of a cell, known or not."""
        cell = self._registry.cells.get(bssid)
        if cell is not None:
            return cell.settings.mode
        return self.modes.of_cell(bssid, self._registry.overrides.match(bssid, b""))

    @property
    def overrides_exempt(self) -> bool:
        """Whether any override exempts anybody."""
        return self._registry.overrides.exempt

    def is_exempt(self, name: str) -> bool:
        """Whether terminals of a name, a BSSID's cell or a MAC's station are exempt, by a choice or by an override."""
        mac = exempt_cell(name)
        cell = self.cell_of(mac) if mac else None
        return (
            name in self.settings.exempt
            or (cell is not None and is_station_exempt(mac, cell))
            or any(cell.name == name and cell.settings.is_cell_exempt(cell.bssid) for cell in self.cells.values())
            or any(
                exempt_name(terminal.name) == name and self._registry.settings_for(terminal).is_terminal_exempt(name)
                for terminal in self.terminals()
            )
        )

    def reporters(self) -> list[AccessPoint | Terminal]:
        """Every peer that has sent something on its stream: a copy, for those who look at them one after the other."""
        return list(self._registry.reporters.values())

    def _refused(self, event: Refused) -> list[Effect]:
        """What a stream sent was not used."""
        effects = self.switches.refused(event.stream.number, event.reason)
        if effects is not None:
            return effects
        reporter = self._registry.reporters.get(event.stream.number)
        return self._refusals.refuse(reporter, event.stream, event.reason)

    def _take_terminal_report(self, event: TerminalReported, now_us: int) -> list[Effect]:
        report, stream = event.report, event.stream
        terminal = self._registry.reporters.get(stream.number)
        if not isinstance(terminal, Terminal):
            terminal = self._registry.reporters[stream.number] = Terminal(stream)
        if terminal.closed:
            return []
        try:
            terminal.accept_order(report.sequence, report.monotonic_us, now_us)
        except RefusedError as error:
            return self._refusals.out_of_order(terminal, error.reason, now_us)
        if report.mac != terminal.mac:
            terminal.classes_chosen = self.class_choices.find(terminal.name, report.mac)
        if terminal.classes_chosen:
            report.apps = reclassified((*report.apps, *report.unclassed()), terminal.classes_chosen)
        settings = self._registry.settings_for(terminal)
        keep_us, arrived_at_us = settings.parameters.safety.sending_keep_ms * 1000, terminal.arrived_at_us
        changed = terminal.accept(report, now_us, keep_us, srtt_counts=settings.policy.uses_rtt_ratio)
        terminal.last_report = event.octets
        effects = self._place(terminal, report.mac, arrived_at_us, now_us)
        if report.arrivals is not None:
            effects += arrivals.reported(terminal, self._arrivals_known(terminal), report)
        cell = self._registry.cell_joined(terminal)
        if cell is not None:
            effects += self._decisions.decide_by_report(cell, terminal, now_us, changed=changed)
        else:
            effects += self._placement.decide_unplaced(terminal, now_us)
        return effects

    def _place(self, terminal: Terminal, mac: Mac, arrived_at_us: int, now_us: int) -> list[Effect]:
        """Place a terminal whose report says that it is elsewhere, or with which it is in another's place.
        `arrived_at_us` is when it had arrived by its report before.
        """
        if mac != terminal.mac:
            return self._placement.claim(terminal, mac, now_us)
        if terminal.reports_since_superseded == HEARD_AGAIN:
            return self._placement.place_claimed(mac, now_us)
        if abs(terminal.arrived_at_us - arrived_at_us) >= ARRIVALS_APART_US:
            has_moved, effects = self._placement.settle(mac, now_us)
            return effects + (self._placement.place_claimed(mac, now_us) if has_moved else [])
        return []

    def _arrivals_known(self, terminal: Terminal) -> int | None:
        """How many arrivals another stream of a terminal has reported: the agent makes a new stream at each."""
        others = [other for other in self._registry.claims.claimants(terminal.mac) if other is not terminal]
        known = [other.arrivals_total for other in others if other.name == terminal.name]
        return max((total for total in known if total is not None), default=None)

    def _tick(self, now_us: int) -> list[Effect]:
        effects = list[Effect]()
        for item in self._registry.deadlines.due(now_us):
            if isinstance(item, Terminal):
                effects += self._terminal_due(item, now_us)
            elif isinstance(item, CellState):
                effects += self._cells.due(item, now_us)
        return effects

    def _terminal_due(self, terminal: Terminal, now_us: int) -> list[Effect]:
        if terminal.superseded_at_us:
            heard_us = max(terminal.superseded_at_us, terminal.reported_at_us)
            given_up_at_us = heard_us + self._placement.given_up_us(terminal)
            if now_us >= given_up_at_us:
                return self._refusals.close(terminal, Reason(Code.REPLACED), now_us)
            self._registry.deadlines.at(terminal, given_up_at_us)
        cell = self._registry.cell_joined(terminal)
        return [] if cell is None else self._decisions.decide_due(cell, terminal, now_us)
