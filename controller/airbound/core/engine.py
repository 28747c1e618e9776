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

from airbound.core.addresses import Address, Mac, address_text, exempt_cell, mac_text
from airbound.core.associations import Associations
from airbound.core.cell.state import AccessPoint, CellState, restriction
from airbound.core.cell.stations import Change
from airbound.core.cell.streams import OUT_OF_ORDER_MAX
from airbound.core.cell.terminal import Terminal
from airbound.core.claims import HEARD_AGAIN, Claims, is_live
from airbound.core.commands import command
from airbound.core.deadlines import Deadlines
from airbound.core.effects import (
    CellForgotten,
    CloseStream,
    Effect,
    Note,
    SetBounds,
    SetReporting,
    StationsChanged,
    refusal,
)
from airbound.core.events import (
    AccessPointReported,
    Disconnected,
    Disowned,
    Event,
    Exempted,
    ModeSet,
    Owned,
    Reconfigured,
    Refused,
    TerminalReported,
    Tick,
)
from airbound.core.modes import Modes
from airbound.core.overrides import CellOverride, Match, Overrides
from airbound.core.parameters import Mode, Parameters
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.reports import AccessPointReport
from airbound.core.settings import Settings


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
        self._replicas = replicas
        self.settings = Settings(parameters, mode, set(exempt))  # of cells that have none of their own
        self.modes = Modes(mode)
        self._overrides = Overrides(overrides)
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
            Owned: self._owned,
            Disowned: self._disowned,
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

    def ownership_of(self, stream: Stream) -> tuple[Mac, int]:
        """Cell and epoch that commands on a terminal's stream follow from; empty and 0 if it is in no cell."""
        terminal = self._reporters.get(stream.number)
        cell = terminal.cell if isinstance(terminal, Terminal) else None
        return (cell.bssid, cell.epoch) if cell is not None else (b"", 0)

    def would_give(self, bssid: Mac, access_point: str, now_us: int) -> str:
        """Whether the stream of an access point of that name, at another replica, may take a cell over: empty, or the
        name of the one that reports it here.
        """
        cell = self._cells.get(bssid)
        current = cell.access_point if cell is not None else None
        if current is None or current.closed or current.stream.principal.name == access_point:
            return ""
        stale_us = cell.settings.parameters.safety.cell_stale_ms * 1000 if cell is not None else 0
        return current.stream.principal.name if now_us - current.reported_at_us <= stale_us else ""

    def heartbeat_ms_of(self, stream: Stream) -> int:
        """How often a terminal reports at least, by what it was sent."""
        terminal = self._reporters.get(stream.number)
        sent = terminal.reporting if isinstance(terminal, Terminal) else None
        return (sent or self.settings.reporting)[1]

    def terminals(self) -> list[Terminal]:
        """Every terminal that has reported on its stream, unless the stream is being closed."""
        return [
            reporter
            for reporter in self._reporters.values()
            if isinstance(reporter, Terminal) and reporter.mac and not reporter.closed
        ]

    def mode_of(self, bssid: Mac) -> Mode:
        """The mode of a cell, known or not."""
        cell = self._cells.get(bssid)
        if cell is not None:
            return cell.settings.mode
        return self.modes.of_cell(bssid, self._overrides.match(bssid, b""))

    @property
    def overrides_exempt(self) -> bool:
        """Whether any override exempts anybody."""
        return self._overrides.exempt

    def is_exempt(self, name: str) -> bool:
        """Whether terminals of a name or the cell of a BSSID are exempt, by a choice or by an override."""
        return (
            name in self.settings.exempt
            or any(cell.name == name and cell.settings.is_cell_exempt(cell.bssid) for cell in self._cells.values())
            or any(of.name == name and self._settings_for(of).is_terminal_exempt(name) for of in self.terminals())
        )

    def reporters(self) -> list[AccessPoint | Terminal]:
        """Every peer that has sent something on its stream: a copy, for those who look at them one after the other."""
        return list(self._reporters.values())

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
        if self._replicas:
            known = cell or self._cells.get(report.bssid)
            if known is None or not known.is_owned(now_us):
                return []  # its owner decides
        if cell is None or cell.bssid != report.bssid:
            refusal, effects = self._attach(access_point, report, now_us)
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
        effects = self._renamed(cell, report.ssid) if report.ssid != cell.ssid else []
        senders, other_settings = cell.stations.active_senders, bool(effects)
        change, moved, jumps = cell.access_point_reported(report, now_us)
        for jump in jumps:
            effects += self._refuse(access_point, access_point.stream, jump)
        if cell.stations.active_senders != senders:
            effects.append(cell.senders_changed(senders))
        effects += self._move_stations(cell, change, now_us)
        if other_settings:
            effects += self._place_stations(cell, now_us)
        elif moved:
            effects += cell.decide_all(now_us)
            for terminal in cell.terminals.values():
                self._schedule(terminal)
        commands = cell.decide_edca(now_us)
        if commands or other_settings:  # otherwise what is due is due when it was, and the time-out is later
            effects += commands
            self._deadlines.at(cell, cell.due_at_us())
        effects.append(cell.changed())
        return effects

    def _move_stations(self, cell: CellState, change: Change, now_us: int) -> list[Effect]:
        """Place the terminals of stations that came to a cell, left it or have other addresses."""
        for mac in change.gone:
            self._associations.remove(mac, cell)
        for mac in change.appeared:
            self._associations.add(mac, cell)
        effects = list[Effect]()
        for mac in (*change.gone, *change.appeared, *change.readdressed):
            effects += self._place_claimed(mac, now_us)
        if change.gone or change.appeared:
            effects.append(StationsChanged(cell.bssid, tuple(change.appeared), tuple(change.gone)))
        return effects

    def _decide_edca(self, cell: CellState, now_us: int) -> list[Effect]:
        effects = cell.decide_edca(now_us)
        self._deadlines.at(cell, cell.due_at_us())
        return effects

    def _attach(
        self, access_point: AccessPoint, report: AccessPointReport, now_us: int
    ) -> tuple[Reason | None, list[Effect]]:
        """Make an access point the one that reports a cell, unless another does."""
        bssid = report.bssid
        if access_point.cell is not None:
            # If its BSSID really changed, the stream that it opens now may report the new one.
            refusal = Reason(Code.OTHER_CELL, mac_text(bssid))
            return refusal, self._close(access_point, refusal, now_us)
        cell, effects = self._cells.get(bssid), list[Effect]()
        if cell is None:
            cell = self._new_cell(bssid, report.ssid, now_us)
            effects += _settings_note(cell, None)
        before = cell.access_point
        if before is not None:
            stale_us = cell.settings.parameters.safety.cell_stale_ms * 1000
            if before.stream.principal != access_point.stream.principal and now_us - before.reported_at_us <= stale_us:
                return Reason(Code.CELL_CLAIMED, before.stream.principal.name), []
            effects += self._close(before, Reason(Code.REPLACED), now_us)
            before.cell = None
        cell.report_by(access_point.stream.principal)
        cell.access_point, access_point.cell = access_point, cell
        return None, effects

    def _new_cell(self, bssid: Mac, ssid: bytes, now_us: int) -> CellState:
        cell = self._cells[bssid] = CellState(bssid, self._settings_of(bssid, ssid), ssid=ssid)
        self._deadlines.at(cell, now_us + cell.settings.parameters.safety.forget_ms * 1000 + 1)
        return cell

    # Ownership

    def _owned(self, event: Owned, now_us: int) -> list[Effect]:
        cell, effects = self._cells.get(event.bssid), list[Effect]()
        if cell is None:
            cell = self._new_cell(event.bssid, b"", now_us)  # its SSID comes with its first report
            cell.reported_at_us = now_us  # counts as news of it: one that is never reported is forgotten
            effects += _settings_note(cell, None)
        if event.memory is not None:
            cell.restore(event.memory, now_us)
        cell.epoch, cell.owned_until_us = event.epoch, event.until_us
        return effects

    def _disowned(self, event: Disowned, now_us: int) -> list[Effect]:
        """Forget a cell without a word to anybody: its next owner goes on with its terminals."""
        cell = self._cells.pop(event.bssid, None)
        if cell is None:
            return []
        self._deadlines.forget(cell)
        for mac in cell.stations.addresses():
            self._associations.remove(mac, cell)
        for terminal in cell.terminals.values():
            self._deadlines.forget(terminal)
            terminal.cell = None
            terminal.unplaced = terminal.no_bounds = Reason(Code.OTHER_REPLICA, cell.name)
        effects: list[Effect] = [Note("info", "disowned", cell.name, (event.reason,), cell=cell.bssid)]
        if cell.access_point is not None:
            access_point, cell.access_point = cell.access_point, None
            access_point.cell = None
            effects += self._close(access_point, event.reason, now_us)
        return effects

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
        settings = self.settings if terminal.cell is None else terminal.cell.settings
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
            effects += self._set_reporting(terminal)
            if not terminal.stream.moved:
                found = self._associations.cell_of(mac)
                cell = found.bssid if found else b""
                effects.append(Note("info", "connected", terminal.name, terminal=terminal.name, cell=cell))
        terminal.mac = mac
        for superseded in self._claims.add(terminal, now_us):
            # Closed if it is not heard again.
            self._deadlines.at(superseded, now_us + self._given_up_us(superseded))
        return effects + self._place_claimed(mac, now_us)

    def _given_up_us(self, terminal: Terminal) -> int:
        """How long a superseded stream may be silent: an idle agent that lives is heard several times within that."""
        parameters = self._settings_for(terminal).parameters
        return max(parameters.safety.terminal_stale_ms, 3 * parameters.reporting.heartbeat_ms) * 1000

    def _withdraw(self, terminal: Terminal) -> None:
        """The terminal's claim is over."""
        self._claims.remove(terminal)
        self._deadlines.forget(terminal)
        if terminal.cell is not None:
            del terminal.cell.terminals[terminal.mac]
            terminal.cell = None

    # Settings of cells

    def _settings_of(self, bssid: Mac, ssid: bytes) -> Settings:
        """What a cell goes by: the controller's settings, unless an override or an operator's choice concerns it."""
        match = self._overrides.match(bssid, ssid)
        chosen = bssid in self.modes.of_cells
        return self.settings.of_cell(match, self.modes.of_cell(bssid, match), by_operator=chosen)

    def _settings_for(self, terminal: Terminal) -> Settings:
        """What a terminal goes by: its cell's settings, or the controller's while it is joined to none."""
        return self.settings if terminal.cell is None else terminal.cell.settings

    def _renamed(self, cell: CellState, ssid: bytes) -> list[Effect]:
        """Find a cell's settings under another SSID; a note if they are others."""
        before = cell.settings.match
        if self._overrides.match(cell.bssid, ssid) == before:
            return []
        cell.reconfigure(self._settings_of(cell.bssid, ssid))
        return _settings_note(cell, before)

    def _place_stations(self, cell: CellState, now_us: int) -> list[Effect]:
        """Place the terminals of a cell's stations again: its settings have changed."""
        effects = list[Effect]()
        for mac in cell.stations.addresses():
            effects += self._place_claimed(mac, now_us)
        return effects

    def _set_reporting(self, terminal: Terminal) -> list[Effect]:
        """Send when to report, by the settings of its cell, unless a terminal was sent that."""
        reporting = self._settings_for(terminal).reporting
        if reporting == terminal.reporting:
            return []
        terminal.reporting = reporting
        return [SetReporting(terminal.stream, *reporting)]

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
        effects = self._set_reporting(terminal)
        if cell is None:
            return effects + self._decide_unplaced(terminal, now_us)
        cell.terminals[terminal.mac] = terminal
        if before is not cell:
            return effects + self._cell_informed(cell, terminal, now_us)
        return effects + self._decide(terminal, now_us)

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
        if not cell.settings.parameters.identity.match_addresses:
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
            notes: list[Effect] = [] if event.moved else [note]
            if reporter.closed:
                return notes
            self._withdraw(reporter)
            return [*notes, *self._place_claimed(reporter.mac, now_us)]
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
            given_up_at_us = max(terminal.superseded_at_us, terminal.reported_at_us) + self._given_up_us(terminal)
            if now_us >= given_up_at_us:
                return self._close(terminal, Reason(Code.REPLACED), now_us)
            self._deadlines.at(terminal, given_up_at_us)
        cell = terminal.cell
        if cell is not None:
            effects += cell.due(terminal, now_us)
            self._schedule(terminal)
        return effects

    def _cell_due(self, cell: CellState, now_us: int) -> list[Effect]:
        if now_us - cell.reported_at_us <= cell.settings.parameters.safety.forget_ms * 1000:
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
        return [*effects, CellForgotten(cell.bssid)]

    def _mode_set(self, event: ModeSet, now_us: int) -> list[Effect]:
        if event.bssid:
            self.modes.choose_for_cell(event.bssid, event.mode)
        else:
            self.modes.choose(event.mode)
            self.settings.mode = self.modes.controller
        subject = f"{mac_text(event.bssid)} {event.mode or 'configured'}" if event.bssid else self.settings.mode
        effects: list[Effect] = [Note("info", "mode", subject, cell=event.bssid)]
        cells = [cell for cell in self._cells.values() if event.bssid in {b"", cell.bssid}]
        for cell in cells:
            cell.settings = self._settings_of(cell.bssid, cell.ssid)
        for terminal in self.terminals():
            if not event.bssid or terminal.cell in cells:
                effects += self._decide(terminal, now_us)
        for cell in cells:
            effects += self._decide_edca(cell, now_us)
        return effects

    def _exempted(self, event: Exempted, now_us: int) -> list[Effect]:
        settings = self.settings
        if event.exempt:
            settings.exempt.add(event.name)
            settings.not_exempt.discard(event.name)
        else:
            settings.exempt.discard(event.name)
            if event.by_operator:
                settings.not_exempt.add(event.name)
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
        self.settings.reconfigure(event.parameters)
        self._overrides = Overrides(event.overrides)
        if event.mode is not None:
            self.modes.configure(event.mode)
            self.settings.mode = self.modes.controller
        effects = list[Effect]()
        for cell in self._cells.values():
            before = cell.settings.match
            cell.reconfigure(self._settings_of(cell.bssid, cell.ssid))
            effects += _settings_note(cell, before)
        for terminal in self.terminals():
            effects += self._place(terminal, now_us)
        return effects + self._decide_every_edca(now_us)

    def _decide_every_edca(self, now_us: int) -> list[Effect]:
        effects = list[Effect]()
        for cell in self._cells.values():
            effects += self._decide_edca(cell, now_us)
        return effects

    def _decide(self, terminal: Terminal, now_us: int) -> list[Effect]:
        if terminal.cell is None:
            return self._decide_unplaced(terminal, now_us)
        effects = terminal.cell.decide(terminal, now_us)
        self._schedule(terminal)
        return effects


def _settings_note(cell: CellState, before: Match | None) -> list[Effect]:
    """Which override concerns a cell from now on, unless it is the one of before."""
    match = cell.settings.match
    if (match and (match.override.name, match.by)) == (before and (before.override.name, before.by)):
        return []
    now = f"{match.override.name} ({match.by})" if match else "none"
    return [Note("info", "override", f"{cell.name} {now}", cell=cell.bssid)]


def _subject(reason: Reason | None, code: Code) -> str:
    return reason.subject if reason is not None and reason.code is code else ""


def _is_one_of(address: Address, known: tuple[Address, ...]) -> bool:
    """Whether a stream's address is one of its station's, as far as that can be compared: the access point may know
    none of that family.
    """
    same_family = [other for other in known if len(other) == len(address)]
    return not same_family or address in same_family
