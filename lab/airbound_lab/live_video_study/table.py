# SPDX-License-Identifier: Apache-2.0
"""What the study of live video says, as tables and JSON; pure."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.applications_study import measures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound_lab.applications_study.measures import Video
    from airbound_lab.figures.results import Run
    from airbound_lab.live_video_study.design import Case

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    seed: int
    videos: tuple[Video, ...]
    others_mbps: float
    """What the other phones' servers received, all together."""

    @property
    def video_mbps(self) -> float:
        """What the videos' servers acknowledged, all together."""
        return sum(video.mbps for video in self.videos)

    @property
    def interruptions(self) -> int:
        """Of all videos."""
        return sum(video.total for video in self.videos)


@dataclass(slots=True)
class Found:
    """The trials of one mode in one cell."""

    cell: str
    terminals: int
    others: str
    mode: str
    trials: list[Trial]


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Sort runs by cell, phones, what the others send, and mode, in their order."""
    found: dict[tuple[str, int, str, str], Found] = {}
    for case, run in runs:
        key = (case.cell, case.terminals, case.others, case.mode)
        found.setdefault(key, Found(*key, [])).trials.append(trial(run))
    return list(found.values())


def trial(run: Run) -> Trial:
    """Return the figures of a run."""
    videos = measures.videos(run)
    others = sum(phone.goodput_mbps for phone in run.phones[len(videos) :])
    return Trial(run.seed, tuple(videos), others)


def rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode in each cell; rates are means of the trials."""
    heading = ["cell", "phones", "others", "mode", "shown whole", "never shown", "interruptions", "still s"]
    table = [[*heading, "missing s", "video Mb/s", "others Mb/s", "total"]]
    for found in every:
        videos = [video for trial in found.trials for video in trial.videos]
        whole = sum(video.is_whole for video in videos)
        video_mbps = statistics.fmean(trial.video_mbps for trial in found.trials)
        others_mbps = statistics.fmean(trial.others_mbps for trial in found.trials)
        table.append([
            *(found.cell, str(found.terminals), found.others, found.mode, f"{whole} of {len(videos)}"),
            str(sum(not video.shown for video in videos)),
            str(sum(video.total for video in videos)),
            f"{statistics.fmean(video.still_s for video in videos):.1f}",
            f"{statistics.fmean(video.missing_s for video in videos):.1f}",
            f"{video_mbps:.2f}",
            f"{others_mbps:.1f}",
            f"{video_mbps + others_mbps:.1f}",
        ])  # fmt: skip
    return table


def document(every: Iterable[Found]) -> dict[str, Any]:
    """JSON: all figures."""
    return {"schema": SCHEMA, "found": [asdict(found) for found in every]}
