# SPDX-License-Identifier: Apache-2.0
"""Who sends video or voice without a grant."""

from airbound.core.addresses import Mac
from airbound.core.cell.priorities import REMEMBERED_US, TAKEN_OVER_US, Priorities
from airbound.core.cell.stations import StationState
from airbound.core.reports import Station
from airbound_testing.scenario import mac

SECOND_US = 1_000_000


def seen(
    priorities: Priorities, seconds: int, *, video: int = 0, voice: int = 0, granted: set[Mac] | None = None
) -> Mac:
    """By whom the categories are closed after a station sent so many of each a second."""
    for second in range(seconds + 1):
        station = Station(mac(1), rx_packets=10**6, rx_video_packets=video * second, rx_voice_packets=voice * second)
        state = StationState(station, station, 0, 0)
        priorities.observe({mac(1): state}, granted or set(), second * SECOND_US)
    return priorities.closed_by(seconds * SECOND_US)


def announced() -> Priorities:
    return Priorities(announced_at_us=-TAKEN_OVER_US)


def test_a_station_that_sends_video_without_a_grant_is_found() -> None:
    assert seen(announced(), 1, video=60) == mac(1)
    assert not seen(announced(), 1, video=10)


def test_one_with_a_grant_may() -> None:
    assert not seen(announced(), 5, video=1000, granted={mac(1)})


def test_a_call_is_nobodys_harm_and_more_voice_than_that_is() -> None:
    assert not seen(announced(), 5, voice=100)
    assert seen(announced(), 5, voice=300) == mac(1)
    assert seen(announced(), 5, voice=300, granted={mac(1)}) == mac(1)


def test_nobody_is_found_before_stations_can_know_what_is_announced() -> None:
    assert not seen(Priorities(), 10, video=1000)
    assert not seen(Priorities(announced_at_us=SECOND_US), 3, video=1000)
    assert seen(Priorities(announced_at_us=SECOND_US), 4, video=1000) == mac(1)


def test_it_is_remembered_for_some_time() -> None:
    priorities = announced()
    seen(priorities, 1, video=60)
    assert priorities.closed_by(SECOND_US + REMEMBERED_US - 1) == mac(1)
    assert not priorities.closed_by(SECOND_US + REMEMBERED_US)


def test_a_station_that_has_just_come_is_not_taken_for_one_by_its_first_counters() -> None:
    priorities = announced()
    station = Station(mac(2), rx_packets=10**6, rx_video_packets=10**5)
    priorities.observe({}, set(), 0)
    priorities.observe({mac(2): StationState(station, station, 0, 0)}, set(), SECOND_US)
    assert not priorities.closed_by(SECOND_US)
