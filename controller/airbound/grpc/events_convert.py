# SPDX-License-Identifier: Apache-2.0
"""From events to messages, and from a filter's message to what selects events."""

from collections.abc import Callable

from airbound.core.addresses import address_text, mac_from_text, mac_text
from airbound.core.effects import Flow, Level
from airbound.grpc.command_convert import queue_messages, reason_message
from airbound.grpc.operations_convert import bound_sent, window_limit_sent
from airbound.runtime.history import Entry
from airbound.v1 import events_pb2

_LEVELS: dict[Level, events_pb2.EventLevel] = {
    "info": events_pb2.EVENT_LEVEL_INFO,
    "warning": events_pb2.EVENT_LEVEL_WARNING,
}


def event(entry: Entry, replica: str = "") -> events_pb2.Event:
    """One event, of a replica if there are several."""
    note = entry.note
    message = events_pb2.Event(
        sequence=entry.sequence,
        time_us=entry.time_us,
        level=_LEVELS[note.level],
        kind=note.kind,
        subject=note.subject,
        terminal=note.terminal,
        cell=mac_text(note.cell) if note.cell else "",
        reasons=map(reason_message, note.reasons),
        text=entry.text,
        replica=replica,
    )
    if note.bounds is not None:
        message.bounds.SetInParent()
        for bound in note.bounds:
            message.bounds.bounds.append(bound_sent(bound))
    if note.queues is not None:
        message.queues.SetInParent()
        message.queues.queues.extend(queue_messages(note.queues, announced=False))
        message.queues.stations.extend(queue_messages(note.queues, announced=True))
    if note.windows is not None:
        message.windows.SetInParent()
        message.windows.limits.extend(map(window_limit_sent, note.windows))
    if note.flows is not None:
        message.flows.SetInParent()
        message.flows.flows.extend(map(_flow_sent, note.flows))
    return message


def _flow_sent(flow: Flow) -> events_pb2.FlowSent:
    return events_pb2.FlowSent(
        uid=flow.uid,
        destination=address_text(flow.address) if flow.address else "",
        category=flow.category,  # type: ignore[arg-type]  # the same numbers: tested
        admitted_us_per_s=flow.admitted_us_per_s,
        udp_bps=flow.udp_bps,
    )


def selector(event_filter: events_pb2.EventFilter, now_us: int) -> Callable[[Entry], bool]:
    """Whether a filter selects an event.

    Raises:
        ValueError: its cell is not a BSSID.
    """
    cell = mac_from_text(event_filter.cell) if event_filter.cell else b""
    since_us = now_us - event_filter.since_ms * 1000 if event_filter.since_ms else 0
    terminal, level, kinds, codes = (
        event_filter.terminal,
        event_filter.level,
        frozenset(event_filter.kinds),
        frozenset[int](event_filter.codes),
    )

    def selects(entry: Entry) -> bool:
        note = entry.note
        return (
            entry.at_us >= since_us
            and (not cell or note.cell == cell)
            and (not terminal or note.terminal == terminal)
            and (not kinds or note.kind in kinds)
            and _LEVELS[note.level] >= level
            and (not codes or any(reason.code in codes for reason in note.reasons))
        )

    return selects
