# SPDX-License-Identifier: Apache-2.0

from pathlib import Path

import pytest

from airbound.core.uploads import (
    INTERVAL_MIN_US,
    LINK_OVERHEAD_BYTES,
    PAUSE_FADES,
    PAUSE_MAX_US,
    RECENT_US,
    SILENT_MAX_US,
    START_BYTES_PER_S,
    START_PACKET_BYTES,
    STOP_BYTES_PER_S,
    STOP_PACKET_BYTES,
    Pauses,
    uploads,
)

SECOND_US = 1_000_000


@pytest.mark.parametrize("ack_bytes", [40, 52, 60, 72, 80, 100])
def test_acks_are_no_upload_however_many(ack_bytes: int) -> None:
    assert not uploads(5_000 * ack_bytes, 5_000, SECOND_US, sending=False)


@pytest.mark.parametrize("ack_bytes", [40, 52, 72, 80])
def test_an_upload_beside_a_download_ends_while_that_goes_on(ack_bytes: int) -> None:
    assert not uploads(5_000 * ack_bytes, 5_000, SECOND_US, sending=True)


@pytest.mark.parametrize(
    ("download_mbps", "upload_mbps", "counts"), [(20, 0, False), (20, 0.2, False), (20, 0.5, True), (5, 0.1, True)]
)
def test_who_does_both_uploads(download_mbps: float, upload_mbps: float, *, counts: bool) -> None:
    """An ACK for every other segment."""
    acks, data = round(download_mbps * 1e6 / 8 / 1448 / 2), round(upload_mbps * 1e6 / 8 / 1448)
    octets = acks * 52 + data * 1500
    assert uploads(octets, acks + data, SECOND_US, sending=False) is counts


@pytest.mark.parametrize(("size", "per_second", "counts"), [(200, 50, False), (200, 100, True), (1_200, 20, True)])
def test_a_game_and_a_call_are_no_upload_and_a_video_is(size: int, per_second: int, *, counts: bool) -> None:
    assert uploads(size * per_second, per_second, SECOND_US, sending=False) is counts


LOOK_US = 200_000
BURST = 20_000
REPORT = 97
"""Octets of IP of an agent's report."""


def silent_looks(octets: list[int], *, queues: list[bool] | None = None) -> list[int]:
    """In which looks a sender is silent that sends so much before each, and has data queued or none by its terminal."""
    pauses, found = Pauses(), []
    for number, sent in enumerate(octets):
        queued = None if queues is None else queues[number]
        if pauses.take((10 + number) * LOOK_US, LOOK_US, sent, queues=queued):
            found.append(number)
    return found


def test_a_sender_is_silent_once_it_pauses_for_longer_than_it_does() -> None:
    # Steady; a pause of 0.6 s; then such a pause is no silence.
    assert silent_looks([BURST * has for has in (1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0)]) == [3, 4, 12, 13]


def test_a_pause_is_forgotten_and_none_is_allowed_for_long() -> None:
    looks = [1, *[0] * 9, 1, *[0] * 6, *[1] * 15, 0, 0]
    found = silent_looks([BURST * has for has in looks])
    assert found == [*range(1, 10), 15, 16, 33]
    early_us = 1_000  # The fifth look counts although it comes a little early.
    pauses = Pauses()
    for at_us in (10_000_000, 11_000_000):
        pauses.take(at_us, LOOK_US, BURST)
    assert not pauses.take(11_800_000, LOOK_US, 0)
    assert pauses.take(12_000_000 - early_us, LOOK_US, 0)


def test_what_an_agent_reports_is_no_upload_and_no_pause_of_one() -> None:
    assert silent_looks([REPORT, 0, 0, REPORT, 0, 0, BURST, 0, REPORT, 0]) == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    # Pauses of 0.4 s are allowed 0.7 s; a report in it is no end of it.
    assert silent_looks([BURST, 0, 0, BURST, 0, 0, BURST, 0, 0, REPORT, 0]) == [1, 2, 10]
    assert silent_looks([3_000, 0, 0, BURST, 0]) == [1, 2, 4]  # The time after a request is none either.


def test_small_packets_are_data_if_there_are_enough() -> None:
    assert silent_looks([BURST, *[500] * 20]) == []
    assert silent_looks([BURST, *[300] * 3])[-1] == 3


def test_who_has_data_queued_pauses_and_who_has_none_has_ended() -> None:
    octets = [BURST, 0, 0, BURST, 0, 0, BURST, 0, 0, 0]
    assert silent_looks(octets, queues=[True] * 10) == []
    assert silent_looks(octets, queues=[*[True] * 7, False, False, False]) == [7, 8, 9]
    assert silent_looks([BURST, *[0] * 10], queues=[True] * 11) == [10]  # It waits for no ACK that long.


def test_who_pauses_with_nothing_queued_is_known_by_its_pauses() -> None:
    """It sends by something else than TCP, which its terminal does not know of, or now and then."""
    octets = [BURST, 0, 0, BURST, 0, 0, BURST, 0, 0, 0, 0]
    assert silent_looks(octets, queues=[False] * 11) == silent_looks(octets) == [1, 2, 10]


def test_the_figures_are_those_of_the_access_points_agents() -> None:
    """docs/active-senders.md, which ap-firmware/agent/activity_test.go reads as well."""
    text = (Path(__file__).parents[3] / "docs" / "active-senders.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert {row[0]: int(row[1]) for row in rows} == {
        "start": START_BYTES_PER_S,
        "stop": STOP_BYTES_PER_S,
        "start packet": START_PACKET_BYTES,
        "stop packet": STOP_PACKET_BYTES,
        "link overhead": LINK_OVERHEAD_BYTES,
        "interval": INTERVAL_MIN_US,
        "recent": RECENT_US,
        "longest pause": PAUSE_MAX_US,
        "silent": SILENT_MAX_US,
        "pause fades": PAUSE_FADES,
    }
