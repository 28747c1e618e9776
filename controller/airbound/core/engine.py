# SPDX-License-Identifier: Apache-2.0
"""The engine: an event and the time go in, effects come out. It routes: what is known and decided is the cells'.

Rules of this file:
- no I/O, no clock; the same events at the same times give the same effects, whatever the host does;
- an event is handled whole before its effects are acted on;
- an event concerns the stream that it comes from and the cell of that stream's access point or terminal; only an
  operator's choice and a changed configuration concern all;
- whenever in doubt a terminal gets no bounds: the kernel's defaults are always safe.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from airbound.core.addresses import Address, Mac, address_text, exempt_cell, mac_text
from airbound.core.associations import Associations
from airbound.core.cell.state import AccessPoint, CellState, restriction
from airbound.core.cell.streams import OUT_OF_ORDER_MAX
from airbound.core.cell.terminal import Terminal
from airbound.core.claims import HEARD_AGAIN, Claims, is_live
from airbound.core.commands import command
from airbound.core.deadlines import Deadlines
from airbound.core.effects import CloseStream, Effect, Note, SetBounds, SetReporting, refusal
from airbound.core.events import (
    AccessPointReported,
    Disconnected,
    Event,
    Exempted,
    ModeSet,
    Reconfigured,
    Refused,
    TerminalReported,
    Tick,
)
from airbound.core.parameters import Mode, Parameters
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.reports import AccessPointReport
from airbound.core.settings import Settings


class Engine:
    """All cells and terminals of one controller. `now_us` is any clock that never runs backwards."""

    def __init__(self, parameters: Parameters, mode: Mode = "control", exempt: Iterable[str] = ()) -> None:
        self.settings = Settings(parameters, mode, set(exempt))
        self._reporters: dict[int, AccessPoint | Terminal] = {}  # by the number of their stream
        self._cells: dict[Mac, CellState] = {}
        self._associations = Associations()
        self._claims = Claims()
        self._deadlines = Deadlines()
        self._handlers: dict[type, Callable[[Any, int], list[Effect]]] = {
            TerminalReported: self._terminal_reported,
            AccessPointReported: self._access_point_reported,
            Refused: lambda event, _: self._refuse(
                self._reporters.get(event.stream.number), event.stream, event.reason
            ),
            Disconnected: self._disconnected,
            Tick: lambda _, now_us: self._tick(now_us),
            ModeSet: self._mode_set,
            Exempted: self._exempted,
            Reconfigured: self._reconfigured,
        }

    def handle(self, event: Event, now_us: int) -> list[Effect]:
        """Take in one event; what it calls for, in the order it is to be done."""
        return self._handlers[type(event)](event, now_us)

    def next_deadline_us(self) -> int | None:
        """When a Tick is due: a lease to renew, or a time-out."""
        return self._deadlines.next_us()

    @property
    def cells(self) -> Mapping[Mac, CellState]:
        """Every cell that was reported within `forget_ms`."""
        return MappingProxyType(self._cells)

    def terminals(self) -> list[Terminal]:
        """Every terminal that has reported on its stream, unless the stream is being closed."""
        return [
            reporter
            for reporter in self._reporters.values()
            if isinstance(reporter, Terminal) and reporter.mac and not reporter.closed
        ]

    # Access points

    def _access_point_reported(self, event: AccessPointReported, now_us: int) -> list[Effect]:
        report, stream = event.report, event.stream
        access_point = self._reporters.get(stream.number)
        if not isinstance(access_point, AccessPoint):
            access_point = self._reporters[stream.number] = AccessPoint(stream)
        if access_point.closed:
            return []
        effects = list[Effect]()
        cell = access_point.cell
        if cell is None or cell.bssid != report.bssid:
            refusal, effects = self._attach(access_point, report.bssid, now_us)
            if refusal is not None:
                return [*self._refuse(access_point, stream, refusal), *effects]
            cell = self._cells[report.bssid]
        try:
            access_point.accept_order(report.sequence, report.monotonic_us, now_us)
        except RefusedError as error:
            return self._out_of_order(access_point, error.reason, now_us)
        access_point.malformed_inputs_total = report.malformed_inputs_total
        access_point.agent_version, access_point.edca = report.agent_version, report.edca
        access_point.last_report = event.octets
        return effects + self._cell_reported(access_point, cell, report, now_us)

    def _cell_reported(
        self, access_point: AccessPoint, cell: CellState, report: AccessPointReport, now_us: int
    ) -> list[Effect]:
        """Have the cell take in a report, and place the terminals that came to it or left it."""
        effects = list[Effect]()
        senders = cell.stations.active_senders
        change, moved, jumps = cell.access_point_reported(report, now_us)
        for jump in jumps:
            effects += self._refuse(access_point, access_point.stream, jump)
        if cell.stations.active_senders != senders:
            effects.append(cell.senders_changed(senders))
        for mac in change.gone:
            self._associations.remove(mac, cell)
        for mac in change.appeared:
            self._associations.add(mac, cell)
        for mac in (*change.gone, *change.appeared, *change.readdressed):
            effects += self._place_claimed(mac, now_us)
        if moved:
            effects += cell.decide_all(now_us)
            for terminal in cell.terminals.values():
                self._schedule(terminal)
        commands = cell.decide_edca(now_us)
        if commands:  # otherwise what is due is due when it was, and the time-out is later
            effects += commands
            self._deadlines.at(cell, cell.due_at_us())
        effects.append(cell.changed())
        return effects

    def _decide_edca(self, cell: CellState, now_us: int) -> list[Effect]:
        effects = cell.decide_edca(now_us)
        self._deadlines.at(cell, cell.due_at_us())
        return effects

    def _attach(self, access_point: AccessPoint, bssid: Mac, now_us: int) -> tuple[Reason | None, list[Effect]]:
        """Make an access point the one that reports a cell, unless another does."""
        if access_point.cell is not None:
            # If its BSSID really changed, the stream that it opens now may report the new one.
            refusal = Reason(Code.OTHER_CELL, mac_text(bssid))
            return refusal, self._close(access_point, refusal, now_us)
        cell = self._cells.get(bssid)
        if cell is None:
            cell = self._cells[bssid] = CellState(bssid, self.settings)
            self._deadlines.at(cell, now_us + self.settings.parameters.safety.forget_ms * 1000 + 1)
        effects, before = list[Effect](), cell.access_point
        if before is not None:
            stale_us = self.settings.parameters.safety.cell_stale_ms * 1000
            if before.stream.principal != access_point.stream.principal and now_us - before.reported_at_us <= stale_us:
                return Reason(Code.CELL_CLAIMED, before.stream.principal.name), []
            effects = self._close(before, Reason(Code.REPLACED), now_us)
            before.cell = None
        cell.report_by(access_point.stream.principal)
        cell.access_point, access_point.cell = access_point, cell
        return None, effects

    # Terminals

    def _terminal_reported(self, event: TerminalReported, now_us: int) -> list[Effect]:
        report, stream = event.report, event.stream
        terminal = self._reporters.get(stream.number)
        if not isinstance(terminal, Terminal):
            terminal = self._reporters[stream.number] = Terminal(stream)
        if terminal.closed:
            return []
        try:
            terminal.accept_order(report.sequence, report.monotonic_us, now_us)
        except RefusedError as error:
            return self._out_of_order(terminal, error.reason, now_us)
        settings = self.settings
        keep_us = settings.parameters.safety.sending_keep_ms * 1000
        changed = terminal.accept(report, now_us, keep_us, srtt_counts=settings.srtt_counts)
        terminal.last_report = event.octets
        effects = list[Effect]()
        if report.mac != terminal.mac:
            effects += self._claim(terminal, report.mac, now_us)
        elif terminal.reports_since_superseded == HEARD_AGAIN:
            effects += self._place_claimed(terminal.mac, now_us)
        cell = terminal.cell
        if cell is not None:
            effects += self._cell_informed(cell, terminal, now_us, changed=changed)
        else:
            effects += self._decide_unplaced(terminal, now_us)
        return effects

    def _claim(self, terminal: Terminal, mac: Mac, now_us: int) -> list[Effect]:
        """A terminal reports a MAC for the first time, or another one than before."""
        effects = list[Effect]()
        if terminal.mac:
            self._withdraw(terminal)
            effects += self._place_claimed(terminal.mac, now_us)
        else:
            effects.append(self._reporting(terminal))
            found = self._associations.cell_of(mac)
            cell = found.bssid if found else b""
            effects.append(Note("info", "connected", terminal.name, terminal=terminal.name, cell=cell))
        terminal.mac = mac
        for superseded in self._claims.add(terminal, now_us):
            # Closed if it is not heard again.
            self._deadlines.at(superseded, now_us + self._given_up_us)
        return effects + self._place_claimed(mac, now_us)

    def _reporting(self, terminal: Terminal) -> SetReporting:
        parameters = self.settings.parameters
        reporting = parameters.reporting
        ratio = round(reporting.rtt_ratio_change * 1000) if parameters.policy == "paper" else 0
        return SetReporting(terminal.stream, reporting.interval_ms, reporting.heartbeat_ms, ratio)

    @property
    def _given_up_us(self) -> int:
        """How long a superseded stream may be silent: an idle agent that lives is heard several times within that."""
        parameters = self.settings.parameters
        return max(parameters.safety.terminal_stale_ms, 3 * parameters.reporting.heartbeat_ms) * 1000

    def _withdraw(self, terminal: Terminal) -> None:
        """The terminal's claim is over."""
        self._claims.remove(terminal)
        self._deadlines.forget(terminal)
        if terminal.cell is not None:
            del terminal.cell.terminals[terminal.mac]
            terminal.cell = None

    # Where a terminal is

    def _place_claimed(self, mac: Mac, now_us: int) -> list[Effect]:
        """Join the terminals that claim a MAC to the cell that they are in now, or to none; commands for them."""
        effects = list[Effect]()
        for terminal in self._claims.of(mac):
            effects += self._place(terminal, now_us)
        return effects

    def _place(self, terminal: Terminal, now_us: int) -> list[Effect]:
        cell, reason = self._find_cell(terminal)
        before, terminal.unplaced = terminal.cell, reason
        if before is not cell and before is not None and before.terminals[terminal.mac] is terminal:
            del before.terminals[terminal.mac]  # unless another that claims the MAC has just been joined in its place
        terminal.cell = cell
        if cell is None:
            return self._decide_unplaced(terminal, now_us)
        cell.terminals[terminal.mac] = terminal
        if before is not cell:
            return self._cell_informed(cell, terminal, now_us)
        return self._decide(terminal, now_us)

    def _cell_informed(self, cell: CellState, terminal: Terminal, now_us: int, *, changed: bool = True) -> list[Effect]:
        """Have a cell take in a joined terminal's report. By its minimum RTTs others may be given their first bounds:
        theirs are to be renewed as well.
        """
        had_bounds = terminal.no_bounds is None
        effects = cell.terminal_reported(terminal, now_us, changed=changed)
        if effects:
            for effect in effects:
                if isinstance(effect, SetBounds):
                    other = self._reporters[effect.stream.number]
                    if isinstance(other, Terminal):
                        self._schedule(other)
        elif had_bounds and not changed and terminal.due_us:
            return effects  # a renewal is due when it was, and the time-out is later
        self._schedule(terminal)
        return effects

    def _find_cell(self, terminal: Terminal) -> tuple[CellState | None, Reason | None]:
        cell = self._associations.cell_of(terminal.mac)
        if cell is None:
            if not is_live(terminal):
                return None, Reason(Code.REPLACED)
            left = terminal.cell.name if terminal.cell else _subject(terminal.unplaced, Code.LEFT_CELL)
            return None, Reason(Code.LEFT_CELL, left) if left else Reason(Code.CELL_UNKNOWN)
        # Whoever speaks from elsewhere takes nothing from the station by claiming its MAC.
        claims = [claim for claim in self._claims.of(terminal.mac) if self._is_at_station(claim, cell)]
        if terminal not in claims:
            return None, Reason(Code.ADDRESS_MISMATCH, address_text(terminal.stream.address))
        rivals = [claim for claim in claims if is_live(claim) or claim is claims[-1]]
        if terminal not in rivals:
            return None, Reason(Code.REPLACED)
        for rival in rivals:
            if rival is not terminal:
                return None, Reason(Code.MAC_CLAIMED_TWICE, rival.name)
        return cell, None

    def _is_at_station(self, terminal: Terminal, cell: CellState) -> bool:
        """Whether a stream may come from the station whose MAC it claims, as far as the access point knows."""
        if not self.settings.parameters.identity.match_addresses:
            return True
        return _is_one_of(terminal.stream.address, cell.stations.by_mac[terminal.mac].latest.ip_addresses)

    def _decide_unplaced(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for a terminal that is joined to no cell."""
        reason = terminal.unplaced
        if is_live(terminal) and (reason is None or not reason.releases):
            reason = restriction(terminal, self.settings) or reason
        terminal.no_bounds = reason
        if reason is None or not reason.releases:
            return []
        return command(terminal, (), reason, self.settings, now_us)

    def _schedule(self, terminal: Terminal) -> None:
        if terminal.cell is not None:
            due_us = terminal.cell.due_for(terminal)
            if due_us:
                self._deadlines.at(terminal, due_us)

    # Refusals and ends

    def _refuse(self, reporter: AccessPoint | Terminal | None, stream: Stream, reason: Reason) -> list[Effect]:
        """Count what a stream sent and was not used."""
        self.settings.count("refused_total", reason.code)
        if reporter is None:
            count = self.settings.counters["refused_total", reason.code]
        else:
            reporter.refused_total += 1
            count = reporter.refused_total
        if count & (count - 1):
            return []  # a broken agent repeats itself every second: the log gets the 1st, 2nd, 4th, 8th, ...
        cell = reporter.cell if reporter else None
        return [refusal(stream.principal, reason, cell.bssid if cell else b"")]

    def _out_of_order(self, reporter: AccessPoint | Terminal, reason: Reason, now_us: int) -> list[Effect]:
        effects = self._refuse(reporter, reporter.stream, reason)
        if reporter.out_of_order_streak >= OUT_OF_ORDER_MAX:
            streak = Reason(Code.OUT_OF_ORDER_STREAK, after=reporter.out_of_order_streak)
            effects += self._close(reporter, streak, now_us)
        return effects

    def _close(self, reporter: AccessPoint | Terminal, reason: Reason, now_us: int) -> list[Effect]:
        """End a stream, once: nothing that arrives on it counts from now on, and nothing is sent on it."""
        if reporter.closed:
            return []
        reporter.closed = True
        self.settings.count("closed_total", reason.code)
        effects: list[Effect] = [CloseStream(reporter.stream, reason)]
        if isinstance(reporter, Terminal):
            self._withdraw(reporter)
            effects += self._place_claimed(reporter.mac, now_us)
        return effects

    def _disconnected(self, event: Disconnected, now_us: int) -> list[Effect]:
        reporter = self._reporters.pop(event.stream.number, None)
        if isinstance(reporter, AccessPoint):
            if reporter.cell is not None and reporter.cell.access_point is reporter:
                reporter.cell.access_point = None
                return [Note("info", "disconnected", reporter.cell.name, cell=reporter.cell.bssid)]
        elif isinstance(reporter, Terminal):
            cell = reporter.cell.bssid if reporter.cell else b""
            note = Note("info", "disconnected", reporter.name, terminal=reporter.name, cell=cell)
            if reporter.closed:
                return [note]
            self._withdraw(reporter)
            return [note, *self._place_claimed(reporter.mac, now_us)]
        return []

    # Time, operators

    def _tick(self, now_us: int) -> list[Effect]:
        effects = list[Effect]()
        for item in self._deadlines.due(now_us):
            if isinstance(item, Terminal):
                effects += self._terminal_due(item, now_us)
            elif isinstance(item, CellState):
                effects += self._cell_due(item, now_us)
        return effects

    def _terminal_due(self, terminal: Terminal, now_us: int) -> list[Effect]:
        effects = list[Effect]()
        if terminal.superseded_at_us:
            given_up_at_us = max(terminal.superseded_at_us, terminal.reported_at_us) + self._given_up_us
            if now_us >= given_up_at_us:
                return self._close(terminal, Reason(Code.REPLACED), now_us)
            self._deadlines.at(terminal, given_up_at_us)
        cell = terminal.cell
        if cell is not None:
            effects += cell.due(terminal, now_us)
            self._schedule(terminal)
        return effects

    def _cell_due(self, cell: CellState, now_us: int) -> list[Effect]:
        if now_us - cell.reported_at_us <= self.settings.parameters.safety.forget_ms * 1000:
            effects = self._decide_edca(cell, now_us)
            return [*effects, cell.changed()] if effects else []
        del self._cells[cell.bssid]
        if cell.access_point is not None:
            cell.access_point.cell = None
        for mac in cell.stations.addresses():
            self._associations.remove(mac, cell)
        effects = list[Effect]()
        for terminal in list(cell.terminals.values()):
            effects += self._place(terminal, now_us)
        return effects

    def _mode_set(self, event: ModeSet, now_us: int) -> list[Effect]:
        self.settings.mode = event.mode
        return [Note("info", "mode", event.mode, ()), *self._decide_everything(now_us)]

    def _exempted(self, event: Exempted, now_us: int) -> list[Effect]:
        if event.exempt:
            self.settings.exempt.add(event.name)
        else:
            self.settings.exempt.discard(event.name)
        bssid, what = exempt_cell(event.name), "exempt" if event.exempt else "not exempt"
        name = "" if bssid else event.name
        effects: list[Effect] = [Note("info", what, event.name, terminal=name, cell=bssid)]
        for terminal in self.terminals():
            if event.name in {terminal.name, terminal.cell.name if terminal.cell else ""}:
                effects += self._decide(terminal, now_us)
        for cell in self._cells.values():
            if cell.name == event.name:
                effects += self._decide_edca(cell, now_us)
        return effects

    def _reconfigured(self, event: Reconfigured, now_us: int) -> list[Effect]:
        terminals = self.terminals()
        before = [self._reporting(terminal) for terminal in terminals]
        self.settings.reconfigure(event.parameters)
        for cell in self._cells.values():
            cell.reconfigure()
        after = [self._reporting(terminal) for terminal in terminals]
        effects: list[Effect] = [] if after == before else list(after)
        for terminal in terminals:
            effects += self._place(terminal, now_us)
        return effects + self._decide_every_edca(now_us)

    def _decide_every_edca(self, now_us: int) -> list[Effect]:
        effects = list[Effect]()
        for cell in self._cells.values():
            effects += self._decide_edca(cell, now_us)
        return effects

    def _decide_everything(self, now_us: int) -> list[Effect]:
        effects = list[Effect]()
        for terminal in self.terminals():
            effects += self._decide(terminal, now_us)
        return effects + self._decide_every_edca(now_us)

    def _decide(self, terminal: Terminal, now_us: int) -> list[Effect]:
        if terminal.cell is None:
            return self._decide_unplaced(terminal, now_us)
        effects = terminal.cell.decide(terminal, now_us)
        self._schedule(terminal)
        return effects


def _subject(reason: Reason | None, code: Code) -> str:
    return reason.subject if reason is not None and reason.code is code else ""


def _is_one_of(address: Address, known: tuple[Address, ...]) -> bool:
    """Whether a stream's address is one of its station's, as far as that can be compared: the access point may know
    none of that family.
    """
    same_family = [other for other in known if len(other) == len(address)]
    return not same_family or address in same_family
