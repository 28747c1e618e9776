# SPDX-License-Identifier: Apache-2.0
"""What follows from what is known of a cell: commands for its terminals and its access point, and when each is due
again.

Rules of this file:
- a terminal is decided again when something changed that its decisions follow from: in its own report, or of the cell
  (as cell/state.py has it), with each of its reports while there are downloads (bounds then follow the smoothed RTT),
  or when something of it is due. Nearly all reports change nothing, and cost no decision;
- an access point's own queues and its stations' windows are decided with each of its reports, and when something of
  them is due;
- an error in one decision frees that terminal, the queues or the windows, and concerns nothing else.
"""

from airbound.core.app_bounds import app_bounds
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.commands import bounds_command, is_as_decided, renewal
from airbound.core.deadlines import Deadlines, Item
from airbound.core.decisions import decide
from airbound.core.edca_decision import decide_edca
from airbound.core.effects import CellChanged, Effect, Note
from airbound.core.failure import failed, internal_error
from airbound.core.live_decision import decide_live, keep_flows, observe_live
from airbound.core.reasons import Code, Reason
from airbound.core.restriction import restriction, why_bounds_ended
from airbound.core.window_clamp import decide_windows


class CellDecisions:
    """Decides, and has deadlines set to when what was decided is due again."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines

    def decide(self, cell: CellState, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for one terminal that is joined."""
        return self._scheduled(terminal, decide_terminal(cell, terminal, now_us))

    def decide_all(self, cell: CellState, now_us: int) -> list[Effect]:
        """Commands for every terminal that is joined."""
        effects = list[Effect]()
        cell.windows.outdated = True
        for terminal in cell.terminals.values():
            effects += self.decide(cell, terminal, now_us)
        if cell.live.flows:
            effects += self.decide_live(cell, now_us)
        return effects

    def decide_live(self, cell: CellState, now_us: int) -> list[Effect]:
        """Commands for the cell's terminals and its access point about live flows, with the windows that go with these;
        not what the access point announces.
        """
        effects, changed = decide_live(cell, now_us)
        for mac in changed:
            effects += self.decide(cell, cell.terminals[mac], now_us)
        return effects

    def decide_by_report(
        self, cell: CellState, terminal: Terminal, now_us: int, *, changed: bool = True
    ) -> list[Effect]:
        """Commands that follow from a joined terminal's report, for it and for those that share its minimum RTTs.

        `changed`: whether the report changed anything else that decisions follow from, as Terminal.accept returns.
        """
        moved, senders = cell.observe_terminal(terminal, now_us), cell.stations.active_senders
        if not moved and not changed:
            effects = self._scheduled(terminal, keep_terminal(cell, terminal, now_us))
        elif changed and cell.has_started_or_stopped(terminal):
            effects = [senders_note(cell, senders), *self.decide_all(cell, now_us)]
            effects += [*self._scheduled(cell, decide_limits(cell, now_us)), CellChanged(cell.bssid)]
        else:
            effects = self.decide(cell, terminal, now_us)
            cell.windows.outdated |= bool(moved)
            if moved and cell.settings.parameters.min_rtt.share:
                for other in cell.terminals.values():
                    if other is not terminal and other.sends_to(moved):
                        effects += self.decide(cell, other, now_us)
        if cell.windows.senders and cell.windows.is_handed_over(terminal):  # none in most cells
            effects += self._scheduled(cell, decide_limits(cell, now_us))
        if terminal.apps or terminal.has_flows:  # of few terminals
            effects += self._decide_flows(cell, terminal, now_us)
        return effects

    def _decide_flows(self, cell: CellState, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands that follow from what a report says of live flows."""
        if not observe_live(cell, terminal, now_us):
            return keep_flows(cell, terminal, now_us)
        return [*self.decide_live(cell, now_us), *self.decide_access_point(cell, now_us, everything=False)]

    def decide_due(self, cell: CellState, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for a joined terminal whose time has come."""
        effects, due_us = keep_terminal(cell, terminal, now_us)
        return self._scheduled(terminal, (effects, due_us or terminal_due_at_us(cell, terminal)))

    def decide_access_point(self, cell: CellState, now_us: int, *, everything: bool = True) -> list[Effect]:
        """Commands for the access point; of its stations' windows `everything` is decided again."""
        cell.windows.outdated |= everything
        effects, due_us = decide_access_point(cell, now_us)
        return self._scheduled(cell, (effects, due_us or (cell_due_at_us(cell) if everything else 0)))

    def _scheduled(self, item: Item, decided: tuple[list[Effect], int]) -> list[Effect]:
        effects, due_us = decided
        if due_us:
            self._deadlines.at(item, due_us)
        return effects


def decide_terminal(cell: CellState, terminal: Terminal, now_us: int) -> tuple[list[Effect], int]:
    """Commands for one terminal that is joined, and when it is due again; 0 if it is not."""
    try:
        reason = cell.unavailable_for(terminal, now_us) or restriction(terminal, cell.settings)
        reason = reason or why_bounds_ended(cell)
        decisions = decide(terminal, cell) if reason is None else ()
        if reason is None and not decisions:
            reason = Reason(Code.NO_RTT_SAMPLE)
        terminal.no_bounds = reason
        effects = list[Effect]()
        if reason is None or not reason.waits:
            apps = app_bounds(terminal, decisions, cell) if terminal.apps or terminal.bursts else ()
            effects = bounds_command(terminal, decisions, reason, cell.settings, now_us, apps=apps)
    except Exception as error:  # noqa: BLE001  # whatever it is, the others' leases go on
        effects = _free(cell, terminal, internal_error(error), now_us)
    return effects, terminal_due_at_us(cell, terminal)


def keep_terminal(cell: CellState, terminal: Terminal, now_us: int) -> tuple[list[Effect], int]:
    """The same if nothing changed that its decisions follow from: at most a renewal, unless time itself brings a
    change. With nothing to send it is due when it was: 0.
    """
    try:
        if is_as_decided(terminal) and cell.unavailable_for(terminal, now_us) is None:
            effects = renewal(terminal, cell.settings, now_us)
            return effects, terminal_due_at_us(cell, terminal) if effects else 0
    except Exception as error:  # noqa: BLE001  # the others' leases go on
        return _free(cell, terminal, internal_error(error), now_us), terminal_due_at_us(cell, terminal)
    return decide_terminal(cell, terminal, now_us)


def _free(cell: CellState, terminal: Terminal, reason: Reason, now_us: int) -> list[Effect]:
    """Commands for a terminal whose decision ended in an error."""
    terminal.no_bounds = reason
    terminal.failures_total += 1
    effects = bounds_command(terminal, (), reason, cell.settings, now_us)
    return [*effects, failed(cell, reason, terminal.failures_total, terminal.name)]


def terminal_due_at_us(cell: CellState, terminal: Terminal) -> int:
    """When a terminal must be decided without a report: a lease to renew or a time-out; 0 if it has no bounds."""
    sent = terminal.sent
    if sent is None or not sent.entries:
        return 0
    stale_at_us = min(cell.terminal_stale_at_us(terminal), cell.stale_at_us)
    # A terminal that waits has its lease end: nothing is renewed.
    return stale_at_us if terminal.no_bounds is not None else min(sent.renew_at_us, stale_at_us)


def decide_access_point(cell: CellState, now_us: int) -> tuple[list[Effect], int]:
    """Commands for the access point, of either kind, and when the cell is due again; 0: when it was."""
    effects = decide_edca(cell, now_us)
    if cell.access_point is not None and cell.access_point.windows is not None:
        effects += decide_windows(cell, now_us)
    return effects, cell_due_at_us(cell) if effects else 0


def decide_limits(cell: CellState, now_us: int) -> tuple[list[Effect], int]:
    """The same of its stations' windows alone."""
    effects = decide_windows(cell, now_us)
    return effects, cell_due_at_us(cell) if effects else 0


def cell_due_at_us(cell: CellState) -> int:
    """When a cell must be looked at without a report: its access point's leases, or to forget it."""
    due_us = cell.reported_at_us + cell.forget_ms * 1000 + 1
    access_point = cell.access_point
    if access_point is None or access_point.closed:
        return due_us
    for sent, reason in (
        (access_point.edca_lease.sent, cell.edca_reason),
        (access_point.windows_lease.sent, cell.windows.reason),
    ):
        if sent is not None and sent.entries:
            # While the cell is learned anew nothing is renewed.
            waits = reason is not None and reason.waits
            due_us = min(due_us, cell.stale_at_us if waits else min(sent.renew_at_us, cell.stale_at_us))
    return due_us


def senders_note(cell: CellState, before: int) -> Note:
    """For the log: there were so many active senders."""
    reason = Reason(Code.ACTIVE_SENDERS, "", before, cell.stations.active_senders)
    return Note("info", "senders", cell.name, (reason,), cell=cell.bssid)
