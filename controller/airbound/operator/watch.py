# SPDX-License-Identifier: Apache-2.0
"""Changes of cells and events, as they come: two streams, each read by a thread of its own, become one."""

import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any

from airbound.operator.client import Client
from airbound.operator.event_output import Output
from airbound.operator.events_client import EventsClient
from airbound.v1 import events_pb2

WAITING_MAX = 1000  # then the streams are read no faster than the output takes it


def watch(client: Client, bssid: str, output: Output) -> None:
    """Write every cell, or one, then what changes, until the controller stops.

    Raises:
        UnreachableError, RefusedError: as a client does.
    """
    arrived: queue.Queue[Any] = queue.Queue(WAITING_MAX)

    def read(source: Callable[[], Iterable[Any]]) -> None:
        try:
            for item in source():
                arrived.put(item)
            arrived.put(None)
        except Exception as error:  # noqa: BLE001  # it is raised where the streams become one
            arrived.put(error)

    newest = events_pb2.FollowEventsRequest(filter=events_pb2.EventFilter(cell=bssid, since_ms=1))
    for source in (client.watch_cells, lambda: EventsClient(client).follow(newest)):
        threading.Thread(target=read, args=(source,), daemon=True).start()
    while (item := arrived.get()) is not None:
        if isinstance(item, Exception):
            raise item
        if isinstance(item, events_pb2.FollowEventsResponse):
            output.followed(item, "event")
        elif bssid in {"", item.bssid}:
            output.cell(item)
