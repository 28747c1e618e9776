# SPDX-License-Identifier: Apache-2.0
"""How well the controller knows who sends: its active senders against what the phones really did; pure.

The controller is asked at equal intervals. A phone sends from the start of an upload to its stop. Of all pairs of a
phone and an answer in the measured window, precision is the share of those counted as senders that sent, recall the
share of those that sent that were counted. The delay of a start is until the first answer that counts the phone, of a
stop until the first that does not; so a delay is on average half an interval longer than the controller's own.
"""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass

from airbound_lab.errors import LabError
from airbound_lab.validation import STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airbound_lab.scenario import Flow

DIGITS = 4


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


@dataclass(frozen=True, slots=True, config=STRICT)
class Answer:
    """Who sends by the controller, by their MAC addresses; None: it did not answer."""

    t_ms: float
    active: frozenset[str] | None


def parse(lines: Iterable[str], time_zero_ns: int) -> list[Answer]:
    """Read what senders_watch.py wrote; LabError names a line that is none of its."""
    answers = []
    for number, line in enumerate(lines, start=1):
        try:
            data: dict[str, Any] = json.loads(line)
            active = data["active"]
            at_ms = (data["monotonic_ns"] - time_zero_ns) / 1e6
            answers.append(Answer(at_ms, None if active is None else frozenset(active)))
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"senders, line {number}: not an answer ({error!r}): {line[:120]!r}") from error
    return answers


def figures(
    flows: Sequence[Flow], answers: Sequence[Answer], mac_of: Mapping[int, str], window_ms: tuple[int, int]
) -> SenderFigures:
    """Compare; `mac_of` has every phone, by its number."""
    from_ms, to_ms = window_ms
    inside = [answer for answer in answers if from_ms <= answer.t_ms < to_ms]
    uploads = {
        phone: sorted((flow.start_ms, flow.stop_ms) for flow in flows if (flow.phone, flow.direction) == (phone, "up"))
        for phone in mac_of
    }
    right = counted = sending = 0
    for answer in inside:
        for phone, mac in mac_of.items():
            sends = any(start <= answer.t_ms < stop for start, stop in uploads[phone])
            is_counted = mac in (answer.active or ())
            right += sends and is_counted
            counted += is_counted
            sending += sends
    starts, stops = _delays(uploads, inside, mac_of, window_ms)
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
    )


def _delays(
    uploads: Mapping[int, Sequence[tuple[int, int]]],
    answers: Sequence[Answer],
    mac_of: Mapping[int, str],
    window_ms: tuple[int, int],
) -> tuple[list[float | None], list[float | None]]:
    """Of each start and each stop within the window; None: it was missed."""
    from_ms, to_ms = window_ms
    starts, stops = list[float | None](), list[float | None]()
    for phone, mac in mac_of.items():
        own = uploads[phone]
        for number, (start, stop) in enumerate(own):
            following = own[number + 1][0] if number + 1 < len(own) else to_ms
            if from_ms <= start < to_ms:
                starts.append(_first(answers, mac, start, min(stop, to_ms), counted=True))
            if from_ms <= stop < to_ms:
                stops.append(_first(answers, mac, stop, min(following, to_ms), counted=False))
    return starts, stops


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
