# SPDX-License-Identifier: Apache-2.0
"""A client of the events service and of the one for live views, on an operator's connection."""

from collections.abc import Iterator
from typing import Any

from airbound.operator.client import Client
from airbound.v1 import events_pb2, events_pb2_grpc, live_pb2, live_pb2_grpc


class EventsClient:
    """Every method raises as those of Client do."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._events: Any = client.stub(events_pb2_grpc.EventsServiceStub)
        self._live: Any = client.stub(live_pb2_grpc.LiveServiceStub)

    def list(self, request: events_pb2.ListEventsRequest) -> list[events_pb2.ListEventsResponse]:
        """The kept events that a filter selects, in pages."""
        call = self._events.ListEvents
        return self._client.answer(lambda: list(call(request, timeout=self._client.timeout_s)))

    def follow(self, request: events_pb2.FollowEventsRequest) -> Iterator[events_pb2.FollowEventsResponse]:
        """The same, then each event as it happens; ends with the controller."""
        yield from self._client.stream(lambda: self._events.FollowEvents(request))

    def rtt_ratios(self) -> dict[str, live_pb2.CellRttRatio]:
        """By BSSID."""
        request, timeout_s = live_pb2.ListRttRatiosRequest(), self._client.timeout_s
        pages = self._client.answer(lambda: list(self._live.ListRttRatios(request, timeout=timeout_s)))
        return {cell.bssid: cell for page in pages for cell in page.cells}

    def destinations(self, bssid: str) -> dict[str, live_pb2.TerminalDestinations]:
        """What the terminals of a cell reported last, by MAC address."""
        request, timeout_s = live_pb2.ListDestinationsRequest(bssid=bssid), self._client.timeout_s
        pages = self._client.answer(lambda: list(self._live.ListDestinations(request, timeout=timeout_s)))
        return {terminal.mac: terminal for page in pages for terminal in page.terminals}
