# SPDX-License-Identifier: Apache-2.0
"""A player of live video, computed from when each frame arrived at the server; pure.

It begins as soon as it has BUFFER_S of video, and then shows each frame at its time. If a frame is not there when it is
due, the picture stands still until BUFFER_S from that frame on have arrived (or the video has ended), as Flash Player's
NetStream with `bufferTime` does: what follows is shown later by that much, nothing is left out. If frames are missing
since the sender dropped them, the picture stands still for as long as they would have taken, then goes on after them.

The paper (Kumatani et al. 2012, table 2) counts both kinds of interruptions by looking at the picture: *skipped*, after
which scenes have never been shown, and *continued*, after which the picture goes on where it stopped. An interruption
here is a time in which the picture stands still; it is of the first kind if scenes are missing after it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

BUFFER_S = 2.0
LEAST_S = 0.5
"""What stands still for less is no interruption: by the paper's way of counting, whole seconds, it would be none."""

Kind = Literal["skipped", "continued"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: its time in the video, and when it was at the server as a whole; seconds."""

    media_s: float
    arrived_s: float


@dataclass(frozen=True, slots=True)
class Stop:
    """A time in which the picture stood still."""

    start_s: float
    length_s: float
    missing_s: float
    """How much of the video is never shown."""

    @property
    def kind(self) -> Kind:
        """By whether scenes are missing after it."""
        return "skipped" if self.missing_s >= LEAST_S else "continued"


@dataclass(frozen=True, slots=True)
class Playback:
    """What was seen."""

    started_s: float | None
    """When the first frame was shown; None if the player never had enough."""
    stops: tuple[Stop, ...]
    late_s: float
    """By how much the last frame was shown later than if nothing had stopped."""


def play(
    frames: Sequence[Frame], frame_s: float, end_s: float, *, buffer_s: float = BUFFER_S, least_s: float = LEAST_S
) -> Playback:
    """Play frames, in the order of the video, until the end of what was observed; a frame lasts for `frame_s`.

    The video ends with the last frame. If it would have gone on, there is to be a last one that never arrives.

    Raises:
        ValueError: the frames are not in the order of the video.
    """
    for before, after in itertools.pairwise(frames):
        if after.media_s <= before.media_s:
            raise ValueError(f"a frame of {after.media_s:g} s follows one of {before.media_s:g} s")
    ready_s = _when_buffered(frames, 0, buffer_s)
    if ready_s is None or ready_s >= end_s:
        return Playback(None, (), 0.0)
    shown_s, stops, late_s = ready_s, list[Stop](), 0.0
    for number, frame in enumerate(frames[1:], start=1):
        step_s = frame.media_s - frames[number - 1].media_s
        due_s, still_from_s = shown_s + step_s, shown_s + frame_s
        next_s = due_s if frame.arrived_s <= due_s else _when_buffered(frames, number, buffer_s)
        if next_s is None or next_s >= end_s:
            # Of a frame that has not arrived it is not known whether it is the next one.
            missing_s = step_s - frame_s if frame.arrived_s < end_s else 0.0
            if end_s - still_from_s >= least_s:
                stops.append(Stop(still_from_s, end_s - still_from_s, max(missing_s, 0.0)))
            break
        if next_s - still_from_s >= least_s:
            stops.append(Stop(still_from_s, next_s - still_from_s, max(step_s - frame_s, 0.0)))
        late_s += next_s - due_s
        shown_s = next_s
    return Playback(ready_s, tuple(stops), late_s)


def _when_buffered(frames: Sequence[Frame], first: int, buffer_s: float) -> float | None:
    """When the video from a frame on, so long or to its last frame, has arrived; None without a frame."""
    if first >= len(frames):
        return None
    latest_s = frames[first].arrived_s
    for frame in frames[first:]:
        latest_s = max(latest_s, frame.arrived_s)
        if frame.media_s - frames[first].media_s >= buffer_s:
            break
    return latest_s
