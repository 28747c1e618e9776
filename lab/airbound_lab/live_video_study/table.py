# SPDX-License-Identifier: Apache-2.0
"""What the study of live video says, as tables and JSON; pure."""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airbound_lab.live_video_study import counts
from airbound_lab.live_video_study.measures import lost_air

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.live_video_study.measures import Found

SCHEMA = 2


def rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode under each condition; rates and times are means of the trials."""
    heading = ["cell", "phones", "videos", "others", "mode", "shown whole", "never shown", "refused", "interruptions"]
    heading += ["still s", "missing s", "video Mb/s", "others Mb/s", "total", "of the first", "live air", "others lose"]
    table = [heading]
    for found in every:
        reference = next(each for each in every if each.condition == found.condition)
        videos = [video for trial in found.trials for video in trial.videos]
        video_mbps = statistics.fmean(trial.video_mbps for trial in found.trials)
        others_mbps = statistics.fmean(trial.others_mbps for trial in found.trials)
        lost = None if reference is found else lost_air(found, reference)
        first_mbps = reference.total_mbps
        table.append([
            *(str(part) for part in found.condition),
            found.mode,
            f"{sum(trial.whole for trial in found.trials)} of {len(videos)}",
            str(sum(not video.shown for video in videos)),
            str(sum(len(trial.refused) for trial in found.trials)),
            str(sum(video.total for video in videos)),
            f"{statistics.fmean(video.still_s for video in videos):.1f}",
            f"{statistics.fmean(video.missing_s for video in videos):.1f}",
            f"{video_mbps:.2f}",
            f"{others_mbps:.1f}",
            f"{found.total_mbps:.1f}",
            f"{found.total_mbps / first_mbps:.2f}" if first_mbps else "-",
            "-" if found.live_air is None else f"{found.live_air:.1%}",
            "-" if lost is None else f"{lost:.2f} of that",
        ])  # fmt: skip
    return table


def document(every: Sequence[Found]) -> dict[str, Any]:
    """JSON: all figures."""
    return {
        "schema": SCHEMA,
        "found": [
            found.condition._asdict() | {"mode": found.mode, "trials": [asdict(trial) for trial in found.trials]}
            for found in every
        ],
        "limits": [asdict(limit) for limit in counts.limits(every)],
    }
