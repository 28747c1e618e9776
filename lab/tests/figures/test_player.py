# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.figures.player import BUFFER_S, Frame, Playback, Stop, play

FRAME_S = 0.5
END_S = 100.0


def video(seconds: float, delay_s: float = 0.25, **changes: float) -> list[Frame]:
    """Two frames a second, each `delay_s` after it is made; `changes`: frame 4 as f4, when that arrives instead."""
    late = {int(name[1:]): arrived_s for name, arrived_s in changes.items()}
    return [
        Frame(number * FRAME_S, late.get(number, number * FRAME_S + delay_s))
        for number in range(int(seconds / FRAME_S))
    ]


def seen(frames: list[Frame], end_s: float = END_S) -> Playback:
    return play(frames, FRAME_S, end_s)


def test_a_video_that_arrives_in_time_begins_with_a_full_buffer_and_never_stops() -> None:
    assert seen(video(20)) == Playback(BUFFER_S + 0.25, (), 0.0)


def test_a_delay_that_the_buffer_covers_is_not_seen() -> None:
    # Frame 10 is due 5 s after the first one was shown.
    assert seen(video(20, f10=BUFFER_S + 0.25 + 5.0)).stops == ()


def test_a_frame_that_is_late_stops_the_picture_until_the_buffer_is_full_again_and_nothing_is_missing() -> None:
    frames = [Frame(f.media_s, max(f.arrived_s, 11.0)) if f.media_s >= 5 else f for f in video(20)]
    # Shown from 2.25 s on: the frame of 5 s is due at 7.25 s; at 11 s those up to 10.75 s have arrived.
    assert seen(frames) == Playback(2.25, (Stop(7.25, 3.75, 0.0),), 3.75)
    assert seen(frames).stops[0].kind == "continued"


def test_after_a_stop_the_player_waits_for_as_much_as_at_the_beginning() -> None:
    frames = [Frame(f.media_s, f.arrived_s + 4 if f.media_s >= 5 else f.arrived_s) for f in video(20)]
    # The frame of 5 s arrives at 9.25 s, that of 7 s at 11.25 s.
    assert seen(frames).stops == (Stop(7.25, 4.0, 0.0),)


def test_frames_that_were_dropped_stop_the_picture_for_as_long_as_they_would_have_taken() -> None:
    frames = [frame for frame in video(20) if not 5 <= frame.media_s < 8]
    assert seen(frames) == Playback(2.25, (Stop(7.25, 3.0, 3.0),), 0.0)
    assert seen(frames).stops[0].kind == "skipped"


def test_a_stop_after_which_scenes_are_missing_is_one_skip_however_long_it_takes() -> None:
    frames = [Frame(f.media_s, f.arrived_s + (9 if f.media_s >= 8 else 0)) for f in video(30) if not 5 <= f.media_s < 8]
    # The frame of 8 s, due at 10.25 s, arrives at 17.25 s; that of 10 s at 19.25 s.
    assert seen(frames).stops == (Stop(7.25, 12.0, 3.0),)


def test_what_nobody_would_notice_is_no_interruption() -> None:
    frames = [frame for frame in video(20) if frame.media_s != 5]
    assert len(play(frames, FRAME_S, END_S, least_s=0.4).stops) == 1
    assert play(frames, FRAME_S, END_S, least_s=0.6).stops == ()


def test_a_video_whose_rest_never_arrives_stands_still_to_the_end() -> None:
    frames = [*video(5), Frame(5.0, math.inf)]
    assert seen(frames, end_s=30.0).stops == (Stop(7.25, 22.75, 0.0),)


def test_the_end_of_the_video_is_no_interruption_and_needs_no_full_buffer() -> None:
    assert seen(video(1), end_s=30.0) == Playback(0.75, (), 0.0)
    assert seen(video(5), end_s=30.0).stops == ()


def test_a_video_of_which_too_little_arrives_never_begins() -> None:
    assert seen([]) == Playback(None, (), 0.0)
    assert seen([*video(1), Frame(1.0, math.inf)]) == Playback(None, (), 0.0)


def test_frames_in_another_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a frame of 1 s follows one of 1 s"):
        seen([Frame(0, 0), Frame(1, 1), Frame(1, 2)])


@given(
    st.lists(st.tuples(st.integers(1, 8), st.floats(0, 20)), min_size=1, max_size=60),
    st.floats(1, 60),
)
def test_what_is_shown_and_what_stands_still_are_all_of_the_time(steps: list[tuple[int, float]], end_s: float) -> None:
    frames, media_s, arrived_s = list[Frame](), 0.0, 0.0
    for step, later_s in steps:
        media_s, arrived_s = media_s + step * FRAME_S, arrived_s + later_s / 10
        frames.append(Frame(media_s, arrived_s))
    found = play(frames, FRAME_S, end_s, least_s=1e-9)
    if found.started_s is None:
        assert found.stops == ()
        return
    edges = [found.started_s] + [edge for stop in found.stops for edge in (stop.start_s, stop.start_s + stop.length_s)]
    assert edges == sorted(edges)
    assert edges[-1] <= end_s + 1e-6
    assert sum(stop.length_s for stop in found.stops) >= found.late_s - 1e-6
