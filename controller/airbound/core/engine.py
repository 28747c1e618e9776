# SPDX-License-Identifier: Apache-2.0
"""The engine: an event and the time go in, effects come out.

Rules of this file:
- no I/O, no clock; the same events at the same times give the same effects, whatever the host does;
- an event is handled whole before its effects are acted on;
- only terminals that an event can concern are looked at again: those of the cell it came from, those of the cell that
  send to a destination whose smallest RTT it changed, or those for which something is due;
- an error in one terminal's decision frees that terminal and concerns no other;
- whenever in doubt a terminal gets no bounds: the kernel's defaults are always safe.
"""

import traceback
from collections.abc import Iterable
from dataclasses import replace

from airbound.core import commands, decisions
from airbound.core.associations import Associations
from airbound.core.cell import Cell
from airbound.core.commands import Held
from airbound.core.effects import Bound, CellChanged, CloseStream, Effect, Note, RenewLease, SetBounds
from airbound.core.events import (
    AccessPointReported,
    Disconnected,
    Event,
    Exempted,
    Kind,
    ModeSet,
    Reconfigured,
    Refused,
    Stopping,
    TerminalReported,
    Tick,
)
from airbound.core.min_rtt import MinRttTable
from airbound.core.parameters import Mode, Parameters
from airbound.core.reports import ReportRefusedError
from airbound.core.terminal import Terminal
from airbound.core.views import CellView, TerminalView, cell_view, terminal_view

BEHIND_AT_MOST = 5  # reports in a row


class Engine:
    """All cells and terminals of one controller. `now_us` is any clock that never runs backwards."""

    def __init__(self, parameters: Parameters, exempt: Iterable[str] = ()) -> None:
        self.parameters = parameters
        self.mode: Mode = parameters.mode
        self.refused_unattributed_total = 0
        self._exempt = set(exempt)
        self._stopping = False
        self._terminals: dict[str, Terminal] = {}
        self._associations = Associations()
        self._owners: dict[int, str] = {}  # stream -> the BSSID or MAC it speaks for
        self._min_rtt = MinRttTable(parameters.min_rtt.max_age_s * 1_000_000)

    def handle(self, event: Event, now_us: int) -> list[Effect]:
        """Take in one event; what it calls for, in the order it is to be done."""
        match event:
            case AccessPointReported():
                effects = self._access_point_reported(event, now_us)
            case TerminalReported():
                effects = self._terminal_reported(event, now_us)
            case Refused():
                effects = self._refused(event)
            case Disconnected():
                effects = self._disconnected(event, now_us)
            case Tick():
                effects = self._tick(now_us)
            case ModeSet():
                self.mode = event.mode
                effects = [
                    Note("info", "mode", event.mode, "by an operator or the file"),
                    *self._decide_all(now_us),
                ]
            case Exempted():
                (self._exempt.add if event.exempt else self._exempt.discard)(event.mac)
                what = "exempt" if event.exempt else "not exempt"
                effects = [
                    Note("info", what, event.mac, "by an operator or the file"),
                    *self._decide_for([event.mac], now_us),
                ]
            case Reconfigured():
                effects = self._reconfigured(event, now_us)
            case Stopping():
                self._stopping = True
                effects = self._decide_all(now_us)
        return effects

    def next_deadline_us(self) -> int | None:
        """When a Tick is due: the next lease to renew, or the next silence to take notice of."""
        safety = self.parameters.safety
        deadlines = [due_us for terminal in self._terminals.values() if (due_us := self._due_us(terminal)) is not None]
        silent = [cell.reported_at_us for cell in self._associations.cells.values()]
        silent += [terminal.reported_at_us for terminal in self._terminals.values() if not terminal.stream]
        deadlines += [at_us + safety.forget_ms * 1000 + 1 for at_us in silent]
        return min(deadlines, default=None)

    def _due_us(self, terminal: Terminal) -> int | None:
        """When a terminal must be looked at without a report: a lease to renew or a silence; none without bounds."""
        if terminal.held is None or not terminal.held.bounds:
            return None
        safety = self.parameters.safety
        due_us = min(terminal.held.renew_at_us, terminal.reported_at_us + safety.terminal_stale_ms * 1000 + 1)
        cell = self._associations.cell_of(terminal.mac)
        return due_us if cell is None else min(due_us, cell.reported_at_us + safety.cell_stale_ms * 1000 + 1)

    # Events

    def _access_point_reported(self, event: AccessPointReported, now_us: int) -> list[Effect]:
        report, effects = event.report, list[Effect]()
        cell = self._associations.cells.get(report.bssid)
        if cell is None:
            cell = Cell(report.bssid, self.parameters.senders, self.parameters.capacity)
        elif event.stream < cell.stream:
            return effects  # its stream was replaced and is being closed
        if not self._own(event.stream, report.bssid):
            return self._not_its_own(event.stream, "access_point", "bssid", report.bssid)
        replaced, before = cell.stream, cell.active_senders
        stations_before = set(cell.stations)
        try:
            jumps = cell.accept(event.stream, report, now_us)
        except ReportRefusedError as error:
            refused = self._refused(Refused("access_point", report.bssid, error))
            return refused + self._behind(event.stream, cell, repeated=report.sequence == cell.sequence)
        cell.behind_total = 0
        for jump in jumps:
            effects += self._refused(Refused("access_point", report.bssid, jump))
        self._associations.update(cell, stations_before)
        if replaced not in {0, event.stream}:
            effects.append(CloseStream(replaced, f"a newer stream reports the cell {report.bssid}"))
        if cell.active_senders != before:
            effects.append(Note("info", "senders", cell.bssid, f"n {before} -> {cell.active_senders}"))
        effects += self._decide_for(stations_before | cell.stations.keys(), now_us)
        effects.append(CellChanged(cell.bssid))
        return effects

    def _terminal_reported(self, event: TerminalReported, now_us: int) -> list[Effect]:
        report, effects = event.report, list[Effect]()
        terminal = self._terminals.get(report.mac) or Terminal(report.mac)
        if event.stream < terminal.stream:
            return effects  # its stream was replaced and is being closed
        if not self._own(event.stream, report.mac):
            return self._not_its_own(event.stream, "terminal", "mac", report.mac)
        replaced = terminal.stream
        try:
            terminal.accept(event.stream, report, now_us, self.parameters.safety.sending_hold_ms * 1000)
        except ReportRefusedError as error:
            refused = self._refused(Refused("terminal", report.mac, error))
            repeated = terminal.report is not None and report.sequence == terminal.report.sequence
            return refused + self._behind(event.stream, terminal, repeated=repeated)
        terminal.behind_total = 0
        self._terminals[report.mac] = terminal
        if replaced not in {0, event.stream}:
            effects.append(CloseStream(replaced, f"a newer stream reports the terminal {report.mac}"))
        if replaced != event.stream:
            effects.append(Note("info", "connected", report.mac, f"back end {report.back_end.name}"))
        return effects + self._decide_for([report.mac], now_us)

    def _refused(self, event: Refused) -> list[Effect]:
        owner = (
            self._associations.cells.get(event.key) if event.kind == "access_point" else self._terminals.get(event.key)
        )
        if owner is None:
            self.refused_unattributed_total += 1
            count = self.refused_unattributed_total
        else:
            owner.refused_total += 1
            count = owner.refused_total
        if count & (count - 1):
            return []  # a broken agent repeats itself every second: the log gets the 1st, 2nd, 4th, 8th, ...
        return [Note("warning", "refused", event.key if owner else event.kind, f"{event.error} (refusal {count})")]

    def _behind(self, stream: int, owner: Cell | Terminal, *, repeated: bool) -> list[Effect]:
        """A clock or sequence that once jumped ahead makes every later report stale: a new stream begins anew."""
        if repeated:
            return []  # by the network; the next one is newer
        owner.behind_total += 1
        if owner.behind_total < BEHIND_AT_MOST:
            return []
        owner.behind_total = 0
        return [CloseStream(stream, f"{BEHIND_AT_MOST} reports in a row are older than one before them")]

    def _own(self, stream: int, key: str) -> bool:
        """Whether the stream speaks for this cell or terminal: it does for the one of its first report."""
        return self._owners.setdefault(stream, key) == key

    def _not_its_own(self, stream: int, kind: Kind, field: str, key: str) -> list[Effect]:
        """An access point whose BSSID changed is right about itself: on a stream of its own it is believed."""
        why = f"this stream speaks for {self._owners[stream]}"
        refused = self._refused(Refused(kind, key, ReportRefusedError(field, key, why)))
        return [*refused, CloseStream(stream, f"{why}, not for {key}")]

    def _disconnected(self, event: Disconnected, now_us: int) -> list[Effect]:
        owner = self._owners.pop(event.stream, "")
        terminal, cell = self._terminals.get(owner), self._associations.cells.get(owner)
        if terminal is not None and terminal.stream == event.stream:
            terminal.disconnect()
            note = Note("info", "disconnected", owner, "its stream ended; its lease runs out")
            return [note, *self._decide_for([owner], now_us)]
        if cell is not None and cell.stream == event.stream:
            cell.stream = 0
            return [Note("info", "disconnected", owner, "the access point's stream ended")]
        return []

    def _tick(self, now_us: int) -> list[Effect]:
        forget_us = self.parameters.safety.forget_ms * 1000
        for cell in [cell for cell in self._associations.cells.values() if now_us - cell.reported_at_us > forget_us]:
            self._associations.forget(cell.bssid)
        for terminal in [t for t in self._terminals.values() if not t.stream and now_us - t.reported_at_us > forget_us]:
            del self._terminals[terminal.mac]
        self._min_rtt.expire(now_us)
        due = ((mac, self._due_us(terminal)) for mac, terminal in self._terminals.items())
        return self._decide_for([mac for mac, due_us in due if due_us is not None and due_us <= now_us], now_us)

    def _reconfigured(self, event: Reconfigured, now_us: int) -> list[Effect]:
        # What is near enough under one formula need not be under another.
        same = (self.parameters.bdp, self.parameters.paper) == (event.parameters.bdp, event.parameters.paper)
        self.parameters = event.parameters
        self._min_rtt.max_age_us = event.parameters.min_rtt.max_age_s * 1_000_000
        for cell in self._associations.cells.values():
            cell.reconfigure(event.parameters.senders, event.parameters.capacity)
        return self._decide_all(now_us, settle=same)

    # Decisions

    def _decide_all(self, now_us: int, *, settle: bool = True) -> list[Effect]:
        return self._decide_for(self._terminals, now_us, settle=settle)

    def _decide_for(self, macs: Iterable[str], now_us: int, *, settle: bool = True) -> list[Effect]:
        """Decide for these terminals, and for all of their cells whose smallest RTT to a destination they change."""
        affected = {mac for mac in macs if mac in self._terminals}
        changed: dict[str, set[str]] = {}
        for mac in sorted(affected):
            for bssid, address in self._observe_min_rtt(self._terminals[mac], now_us):
                changed.setdefault(bssid, set()).add(address)
        if self.parameters.min_rtt.share:
            for bssid, addresses in changed.items():
                affected |= {
                    mac
                    for mac in self._associations.cells[bssid].stations
                    if (terminal := self._terminals.get(mac)) and not addresses.isdisjoint(terminal.sending)
                }
        effects = list[Effect]()
        for mac in sorted(affected):
            effects += self._decide_or_free(self._terminals[mac], now_us, settle=settle)
        return effects

    def _decide_or_free(self, terminal: Terminal, now_us: int, *, settle: bool) -> list[Effect]:
        try:
            return self._decide(terminal, now_us, settle=settle)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others' leases go on
            where = traceback.extract_tb(error.__traceback__)[-1]
            terminal.decisions = ()
            terminal.no_bounds_reason = f"an error of the controller: {type(error).__name__}: {error}"
            terminal.failures_total += 1
            effects = self._command(terminal, (), now_us)
            if terminal.failures_total & (terminal.failures_total - 1):
                return effects
            why = f"{terminal.no_bounds_reason}, in {where.name}, line {where.lineno} (time {terminal.failures_total})"
            return [*effects, Note("warning", "failed", terminal.mac, why)]

    def _observe_min_rtt(self, terminal: Terminal, now_us: int) -> list[tuple[str, str]]:
        """Take in a joined terminal's minimum RTTs, once for each report; the cell and the destinations whose smallest
        changed.
        """
        cell = self._associations.cell_of(terminal.mac)
        if terminal.report is None or terminal.observed or cell is None or self._silence(terminal, now_us):
            return []
        terminal.observed = True
        return [
            (cell.bssid, destination.address)
            for destination in terminal.report.destinations
            if self._min_rtt.observe(cell.bssid, destination.address, destination.min_rtt_us, now_us)
        ]

    def _silence(self, terminal: Terminal, now_us: int) -> str:
        """Why nothing can be decided for the terminal; empty if something can."""
        safety = self.parameters.safety
        if not terminal.stream:
            return "its agent is not connected"
        if now_us - terminal.reported_at_us > safety.terminal_stale_ms * 1000:
            return f"its agent has been silent for more than {safety.terminal_stale_ms / 1000:g} s"
        cell = self._associations.cell_of(terminal.mac)
        if cell is None:
            return "not joined: no access point reports it as associated"
        if now_us - cell.reported_at_us > safety.cell_stale_ms * 1000:
            return f"the access point of {cell.bssid} has been silent for more than {safety.cell_stale_ms / 1000:g} s"
        return ""

    def _decide(self, terminal: Terminal, now_us: int, *, settle: bool) -> list[Effect]:
        terminal.no_bounds_reason = self._silence(terminal, now_us)
        terminal.decisions = ()
        report, cell = terminal.report, self._associations.cell_of(terminal.mac)
        wanted: tuple[Bound, ...] = ()
        if not terminal.no_bounds_reason and report is not None and cell is not None:
            shared = {address: self._min_rtt.smallest_us(cell.bssid, address, now_us) for address in terminal.sending}
            fresh = decisions.decide(
                terminal.sending, shared, cell.active_senders, cell.capacity.bps(now_us), self.parameters
            )
            held = terminal.held.decisions if terminal.held and settle else ()
            terminal.decisions = decisions.settle(held, fresh, self.parameters)
            wanted, reason = commands.fit_to_back_end(terminal.decisions, report.back_end)
            terminal.no_bounds_reason = reason or self._restraint(terminal)
        if terminal.no_bounds_reason:
            wanted = ()
        return self._command(terminal, wanted, now_us)

    def _restraint(self, terminal: Terminal) -> str:
        """Why what was decided is not applied, or why nothing was; empty if it is to be applied."""
        if self._stopping:
            return "the controller is stopping"
        if self.mode == "observe":
            return "observe mode: computed and shown, not applied"
        if terminal.mac in self._exempt:
            return "exempt: computed and shown, not applied"
        if not terminal.sending:
            return "it sends nothing"
        if not terminal.decisions:
            return "no RTT sample yet"
        return ""

    def _command(self, terminal: Terminal, wanted: tuple[Bound, ...], now_us: int) -> list[Effect]:
        if not terminal.stream or terminal.report is None:
            return []
        lease_ms = self.parameters.safety.lease_ms
        held = terminal.held
        what = commands.action(
            held,
            wanted,
            in_force_generation=terminal.report.bounds_generation,
            reported_at_us=terminal.reported_at_us,
            now_us=now_us,
        )
        if what == "nothing":
            return []
        if what == "renew" and held is not None:
            terminal.held = replace(held, lease_us=lease_ms * 1000, renewed_at_us=now_us)
            return [RenewLease(terminal.stream, terminal.mac, held.generation, lease_ms)]
        again = held is not None and held.bounds == wanted
        in_force = terminal.decisions if wanted else ()
        if again:
            why = f"sent again: the terminal still says generation {terminal.report.bounds_generation}"
        else:
            why = terminal.no_bounds_reason or decisions.explain_change(held.decisions if held else (), in_force)
        reason = decisions.explain(why, in_force)
        terminal.last_generation += 1
        repeats = held.repeats + 1 if held is not None and again else 0
        terminal.held = Held(terminal.last_generation, wanted, in_force, lease_ms * 1000, now_us, now_us, repeats)
        ranges = ", ".join(f"{b.prefix or 'all'} {b.min_segs}..{b.max_segs}" for b in wanted) or "released"
        return [
            SetBounds(terminal.stream, terminal.mac, terminal.last_generation, wanted, lease_ms, reason),
            Note("info", "bounds", terminal.mac, f"{ranges}: {reason}"),
        ]

    # What operators are shown

    def cells(self, now_us: int) -> list[CellView]:
        """Every cell, by BSSID."""
        return [self._cell_view(cell, now_us) for _, cell in sorted(self._associations.cells.items())]

    def cell(self, bssid: str, now_us: int) -> CellView | None:
        """One cell."""
        cell = self._associations.cells.get(bssid)
        return None if cell is None else self._cell_view(cell, now_us)

    def terminals(self, now_us: int) -> list[TerminalView]:
        """Every terminal, by MAC."""
        return [self._terminal_view(terminal, now_us) for _, terminal in sorted(self._terminals.items())]

    def terminal(self, mac: str, now_us: int) -> TerminalView | None:
        """One terminal."""
        terminal = self._terminals.get(mac)
        return None if terminal is None else self._terminal_view(terminal, now_us)

    def owner_of(self, stream: int) -> str:
        """The BSSID or MAC that a stream speaks for; empty before its first report."""
        return self._owners.get(stream, "")

    def is_exempt(self, mac: str) -> bool:
        """Whether an operator took the terminal out of control."""
        return mac in self._exempt

    def _cell_view(self, cell: Cell, now_us: int) -> CellView:
        connected = sum(mac in self._terminals and self._terminals[mac].stream != 0 for mac in cell.stations)
        return cell_view(cell, connected, now_us)

    def _terminal_view(self, terminal: Terminal, now_us: int) -> TerminalView:
        cell = self._associations.cell_of(terminal.mac)
        return terminal_view(terminal, cell, exempt=terminal.mac in self._exempt, now_us=now_us)
