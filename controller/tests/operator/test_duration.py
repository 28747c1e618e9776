# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.operator import duration
from airbound.operator.duration import milliseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90_000),
        ("30s", 30_000),
        ("10m", 600_000),
        ("1h30m", 5_400_000),
        ("2d", 172_800_000),
        ("1.5s", 1500),
        ("5ms", 5),
    ],
)
def test_durations_are_as_people_write_them(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@given(st.one_of(st.text(), st.from_regex(r"[0-9.]{1,20}[smhd]{0,2}")))
def test_anything_else_is_refused(text: str) -> None:
    try:
        assert 0 < milliseconds(text) <= 86_400_000_000
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017  # either is right


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "10 m", "m", "1w", "1001d", "1e3", "\u0663s", "0.0001ms"])
def test_these_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        milliseconds(text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-1, "0 s"), (0.6, "1 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_800, "2 d")],
)
def test_a_time_is_told_in_the_largest_unit_of_which_there_are_two(seconds: float, expected: str) -> None:
    assert duration.text(seconds) == expected
