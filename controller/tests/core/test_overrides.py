# SPDX-License-Identifier: Apache-2.0
"""Which override concerns a cell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.overrides import CellOverride, Overrides
from airbound.core.parameters import Parameters
from airbound_testing.scenario import BSSID, OTHER_BSSID


def override(name: str, *ssids: str, bssids: tuple[bytes, ...] = ()) -> CellOverride:
    return CellOverride(name=name, bssids=bssids, ssids=ssids, parameters=Parameters())


def matched(overrides: Overrides, ssid: bytes, bssid: bytes = BSSID) -> tuple[str, str] | None:
    found = overrides.match(bssid, ssid)
    return found and (found.override.name, found.by)


@pytest.mark.parametrize(
    ("pattern", "ssid", "matches"),
    [
        ("office", b"office", True),
        ("office", b"Office", False),
        ("office", b"office ", False),
        ("office-*", b"office-", True),
        ("office-*", b"office-1", True),
        ("office-*", b"back office-1", False),
        ("floor-?", b"floor-1", True),
        ("floor-?", b"floor-12", False),
        ("floor-[12]", b"floor-2", True),
        ("floor-[!12]", b"floor-2", False),
        ("[*]", b"*", True),
        ("[*]", b"x", False),
        ("caf?", "café".encode(), True),
        ("caf?", b"caf\xe9", True),  # no UTF-8
        ("café", b"caf\xe9", False),
        ("*", b"", True),
        ("?*", b"", False),
        ("a.c", b"abc", False),
        ("*", b"a\nb", True),
    ],
)
def test_a_pattern_is_that_of_a_shells_file_names(pattern: str, ssid: bytes, matches: bool) -> None:  # noqa: FBT001
    expected = ("cell.0", f"ssid {pattern}") if matches else None
    assert matched(Overrides([override("cell.0", pattern)]), ssid) == expected


def test_a_bssid_comes_before_patterns_and_the_first_pattern_before_the_next() -> None:
    overrides = Overrides(
        [override("cell.0", "a*"), override("cell.1", "b", "*"), override("cell.2", bssids=(OTHER_BSSID, BSSID))]
    )
    assert matched(overrides, b"ab") == ("cell.2", "bssid 02:00:00:00:00:01")
    elsewhere = bytes([2, 0, 0, 0, 0, 9])
    assert matched(overrides, b"ab", elsewhere) == ("cell.0", "ssid a*")
    assert matched(overrides, b"b", elsewhere) == ("cell.1", "ssid b")
    assert matched(overrides, b"c", elsewhere) == ("cell.1", "ssid *")
    assert matched(Overrides(), b"ab") is None


@given(
    st.lists(st.lists(st.text("ab*?[]", min_size=1, max_size=4), min_size=1, max_size=3), max_size=4),
    st.binary(max_size=32),
)
def test_any_patterns_and_any_octets_give_the_first_that_matches_alone(patterns: list[list[str]], ssid: bytes) -> None:
    overrides = [override(f"cell.{number}", *pattern) for number, pattern in enumerate(patterns)]
    alone = [found for single in overrides if (found := matched(Overrides([single]), ssid))]
    assert matched(Overrides(overrides), ssid) == (alone[0] if alone else None)
