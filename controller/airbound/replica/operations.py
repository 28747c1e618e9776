# SPDX-License-Identifier: Apache-2.0
"""The operators' service of several replicas: whichever is asked, the answer is about all."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message

from airbound.core.addresses import exempt_cell
from airbound.grpc.events_service import EventsService
from airbound.grpc.live_service import LiveService
from airbound.grpc.operations_service import OperationsService
from airbound.replica.events_service import ReplicatedEvents
from airbound.replica.questions import Answering, Questions, RefusedAnswerError
from airbound.replica.replicas_service import OwnedCells
from airbound.v1 import events_pb2, live_pb2, operations_pb2, replicas_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from airbound.grpc.operations_service import Choices
    from airbound.replica.node import Node
    from airbound.runtime.in_force import InForce
    from airbound.runtime.runner import Runner

ResponseT = TypeVar("ResponseT", bound=Message)

WATCH_OTHERS_S = 1.0

REQUESTS: dict[str, type[Message]] = {
    "ListCells": operations_pb2.ListCellsRequest,
    "ListStations": operations_pb2.ListStationsRequest,
    "ListTerminals": operations_pb2.ListTerminalsRequest,
    "ExplainCell": operations_pb2.ExplainCellRequest,
    "ExplainStation": operations_pb2.ExplainStationRequest,
    "ExplainTerminal": operations_pb2.ExplainTerminalRequest,
    "ListSwitches": operations_pb2.ListSwitchesRequest,
    "GetStationTraffic": operations_pb2.GetStationTrafficRequest,
}
"""What is answered for other replicas."""

LIVE_REQUESTS: dict[str, type[Message]] = {
    "ListRttRatios": live_pb2.ListRttRatiosRequest,
    "ListDestinations": live_pb2.ListDestinationsRequest,
}


class ReplicatedOperations(OperationsService):
    """Its own part is `own`; the rest is asked of the others."""

    def __init__(
        self,
        runner: Runner,
        node: Node,
        log_dropped: Callable[[], int] = lambda: 0,
        choices: Choices | None = None,
        in_force: InForce | None = None,
    ) -> None:
        super().__init__(runner, log_dropped, choices, in_force)
        self._node = node
        self._own = OperationsService(runner, log_dropped)
        live = LiveService(runner)
        self._services: dict[str, object] = dict.fromkeys(REQUESTS, self._own) | dict.fromkeys(LIVE_REQUESTS, live)
        services = {
            **self._services,
            "ListOwned": OwnedCells(node),
            "ListEvents": EventsService(runner.history, node.name),
        }
        requests = {
            **REQUESTS,
            **LIVE_REQUESTS,
            "ListOwned": replicas_pb2.ListOwnedRequest,
            "ListEvents": events_pb2.ListEventsRequest,
        }
        self.questions = Questions(services, requests, node.outbox, node.members.others)
        node.answer(self.questions)
        self.live = ReplicatedLive(runner, self)
        self.events = ReplicatedEvents(runner.history, node.name, self.questions)

    async def SetMode(self, request: operations_pb2.SetModeRequest, context: Any) -> operations_pb2.SetModeResponse:
        """Switch all replicas, or a cell of whichever owns it."""
        before = await self._mode_elsewhere(request.bssid)
        response = await super().SetMode(request, context)
        if before is not None:
            response.previous_mode, response.mode = before, request.mode
        return response

    async def _mode_elsewhere(self, bssid: str) -> operations_pb2.Mode | None:
        """The mode of a cell that another replica owns: its override follows from its SSID, which only that one has."""
        if bssid:
            with suppress(RefusedAnswerError):
                async for octets in self.questions.ask("ExplainCell", operations_pb2.ExplainCellRequest(bssid=bssid)):
                    return operations_pb2.ExplainCellResponse.FromString(octets).cell.mode
        return None

    async def ExemptTerminal(
        self, request: operations_pb2.ExemptTerminalRequest, context: Any
    ) -> operations_pb2.ExemptTerminalResponse:
        """Exempt terminals of a name, or a cell, at all replicas, or end that."""
        before = await self._exempt_elsewhere(request.name)
        response = await super().ExemptTerminal(request, context)
        response.previously_exempt |= before
        return response

    async def _exempt_elsewhere(self, name: str) -> bool:
        """Whether a cell or a terminal is exempt at the replica that owns its cell: by an override, which follows from
        an SSID that only that one has.
        """
        with suppress(RefusedAnswerError):
            if exempt_cell(name):
                with suppress(RefusedAnswerError):
                    async for octets in self.questions.ask(
                        "ExplainCell", operations_pb2.ExplainCellRequest(bssid=name)
                    ):
                        return operations_pb2.ExplainCellResponse.FromString(octets).cell.exempt
                of_station = operations_pb2.ExplainStationRequest(station=name)
                async for octets in self.questions.ask("ExplainStation", of_station):
                    return operations_pb2.ExplainStationResponse.FromString(octets).station.exempt
            else:
                explain = operations_pb2.ExplainTerminalRequest(terminal=name)
                async for octets in self.questions.ask("ExplainTerminal", explain):
                    return operations_pb2.ExplainTerminalResponse.FromString(octets).terminal.exempt
        return False

    async def ListCells(
        self, request: operations_pb2.ListCellsRequest, context: Any
    ) -> AsyncIterator[operations_pb2.ListCellsResponse]:
        """Every cell, or one."""
        if request.bssid:
            response = await self._first("ListCells", request, operations_pb2.ListCellsResponse, context)
            yield response
            return
        async for page in self._own.ListCells(request, context):
            yield page
        async for octets in self.questions.ask("ListCells", request):
            yield operations_pb2.ListCellsResponse.FromString(octets)

    async def WatchCells(
        self, request: operations_pb2.WatchCellsRequest, context: Any
    ) -> AsyncIterator[operations_pb2.WatchCellsResponse]:
        """Every cell, then each again whenever it changes; those of others are looked at once a second."""
        queue = asyncio.Queue[operations_pb2.WatchCellsResponse | None]()
        tasks = [
            asyncio.create_task(self._watch_own(request, context, queue)),
            asyncio.create_task(self._watch_others(queue)),
        ]
        try:
            while (response := await queue.get()) is not None:
                yield response
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_own(
        self, request: operations_pb2.WatchCellsRequest, context: Any, queue: asyncio.Queue[Any]
    ) -> None:
        async for response in self._own.WatchCells(request, context):
            await queue.put(response)
        await queue.put(None)  # the controller is stopping

    async def _watch_others(self, queue: asyncio.Queue[Any]) -> None:
        known = dict[str, operations_pb2.Cell]()
        while True:
            async for octets in self.questions.ask("ListCells", operations_pb2.ListCellsRequest()):
                for cell in operations_pb2.ListCellsResponse.FromString(octets).cells:
                    if known.get(cell.bssid) != cell:
                        known[cell.bssid] = cell
                        await queue.put(operations_pb2.WatchCellsResponse(cell=cell))
            await asyncio.sleep(WATCH_OTHERS_S)

    async def ListTerminals(
        self, request: operations_pb2.ListTerminalsRequest, context: Any
    ) -> AsyncIterator[operations_pb2.ListTerminalsResponse]:
        """Every terminal, or those joined to one cell."""
        if not request.bssid:
            async for page in self._own.ListTerminals(request, context):
                yield page
            async for octets in self.questions.ask("ListTerminals", request):
                yield operations_pb2.ListTerminalsResponse.FromString(octets)
            return
        async for response in self.of_one("ListTerminals", request, operations_pb2.ListTerminalsResponse, context):
            yield response

    async def ListSwitches(
        self, request: operations_pb2.ListSwitchesRequest, context: Any
    ) -> AsyncIterator[operations_pb2.ListSwitchesResponse]:
        """Every OpenFlow switch, whichever replica it reports to."""
        async for page in self._own.ListSwitches(request, context):
            yield page
        async for octets in self.questions.ask("ListSwitches", request):
            yield operations_pb2.ListSwitchesResponse.FromString(octets)

    async def GetStationTraffic(
        self, request: operations_pb2.GetStationTrafficRequest, context: Any
    ) -> operations_pb2.GetStationTrafficResponse:
        """What a station sends and receives by every switch that reports it."""
        response = await self._own.GetStationTraffic(request, context)
        async for octets in self.questions.ask("GetStationTraffic", request):
            response.MergeFrom(operations_pb2.GetStationTrafficResponse.FromString(octets))
        return response

    async def ListStations(
        self, request: operations_pb2.ListStationsRequest, context: Any
    ) -> operations_pb2.ListStationsResponse:
        """The stations of one cell."""
        return await self._first("ListStations", request, operations_pb2.ListStationsResponse, context)

    async def ExplainCell(
        self, request: operations_pb2.ExplainCellRequest, context: Any
    ) -> operations_pb2.ExplainCellResponse:
        """A cell's state and what its access point's EDCA parameters follow from."""
        return await self._first("ExplainCell", request, operations_pb2.ExplainCellResponse, context)

    async def ExplainStation(
        self, request: operations_pb2.ExplainStationRequest, context: Any
    ) -> operations_pb2.ExplainStationResponse:
        """A station, and the limits of its windows and what they follow from."""
        return await self._first("ExplainStation", request, operations_pb2.ExplainStationResponse, context)

    async def ExplainTerminal(
        self, request: operations_pb2.ExplainTerminalRequest, context: Any
    ) -> operations_pb2.ExplainTerminalResponse:
        """A terminal's bounds and what they follow from."""
        return await self._first("ExplainTerminal", request, operations_pb2.ExplainTerminalResponse, context)

    async def _first(self, method: str, request: Any, response: type[ResponseT], context: Any) -> ResponseT:
        """The first response, ours or another's."""
        async with aclosing(self.of_one(method, request, response, context)) as responses:
            async for found in responses:
                return found
        raise AssertionError  # `of_one` aborts if there is none

    async def of_one(
        self, method: str, request: Any, response: type[ResponseT], context: Any
    ) -> AsyncGenerator[ResponseT, None]:
        """The responses of the replica that does not refuse: this one, or another."""
        answering = Answering()
        try:
            answer: Any = getattr(self._services[method], method)(request, answering)
            if hasattr(answer, "__aiter__"):
                async for found in answer:
                    yield found
            else:
                yield await answer
        except RefusedAnswerError as own:
            refusal, answered = own, False
            try:
                async for octets in self.questions.ask(method, request):
                    answered = True
                    yield response.FromString(octets)
            except RefusedAnswerError as others:
                refusal = own if own.status is others.status else others
            if not answered:
                await context.abort(refusal.status, str(refusal))


class ReplicatedLive(LiveService):
    """The service for live views of several replicas."""

    def __init__(self, runner: Runner, operations: ReplicatedOperations) -> None:
        super().__init__(runner)
        self._operations = operations

    async def ListRttRatios(
        self, request: live_pb2.ListRttRatiosRequest, context: Any
    ) -> AsyncIterator[live_pb2.ListRttRatiosResponse]:
        """Of every cell."""
        async for page in super().ListRttRatios(request, context):
            yield page
        async for octets in self._operations.questions.ask("ListRttRatios", request):
            yield live_pb2.ListRttRatiosResponse.FromString(octets)

    async def ListDestinations(
        self, request: live_pb2.ListDestinationsRequest, context: Any
    ) -> AsyncIterator[live_pb2.ListDestinationsResponse]:
        """Of one cell's terminals."""
        pages = self._operations.of_one("ListDestinations", request, live_pb2.ListDestinationsResponse, context)
        async for page in pages:
            yield page
