# SPDX-License-Identifier: Apache-2.0
"""What is measured of each case of the study of applications; pure."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airbound_lab.figures.application_results import ApplicationResult, Connections
    from airbound_lab.figures.results import Run

BITS = 8
MEGA = 1e6
SETTLED_SHARE = 0.9
"""A window has settled if in the second half of the time its smallest is no less than this of its largest."""
INITIAL_SEGS = 10
"""With which Linux begins a connection."""


@dataclass(frozen=True, slots=True)
class Alone:
    """An application by itself."""

    status: str
    seconds: float | None
    """From its start to the last answer, or to the last frame at the server; None: longer than the run."""
    mbps: float
    """Acknowledged, over the time in which it had a connection."""
    cwnd_max_segs: int
    settled: bool
    falls: int
    """How often its window was the initial one again: by another connection, or of the same."""


@dataclass(frozen=True, slots=True)
class Video:
    """One trial of live video."""

    seed: int
    skipped: int
    continued: int
    skipped_s: tuple[float, ...]
    """The length of each skip."""
    continued_s: tuple[float, ...]
    still_s: float
    """For how long the picture stood still, all together."""
    missing_s: float
    """How much of the video was never shown."""
    mbps: float
    cwnd_max_segs: int
    settled: bool
    shown: bool = True
    """Whether the player ever had enough to begin."""

    @property
    def is_whole(self) -> bool:
        """Whether it was shown without an interruption."""
        return self.shown and not self.total

    @property
    def total(self) -> int:
        """Both kinds."""
        return self.skipped + self.continued


def alone(run: Run) -> Alone:
    """Return the figures of a run of one application."""
    [result] = run.applications or ()
    ends: list[float | None] = [transfer.answered_s for transfer in result.transfers]
    if result.video is not None:
        ends = list[float | None](result.video.arrived_s[-1:])
    known = [end for end in ends if end is not None]
    through = result.status == "done" and len(known) == len(ends) and bool(ends)
    return Alone(
        status=result.status,
        seconds=max(known) - result.start_s if through else None,
        mbps=mbps(result.connections),
        cwnd_max_segs=max(result.connections.cwnd_segs, default=0),
        settled=settled(result.connections),
        falls=falls(result.connections),
    )


def videos(run: Run) -> list[Video]:
    """Return the figures of a run's live videos, in the order of their starts."""
    return [_video(run, each) for each in run.applications or () if each.video is not None]


def video(run: Run) -> Video:
    """Return the figures of a trial, which has one."""
    [only] = videos(run)
    return only


def _video(run: Run, result: ApplicationResult) -> Video:
    seen = result.video
    skipped, continued = result.interruptions("skipped"), result.interruptions("continued")
    return Video(
        seed=run.seed,
        skipped=len(skipped),
        continued=len(continued),
        skipped_s=tuple(each.length_s for each in skipped),
        continued_s=tuple(each.length_s for each in continued),
        still_s=sum(each.length_s for each in result.interruptions()),
        missing_s=sum(each.missing_s for each in result.interruptions()),
        mbps=mbps(result.connections),
        cwnd_max_segs=max(result.connections.cwnd_segs, default=0),
        settled=settled(result.connections),
        shown=seen is not None and seen.shown_from_s is not None,
    )


def mbps(connections: Connections) -> float:
    """What was acknowledged, over the time in which there were connections."""
    times = connections.t_s
    if len(times) < 2 or times[-1] <= times[0]:  # noqa: PLR2004  (a rate needs two)
        return 0.0
    return (connections.acked_bytes[-1] - connections.acked_bytes[0]) * BITS / MEGA / (times[-1] - times[0])


def settled(connections: Connections) -> bool:
    """Whether the window stays where it is in the second half."""
    later = connections.cwnd_segs[len(connections.cwnd_segs) // 2 :]
    return bool(later) and min(later) >= SETTLED_SHARE * max(later)


def falls(connections: Connections) -> int:
    """How often the window goes from a larger one to the initial one or a smaller one, or another connection begins."""
    samples = zip(connections.cwnd_segs, connections.made, strict=True)
    return sum(
        after <= INITIAL_SEGS < before or made > made_before
        for (before, made_before), (after, made) in itertools.pairwise(samples)
    )


def mean(values: list[float]) -> float | None:
    """Return the mean; None of nothing."""
    return statistics.fmean(values) if values else None
