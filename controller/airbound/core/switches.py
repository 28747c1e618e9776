# SPDX-License-Identifier: Apache-2.0
"""Access points' OpenFlow switches: which cell each is of, what its stations send, and the rules that it is sent.

Rules of this file:
- a switch that ends its stream, or does not report for `stale_ms`, is a switch of which nothing is known;
- one live switch of a datapath, and one of a cell; the first stays, except that a principal replaces itself;
- a switch's rules are decided with each of its reports, one a second: leases need no deadline of their own;
- without its cell, or a reason to decide, it is sent nothing, and what it has ends with its lease;
- a switch that lists its stations reports its cell as well, while no access point's agent does.
"""

from dataclasses import dataclass, field
from typing import Literal

from airbound.core.addresses import Mac, mac_text
from airbound.core.cell.reporter import OUT_OF_ORDER_MAX, Reporter
from airbound.core.cell.state import CellState
from airbound.core.cell.switch_rates import SwitchRates
from airbound.core.cell_decisions import CellDecisions, senders_note
from airbound.core.cells import Cells
from airbound.core.commands import set_command
from airbound.core.effects import CellChanged, CloseStream, Effect, Note, SetStationRules, refusal
from airbound.core.events import Disconnected, SwitchReported
from airbound.core.leases import Lease
from airbound.core.openflow_parameters import switch_of_text
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.registry import Registry
from airbound.core.restriction import cell_restriction
from airbound.core.station_rules import station_rules
from airbound.core.switch_reports import StationRule, SwitchReport, datapath_text, own_datapath

Binding = Literal["", "configuration", "switch", "access point"]


@dataclass(slots=True, eq=False)
class Switch(Reporter):
    """A switch on one stream."""

    datapath_id: int = 0
    report: SwitchReport | None = None
    bound_to: Mac = b""
    bound_by: Binding = ""
    cell: CellState | None = None
    rates: SwitchRates = field(default_factory=SwitchRates)
    rules_lease: Lease[StationRule] = field(default_factory=Lease)
    reason: Reason | None = None  # why its stations are only counted, or nothing is sent; none if rules are applied

    @property
    def name(self) -> str:
        """The datapath as text."""
        return datapath_text(self.datapath_id)


class Switches:
    """Takes in what switches report, and has them sent rules."""

    def __init__(self, registry: Registry, decisions: CellDecisions, cells: Cells) -> None:
        self._registry = registry
        self._cells = cells
        self._decisions = decisions
        self._streams: dict[int, Switch] = {}  # by the number of their stream
        self._by_datapath: dict[int, Switch] = {}
        self._by_cell: dict[Mac, Switch] = {}

    # What others ask

    def all(self) -> list[Switch]:
        """Every switch that has reported on its stream, by its datapath."""
        return sorted(self._by_datapath.values(), key=lambda switch: switch.datapath_id)

    def of_cell(self, bssid: Mac, now_us: int) -> Switch | None:
        """The switch of a cell, unless nothing is known of it."""
        switch = self._by_cell.get(bssid)
        return None if switch is None or switch.is_stale(now_us, self._stale_ms) else switch

    @property
    def _stale_ms(self) -> int:
        return self._registry.settings.parameters.openflow.stale_ms

    # Events

    def take_report(self, event: SwitchReported, now_us: int) -> list[Effect]:
        """A switch's report arrived."""
        stream, report = event.stream, event.report
        switch = self._streams.get(stream.number)
        effects = list[Effect]()
        if switch is None:
            switch = self._streams[stream.number] = Switch(stream, datapath_id=report.datapath_id)
            refused = self._taken(switch, now_us)
            if isinstance(refused, Reason):
                return [*self._refuse(switch, refused), *self._close(switch, refused, now_us)]
            effects += refused
        if switch.closed:
            return []
        if report.datapath_id != switch.datapath_id:
            reason = Reason(Code.SWITCH_NOT_ITS_OWN, datapath_text(report.datapath_id))
            return [*self._refuse(switch, reason), *self._close(switch, reason, now_us)]
        try:
            switch.accept_order(report.sequence, report.monotonic_us, now_us)
        except RefusedError as error:
            effects += self._refuse(switch, error.reason)
            if switch.out_of_order_streak >= OUT_OF_ORDER_MAX:
                streak = Reason(Code.OUT_OF_ORDER_STREAK, after=switch.out_of_order_streak)
                effects += self._close(switch, streak, now_us)
            return effects
        switch.report, switch.agent_version = report, report.agent_version
        switch.rules_lease.in_force = report.generation
        switch.malformed_inputs_total = report.malformed_total
        effects += self._bind(switch, now_us)
        cell = switch.cell
        switch.rates.take(
            report.traffic, report.monotonic_us, now_us, lambda mac: cell.queue(mac, now_us) if cell else None
        )
        if cell is not None:
            effects += self._counted(cell, now_us)
        return [*effects, *self._decide(switch, now_us)]

    def refused(self, stream_number: int, reason: Reason) -> list[Effect] | None:
        """Something that was sent on a stream could not be read; none if no switch has reported on it."""
        switch = self._streams.get(stream_number)
        return None if switch is None else self._refuse(switch, reason)

    def disconnected(self, event: Disconnected, now_us: int) -> list[Effect]:
        """A stream ended; nothing happens if it was not a switch's."""
        switch = self._streams.pop(event.stream.number, None)
        if switch is None:
            return []
        known = self._by_datapath.get(switch.datapath_id) is switch
        effects = self._withdraw(switch, now_us)
        bssid = switch.bound_to
        return [*effects, Note("info", "switch gone", switch.name, cell=bssid)] if known else effects

    # Who it is

    def _taken(self, switch: Switch, now_us: int) -> Reason | list[Effect]:
        """Take a switch that reports for the first time, or say why not."""
        principal = switch.stream.principal
        own = own_datapath(principal.name)
        if own and own != switch.datapath_id:
            return Reason(Code.SWITCH_NOT_ITS_OWN, switch.name)
        before, effects = self._by_datapath.get(switch.datapath_id), list[Effect]()
        if before is not None:
            if before.stream.principal != principal and not before.is_stale(now_us, self._stale_ms):
                return Reason(Code.SWITCH_CLAIMED, before.stream.principal.name)
            effects += self._close(before, Reason(Code.REPLACED), now_us)
        self._by_datapath[switch.datapath_id] = switch
        return [*effects, Note("info", "switch", f"{switch.name} {principal.name}")]

    def _refuse(self, switch: Switch, reason: Reason) -> list[Effect]:
        switch.refused_total += 1
        return [refusal(switch.stream.principal, reason, switch.bound_to, count=switch.refused_total)]

    def _close(self, switch: Switch, reason: Reason, now_us: int) -> list[Effect]:
        if switch.closed:
            return []
        switch.closed = True
        return [CloseStream(switch.stream, reason), *self._withdraw(switch, now_us)]

    def _withdraw(self, switch: Switch, now_us: int) -> list[Effect]:
        """Nothing is known of a switch any more."""
        if self._by_datapath.get(switch.datapath_id) is switch:
            del self._by_datapath[switch.datapath_id]
        return self._unbind(switch, now_us)

    # Its cell

    def _bind(self, switch: Switch, now_us: int) -> list[Effect]:
        """Find the switch's cell: as the operator says, the process beside it, or an access point."""
        (bssid, by), effects = self._bssid(switch), list[Effect]()
        if switch.bound_to == bssid and switch.bound_to and self._by_cell.get(bssid) is switch:
            switch.bound_by = by
        else:
            effects = self._unbind(switch, now_us)
            switch.bound_to, switch.bound_by = bssid, by
            other = self._by_cell.get(bssid) if bssid else None
            if bssid and (other is None or other.is_stale(now_us, self._stale_ms)):
                self._by_cell[bssid] = switch
        own = bool(bssid) and self._by_cell[bssid] is switch
        if own and switch.report is not None and switch.report.lists_stations:
            effects += self._cells.take_switch_report(switch.stream, switch.report, bssid, now_us)
        switch.cell = self._registry.cells.get(bssid) if own else None
        if switch.cell is not None:
            switch.cell.switch_rates = switch.rates
        return effects

    def _bssid(self, switch: Switch) -> tuple[Mac, Binding]:
        for text in self._registry.settings.parameters.openflow.switches:
            datapath_id, bssid = switch_of_text(text)
            if datapath_id == switch.datapath_id:
                return bssid, "configuration"
        if switch.report is not None and switch.report.bssid:
            return switch.report.bssid, "switch"
        said = self._registry.datapaths.get(switch.datapath_id, b"")
        return said, "access point" if said else ""

    def _unbind(self, switch: Switch, now_us: int) -> list[Effect]:
        cell, switch.cell = switch.cell, None
        if self._by_cell.get(switch.bound_to) is switch:
            del self._by_cell[switch.bound_to]
        switch.rates.clear()
        if cell is None:
            return []
        effects = self._counted(cell, now_us)
        cell.switch_rates = None
        return effects

    # Counting

    def _counted(self, cell: CellState, now_us: int) -> list[Effect]:
        """Where the access point does not count: the cell decides by what its switch counted, which may be nothing."""
        senders, was_counted = cell.stations.active_senders, cell.counted_by_switch
        moved = cell.count_by_switch(now_us)
        if not (was_counted or cell.counted_by_switch):
            return []
        effects: list[Effect] = [] if senders == cell.stations.active_senders else [senders_note(cell, senders)]
        if moved:
            effects += self._decisions.decide_all(cell, now_us)
        return [*effects, CellChanged(cell.bssid)]

    # Rules

    def _decide(self, switch: Switch, now_us: int) -> list[Effect]:
        cell, report = switch.cell, switch.report
        if report is None:
            return []
        if cell is None:
            other = self._by_cell.get(switch.bound_to) if switch.bound_to else None
            if other is not None and other is not switch:
                switch.reason = Reason(Code.SWITCH_SURPLUS, other.name)
            else:
                switch.reason = Reason(Code.SWITCH_UNBOUND, mac_text(switch.bound_to) if switch.bound_to else "")
            return []
        unavailable = cell.unavailable(now_us)
        if unavailable is not None and unavailable.code is Code.CELL_LEARNING:
            unavailable = None  # its stations are counted
        switch.reason = unavailable or cell_restriction(cell)
        if unavailable is not None:
            return []
        sent = switch.rules_lease.sent
        before = {rule.mac: rule for rule in sent.entries} if sent is not None else {}
        applied = switch.reason is None
        wanted = station_rules(cell, before, now_us, applied=applied, meters_max=report.meters_max)
        return self._command(switch, cell, wanted, now_us)

    def _command(self, switch: Switch, cell: CellState, rules: tuple[StationRule, ...], now_us: int) -> list[Effect]:
        """What must be sent to a switch that is to have these rules."""
        note = Note("info", "rules", f"{switch.name} {cell.name}", cell=cell.bssid)
        settings, reasons = cell.settings, (self._why(rules),)
        return set_command(
            SetStationRules, switch, switch.rules_lease, rules, reasons, settings=settings, now_us=now_us, note=note
        )

    @staticmethod
    def _why(wanted: tuple[StationRule, ...]) -> Reason:
        """The weightiest: a station that is limited."""
        limits = [rule.uplink_kbps or rule.downlink_kbps for rule in wanted]
        limited = [kbps for kbps in limits if kbps]
        if limited:
            return Reason(Code.METERED, after=min(limited))
        return Reason(Code.SWITCH_STATIONS, after=len(wanted))
