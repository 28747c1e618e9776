# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.full_windows import PATIENCE_US, QUARTER, FullWindows
from airbound_testing.scenario import SECOND_US, mac

LIAR, HONEST = mac(0), mac(1)
PATIENCE_S = PATIENCE_US // SECOND_US


def seconds(seen: FullWindows, count: int, claimed: dict[bytes, float], *others: float) -> list[bool]:
    """Whether the first is doubted after each of so many seconds."""
    found = []
    for _ in range(count):
        seen.observe(claimed, others, SECOND_US, {LIAR, HONEST})
        found.append(LIAR in seen.doubted)
    return found


def test_a_report_that_is_not_borne_out_counts_for_its_time() -> None:
    assert seconds(FullWindows(), 8, {LIAR: 0.01, HONEST: 1.0}) == [False] * PATIENCE_S + [True] * 3


def test_a_quarter_bears_it_out() -> None:
    for used, doubted in ((QUARTER, False), (QUARTER - 0.001, True)):
        assert seconds(FullWindows(), 20, {LIAR: used, HONEST: 1.0})[-1] is doubted


def test_a_quarter_of_what_others_get_of_theirs_does_as_well() -> None:
    assert not seconds(FullWindows(), 20, {LIAR: 0.1, HONEST: 0.3})[-1]
    assert not seconds(FullWindows(), 20, {LIAR: 0.1}, 0.3)[-1]
    assert seconds(FullWindows(), 20, {LIAR: 0.07}, 0.3)[-1]


def test_alone_it_must_be_of_its_own() -> None:
    assert seconds(FullWindows(), 20, {LIAR: 0.1})[-1]


def test_the_time_runs_once_and_is_given_again_when_the_counters_have_shown_it() -> None:
    seen = FullWindows()
    little = {LIAR: 0.01, HONEST: 1.0}
    assert not any(seconds(seen, 4, little))
    assert not any(seconds(seen, 4, {HONEST: 1.0}))  # a pause changes nothing
    assert seconds(seen, 2, little) == [False, True]
    assert not seconds(seen, 1, {LIAR: 0.3, HONEST: 1.0})[-1]
    assert not any(seconds(seen, PATIENCE_S, little))
    assert seconds(seen, 1, little) == [True]


def test_what_is_kept_ends_with_the_station() -> None:
    seen = FullWindows()
    seconds(seen, 20, {LIAR: 0.01, HONEST: 1.0})
    assert seen.is_waiting
    seen.observe({}, (), SECOND_US, {HONEST})
    assert (seen.doubted, seen.is_waiting) == (set(), False)
    seconds(seen, 20, {LIAR: 0.01, HONEST: 1.0})
    seen.forget()
    assert (seen.doubted, seen.is_waiting) == (set(), False)


@given(
    st.lists(st.floats(0.25, 1.5), min_size=2, max_size=12),
    st.lists(st.floats(0, 0.06), max_size=5),
    st.integers(6, 30),
)
def test_fewer_liars_than_honest_are_doubted_and_nobody_else(
    honest: list[float], liars: list[float], count: int
) -> None:
    """That is so while those that get a quarter of their shares are more."""
    liars = liars[: len(honest) - 1]
    seen = FullWindows()
    claimed = {mac(number): used for number, used in enumerate([*liars, *honest])}
    for _ in range(count):
        seen.observe(claimed, (), SECOND_US, claimed.keys())
    assert seen.doubted == {mac(number) for number in range(len(liars))}
