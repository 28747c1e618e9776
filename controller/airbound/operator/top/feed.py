# SPDX-License-Identifier: Apache-2.0
"""Fetches what the live view shows: one thread reads the stream of changed cells, another asks once a second for what
is not in it, and for stations, terminals and events of what is open only. Both go on after an error: the controller
may come back.
"""

import threading
import time

from airbound.operator.client import Client, NotFoundError, RefusedError, UnreachableError
from airbound.operator.events_client import EventsClient
from airbound.operator.top.model import EVENTS_MAX, EventList, Model, OpenCell
from airbound.v1 import events_pb2

POLL_S = 1.0
ALL_CELLS_EVERY = 10  # polls: cells that the controller forgot are in no stream


class Feed:
    """One controller's state, fetched into a model. The caller closes `client`."""

    def __init__(self, client: Client, *, poll_s: float = POLL_S) -> None:
        self.model = Model()
        self._client, self._events = client, EventsClient(client)
        self._poll_s = poll_s
        self._ended, self._now = threading.Event(), threading.Event()
        self._polls = 0

    def start(self) -> None:
        """Begin."""
        for run in (self._watch, self._poll):
            threading.Thread(target=run, daemon=True).start()

    def stop(self) -> None:
        """Fetch nothing more; a call that is under way ends with the client."""
        self._ended.set()
        self._now.set()

    def open(self, bssid: str) -> None:
        """Fetch one cell's stations and terminals, and its events; of no cell if it is empty."""
        with self.model.lock:
            self.model.open = OpenCell(bssid) if bssid else None
            self.model.events = EventList(bssid) if bssid else None
        self._now.set()

    def show_events(self, *, shown: bool) -> None:
        """Fetch the events of all, or go back to those of the cell that is open."""
        with self.model.lock:
            cell = self.model.open
            self.model.events = EventList() if shown else EventList(cell.bssid) if cell else None
        self._now.set()

    def set_mode(self, mode: str, bssid: str = "") -> None:
        """Set "observe" or "control", of the controller or of one cell.

        Raises:
            UnreachableError, RefusedError: as a client does.
        """
        self._client.set_mode(mode, bssid)
        self._now.set()

    def exempt(self, name: str, *, exempt: bool) -> None:
        """Exempt a terminal or a cell, or end that.

        Raises:
            UnreachableError, RefusedError: as a client does.
        """
        self._client.exempt(name, exempt=exempt)
        self._now.set()

    def _watch(self) -> None:
        while not self._ended.is_set():
            try:
                for cell in self._client.watch_cells():
                    self.model.take_cell(cell, time.monotonic())
                    if self._ended.is_set():
                        return
            except (UnreachableError, RefusedError, ValueError):
                pass  # whether a controller answers is what the other thread finds out
            self._ended.wait(self._poll_s)

    def _poll(self) -> None:
        next_s = time.monotonic()
        while not self._ended.is_set():
            self._now.clear()
            try:
                self._fetch()
            except (UnreachableError, RefusedError) as error:
                self.model.lose(str(error), time.monotonic())
                self._polls = 0  # all cells once it is back
            except ValueError:
                return  # the channel was closed
            if time.monotonic() >= next_s:
                self.model.second(time.monotonic())
                next_s = max(next_s + self._poll_s, time.monotonic())
            self._now.wait(max(0.0, next_s - time.monotonic()))

    def _fetch(self) -> None:
        client, model = self._client, self.model
        controller = client.controller()
        if self._polls % ALL_CELLS_EVERY == 0:
            model.take_cells(list(client.cells().cells), time.monotonic())
        self._polls += 1
        model.take_ratios(self._events.rtt_ratios())
        with model.lock:
            model.controller = controller
            opened, events = model.open, model.events
        if opened is not None:
            self._fetch_cell(opened)
        self._fetch_events(events)

    def _fetch_cell(self, opened: OpenCell) -> None:
        bssid, client = opened.bssid, self._client
        try:
            stations = list(client.stations(bssid).stations)
            terminals = list(client.terminals(bssid).terminals)
            destinations = self._events.destinations(bssid)
        except NotFoundError as error:
            with self.model.lock:
                opened.complaint = str(error)
            return
        with self.model.lock:
            opened.stations, opened.terminals, opened.destinations = stations, terminals, destinations
            opened.airtime.take(stations)
            opened.complaint = ""

    def _fetch_events(self, shown: EventList | None) -> None:
        """Events are asked for also where none are shown: which run of the controller it is follows from the answer."""
        request = events_pb2.ListEventsRequest(limit=1)
        if shown is not None:
            request = events_pb2.ListEventsRequest(
                filter=events_pb2.EventFilter(cell=shown.bssid),
                limit=EVENTS_MAX,
                after=shown.position,
                after_others=shown.others,
            )
        pages = self._events.list(request)
        with self.model.lock:
            self.model.answered(pages[0].position.history)
            for page in pages if shown is not None else ():
                shown.take(page)  # type: ignore[union-attr]  # mypy does not follow the condition
