# SPDX-License-Identifier: Apache-2.0
"""What became of each real application of a run: from the guest's records to figures; pure.

Times are seconds on the time line of the run. A transfer's last byte is at the server when nginx has received the whole
request; it counts whole milliseconds. A frame is there when nginx has recorded it, which it does with each message of
RTMP that it has received as a whole. Transactions by HTTP are timed by their clients.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import LabError
from airbound_lab.figures import player
from airbound_lab.figures.application_results import (
    ApplicationResult,
    Connections,
    Interruption,
    Transactions,
    Transfer,
    Video,
)
from airbound_lab.records import flv
from airbound_lab.settings.application import FRAMES_PER_S, Http, Live, Photos

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airbound_lab.settings.scenario import Action

DIGITS = 6
DIGITS_MS = 3
NEVER = float("inf")
CREATED, REPLACED = 201, 204
"""nginx's answers to a PUT that it has carried out."""


@dataclass(frozen=True, slots=True)
class Records:
    """What the guest wrote of all applications."""

    ended: Mapping[str, Any]
    """applications.json"""
    watched: Mapping[str, Any]
    """applications-watched.json"""
    outputs: Mapping[int, str]
    """What each application printed."""
    recorded: Mapping[int, bytes]
    """What nginx recorded of live video."""
    zero_monotonic_ns: int
    zero_since_1970_s: float
    end_s: float
    """The end of the run."""


def parse(text: str, what: str) -> dict[str, Any]:
    """Read one of the guest's files.

    Raises:
        LabError: it is not a JSON object.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise LabError(f"{what}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise LabError(f"{what}: not a JSON object")
    return found


def figures(actions: Sequence[Action], records: Records) -> tuple[ApplicationResult, ...]:
    """Return the figures of each application, in the order of their starts.

    Raises:
        LabError: the records are not those of these applications.
    """
    try:
        return tuple(_one(number, action, records) for number, action in enumerate(actions))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise LabError(f"records of the applications: {error!r}") from error


def _one(number: int, action: Action, records: Records) -> ApplicationResult:
    if action.application is None:
        raise ValueError(f"{action.do} has no application")
    exit_status = records.ended["statuses"][str(number)]
    transfers: tuple[Transfer, ...] = ()
    video = transactions = None
    if isinstance(action.application, Live):
        video = _video(number, action.application, records, running=exit_status is None)
    elif isinstance(action.application, Http):
        transactions = _transactions(number, action.at_s, action.application, records)
    else:
        transfers = _transfers(number, action, records)
    return ApplicationResult(
        phone=action.phone,
        kind=action.application.kind,
        start_s=action.at_s,
        status="running" if exit_status is None else "done" if exit_status == 0 else "failed",
        connections=_connections(records.watched["connections"].get(str(number), []), records.zero_monotonic_ns),
        transfers=transfers,
        video=video,
        transactions=transactions,
    )


def _connections(samples: Sequence[tuple[int, Sequence[Sequence[int]]]], zero_ns: int) -> Connections:
    """Add up the connections: what one had when it was last seen stays in the sums."""
    acked: dict[int, int] = {}
    retransmits: dict[int, int] = {}
    order: list[int] = []
    rows: list[tuple[float, int, int, float, int, int]] = []
    for at_ns, connections in samples:
        newest, cwnd_segs, srtt_us = -1, 0, 0
        for port, acked_bytes, cwnd, srtt, retransmitted in connections:
            if port not in acked:
                order.append(port)
            acked[port], retransmits[port] = acked_bytes, retransmitted
            if order.index(port) > newest:
                newest, cwnd_segs, srtt_us = order.index(port), cwnd, srtt
        t_s = round((at_ns - zero_ns) / 1e9, DIGITS)
        sums = sum(acked.values()), sum(retransmits.values())
        rows.append((t_s, sums[0], cwnd_segs, srtt_us / 1000, sums[1], len(order)))
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return Connections(*columns)


def _transfers(number: int, action: Action, records: Records) -> tuple[Transfer, ...]:
    """Each transfer begins when the one before has ended, or the pause: processes take no virtual time."""
    application = action.application
    count = application.count if isinstance(application, Photos) else 1
    lines = [line.split() for line in records.outputs.get(number, "").splitlines()]
    arrived = _arrivals(records)
    start_s, answered, found = action.at_s, list[tuple[float, float]](), list[Transfer]()
    for exit_code, http_code, seconds in lines:
        end_s = start_s + float(seconds)
        if int(http_code):
            if int(exit_code) or int(http_code) not in (CREATED, REPLACED):
                raise ValueError(f"application {number}: curl ended with {exit_code}, nginx answered {http_code}")
            answered.append((start_s, end_s))
        start_s = end_s
    for photo in range(count):
        last_byte_s = arrived.get(f"/{number}/{photo}")
        if photo < len(answered):
            began_s, end_s = answered[photo]
            found.append(Transfer(round(began_s, DIGITS), last_byte_s, round(end_s, DIGITS)))
        elif photo == len(answered) and start_s < records.end_s:
            found.append(Transfer(round(start_s, DIGITS), last_byte_s, None))
    return tuple(found)


def _transactions(number: int, start_s: float, application: Http, records: Records) -> Transactions:
    """A client begins one when it starts or has ended the last one."""
    end_ns = records.zero_monotonic_ns + round(min(start_s + application.length_s, records.end_s) * 1e9)
    begins_ns = dict.fromkeys(range(application.clients), records.zero_monotonic_ns + round(start_s * 1e9))
    durations_ms = []
    for line in records.outputs.get(number, "").splitlines():
        if line.startswith("error:"):
            raise ValueError(f"application {number}: {line}")
        client, began_ns, ended_ns = map(int, line.split())
        if ended_ns <= end_ns:
            durations_ms.append(round((ended_ns - began_ns) / 1e6, DIGITS_MS))
            begins_ns[client] = ended_ns
    unfinished_ms = [round((end_ns - begin_ns) / 1e6, DIGITS_MS) for begin_ns in begins_ns.values()]
    return Transactions(tuple(durations_ms), tuple(unfinished_ms))


def _arrivals(records: Records) -> dict[str, float]:
    """When the server had all of each file, by its path."""
    found = {}
    for line in records.ended["arrived"].splitlines():
        path, since_1970_s, *_ = line.split()
        found[path] = round(float(since_1970_s) - records.zero_since_1970_s, 3)
    return found


def _video(number: int, application: Live, records: Records, *, running: bool) -> Video:
    growth = records.watched["records"].get(f"{number}.flv", [])
    tags = flv.video_tags(records.recorded.get(number, b""))
    frames, at = list[player.Frame](), 0
    for tag in tags:
        while at < len(growth) and growth[at][1] < tag.end_bytes:
            at += 1
        if at == len(growth):
            break
        arrived_s = round((growth[at][0] - records.zero_monotonic_ns) / 1e9, DIGITS)
        frames.append(player.Frame(tag.media_ms / 1000, arrived_s))
    frame_s = 1 / FRAMES_PER_S
    whole = [*frames, *_rest(frames, application, frame_s, running=running)]
    played = player.play(whole, frame_s, records.end_s)
    return Video(
        media_s=tuple(frame.media_s for frame in frames),
        arrived_s=tuple(frame.arrived_s for frame in frames),
        shown_from_s=None if played.started_s is None else round(played.started_s, DIGITS),
        interruptions=tuple(
            Interruption(round(s.start_s, DIGITS), round(s.length_s, DIGITS), round(s.missing_s, DIGITS), s.kind)
            for s in played.stops
        ),
    )


def _rest(frames: Sequence[player.Frame], application: Live, frame_s: float, *, running: bool) -> list[player.Frame]:
    """Stand for what has not arrived of the video: it may still come, or the sender has ended without it."""
    missing = bool(frames) and frames[-1].media_s < application.length_s - 1.5 * frame_s
    if not missing:
        return []
    if running:
        return [player.Frame(frames[-1].media_s + frame_s, NEVER)]
    return [player.Frame(float(application.length_s), frames[-1].arrived_s)]
