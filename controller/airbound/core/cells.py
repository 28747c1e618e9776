# SPDX-License-Identifier: Apache-2.0
"""Access points' reports, the cells that they report, and who owns those."""

from airbound.core.addresses import Mac, mac_text
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.state import CellState
from airbound.core.cell.stations import Change
from airbound.core.cell_decisions import CellDecisions, cell_due_at_us, senders_note
from airbound.core.effects import CellChanged, CellForgotten, Effect, Note, StationsChanged
from airbound.core.events import AccessPointReported, Disowned, Owned
from airbound.core.live_decision import observe_priorities
from airbound.core.placement import Placement
from airbound.core.principals import Stream
from airbound.core.rate_notes import note_assumed_rates
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.refusals import Refusals
from airbound.core.registry import Registry, settings_note
from airbound.core.reports import AccessPointReport, Station
from airbound.core.switch_reports import SwitchReport
from airbound.core.widening import observe_widening


class Cells:
    """Takes in what access points report, and makes and forgets cells by it. With `replicas` a cell is only reported
    while it is owned.
    """

    def __init__(
        self, registry: Registry, decisions: CellDecisions, placement: Placement, refusals: Refusals, *, replicas: bool
    ) -> None:
        self._registry = registry
        self._decisions = decisions
        self._placement = placement
        self._refusals = refusals
        self._replicas = replicas

    def take_report(self, event: AccessPointReported, now_us: int) -> list[Effect]:
        """An access point reported on its stream."""
        report, stream = event.report, event.stream
        access_point = self._registry.reporters.get(stream.number)
        if not isinstance(access_point, AccessPoint):
            access_point = self._registry.reporters[stream.number] = AccessPoint(stream)
        if access_point.closed:
            return []
        effects = list[Effect]()
        cell = self._registry.cells.get(access_point.bssid)
        if self._replicas:
            known = cell or self._registry.cells.get(report.bssid)
            if known is None or not known.is_owned(now_us):
                return []  # its owner decides
        if cell is None or cell.bssid != report.bssid:
            refusal, effects = self._attach(access_point, report, now_us)
            if refusal is not None:
                return [*self._refusals.refuse(access_point, stream, refusal), *effects]
            cell = self._registry.cells[report.bssid]
        try:
            access_point.accept_order(report.sequence, report.monotonic_us, now_us)
        except RefusedError as error:
            return self._refusals.out_of_order(access_point, error.reason, now_us)
        access_point.accept(report, event.octets)
        if report.datapath_id or cell.datapath_id:
            self._take_datapath(cell, report.datapath_id, now_us)
        return effects + self._apply_report(access_point, cell, report, now_us)

    def _take_datapath(self, cell: CellState, datapath_id: int, now_us: int) -> None:
        """Which switch a cell is a port of; of two that report the same one the first, while it goes on to report."""
        datapaths, known = self._registry.datapaths, self._registry.cells
        if datapath_id != cell.datapath_id:
            self._release_datapath(cell)
        if not datapath_id:
            return
        other = known.get(datapaths.get(datapath_id, b""), cell)
        if other is cell or other.is_stale(now_us):
            datapaths[datapath_id], cell.datapath_id = cell.bssid, datapath_id

    def _release_datapath(self, cell: CellState) -> None:
        if self._registry.datapaths.get(cell.datapath_id) == cell.bssid:
            del self._registry.datapaths[cell.datapath_id]
        cell.datapath_id = 0

    def _apply_report(
        self, access_point: AccessPoint | None, cell: CellState, report: AccessPointReport, now_us: int
    ) -> list[Effect]:
        """Have the cell take in a report, and place the terminals that came to it or left it."""
        effects = self._registry.renamed(cell, report.ssid) if report.ssid != cell.ssid else []
        senders, other_settings = cell.stations.active_senders, bool(effects)
        measured_at_us = cell.measured_at_us
        change, moved, jumps = cell.observe_report(report, now_us)
        if access_point is not None:
            for jump in jumps:
                effects += self._refusals.refuse(access_point, access_point.stream, jump)
        if cell.stations.active_senders != senders:
            effects.append(senders_note(cell, senders))
        if cell.measured_at_us != measured_at_us:
            widened, notes = observe_widening(cell, now_us)
            moved, effects = moved or widened, effects + notes + note_assumed_rates(cell, now_us)
        effects += self._move_stations(cell, change, now_us)
        if cell.live.flows or cell.priorities.announced_at_us or cell.stations.send_priorities():
            observe_priorities(cell, now_us)
        if cell.live.flows or cell.pacing.paces or cell.pacing.had or cell.stations_window.cw_min:
            effects += self._decisions.decide_live(cell, now_us)
        if other_settings:
            effects += self._placement.place_stations(cell, now_us)
        elif moved:
            effects += self._decisions.decide_all(cell, now_us)
        effects += self._decisions.decide_access_point(cell, now_us, everything=other_settings)
        effects.append(CellChanged(cell.bssid))
        return effects

    def _move_stations(self, cell: CellState, change: Change, now_us: int) -> list[Effect]:
        """Place the terminals of stations that came to a cell, left it or have other addresses, or that are found to be
        in another cell than before.
        """
        associations, placement, effects = self._registry.associations, self._placement, list[Effect]()
        if not (change.gone or change.appeared or change.readdressed or associations.are_contested(cell)):
            return effects  # nearly always
        for mac in change.gone:
            associations.remove(mac, cell)
        for mac in change.appeared:
            move = associations.add(mac, cell, now_us)
            if move is not None:
                effects += placement.moved(move)
        to_place = [*change.gone, *change.appeared, *change.readdressed]
        contested, disputes = associations.observe(cell, self._registry.claims.claimants, now_us)
        for dispute in disputes:
            effects += placement.disputed(dispute)
        for mac in (*change.gone, *contested):
            has_moved, notes = placement.settle(mac, now_us)
            effects += notes
            if has_moved and mac not in to_place:
                to_place.append(mac)
        for mac in to_place:
            effects += placement.place_claimed(mac, now_us)
        if change.gone or change.appeared:
            effects.append(StationsChanged(cell.bssid, tuple(change.appeared), tuple(change.gone)))
        return effects

    def _attach(
        self, access_point: AccessPoint, report: AccessPointReport, now_us: int
    ) -> tuple[Reason | None, list[Effect]]:
        """Make an access point the one that reports a cell, unless another does."""
        bssid = report.bssid
        if access_point.bssid:
            # If its BSSID really changed, the stream that it opens now may report the new one.
            refusal = Reason(Code.OTHER_CELL, mac_text(bssid))
            return refusal, self._refusals.close(access_point, refusal, now_us)
        cell, effects = self._registry.cells.get(bssid), list[Effect]()
        if cell is None:
            cell = self._registry.new_cell(bssid, report.ssid, now_us)
            effects += settings_note(cell, None)
        before = cell.access_point
        if before is not None:
            stale_ms, principal = cell.settings.parameters.safety.cell_stale_ms, before.stream.principal
            if principal != access_point.stream.principal and not before.is_stale(now_us, stale_ms):
                return Reason(Code.CELL_CLAIMED, principal.name), []
            effects += self._refusals.close(before, Reason(Code.REPLACED), now_us)
            before.bssid = b""
        cell.report_by(access_point.stream.principal)
        cell.access_point, access_point.bssid, cell.by_switch = access_point, bssid, False
        return None, effects

    def take_switch_report(self, stream: Stream, report: SwitchReport, bssid: Mac, now_us: int) -> list[Effect]:
        """The switch of a cell listed its stations: where no access point's agent reports the cell, that is its report,
        without counters. With replicas only a cell that is owned has one.
        """
        cell, effects = self._registry.cells.get(bssid), list[Effect]()
        if self._replicas and (cell is None or not cell.is_owned(now_us)):
            return []
        if cell is None:
            cell = self._registry.new_cell(bssid, b"", now_us)
            effects += settings_note(cell, None)
        access_point = cell.access_point
        if access_point is not None:
            if not access_point.is_stale(now_us, cell.settings.parameters.safety.cell_stale_ms):
                return effects
            cell.access_point, access_point.bssid = None, b""
        elif not cell.by_switch and cell.reported_at_us and (not cell.is_owned(now_us) or not cell.is_stale(now_us)):
            return effects  # its agent's stream ended a moment ago, and may be back in a moment
        cell.report_by(stream.principal)
        cell.by_switch = True
        stations = tuple(map(Station, report.stations))
        listed = AccessPointReport(
            bssid=bssid,
            sequence=report.sequence,
            monotonic_us=report.monotonic_us,
            stations=stations,
            ssid=cell.ssid,
        )
        effects += self._apply_report(None, cell, listed, now_us)
        self._registry.deadlines.at(cell, cell_due_at_us(cell))
        return effects

    def owned(self, event: Owned, now_us: int) -> list[Effect]:
        """A cell is this replica's, or goes on being so."""
        cell, effects = self._registry.cells.get(event.bssid), list[Effect]()
        if cell is None:
            cell = self._registry.new_cell(event.bssid, b"", now_us)  # its SSID comes with its first report
            cell.reported_at_us = now_us  # counts as news of it: one that is never reported is forgotten
            effects += settings_note(cell, None)
        if event.memory is not None:
            cell.restore(event.memory, now_us)
        cell.epoch, cell.owned_until_us = event.epoch, event.until_us
        return effects

    def disowned(self, event: Disowned, now_us: int) -> list[Effect]:
        """Drop a cell's state and send nothing: the next owner takes the cell's terminals over."""
        cell = self._registry.cells.pop(event.bssid, None)
        if cell is None:
            return []
        self._registry.deadlines.forget(cell)
        self._release_datapath(cell)
        for mac in cell.stations.addresses():
            self._registry.associations.remove(mac, cell)
        for terminal in cell.terminals.values():
            self._registry.deadlines.forget(terminal)
            terminal.bssid = b""
            terminal.unplaced = terminal.no_bounds = Reason(Code.OTHER_REPLICA, cell.name)
        effects: list[Effect] = [Note("info", "disowned", cell.name, (event.reason,), cell=cell.bssid)]
        if cell.access_point is not None:
            access_point, cell.access_point = cell.access_point, None
            access_point.bssid = b""
            effects += self._refusals.close(access_point, event.reason, now_us)
        return effects

    def due(self, cell: CellState, now_us: int) -> list[Effect]:
        """The time of a cell has come: renew its access point's leases, or forget a cell that nobody reports."""
        if now_us - cell.reported_at_us <= cell.forget_ms * 1000:
            effects = self._decisions.decide_access_point(cell, now_us)
            return [*effects, CellChanged(cell.bssid)] if effects else []
        del self._registry.cells[cell.bssid]
        self._release_datapath(cell)
        if cell.access_point is not None:
            cell.access_point.bssid = b""
        for mac in cell.stations.addresses():
            self._registry.associations.remove(mac, cell)
        effects = list[Effect]()
        for terminal in list(cell.terminals.values()):
            effects += self._placement.place(terminal, now_us)
        return [*effects, CellForgotten(cell.bssid)]
