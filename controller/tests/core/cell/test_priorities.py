# SPDX-License-Identifier: Apache-2.0
"""Who sends video or voice without a grant."""

from airbound.core.addresses import Mac
from airbound.core.cell.priorities import BUSY, CLOSED_US, REMEMBERED_US, TAKEN_OVER_US, Priorities
from airbound.core.cell.stations import StationState
from airbound.core.reports import Station
from airbound_testing.scenario import mac

SECOND_US = 1_000_000


def seen(
    priorities: Priorities,
    seconds: int,
    *,
    video: int = 0,
    voice: int = 0,
    packets: int = 1000,
    granted: set[Mac] | None = None,
    busy_ratio: float | None = None,
) -> Mac:
    """By whom the categories are closed after a station sent so many of each a second."""
    for second in range(seconds + 1):
        station = Station(
            mac(1), rx_packets=packets * second, rx_video_packets=video * second, rx_voice_packets=voice * second
        )
        state = StationState(station, station, 0, 0)
        priorities.observe({mac(1): state}, granted or set(), busy_ratio, second * SECOND_US)
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
    priorities.observe({}, set(), None, 0)
    priorities.observe({mac(2): StationState(station, station, 0, 0)}, set(), None, SECOND_US)
    assert not priorities.closed_by(SECOND_US)


def test_categories_in_which_most_is_sent_are_crowded() -> None:
    priorities = Priorities()
    seen(priorities, 1, video=600)
    assert priorities.is_crowded(SECOND_US)
    assert (priorities.station, priorities.voice) == (mac(1), False)
    assert priorities.is_crowded(SECOND_US + CLOSED_US - 1)
    assert not priorities.is_crowded(SECOND_US + CLOSED_US)
    assert not priorities.closed_by(SECOND_US)


def test_half_of_it_or_few_packets_are_no_crowd() -> None:
    for given in ({"video": 500}, {"video": 190, "packets": 190}, {"voice": 100, "packets": 150}):
        priorities = Priorities()
        seen(priorities, 3, **given)
        assert not priorities.is_crowded(0)


def test_where_the_channel_is_not_busy_there_is_no_crowd() -> None:
    for busy_ratio, crowded in ((BUSY - 0.01, False), (BUSY, True)):
        priorities = Priorities()
        seen(priorities, 1, video=600, busy_ratio=busy_ratio)
        assert priorities.is_crowded(SECOND_US) is crowded


def test_a_crowd_of_voice_is_known_as_such() -> None:
    priorities = Priorities()
    seen(priorities, 1, voice=900)
    assert (priorities.is_crowded(SECOND_US), priorities.voice) == (True, True)


def test_what_is_closed_is_not_looked_at_for_a_crowd() -> None:
    priorities = announced()
    seen(priorities, 1, video=900, granted={mac(1)})
    assert not priorities.is_crowded(0)


def test_counters_that_start_again_say_nothing() -> None:
    priorities = Priorities()
    for second, packets in ((0, 10_000), (1, 500)):
        station = Station(mac(1), rx_packets=packets, rx_video_packets=packets)
        priorities.observe({mac(1): StationState(station, station, 0, 0)}, set(), None, second * SECOND_US)
    assert not priorities.is_crowded(SECOND_US)


def test_the_first_frames_of_stations_that_associate_are_no_crowd() -> None:
    priorities = Priorities()
    for step in range(60):
        station = Station(mac(1), rx_packets=4 * (step > 0), rx_voice_packets=4 * (step > 0))
        priorities.observe({mac(1): StationState(station, station, 0, 0)}, set(), None, step * SECOND_US // 100)
        assert not priorities.is_crowded(step * SECOND_US // 100)


def test_reports_that_follow_each_other_closely_are_one() -> None:
    priorities = Priorities()
    for step in range(60):
        station = Station(mac(1), rx_packets=10 * step, rx_video_packets=10 * step)
        priorities.observe({mac(1): StationState(station, station, 0, 0)}, set(), None, step * SECOND_US // 100)
    assert priorities.is_crowded(SECOND_US)
