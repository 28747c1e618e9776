# SPDX-License-Identifier: Apache-2.0
"""How many phones, or how many live videos, a cell holds; pure.

A mode holds a number if every video in every trial was shown without an interruption, with that number and with all
smaller ones that were tried. Beyond that quality falls `at once` if with the next number that was tried the picture
stands still for at least half as long as with the largest, else `by degrees`. A video that never began stood still all
the time.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.live_video_study.measures import Found

AT_ONCE = 0.5
"""Of how long the picture stands still with the largest number."""

What = Literal["phones", "videos"]
How = Literal["at once", "by degrees", "not within"]
_Key = tuple[str, str, What, int, str]


@dataclass(frozen=True, slots=True)
class Limit:
    """Of one mode, by one number while the rest stays."""

    cell: str
    others: str
    what: What
    fixed: int
    """The number that stays: of videos, or of phones."""
    mode: str
    tried: int
    """The largest number."""
    holds: int | None
    """The largest number that it holds; None: not even the smallest."""
    falls: How
    refused_from: int | None
    """The smallest number with which a live flow was refused a grant; None: with none."""
    granted_whole: bool
    """Whether with every number as many videos as had a grant were shown without an interruption."""


def limits(every: Sequence[Found]) -> list[Limit]:
    """Of all numbers of which more than one was tried, in order."""
    groups: dict[_Key, list[tuple[int, Found]]] = {}
    for found in every:
        cell, terminals, videos, others = found.condition
        groups.setdefault((cell, others, "phones", videos, found.mode), []).append((terminals, found))
        groups.setdefault((cell, others, "videos", terminals, found.mode), []).append((videos, found))
    return [_limit(key, sorted(each, key=_number)) for key, each in groups.items() if len(each) > 1]


def _number(entry: tuple[int, Found]) -> int:
    return entry[0]


def _limit(key: _Key, by_number: list[tuple[int, Found]]) -> Limit:
    cell, others, what, fixed, mode = key
    holds: int | None = None
    falls: How = "not within"
    for number, found in by_number:
        if any(trial.whole < len(trial.videos) for trial in found.trials):
            worst_s = still_s(by_number[-1][1])
            falls = "at once" if still_s(found) >= AT_ONCE * worst_s else "by degrees"
            break
        holds = number
    return Limit(
        cell=cell,
        others=others,
        what=what,
        fixed=fixed,
        mode=mode,
        tried=by_number[-1][0],
        holds=holds,
        falls=falls,
        refused_from=next((n for n, found in by_number if any(trial.refused for trial in found.trials)), None),
        granted_whole=all(
            trial.whole >= len(trial.videos) - len(trial.refused) for _, found in by_number for trial in found.trials
        ),
    )


def still_s(found: Found) -> float:
    """For how long a picture stands still, mean of all videos; one that never began does for its whole run."""
    videos = [(video, trial) for trial in found.trials for video in trial.videos]
    return statistics.fmean(video.still_s if video.shown else trial.seconds for video, trial in videos)


def rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode and number; the heading alone if there is nothing to say."""
    table = [["cell", "others", "of", "mode", "tried up to", "shown whole up to", "then", "refused from", "granted"]]
    for limit in limits(every):
        rest = f"{limit.fixed} videos" if limit.what == "phones" else f"{limit.fixed} phones"
        table.append([
            *(limit.cell, limit.others, f"{limit.what}, {rest}", limit.mode, str(limit.tried)),
            "none" if limit.holds is None else str(limit.holds),
            "-" if limit.falls == "not within" else f"falls {limit.falls}",
            *(
                ("-", "-")
                if limit.refused_from is None
                else (str(limit.refused_from), "whole" if limit.granted_whole else "not all whole")
            ),
        ])  # fmt: skip
    return table
