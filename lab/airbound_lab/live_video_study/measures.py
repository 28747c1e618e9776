# SPDX-License-Identifier: Apache-2.0
"""What is measured of each run of the study of live video; pure.

What others lose is measured in air time, by the access point's counters, which are the medium's own: their time on the
air in the first mode less that in another one, over the time of the live phones there.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from airbound_lab.applications_study import measures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound_lab.applications_study.measures import Video
    from airbound_lab.figures.results import Run
    from airbound_lab.live_video_study.design import Case


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    seed: int
    seconds: int
    """Its length."""
    videos: tuple[Video, ...]
    others_mbps: float
    """What the other phones' servers received, all together."""
    live_air: float | None = None
    """Part of the run in which what live phones send and receive was on the air; None: not counted."""
    others_air: float | None = None
    """The same of the others."""
    refused: tuple[str, ...] = ()
    """Why live flows had no grant, in the controller's words: one for each that had none."""

    @property
    def video_mbps(self) -> float:
        """What the videos' servers acknowledged, all together."""
        return sum(video.mbps for video in self.videos)

    @property
    def interruptions(self) -> int:
        """Of all videos."""
        return sum(video.total for video in self.videos)

    @property
    def whole(self) -> int:
        """Videos that were shown without an interruption."""
        return sum(video.is_whole for video in self.videos)


class Condition(NamedTuple):
    """Where modes are compared."""

    cell: str
    terminals: int
    videos: int
    others: str


@dataclass(slots=True)
class Found:
    """The trials of one mode under one condition."""

    condition: Condition
    mode: str
    trials: list[Trial]

    @property
    def total_mbps(self) -> float:
        """What all servers had, mean of the trials."""
        return statistics.fmean(trial.video_mbps + trial.others_mbps for trial in self.trials)

    @property
    def live_air(self) -> float | None:
        """Mean of the trials, as the next one."""
        return _mean(trial.live_air for trial in self.trials)

    @property
    def others_air(self) -> float | None:
        """Part of the time."""
        return _mean(trial.others_air for trial in self.trials)


def _mean(values: Iterable[float | None]) -> float | None:
    """None if one of them is not known."""
    known = list(values)
    found = [value for value in known if value is not None]
    return statistics.fmean(found) if found and len(found) == len(known) else None


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Sort runs by condition and mode, in their order."""
    found: dict[tuple[Condition, str], Found] = {}
    for case, run in runs:
        condition = Condition(case.cell, case.terminals, case.videos, case.others)
        found.setdefault((condition, case.mode), Found(condition, case.mode, [])).trials.append(trial(run))
    return list(found.values())


def trial(run: Run) -> Trial:
    """Return the figures of a run."""
    videos = measures.videos(run)
    live, others = run.phones[: len(videos)], run.phones[len(videos) :]
    seconds = len(run.phones[0].series.t_s)
    live_air, others_air = (
        sum(air_s for air_s in airs_s if air_s is not None) / seconds if None not in airs_s else None
        for airs_s in ([phone.air_s for phone in part] for part in (live, others))
    )
    refused = run.grants.refused if run.grants is not None else ()
    return Trial(
        seed=run.seed,
        seconds=seconds,
        videos=tuple(videos),
        others_mbps=sum(phone.goodput_mbps for phone in others),
        live_air=live_air,
        others_air=others_air,
        refused=tuple(each.why for each in refused if each.phone <= len(videos)),
    )


def lost_air(found: Found, reference: Found) -> float | None:
    """Air time that others lose against another mode, over that of the live phones; None if it was not counted."""
    before, after, live = reference.others_air, found.others_air, found.live_air
    return (before - after) / live if before is not None and after is not None and live else None
