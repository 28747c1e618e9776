# SPDX-License-Identifier: Apache-2.0
"""Where a terminal is, and the commands that follow from it.

A terminal is joined to a cell if the cell reports its MAC, its stream may come from that station, and no other live
stream claims the MAC. One that is joined to none gets no bounds.
"""

from airbound.core.addresses import Mac, address_text, mac_text
from airbound.core.arrivals import arrived
from airbound.core.associations import MISMATCH, Dispute, Move, knowledge
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.cell_decisions import CellDecisions
from airbound.core.claims import is_live
from airbound.core.commands import bounds_command, flows_command
from airbound.core.effects import Effect, Level, Note, SetReporting, repeated_level
from airbound.core.reasons import Code, Reason
from airbound.core.registry import Registry
from airbound.core.restriction import restriction


class Placement:
    """Joins terminals to cells, and has that decided which follows."""

    def __init__(self, registry: Registry, decisions: CellDecisions) -> None:
        self._registry = registry
        self._decisions = decisions

    def claim(self, terminal: Terminal, mac: Mac, now_us: int) -> list[Effect]:
        """A terminal reports a MAC for the first time, or another one than before."""
        effects = list[Effect]()
        if terminal.mac:
            self.withdraw(terminal)
            effects += self.place_claimed(terminal.mac, now_us)
        else:
            effects += self._set_reporting(terminal)
            if not terminal.stream.moved:
                found = self._registry.associations.cell_of(mac)
                cell = found.bssid if found else b""
                effects.append(Note("info", "connected", terminal.name, terminal=terminal.name, cell=cell))
        terminal.mac = mac
        for superseded in self._registry.claims.add(terminal, now_us):
            # Closed if it is not heard again.
            self._registry.deadlines.at(superseded, now_us + self.given_up_us(superseded))
        return effects + self.settle(mac, now_us)[1] + self.place_claimed(mac, now_us)

    def withdraw(self, terminal: Terminal) -> None:
        """The terminal's claim is over."""
        self._registry.claims.remove(terminal)
        self._registry.deadlines.forget(terminal)
        cell = self._registry.cell_joined(terminal)
        if cell is not None:
            cell.leave(terminal)
            terminal.bssid = b""

    def given_up_us(self, terminal: Terminal) -> int:
        """How long a superseded stream may be silent: an idle agent that lives is heard several times within that."""
        parameters = self._registry.settings_for(terminal).parameters
        return max(parameters.safety.terminal_stale_ms, 3 * parameters.reporting.heartbeat_ms) * 1000

    def settle(self, mac: Mac, now_us: int) -> tuple[bool, list[Effect]]:
        """Find the cell that a station is in, of several that report it: whether that is another one than before, in
        which its terminals are to be placed, and notes.
        """
        associations = self._registry.associations
        if not associations.is_contested(mac):
            return False, []  # nearly always
        before = associations.cell_of(mac)
        move = associations.settle(mac, self._registry.claims.claimants(mac), now_us)
        return associations.cell_of(mac) is not before, self.moved(move) if move is not None else []

    def moved(self, move: Move) -> list[Effect]:
        """Count a station's move from another cell to the one that it is in, in which it is not placed yet; a note."""
        cell = self._registry.associations.cell_of(move.mac)
        if cell is None:
            return []
        cell.moves_total += 1
        name = self._name_of(move.mac)
        reason = Reason(Code.STATION_MOVED, mac_text(move.before))
        level: Level = "info" if name else "counted"  # whoever lists stations that have no agent fills no log
        return [Note(level, "moved", name or mac_text(move.mac), (reason,), terminal=name, cell=cell.bssid)]

    def disputed(self, dispute: Dispute) -> list[Effect]:
        """Count that a cell claims a station which another one goes on to hear; a note."""
        claimant = dispute.by
        claimant.disputes_total += 1
        reason = Reason(Code.STATION_DISPUTED, mac_text(dispute.holder.bssid))
        level, name = repeated_level(claimant.disputes_total), self._name_of(dispute.mac)
        return [Note(level, "disputed", mac_text(dispute.mac), (reason,), terminal=name, cell=claimant.bssid)]

    def _name_of(self, mac: Mac) -> str:
        claims = self._registry.claims.claimants(mac)
        return claims[-1].name if claims else ""

    def place_claimed(self, mac: Mac, now_us: int) -> list[Effect]:
        """Join the terminals that claim a MAC to the cell that they are in now, or to none; commands for them."""
        effects = list[Effect]()
        for terminal in self._registry.claims.claimants(mac):
            effects += self.place(terminal, now_us)
        return effects

    def place_stations(self, cell: CellState, now_us: int) -> list[Effect]:
        """Place the terminals of a cell's stations again: its settings have changed."""
        effects = list[Effect]()
        for mac in cell.stations.addresses():
            effects += self.place_claimed(mac, now_us)
        return effects

    def place(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Join a terminal to the cell that it is in now, or to none; commands for it."""
        cell, reason = self._find_cell(terminal)
        before, terminal.unplaced = self._registry.cell_joined(terminal), reason
        if before is not cell and before is not None and before.terminals[terminal.mac] is terminal:
            before.leave(terminal)  # unless another that claims the MAC has just been joined in its place
        terminal.bssid = cell.bssid if cell else b""
        effects = self._set_reporting(terminal)
        if cell is None:
            return effects + self.decide_unplaced(terminal, now_us)
        cell.terminals[terminal.mac] = terminal
        effects += arrived(cell, terminal, now_us)
        if before is not cell:
            terminal.flows_decided = None
            return effects + self._decisions.decide_by_report(cell, terminal, now_us)
        return effects + self._decisions.decide(cell, terminal, now_us)

    def decide(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for a terminal, in a cell or in none."""
        cell = self._registry.cell_joined(terminal)
        return self._decisions.decide(cell, terminal, now_us) if cell else self.decide_unplaced(terminal, now_us)

    def decide_unplaced(self, terminal: Terminal, now_us: int) -> list[Effect]:
        """Commands for a terminal that is joined to no cell."""
        reason = terminal.unplaced
        if is_live(terminal) and (reason is None or not reason.releases):
            reason = restriction(terminal, self._registry.settings) or reason
        terminal.no_bounds = reason
        if reason is None or not reason.releases:
            return []
        effects = bounds_command(terminal, (), reason, self._registry.settings, now_us)
        if terminal.has_flows:
            effects += flows_command(terminal, (), reason, self._registry.settings, now_us)
        return effects

    def _set_reporting(self, terminal: Terminal) -> list[Effect]:
        """Send when to report, by the settings of its cell, unless a terminal was sent that."""
        reporting = self._registry.settings_for(terminal).reporting
        if reporting == terminal.reporting:
            return []
        terminal.reporting = reporting
        return [SetReporting(terminal.stream, *reporting)]

    def _find_cell(self, terminal: Terminal) -> tuple[CellState | None, Reason | None]:
        cell = self._registry.associations.cell_of(terminal.mac)
        if cell is None:
            if not is_live(terminal):
                return None, Reason(Code.REPLACED)
            left = mac_text(terminal.bssid) if terminal.bssid else _subject(terminal.unplaced, Code.LEFT_CELL)
            return None, Reason(Code.LEFT_CELL, left) if left else Reason(Code.CELL_UNKNOWN)
        # A terminal elsewhere takes nothing from the station by claiming its MAC.
        claims = [claim for claim in self._registry.claims.claimants(terminal.mac) if self._is_at_station(claim, cell)]
        if terminal not in claims:
            return None, Reason(Code.ADDRESS_MISMATCH, address_text(terminal.stream.address))
        rivals = [claim for claim in claims if is_live(claim) or claim is claims[-1]]
        if terminal not in rivals:
            return None, Reason(Code.REPLACED)
        for rival in rivals:
            if rival is not terminal:
                return None, Reason(Code.MAC_CLAIMED_TWICE, rival.name)
        return cell, None

    @staticmethod
    def _is_at_station(terminal: Terminal, cell: CellState) -> bool:
        """Whether a stream may come from the station whose MAC it claims, as far as the access point knows."""
        return knowledge(terminal.mac, cell, (terminal,)) > MISMATCH


def _subject(reason: Reason | None, code: Code) -> str:
    return reason.subject if reason is not None and reason.code is code else ""
