# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from airbound_lab.applications_study.measures import Video
from airbound_lab.live_video_study import counts
from airbound_lab.live_video_study.measures import Condition, Found, Trial

WHOLE = Video(1, 0, 0, (), (), 0.0, 0.0, 0.7, 75, settled=True)


def stopped(still_s: float) -> Video:
    return replace(WHOLE, continued=1, continued_s=(still_s,), still_s=still_s)


def found(number: int, *videos: Video, mode: str = "cubic", refused: int = 0) -> Found:
    trial = Trial(1, 93, videos, 20.0, refused=("no air",) * refused)
    return Found(Condition("2013", number, 1, "udp"), mode, [trial])


def test_a_mode_holds_the_numbers_below_the_first_that_it_does_not() -> None:
    every = [found(1, WHOLE), found(2, WHOLE), found(4, stopped(1.0)), found(6, WHOLE), found(8, stopped(60.0))]
    [limit] = counts.limits(every)
    assert (limit.what, limit.fixed, limit.tried, limit.holds, limit.falls) == ("phones", 1, 8, 2, "by degrees")
    assert (limit.refused_from, limit.granted_whole) == (None, False)


def test_half_of_the_worst_right_away_is_at_once() -> None:
    never = replace(WHOLE, shown=False)
    [limit] = counts.limits([found(1, WHOLE), found(2, stopped(50.0)), found(3, never)])
    assert (limit.holds, limit.falls) == (1, "at once")
    [limit] = counts.limits([found(1, WHOLE), found(2, stopped(46.0)), found(3, never)])
    assert limit.falls == "by degrees"


def test_what_never_falls_holds_all_that_was_tried_and_what_always_does_holds_none() -> None:
    every = [found(1, WHOLE), found(2, WHOLE), found(1, stopped(9.0), mode="bbr"), found(2, stopped(9.0), mode="bbr")]
    cubic, bbr = counts.limits(every)
    assert (cubic.holds, cubic.falls) == (2, "not within")
    assert (bbr.holds, bbr.falls) == (None, "at once")
    heading, first, second = counts.rows(every)
    assert dict(zip(heading, first, strict=True))["shown whole up to"] == "2"
    assert dict(zip(heading, second, strict=True))["shown whole up to"] == "none"


def test_beyond_what_there_is_air_for_flows_are_refused_and_the_granted_ones_are_whole() -> None:
    def videos(number: int, *each: Video, refused: int = 0) -> Found:
        one = found(20, *each, mode="airbound", refused=refused)
        return replace(one, condition=Condition("2013", 20, number, "udp"))

    every = [videos(2, WHOLE, WHOLE), videos(3, WHOLE, WHOLE, stopped(5.0), refused=1)]
    [limit] = counts.limits(every)
    assert (limit.what, limit.fixed, limit.holds, limit.refused_from, limit.granted_whole) == ("videos", 20, 2, 3, True)
    heading, row = counts.rows(every)
    shown = dict(zip(heading, row, strict=True))
    assert (shown["of"], shown["refused from"], shown["granted"]) == ("videos, 20 phones", "3", "whole")
    [limit] = counts.limits([every[0], videos(3, WHOLE, stopped(1.0), stopped(5.0), refused=1)])
    assert not limit.granted_whole


def test_one_number_says_nothing() -> None:
    assert counts.rows([found(8, WHOLE), found(8, WHOLE, mode="bbr")])[1:] == []
