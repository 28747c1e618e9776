# SPDX-License-Identifier: Apache-2.0
"""What phones do follows from the seed, has an end nowhere, and stays within its limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from airbound_lab.live import programme
from airbound_lab.live.programme import activities

if TYPE_CHECKING:
    from collections.abc import Callable


def test_each_upload_has_an_app_of_its_own_and_a_class() -> None:
    assert set(programme.UIDS) == set(programme.CLASSES) == set(programme.UPLOADS)
    assert programme.table() == "live uid 10001\nburst uid 10002\nbulk uid 10003\n"


SEEDS = st.integers(0, 2**31 - 1)
PHONES = st.integers(1, 100)


@settings(deadline=None)
@given(SEEDS, PHONES)
def test_activities_stay_within_their_limits(seed: int, phone: int) -> None:
    for number, activity in enumerate(islice(activities(seed, phone), 60)):
        assert activity.describe()
        match activity.kind:
            case "idle" if number == 0:
                assert activity.seconds == programme.FIRST_PAUSE_S * phone
            case "idle":
                assert programme.PAUSE_S[0] <= activity.seconds <= programme.PAUSE_S[1]
            case "away":
                assert programme.AWAY_S[0] <= activity.seconds <= programme.AWAY_S[1]
            case "file" | "download":
                [size] = activity.items_bytes
                assert programme.FILE_BYTES[0] <= size <= programme.FILE_BYTES[1]
            case "photos":
                assert programme.PHOTOS[0] <= len(activity.items_bytes) <= programme.PHOTOS[1]
                assert min(activity.items_bytes) >= programme.PHOTO_BYTES[0]
                assert max(activity.items_bytes) <= programme.PHOTO_BYTES[1]
            case "video":
                assert activity.rate_kbps in programme.VIDEO_KBPS
                assert programme.VIDEO_S[0] <= activity.seconds <= programme.VIDEO_S[1]


@settings(deadline=None)
@given(SEEDS, PHONES)
def test_uploads_and_pauses_alternate_and_who_leaves_comes_back(seed: int, phone: int) -> None:
    kinds = [activity.kind for activity in islice(activities(seed, phone), 60)]
    for before, after in pairwise(kinds):
        if before == "idle":
            assert after in programme.TRANSFERS
        elif before == "away":
            assert after == "idle"
        else:
            assert after in ("idle", "away")


@settings(deadline=None)
@given(SEEDS)
def test_every_kind_occurs(seed: int) -> None:
    kinds = {activity.kind for phone in range(1, 6) for activity in islice(activities(seed, phone), 100)}
    assert kinds == {"idle", "away", "file", "photos", "video", "download"}


@settings(deadline=None)
@given(SEEDS, PHONES)
def test_a_faster_radio_has_larger_files_and_does_the_same(seed: int, phone: int) -> None:
    for slow, fast in islice(zip(activities(seed, phone), activities(seed, phone, 12), strict=True), 40):
        of_files = slow.kind in ("file", "download")
        assert fast == (replace(slow, items_bytes=(12 * slow.items_bytes[0],)) if of_files else slow)


def test_each_phone_has_a_programme_of_its_own() -> None:
    first = {tuple(islice(activities(1, phone), 20)) for phone in range(1, 6)}
    assert len(first) == 5
    assert tuple(islice(activities(1, 1), 20)) in first
    assert tuple(islice(activities(2, 1), 20)) not in first


def test_the_same_seed_gives_the_same_programme_in_every_process(
    print_twice: Callable[[str], tuple[str, str]],
) -> None:
    one, other = print_twice(
        "from itertools import islice, pairwise\nfrom airbound_lab.live.programme import activities\n"
        "print([list(islice(activities(7, phone), 50)) for phone in range(1, 6)])"
    )
    assert one == other
