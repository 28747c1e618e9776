# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from airbound_lab.compare import estimate
from airbound_lab.settings.parameters import Parameters


def test_more_phones_more_seconds_and_agents_take_longer() -> None:
    base = estimate.wall_s(Parameters(modes=("cubic",), terminals=3, seconds=10))
    assert estimate.wall_s(Parameters(modes=("cubic",), terminals=4, seconds=10)) > base
    assert estimate.wall_s(Parameters(modes=("cubic",), terminals=3, seconds=20)) > base
    assert estimate.wall_s(Parameters(modes=("bdp+vegas",), terminals=3, seconds=10)) > base


def test_what_was_measured_corrects_what_was_estimated() -> None:
    assert estimate.left_s([10, 20], [], jobs=1) == 30
    assert estimate.left_s([10, 20], [(10, 30), (10, 10)], jobs=2) == 30
    assert estimate.left_s([], [(10, 30)], jobs=2) == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (61, "1 min"), (3540, "59 min"), (3600, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_a_duration_in_words(seconds: float, text: str) -> None:
    assert estimate.text(seconds) == text
