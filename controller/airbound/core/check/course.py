# SPDX-License-Identifier: Apache-2.0
"""The course of a check, step by step; pure. Who carries it out does each step and sends back what it gave: an
operator's client by the controller's services, or the controller itself for an access point.

Each mode is for a time, little longer than its turn, so that the mode before is in force again also if whoever carries
the check out is killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airbound.core.check.figures import Sample, Turn, plan, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from airbound.core.parameters import Mode

MINUTES = 10.0
TURN_S, SETTLED_S = 50, 20  # after a release a window grows for half a minute, most of it in the first 20 s
SAMPLED_EACH_S = 1.0
LEFT_OVER_S = 15  # a mode is set for so much longer than its turn: the next one replaces it
MODE_S = TURN_S + LEFT_OVER_S


class SetMode(NamedTuple):
    """A turn begins: set the cell's mode for `MODE_S`."""

    mode: Mode
    number: int  # from 1 on


class Wait(NamedTuple):
    """Wait for so long."""

    seconds: float


class Look(NamedTuple):
    """Send back how the cell is now; none if nobody sends."""


class Made(NamedTuple):
    """A turn has ended."""

    number: int
    mode: Mode
    turn: Turn | None  # none: nobody sent


Step = SetMode | Wait | Look | Made


def turns_in(minutes: float) -> int:
    """An even number of turns."""
    return max(2, int(minutes * 60 / TURN_S) // 2 * 2)


def course(count: int, now_s: Callable[[], float]) -> Generator[Step, Sample | None, list[Turn | None]]:
    """The steps of so many turns; returns the turns. `now_s` are seconds that only go on."""
    found: list[Turn | None] = []
    for number, controlled in enumerate(plan(count), start=1):
        mode: Mode = "control" if controlled else "observe"
        yield SetMode(mode, number)
        start_s, samples = now_s(), list[Sample]()
        yield Wait(SETTLED_S)
        while (left_s := start_s + TURN_S - now_s()) > 0:
            sample = yield Look()
            if sample is not None:
                samples.append(sample)
            yield Wait(min(SAMPLED_EACH_S, left_s))
        found.append(turn(samples, controlled=controlled))
        yield Made(number, mode, found[-1])
    return found
