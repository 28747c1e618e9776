# SPDX-License-Identifier: Apache-2.0
"""The service that operators' tools use. Long lists go out in pages, with a turn of the loop between two of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, NoReturn, Protocol, TypeVar

import grpc

from airbound import __version__
from airbound.configuration.layers import Loaded
from airbound.core.addresses import Mac, exempt_name, mac_from_text, mac_text
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.claims import is_live
from airbound.core.parameters import Mode
from airbound.core.reasons import Code
from airbound.grpc import configuration_convert, switch_views
from airbound.grpc import operations_convert as convert
from airbound.grpc.events_service import EventsService
from airbound.grpc.live_service import LiveService
from airbound.grpc.operations_convert import MODES
from airbound.runtime.in_force import InForce
from airbound.runtime.runner import Runner
from airbound.store.types import StoreError
from airbound.v1 import access_point_pb2, operations_pb2, operations_pb2_grpc, terminal_pb2

Item = TypeVar("Item")


class Choices(Protocol):
    """Where operators' choices are kept."""

    async def set_mode(self, mode: Mode | None, bssid: Mac = b"", *, for_s: float = 0.0) -> Mode:
        """The mode before, of the controller or a cell. `for_s`: for how long; 0: until an operator ends it. Raises
        StoreError if it is not kept yet.
        """

    async def set_exempt(self, name: str, *, exempt: bool) -> bool:
        """Whether it was exempt before. Raises StoreError if it is not kept yet."""

    async def set_class(self, name: str, uid: int | None, application_class: int | None) -> int | None:
        """The class chosen before, if any. Raises StoreError if it is not kept yet."""


PAGE = 50
NAME_MAX_CHARACTERS = 256
MODE_FOR_MAX_MS = 86_400_000
UID_MAX = 2**32 - 2  # the last number is nobody's


class OperationsService(operations_pb2_grpc.OperationsServiceServicer):
    """Shows the engine's state and passes on what operators decide, to `choices` where they are kept. `log_dropped`
    counts lines that were not logged. Without `in_force` the configuration is shown as that of all defaults.
    """

    # Where they are not about this replica alone:
    live: LiveService | None = None
    events: EventsService | None = None

    def __init__(
        self,
        runner: Runner,
        log_dropped: Callable[[], int] = lambda: 0,
        choices: Choices | None = None,
        in_force: InForce | None = None,
    ) -> None:
        self._runner = runner
        self._choices = choices
        self._log_dropped = log_dropped
        self._in_force = in_force or InForce(Loaded())

    async def GetController(
        self, _request: operations_pb2.GetControllerRequest, _context: Any
    ) -> operations_pb2.GetControllerResponse:
        """Mode and counters."""
        runner, engine = self._runner, self._runner.engine
        counts = {
            ("commands_total", Code.UNSPECIFIED): runner.commands_total,
            ("log_lines_dropped_total", Code.UNSPECIFIED): self._log_dropped(),
            ("reports_total", Code.UNSPECIFIED): runner.reports_total,
            ("streams", Code.UNSPECIFIED): runner.streams,
        } | runner.counts.totals
        return operations_pb2.GetControllerResponse(
            version=__version__,
            mode=MODES[engine.settings.mode],
            policy=engine.settings.parameters.policy,
            cells=len(engine.cells),
            terminals=len(engine.terminals()),
            exempt=sorted(engine.settings.exempt),
            counters=[
                operations_pb2.Counter(
                    name=name,
                    code=code.value,  # type: ignore[arg-type]  # the same numbers: tested
                    value=value,
                )
                for (name, code), value in sorted(counts.items())
            ],
        )

    async def GetConfiguration(
        self, _request: operations_pb2.GetConfigurationRequest, _context: Any
    ) -> operations_pb2.GetConfigurationResponse:
        """Every value in force and where it comes from."""
        return configuration_convert.configuration(self._in_force, self._runner)

    async def ListCells(
        self, request: operations_pb2.ListCellsRequest, context: Any
    ) -> AsyncIterator[operations_pb2.ListCellsResponse]:
        """Every cell, or one."""
        engine = self._runner.engine
        chosen = (
            [await self._cell(request.bssid, context)]
            if request.bssid
            else sorted(engine.cells.values(), key=lambda cell: cell.bssid)
        )
        async for page in _pages(chosen):
            cells = [convert.cell(cell, self._runner.now_us()) for cell in page]
            yield operations_pb2.ListCellsResponse(cells=cells)

    async def WatchCells(
        self, _request: operations_pb2.WatchCellsRequest, _context: Any
    ) -> AsyncIterator[operations_pb2.WatchCellsResponse]:
        """Every cell, then each again whenever it changes."""
        async for bssids in self._runner.changed_cells():
            for bssid in bssids:
                cell = self._runner.engine.cells.get(bssid)
                if cell is not None:
                    yield operations_pb2.WatchCellsResponse(cell=convert.cell(cell, self._runner.now_us()))

    async def ListStations(
        self, request: operations_pb2.ListStationsRequest, context: Any
    ) -> operations_pb2.ListStationsResponse:
        """The stations of one cell."""
        cell = await self._cell(request.bssid, context)
        last = cell.access_point.last_report if cell.access_point else b""
        report = access_point_pb2.AccessPointServiceConnectRequest.FromString(last).report
        return operations_pb2.ListStationsResponse(stations=convert.stations(cell, report, self._runner.now_us()))

    async def ListTerminals(
        self, request: operations_pb2.ListTerminalsRequest, context: Any
    ) -> AsyncIterator[operations_pb2.ListTerminalsResponse]:
        """Every terminal, or those joined to one cell."""
        engine = self._runner.engine
        if request.bssid:
            chosen = list((await self._cell(request.bssid, context)).terminals.values())
        else:
            chosen = list(filter(is_live, engine.terminals()))  # not those that a newer stream replaces
        async for page in _pages(sorted(chosen, key=lambda terminal: terminal.mac)):
            now_us = self._runner.now_us()
            terminals = [
                convert.terminal(terminal, engine.cell_joined(terminal), engine.settings, now_us) for terminal in page
            ]
            yield operations_pb2.ListTerminalsResponse(terminals=terminals)

    async def ListSwitches(
        self, _request: operations_pb2.ListSwitchesRequest, _context: Any
    ) -> AsyncIterator[operations_pb2.ListSwitchesResponse]:
        """Every OpenFlow switch that reports to this controller."""
        async for page in _pages(self._runner.engine.switches.all()):
            switches = [switch_views.switch(switch, self._runner.now_us()) for switch in page]
            yield operations_pb2.ListSwitchesResponse(switches=switches)

    async def GetStationTraffic(
        self, request: operations_pb2.GetStationTrafficRequest, context: Any
    ) -> operations_pb2.GetStationTrafficResponse:
        """What a station sends and receives by the switch of its cell."""
        mac = await _mac("station", request.station, context)
        stations = switch_views.station_traffic(self._runner.engine.switches, mac)
        return operations_pb2.GetStationTrafficResponse(stations=stations)

    async def ExplainCell(
        self, request: operations_pb2.ExplainCellRequest, context: Any
    ) -> operations_pb2.ExplainCellResponse:
        """A cell's state and what its access point's EDCA parameters follow from."""
        cell = await self._cell(request.bssid, context)
        return operations_pb2.ExplainCellResponse(cell=convert.cell(cell, self._runner.now_us()))

    async def ExplainStation(
        self, request: operations_pb2.ExplainStationRequest, context: Any
    ) -> operations_pb2.ExplainStationResponse:
        """A station, and the limits of its windows and what they follow from."""
        mac = await _mac("station", request.station, context)
        cell = self._runner.engine.cell_of(mac)
        last = cell.access_point.last_report if cell is not None and cell.access_point is not None else b""
        report = access_point_pb2.AccessPointServiceConnectRequest.FromString(last).report
        view = convert.station(cell, mac, report, self._runner.now_us()) if cell is not None else None
        if cell is None or view is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no access point reports a station {mac_text(mac)}")
            raise AssertionError  # abort raises
        return operations_pb2.ExplainStationResponse(station=view, cell=convert.cell(cell, self._runner.now_us()))

    async def ExplainTerminal(
        self, request: operations_pb2.ExplainTerminalRequest, context: Any
    ) -> operations_pb2.ExplainTerminalResponse:
        """A terminal's bounds and what they follow from."""
        terminal = await self._terminal(request.terminal, context)
        engine, now_us = self._runner.engine, self._runner.now_us()
        cell = engine.cell_joined(terminal)
        report = terminal_pb2.TerminalServiceConnectRequest.FromString(terminal.last_report).report
        return operations_pb2.ExplainTerminalResponse(
            terminal=convert.terminal(terminal, cell, engine.settings, now_us),
            cell=convert.cell(cell, now_us) if cell else None,
            destinations=convert.destinations(report),
            last_trigger=report.trigger,
        )

    async def SetMode(self, request: operations_pb2.SetModeRequest, context: Any) -> operations_pb2.SetModeResponse:
        """Switch the controller or a cell between observing and controlling."""
        mode = next((mode for mode, wire in MODES.items() if wire == request.mode), None)
        if (mode is None) != request.configured:
            expected = "none" if request.configured else "observe or control"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"mode = {request.mode}: expected {expected}")
        if request.for_ms > (0 if request.configured else MODE_FOR_MAX_MS):
            limit = "none without a mode" if request.configured else f"at most {MODE_FOR_MAX_MS}"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"for_ms = {request.for_ms}: expected {limit}")
        bssid = await _mac("bssid", request.bssid, context) if request.bssid else b""
        previous = await self._kept(mode, bssid, request.for_ms / 1000, context)
        now = MODES[self._runner.mode(bssid)]
        return operations_pb2.SetModeResponse(previous_mode=MODES[previous], mode=now)

    async def ExemptTerminal(
        self, request: operations_pb2.ExemptTerminalRequest, context: Any
    ) -> operations_pb2.ExemptTerminalResponse:
        """Exempt terminals of a name, or a cell, from control, or end that; none need be connected."""
        name = await _name("name", request.name, context)
        if self._choices is None:
            previous = self._runner.set_exempt(name, exempt=request.exempt)
        else:
            try:
                previous = await self._choices.set_exempt(name, exempt=request.exempt)
            except StoreError as error:
                await _abort_not_kept(error, context)
        return operations_pb2.ExemptTerminalResponse(previously_exempt=previous)

    async def SetClass(self, request: operations_pb2.SetClassRequest, context: Any) -> operations_pb2.SetClassResponse:
        """Give a terminal's applications, or one, a class in place of its own table's, or end that."""
        name = await _name("terminal", request.terminal, context)
        uid = request.uid if request.HasField("uid") else None
        number = request.application_class
        if number not in terminal_pb2.ApplicationClass.values() or (request.own and number):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"application_class = {number}: not expected")
        if uid is not None and uid > UID_MAX:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"uid = {uid}: expected at most {UID_MAX}")
        chosen = None if request.own else int(number)
        if self._choices is None:
            previous = self._runner.set_class(name, uid, chosen)
        else:
            try:
                previous = await self._choices.set_class(name, uid, chosen)
            except StoreError as error:
                await _abort_not_kept(error, context)
        return operations_pb2.SetClassResponse(
            previous=previous  # type: ignore[arg-type]  # the same numbers: tested
        )

    async def _kept(self, mode: Mode | None, bssid: Mac, for_s: float, context: Any) -> Mode:
        if self._choices is None:
            if for_s:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "for_ms: nobody keeps choices here")
            return self._runner.set_mode(mode, bssid)
        try:
            return await self._choices.set_mode(mode, bssid, for_s=for_s)
        except StoreError as error:
            await _abort_not_kept(error, context)

    async def _cell(self, text: str, context: Any) -> CellState:
        bssid = await _mac("bssid", text, context)
        cell = self._runner.engine.cells.get(bssid)
        if cell is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no access point has reported a cell {mac_text(bssid)}")
            raise AssertionError  # abort raises
        return cell

    async def _terminal(self, text: str, context: Any) -> Terminal:
        """The terminal of that name or MAC."""
        try:
            mac = mac_from_text(text)
        except ValueError:
            mac = b""
        found = [
            terminal for terminal in self._runner.engine.terminals() if text == terminal.name or terminal.mac == mac
        ]
        found = [terminal for terminal in found if is_live(terminal)] or found  # not those that a newer stream replaces
        if len(found) > 1:
            found.sort(key=lambda terminal: terminal.mac)
            which = ", ".join(f"{mac_text(terminal.mac)} ({terminal.name})" for terminal in found[:PAGE])
            await context.abort(
                grpc.StatusCode.FAILED_PRECONDITION, f"{_shown(text)} is more than one terminal: {which}"
            )
        if not found:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no terminal {_shown(text)} is connected")
        return found[0]


async def _abort_not_kept(error: StoreError, context: Any) -> NoReturn:
    """Not UNAVAILABLE: a controller has answered, and done it."""
    text = f"applied by this controller, not yet kept and not applied by other replicas, tried again: {error}"
    await context.abort(grpc.StatusCode.ABORTED, text)
    raise AssertionError  # abort raises


async def _mac(field: str, text: str, context: Any) -> Mac:
    try:
        return mac_from_text(text[:NAME_MAX_CHARACTERS])
    except ValueError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{field}: {error}")
        raise


async def _name(field: str, text: str, context: Any) -> str:
    """A terminal's name as choices have it, or a MAC."""
    if not text or len(text) > NAME_MAX_CHARACTERS or not text.isprintable():
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{field} = {_shown(text)}: not a name")
    return exempt_name(text)


def _shown(text: str) -> str:
    """Input in an error: gRPC sends no status whose text is too long."""
    return repr(text[:NAME_MAX_CHARACTERS])


async def _pages(items: Iterable[Item]) -> AsyncIterator[list[Item]]:
    """At least one page, so that an empty list is an answer."""
    everything = list(items)
    for start in range(0, max(1, len(everything)), PAGE):
        yield everything[start : start + PAGE]
        await asyncio.sleep(0)
