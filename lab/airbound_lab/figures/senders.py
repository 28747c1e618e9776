# SPDX-License-Identifier: Apache-2.0
"""How well the controller knows who sends: its active senders against what the phones really did; pure.

The controller is asked at equal intervals. A phone sends from the start of an upload to its stop. Of all pairs of a
phone and an answer in the measured window, precision is the share of those counted as senders that sent, recall the
share of those that sent that were counted. The delay of a start is until the first answer that counts the phone, of a
stop until the first that does not; so a delay is on average half an interval longer than the controller's own.

A phone that starts an upload may send its first data much later, when its connection is made, and what is queued at its
stop goes on the air after that: where queues are long, a second or two each. No controller can know of what is not on
the air. So there are the same figures of uploads on the air: from the first data that the phone's queue passes to its
radio until it stops, or the last data later than that. One that never gets a connection is none.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass

from airbound_lab.errors import LabError
from airbound_lab.settings.validation import STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound_lab.settings.scenario import Flow

DIGITS = 4
ETHERNET_BYTES = 14
ACK_BYTES = 52
"""The IP packet of a TCP segment without data, with time stamps."""
ACK_MAX_BYTES = 100
"""The longest."""
DATA_BYTES = 1000
"""Payload: what an agent sends at a time is less."""


@dataclass(frozen=True, slots=True, config=STRICT)
class SenderFigures:
    """Delays are None if nothing started or stopped in the window."""

    answers: int
    """Of the controller, in the window; those that it did not give count as if nobody sent."""
    unanswered: int
    precision: float | None
    recall: float | None
    starts: int
    starts_missed: int
    """Uploads that were never counted while they went on."""
    start_delay_ms: float | None
    """Median, as that of stops."""
    start_delay_max_ms: float | None
    stops: int
    stops_missed: int
    """Uploads that were counted until the phone's next one, or to the end."""
    stop_delay_ms: float | None
    stop_delay_max_ms: float | None
    missed_longest_ms: float | None = None
    """The longest upload of which no start was known; None if each was. What is over before an access point's next
    report cannot be known."""
    air: SenderFigures | None = None
    """Of uploads as they are on the air; None in these figures themselves."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Answer:
    """Who sends by the controller, by their MAC addresses; None: it did not answer."""

    t_ms: float
    active: frozenset[str] | None
    sent: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By phone: octets and packets of its interface, of Ethernet, since it is up."""
    capacity_bps: int | None = None
    """Of the cell, of IP, by the controller."""


def parse(lines: Iterable[str], time_zero_ns: int) -> list[Answer]:
    """Read what senders_watch.py wrote; LabError names a line that is none of its."""
    answers = []
    for number, line in enumerate(lines, start=1):
        try:
            data: dict[str, Any] = json.loads(line)
            active = data["active"]
            sent = {str(mac): (int(octets), int(packets)) for mac, (octets, packets) in data.get("sent", {}).items()}
            at_ms = (data["monotonic_ns"] - time_zero_ns) / 1e6
            answers.append(Answer(at_ms, None if active is None else frozenset(active), sent, data.get("capacity_bps")))
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"senders, line {number}: not an answer ({error!r}): {line[:120]!r}") from error
    return answers


def figures(
    flows: Sequence[Flow], answers: Sequence[Answer], mac_of: Mapping[int, str], window_ms: tuple[int, int]
) -> SenderFigures:
    """Compare; `mac_of` has every phone, by its number."""
    uploads = {
        phone: sorted((flow.start_ms, flow.stop_ms) for flow in flows if (flow.phone, flow.direction) == (phone, "up"))
        for phone in mac_of
    }
    found = _compare(uploads, answers, mac_of, window_ms)
    if not any(answer.sent for answer in answers):
        return found
    on_air = {phone: _on_air(own, answers, mac_of[phone]) for phone, own in uploads.items()}
    return replace(found, air=_compare(on_air, answers, mac_of, window_ms))


def _on_air(uploads: Sequence[tuple[float, float]], answers: Sequence[Answer], mac: str) -> list[tuple[float, float]]:
    """When a phone's uploads were on the air, to an interval of the answers."""
    times = [
        (before.t_ms, answer.t_ms)
        for before, answer in itertools.pairwise(answers)
        if mac in before.sent and mac in answer.sent and _is_data(before.sent[mac], answer.sent[mac])
    ]
    found = []
    for number, (start, stop) in enumerate(uploads):
        following = uploads[number + 1][0] if number + 1 < len(uploads) else math.inf
        own = [(begin, end) for begin, end in times if start <= end and begin < following]
        if own:
            found.append((max(start, own[0][0]), max(stop, own[-1][1])))
    return found


def _is_data(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether a full packet was sent: TCP ACKs and an agent's reports are shorter."""
    octets, packets = after[0] - before[0], after[1] - before[1]
    octets -= packets * ETHERNET_BYTES
    return octets > packets * ACK_MAX_BYTES and octets - packets * ACK_BYTES >= DATA_BYTES


def _compare(
    uploads: Mapping[int, Sequence[tuple[float, float]]],
    answers: Sequence[Answer],
    mac_of: Mapping[int, str],
    window_ms: tuple[int, int],
) -> SenderFigures:
    from_ms, to_ms = window_ms
    inside = [answer for answer in answers if from_ms <= answer.t_ms < to_ms]
    right = counted = sending = 0
    for answer in inside:
        for phone, mac in mac_of.items():
            sends = any(start <= answer.t_ms < stop for start, stop in uploads[phone])
            is_counted = mac in (answer.active or ())
            right += sends and is_counted
            counted += is_counted
            sending += sends
    starts, stops, missed_ms = _delays(uploads, inside, mac_of, window_ms)
    known_starts, known_stops = ([delay for delay in delays if delay is not None] for delays in (starts, stops))
    return SenderFigures(
        answers=len(inside),
        unanswered=sum(answer.active is None for answer in inside),
        precision=round(right / counted, DIGITS) if counted else None,
        recall=round(right / sending, DIGITS) if sending else None,
        starts=len(starts),
        starts_missed=len(starts) - len(known_starts),
        start_delay_ms=round(statistics.median(known_starts), DIGITS) if known_starts else None,
        start_delay_max_ms=round(max(known_starts), DIGITS) if known_starts else None,
        stops=len(stops),
        stops_missed=len(stops) - len(known_stops),
        stop_delay_ms=round(statistics.median(known_stops), DIGITS) if known_stops else None,
        stop_delay_max_ms=round(max(known_stops), DIGITS) if known_stops else None,
        missed_longest_ms=round(max(missed_ms), DIGITS) if missed_ms else None,
    )


def _delays(
    uploads: Mapping[int, Sequence[tuple[float, float]]],
    answers: Sequence[Answer],
    mac_of: Mapping[int, str],
    window_ms: tuple[int, int],
) -> tuple[list[float | None], list[float | None], list[float]]:
    """Of each start and each stop within the window, None: it was missed; and how long each missed upload was."""
    from_ms, to_ms = window_ms
    starts, stops, missed_ms = list[float | None](), list[float | None](), list[float]()
    for phone, mac in mac_of.items():
        own = uploads[phone]
        for number, (start, stop) in enumerate(own):
            following = own[number + 1][0] if number + 1 < len(own) else to_ms
            if from_ms <= start < to_ms:
                end = min(stop, to_ms)
                starts.append(_first(answers, mac, start, end, counted=True))
                if starts[-1] is None:
                    missed_ms.append(end - start)
            if from_ms <= stop < to_ms:
                stops.append(_first(answers, mac, stop, min(following, to_ms), counted=False))
    return starts, stops, missed_ms


def _first(answers: Sequence[Answer], mac: str, from_ms: float, to_ms: float, *, counted: bool) -> float | None:
    """How long after a moment a phone is first counted, or first not counted; None if not before another moment."""
    return next(
        (
            answer.t_ms - from_ms
            for answer in answers
            if from_ms <= answer.t_ms < to_ms and answer.active is not None and (mac in answer.active) == counted
        ),
        None,
    )
