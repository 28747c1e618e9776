# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.core.parameters import SenderParameters
from airbound.core.uploads import Pauses, uploads

SECOND_US = 1_000_000


@pytest.mark.parametrize("ack_bytes", [40, 52, 60, 72, 80, 100])
def test_acks_are_no_upload_however_many(ack_bytes: int) -> None:
    assert not uploads(5_000 * ack_bytes, 5_000, SECOND_US, SenderParameters(), sending=False)


@pytest.mark.parametrize("ack_bytes", [40, 52, 72, 80])
def test_an_upload_beside_a_download_ends_while_that_goes_on(ack_bytes: int) -> None:
    assert not uploads(5_000 * ack_bytes, 5_000, SECOND_US, SenderParameters(), sending=True)


@pytest.mark.parametrize(
    ("download_mbps", "upload_mbps", "counts"), [(20, 0, False), (20, 0.2, False), (20, 0.5, True), (5, 0.1, True)]
)
def test_who_does_both_uploads(download_mbps: float, upload_mbps: float, *, counts: bool) -> None:
    """An ACK for every other segment."""
    acks, data = round(download_mbps * 1e6 / 8 / 1448 / 2), round(upload_mbps * 1e6 / 8 / 1448)
    octets = acks * 52 + data * 1500
    assert uploads(octets, acks + data, SECOND_US, SenderParameters(), sending=False) is counts


@pytest.mark.parametrize(("size", "per_second", "counts"), [(200, 50, False), (200, 100, True), (1_200, 20, True)])
def test_a_game_and_a_call_are_no_upload_and_a_video_is(size: int, per_second: int, *, counts: bool) -> None:
    assert uploads(size * per_second, per_second, SECOND_US, SenderParameters(), sending=False) is counts


def test_a_sender_is_silent_once_it_pauses_for_longer_than_it_does() -> None:
    pauses, found = Pauses(), []
    # Steady; a pause of 0.6 s; then such a pause is no silence.
    for at, has_data in enumerate([1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0]):
        found.append(pauses.take((10 + at) * 200_000, 200_000, has_data=bool(has_data)))
    assert [number for number, silent in enumerate(found) if silent] == [3, 4, 12, 13]


def test_a_pause_is_forgotten_and_none_is_allowed_for_long() -> None:
    pauses = Pauses()
    pauses.take(10_000_000, 200_000, has_data=True)
    pauses.take(11_900_000, 200_000, has_data=True)
    assert not pauses.take(12_800_000, 200_000, has_data=False)
    assert pauses.take(12_900_000, 200_000, has_data=False)
    for at in range(15):
        pauses.take(13_000_000 + at * 200_000, 200_000, has_data=True)
    assert pauses.take(16_100_000, 200_000, has_data=False)
