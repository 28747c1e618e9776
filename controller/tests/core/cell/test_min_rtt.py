# SPDX-License-Identifier: Apache-2.0

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core.cell import min_rtt
from airbound.core.cell.min_rtt import PATHS_MAX, PATHS_OF_ONE_MAX, WITNESSES_MAX, MinRtt
from airbound.core.parameters import MinRttParameters
from airbound.core.reports import DESTINATIONS_MAX
from airbound_testing.scenario import OTHER_SERVER, SECOND_US, SERVER

PARAMETERS = MinRttParameters()
AGE_US = PARAMETERS.max_age_s * SECOND_US
UNCONFIRMED_US = round(PARAMETERS.unconfirmed_s * SECOND_US)
TRUE_US, FALSE_US = 4_000, 60


def made_up(number: int) -> bytes:
    return b"\x0b" + number.to_bytes(3, "big")


class Cell:
    """Terminals of one cell that all send to SERVER and report once a second."""

    def __init__(self, **minima_us: int) -> None:
        self.table = MinRtt(PARAMETERS)
        self.minima_us = minima_us
        self.now_us = SECOND_US

    @property
    def shared_us(self) -> int:
        return self.table.shared_us(SERVER)

    def report(self, **minima_us: int) -> bool:
        self.minima_us.update(minima_us)
        changed = [self.table.observe(name, SERVER, self.minima_us[name], self.now_us) for name in minima_us]
        return any(changed)

    def second(self, in_flight_us: int = 0, *, most_in_flight_us: int = 0, **minima_us: int) -> int:
        """A second later; the shared minimum RTT after all have reported."""
        self.minima_us.update(minima_us)
        self.now_us += SECOND_US
        for name, min_rtt_us in self.minima_us.items():
            self.table.observe(
                name, SERVER, min_rtt_us, self.now_us, in_flight_us, most_in_flight_us=lambda: most_in_flight_us
            )
        return self.shared_us

    def seconds(self, count: int, **minima_us: int) -> list[int]:
        return [self.second(**minima_us) for _ in range(count)]

    def leave(self, *names: str) -> None:
        for name in names:
            self.table.leave(name)
            del self.minima_us[name]


def test_a_lone_terminals_minimum_counts_for_the_cell_and_its_destination() -> None:
    cell = Cell()
    assert cell.shared_us == 0
    assert cell.report(a=TRUE_US)
    assert cell.shared_us == TRUE_US
    assert not cell.report(a=TRUE_US)
    assert cell.table.shared_us(OTHER_SERVER) == 0


def test_zero_is_no_sample() -> None:
    cell = Cell()
    assert not cell.report(a=0)
    assert (cell.shared_us, len(cell.table)) == (0, 0)
    cell.report(a=TRUE_US)
    assert not cell.report(a=0)
    assert cell.shared_us == TRUE_US


def test_the_smallest_counts_and_only_a_change_is_one() -> None:
    cell = Cell()
    assert cell.report(a=7_000)
    assert not cell.report(b=9_000)
    assert cell.report(c=TRUE_US)
    assert cell.shared_us == TRUE_US


def test_sharing_can_be_turned_off() -> None:
    table = MinRtt(MinRttParameters(share=False))
    table.observe("a", SERVER, TRUE_US, 1)
    assert table.shared_us(SERVER) == 0


def test_a_confirmed_minimum_stays_whatever_the_others_see() -> None:
    cell = Cell(a=TRUE_US, b=2 * TRUE_US, c=900_000)
    for _ in range(60):
        assert cell.second() == TRUE_US


def test_twice_as_much_confirms_and_more_does_not() -> None:
    confirmed, contradicted = Cell(a=TRUE_US, b=2 * TRUE_US), Cell(a=TRUE_US, b=2 * TRUE_US + 1)
    for _ in range(20):
        confirmed.second()
        contradicted.second()
    assert confirmed.shared_us == TRUE_US
    assert contradicted.shared_us == 2 * TRUE_US + 1


def test_one_phones_false_minimum_counts_for_the_unconfirmed_time_and_never_again() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US + 100, wrong=TRUE_US)
    assert cell.second() == TRUE_US
    clamped = 0
    for _ in range(40):
        clamped += cell.second(wrong=FALSE_US) == FALSE_US
    assert clamped == round(PARAMETERS.unconfirmed_s)
    assert cell.shared_us == TRUE_US
    for _ in range(3 * PARAMETERS.max_age_s):
        assert cell.second() == TRUE_US


def test_a_false_minimum_that_is_taken_back_and_reported_again_gets_no_more_time() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US + 100, wrong=TRUE_US)
    clamped = 0
    taken_back_us = TRUE_US - 1_000  # the others confirm that
    for second in range(300):
        clamped += cell.second(wrong=FALSE_US if second % 7 else taken_back_us) == FALSE_US
    assert 0 < clamped <= round(PARAMETERS.unconfirmed_s)
    for second in range(300):  # as refuted, another false minimum is no better
        assert cell.second(wrong=FALSE_US + 20 if second % 7 else taken_back_us) >= taken_back_us


def test_once_its_time_is_over_a_false_minimum_is_not_shared_for_a_moment() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US + 100)
    cell.second(wrong=FALSE_US)
    for _ in range(20):
        cell.second(wrong=TRUE_US)
    assert not cell.report(wrong=FALSE_US)
    assert cell.shared_us == TRUE_US


def test_a_terminal_that_connects_again_is_no_second_witness() -> None:
    """Its name is the same; a stream's number would not be."""
    cell = Cell(a=TRUE_US, b=TRUE_US + 100)
    for _ in range(20):
        cell.second(wrong=FALSE_US)
        cell.report(wrong=FALSE_US + 1)
    assert cell.shared_us == TRUE_US


def test_a_true_minimum_that_one_alone_saw_is_confirmed_and_stays() -> None:
    """Others start in a full cell; bounded by the true minimum, they drain the queue and see it too."""
    cell = Cell(early=TRUE_US)
    cell.second()
    for _ in range(10):
        assert cell.second(late=900_000, later=950_000) == TRUE_US
    for _ in range(2 * PARAMETERS.max_age_s):
        assert cell.second(late=TRUE_US + 500) == TRUE_US


def test_a_refuted_minimum_that_is_confirmed_after_all_counts() -> None:
    cell = Cell(a=TRUE_US, b=900_000)
    for _ in range(20):
        cell.second()
    assert cell.shared_us == 900_000
    assert cell.second(c=TRUE_US + 1) == TRUE_US


def test_a_confirmation_clears_a_terminal() -> None:
    cell = Cell(a=TRUE_US, b=900_000)
    for _ in range(20):
        cell.second()
    cell.second(c=TRUE_US + 1)
    assert cell.second(c=900_000) == TRUE_US  # it has its time again


def test_a_confirmation_of_more_than_twice_what_was_refuted_clears_nobody() -> None:
    for confirmed_us, cleared in ((2 * FALSE_US, True), (2 * FALSE_US + 1, False)):
        cell = Cell(a=900_000, wrong=FALSE_US)
        for _ in range(5):
            cell.second()
        for _ in range(20):
            cell.second(wrong=FALSE_US + 40)  # the smallest counts
        cell.second(wrong=confirmed_us, c=confirmed_us + 1)
        assert cell.second(c=900_000) == (confirmed_us if cleared else 900_000)


def test_a_minimum_is_not_refuted_while_the_others_are_silent() -> None:
    """They had no chance to see it."""
    cell = Cell(a=TRUE_US)
    cell.report(a=TRUE_US, b=900_000)
    for _ in range(60):
        cell.now_us += SECOND_US
        cell.report(a=TRUE_US)
        assert cell.shared_us == TRUE_US
    cell.report(b=900_000)
    assert cell.shared_us == 900_000


def test_a_rise_is_taken_over() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US)
    cell.second()
    assert cell.second(a=7_000, b=8_000) == 7_000
    assert cell.second(b=7_000, a=30_000) == 7_000


def test_nobody_is_left_to_share_when_all_are_refuted() -> None:
    cell = Cell(a=TRUE_US, b=900_000)
    for _ in range(20):
        cell.second()
    del cell.minima_us["b"]
    for _ in range(PARAMETERS.max_age_s + 1):
        cell.second()
    assert cell.shared_us == 0


def test_the_memory_of_an_idle_path_outlives_its_terminal_and_ages_out() -> None:
    cell = Cell(gone=TRUE_US)
    cell.second()
    del cell.minima_us["gone"]
    start_us = cell.now_us
    assert cell.second(late=TRUE_US + 200) == TRUE_US
    while cell.now_us < start_us + AGE_US:
        assert cell.second() == TRUE_US
    assert cell.second() == TRUE_US + 200


def test_a_minimum_that_is_reported_again_stays() -> None:
    cell = Cell(a=TRUE_US)
    for _ in range(2 * PARAMETERS.max_age_s):
        assert cell.second() == TRUE_US


def test_destinations_that_nobody_reports_are_forgotten() -> None:
    cell = Cell(a=TRUE_US)
    cell.second()
    cell.table.observe("a", OTHER_SERVER, TRUE_US, cell.now_us + 5)
    cell.table.expire(cell.now_us + AGE_US)
    assert len(cell.table) == 2
    cell.table.expire(cell.now_us + AGE_US + 1)
    assert (cell.shared_us, cell.table.shared_us(OTHER_SERVER)) == (0, TRUE_US)
    cell.table.expire(cell.now_us + 2 * AGE_US)
    assert len(cell.table) == 0


def test_a_destination_is_kept_as_long_as_its_youngest_entry() -> None:
    table = MinRtt(PARAMETERS)
    table.observe("a", SERVER, TRUE_US, 1)
    table.observe("b", SERVER, TRUE_US, 1 + SECOND_US)
    table.expire(1 + SECOND_US + AGE_US)
    assert len(table) == 1


def test_an_entrys_age_is_known_to_a_sixteenth_of_how_long_it_lasts() -> None:
    for again_us, lasts_us in ((AGE_US // 16 - 1, AGE_US), (AGE_US // 16, AGE_US // 16 + AGE_US)):
        table = MinRtt(PARAMETERS)
        table.observe("a", SERVER, TRUE_US, 1)
        table.observe("a", SERVER, TRUE_US, 1 + again_us)
        table.expire(1 + lasts_us)
        assert len(table) == 1
        table.expire(1 + lasts_us + 1)
        assert len(table) == 0


def test_made_up_addresses_do_not_fill_the_memory_and_push_out_the_longest_unreported() -> None:
    table = MinRtt(PARAMETERS)
    table.observe("a", SERVER, 10, 1)
    table.observe("gone", OTHER_SERVER, 15, 1)
    table.observe("a", OTHER_SERVER, 20, 1)
    for number in range(PATHS_MAX + 100):
        table.observe("a", OTHER_SERVER, 20, 2)
        table.observe(f"b{number % 8}", made_up(number), 30, 2)
    assert len(table) == 1024
    assert (table.shared_us(SERVER), table.shared_us(OTHER_SERVER)) == (0, 15)


def test_one_terminal_does_not_push_out_what_others_know() -> None:
    table = MinRtt(PARAMETERS)
    idle = [made_up(2**20 + number) for number in range(300)]
    for number, address in enumerate(idle):
        table.observe(f"phone {number % 3}", address, TRUE_US, 1)
    table.observe("many", SERVER, 30, 2)
    table.observe("other", SERVER, 20, 2)
    for number in range(3 * PATHS_MAX):
        table.observe("many", made_up(number), 30, 3)
    assert len(table) == len(idle) + 1 + PATHS_OF_ONE_MAX
    assert {table.shared_us(address) for address in idle} == {TRUE_US}
    assert table.shared_us(SERVER) == 20  # what two have reported is no longer one's
    newest = [made_up(3 * PATHS_MAX - 1 - number) for number in range(PATHS_OF_ONE_MAX + 1)]
    assert [table.shared_us(address) for address in newest] == [30] * PATHS_OF_ONE_MAX + [0]


def test_what_fits_into_one_report_is_kept_from_report_to_report() -> None:
    table = MinRtt(PARAMETERS)
    changed = [
        table.observe("many", made_up(number), TRUE_US, second * SECOND_US)
        for second in range(1, 4)
        for number in range(DESTINATIONS_MAX)
    ]
    assert changed == [True] * DESTINATIONS_MAX + [False] * 2 * DESTINATIONS_MAX


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.sampled_from((TRUE_US, 900_000)), st.booleans()),
        max_size=80,
    )
)
def test_who_alone_reported_a_destination_is_known_for_those_that_are_kept(
    reports: list[tuple[str, int, int, bool]],
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(min_rtt, "PATHS_MAX", 5)
        patched.setattr(min_rtt, "PATHS_OF_ONE_MAX", 3)
        table = MinRtt(PARAMETERS)
        for second, (name, number, min_rtt_us, pauses) in enumerate(reports, 1):
            now_us = second * AGE_US // 2
            if pauses:
                table.expire(now_us)
            table.observe(name, made_up(number), min_rtt_us, now_us)
            assert len(table) <= 5
            kept = {address: path.only for address, path in table._paths.items() if path.only}
            assert kept == {address: one for one, addresses in table._of_one.items() for address in addresses}
            assert all(0 < len(addresses) <= 3 for addresses in table._of_one.values())


def test_more_terminals_than_witnesses_keep_the_smallest() -> None:
    cell = Cell(**{f"phone {number}": TRUE_US + number for number in range(WITNESSES_MAX + 20)})
    for _ in range(3):
        assert cell.second() == TRUE_US
    path = cell.table._paths[SERVER]
    assert len(path.entries) == 32
    assert sorted(path.entries) == sorted(f"phone {number}" for number in range(WITNESSES_MAX))


def test_many_terminals_do_not_push_out_who_was_contradicted() -> None:
    cell = Cell(**{f"phone {number}": TRUE_US + number for number in range(WITNESSES_MAX)}, wrong=FALSE_US)
    for _ in range(30):
        cell.second()
    for second in range(60):
        assert cell.second(wrong=FALSE_US if second % 2 else 900_000) == TRUE_US


SHARED_S = round(PARAMETERS.unconfirmed_s)


@pytest.mark.parametrize("liars", [2, 3, 4])
@pytest.mark.parametrize("apart", [1.1, 1.9, 2.5], ids=["together", "in a row", "each for itself"])
def test_a_minority_that_lies_together_counts_for_its_time_and_never_again(liars: int, apart: float) -> None:
    cell = Cell(**{f"honest {number}": 40_000 + 100 * number for number in range(10 - liars)})
    cell.second()
    lies = {f"liar {number}": round(50 * apart**number) for number in range(liars)}
    low = sum(shared_us < 20_000 for shared_us in cell.seconds(3 * PARAMETERS.max_age_s, **lies))
    assert low == SHARED_S
    assert cell.shared_us == 40_000


def test_a_half_that_lies_together_counts_for_ever() -> None:
    cell = Cell(a=40_000, b=40_000, c=50, d=60)
    assert cell.seconds(100) == [50] * 100


def test_liars_that_take_turns_have_each_its_time() -> None:
    """Each name is refuted for itself; and is then, whoever else lies."""
    cell = Cell(**{f"honest {number}": 40_000 for number in range(6)})
    low = 0
    for second in range(400):
        pair = second // 20 % 2
        lies = {f"liar {number}": 50 + number if number // 2 == pair else 40_000 for number in range(4)}
        low += cell.second(**lies) < 20_000
    assert low == 2 * SHARED_S


def test_a_minority_is_cleared_when_it_is_none_any_more() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US + 1, **{f"late {number}": 900_000 for number in range(3)})
    cell.seconds(SHARED_S + 1)
    assert cell.shared_us == 900_000
    assert cell.second(**{"late 0": TRUE_US + 2}) == TRUE_US
    # It has its time again.
    assert cell.seconds(SHARED_S, **{"late 0": 900_000}) == [TRUE_US] * SHARED_S
    assert cell.second() == 900_000


def test_what_the_bounds_in_force_keep_in_flight_contradicts_no_pair() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US, **{f"late {number}": 13_000 for number in range(8)})
    for _ in range(60):
        assert cell.second(most_in_flight_us=5_000) == TRUE_US
    low = [cell.second(most_in_flight_us=4_999) for _ in range(60)]
    assert low == [TRUE_US] * SHARED_S + [13_000] * (60 - SHARED_S)
    assert cell.second(most_in_flight_us=10**9) == 13_000  # refuted stays so


def test_a_pair_is_not_refuted_while_the_others_are_silent() -> None:
    cell = Cell(a=TRUE_US, b=TRUE_US)
    cell.second(c=900_000, d=900_000, e=900_000)
    for name in "cde":
        del cell.minima_us[name]
    assert cell.seconds(60) == [TRUE_US] * 60
    cell.report(c=900_000)
    assert cell.shared_us == 900_000


@pytest.mark.parametrize("liars", [1, 2, 4, 8])
def test_what_was_said_by_who_left_is_refuted_by_who_stays(liars: int) -> None:
    names = [f"liar {number}" for number in range(liars)]
    cell = Cell(a=40_000, b=40_000, c=41_000, **dict.fromkeys(names, 50))
    cell.seconds(5)
    cell.leave(*names)
    cell.seconds(SHARED_S)
    assert cell.second() == 40_000


def test_who_comes_back_is_a_witness_again_and_was_refuted() -> None:
    cell = Cell(a=40_000, b=40_000, c=40_000)
    for _ in range(5):
        cell.seconds(10, liar=50, other=50)
        cell.leave("liar", "other")
        cell.seconds(10)
    assert sum(shared_us < 20_000 for shared_us in cell.seconds(60, liar=50, other=50)) == 0
    assert cell.second(a=50) == 50  # three of five


def test_what_another_controller_kept_is_a_memory() -> None:
    before = Cell(a=50, b=50, c=50)
    before.second()
    cell = Cell(d=40_000)
    cell.table.restore(before.table.seen(before.now_us), cell.now_us)
    assert cell.seconds(SHARED_S) == [50] * SHARED_S
    assert cell.second() == 40_000


REPORTS = st.lists(
    st.tuples(
        st.sampled_from("abcde"),
        st.sampled_from((60, 100, 300, TRUE_US, TRUE_US + 1, 3 * TRUE_US, 900_000)) | st.integers(1, 10**6),
        st.integers(0, 30 * SECOND_US) | st.integers(0, AGE_US),
    ),
    max_size=60,
)


@given(REPORTS)
def test_what_is_shared_is_an_entry_or_nothing_and_the_memory_is_bounded(
    reports: list[tuple[str, int, int]],
) -> None:
    table, now_us = MinRtt(PARAMETERS), 1
    seen: dict[str, tuple[int, int]] = {}
    for name, min_rtt_us, pause_us in reports:
        now_us += pause_us
        before = table.shared_us(SERVER)
        changed = table.observe(name, SERVER, min_rtt_us, now_us)
        shared_us = table.shared_us(SERVER)
        assert changed is (shared_us != before)
        seen[name] = (min_rtt_us, now_us)
        live = sorted(value for value, at_us in seen.values() if now_us - at_us <= AGE_US)
        assert shared_us == 0 or shared_us in live
        # An entry that is reported again unchanged may keep its time for a sixteenth of its age.
        fresh = sorted(value for value, at_us in seen.values() if now_us - at_us <= AGE_US - AGE_US // 16)
        ratio = PARAMETERS.confirm_ratio
        confirmed = [
            low
            for low, high in itertools.pairwise(fresh)
            if high <= low * ratio and 2 * sum(each <= low * ratio for each in live) >= len(live)
        ]
        if confirmed:
            assert 0 < shared_us <= confirmed[0]
        path = table._paths[SERVER]
        assert path.contradicted.keys() <= path.entries.keys()
        assert path.refuted <= path.entries.keys()


@given(REPORTS, st.integers(1, 500))
def test_one_terminal_is_below_the_confirmed_for_its_time_only(
    reports: list[tuple[str, int, int]], false_us: int
) -> None:
    """Two report the truth every second; whatever a third reports, and however often, it decides for 15 s at most."""
    cell = Cell(first=TRUE_US, second=TRUE_US)
    below = 0
    for _, min_rtt_us, _ in [*reports, *reports, *reports]:
        below += cell.second(third=min(min_rtt_us, false_us) if min_rtt_us % 3 else min_rtt_us) < TRUE_US / 2
    # One second more: the time is over when one of the two reports.
    assert below <= round(PARAMETERS.unconfirmed_s) + 1


def test_what_the_bounds_themselves_keep_in_flight_contradicts_nobody() -> None:
    """Twenty phones at two segments each: no queue but theirs, and 20 ms all the same. The first phone's 4 ms is true,
    though nobody else can ever see it.
    """
    cell = Cell(first=TRUE_US)
    in_flight_us = 20_000
    for _ in range(60):
        assert cell.second(others=16_000, more=15_000, in_flight_us=in_flight_us) == TRUE_US


def test_a_minimum_is_contradicted_by_more_than_that() -> None:
    cell = Cell(liar=FALSE_US, a=64_000, b=66_000)
    seconds = [cell.second(in_flight_us=20_000) for _ in range(60)]
    assert seconds[:14] == [FALSE_US] * 14
    assert seconds[-1] == 64_000


def test_being_one_of_many_does_not_clear_who_was_refuted() -> None:
    cell = Cell(liar=FALSE_US, a=TRUE_US, b=TRUE_US)
    for _ in range(30):
        cell.second()
    assert cell.shared_us == TRUE_US
    assert cell.second(in_flight_us=20_000) == TRUE_US


def test_nor_is_its_time_counted_while_it_could_be_true() -> None:
    cell = Cell(first=TRUE_US, a=16_000, b=16_000)
    for _ in range(60):
        cell.second(in_flight_us=20_000)
    assert [cell.second() for _ in range(10)] == [TRUE_US] * 10


def test_what_is_reported_under_another_name_now_no_longer_counts() -> None:
    shared = MinRtt(MinRttParameters())
    for address in (SERVER, OTHER_SERVER):
        shared.observe("02:00:00:00:00:01", address, 4_000, 0)
    shared.observe("phone", SERVER, 5_000, 0)
    assert shared.shared_us(SERVER) == 4_000
    assert shared.withdraw("02:00:00:00:00:01", 1)
    assert (shared.shared_us(SERVER), shared.shared_us(OTHER_SERVER)) == (5_000, 0)
    assert len(shared) == 1
    assert not shared.withdraw("02:00:00:00:00:01", 2)


def test_a_witness_that_is_withdrawn_confirms_nothing() -> None:
    shared = MinRtt(MinRttParameters(unconfirmed_s=3.0))
    for second in range(20):
        for name, min_rtt_us in (("phone", 200), ("02:00:00:00:00:01", 200), ("other", 256_000)):
            if name != "02:00:00:00:00:01" or second < 5:
                shared.observe(name, SERVER, min_rtt_us, second * 1_000_000)
        if second == 5:
            assert shared.shared_us(SERVER) == 200
            shared.withdraw("02:00:00:00:00:01", second * 1_000_000)
    assert shared.shared_us(SERVER) == 256_000


class SearchingMinRtt(MinRtt):
    """Looks through the entries of a destination for nearly each report, as if it knew nothing of the last search."""

    def _would_share_the_same(self, *_: object) -> bool:
        return False


WITNESSES_FEW = 4  # so that random reports soon fill it
PAUSES_US = (
    # Mostly a settled cell: a few values near each other, no more time than makes nobody old.
    *([0] * 4 + [SECOND_US] * 6 + [UNCONFIRMED_US // 2, AGE_US // 20, AGE_US // 3, AGE_US + 1]),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["report"] * 20 + ["withdraw", "leave", "change"]),
        st.sampled_from("abcdefgh"),
        st.sampled_from((60, 3_000, TRUE_US, TRUE_US, TRUE_US + 1, TRUE_US + 1, TRUE_US + 2, 7_000, 9_000, 20_000)),
        st.sampled_from(PAUSES_US),
        st.sampled_from((0, 0, 5_000, 16_000)),
        st.sampled_from((0, 0, 3_000, 100_000)),
    ),
    min_size=10,
    max_size=150,
)


@given(STEPS)
@settings(max_examples=500)
def test_without_searching_what_is_shared_and_kept_is_the_same(
    steps: list[tuple[str, str, int, int, int, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(min_rtt, "WITNESSES_MAX", WITNESSES_FEW)
        tables, now_us = (MinRtt(PARAMETERS), SearchingMinRtt(PARAMETERS)), 1
        for what, name, min_rtt_us, pause_us, in_flight_us, most_us in steps:
            now_us += pause_us
            now = now_us, in_flight_us, lambda most_us=most_us: most_us
            match what:
                case "report":
                    first, second = (table.observe(name, SERVER, min_rtt_us, *now) for table in tables)
                    assert first is second
                case "withdraw":
                    first, second = (table.withdraw(name, *now) for table in tables)
                    assert first is second
                case "leave":
                    for table in tables:
                        table.leave(name)
                case "change":
                    ratio = 1.5 if tables[0].parameters.confirm_ratio == PARAMETERS.confirm_ratio else 2.0
                    for table in tables:
                        table.parameters = MinRttParameters(confirm_ratio=ratio)
            first_seen, second_seen = ([*table.seen(now_us)] for table in tables)
            assert first_seen == second_seen
            assert tables[0].shared_us(SERVER) == tables[1].shared_us(SERVER)
            paths = [table._paths[SERVER] for table in tables if SERVER in table._paths]
            for kept in ("contradicted", "refuted", "gone", "outvoted", "unconfirmed", "oldest_us"):
                first_kept, second_kept = ([getattr(path, kept)] for path in paths) if paths else ((), ())
                assert first_kept == second_kept


@pytest.mark.parametrize("apart_us", [0, 1], ids=["all equal", "all different"])
def test_of_many_witnesses_most_reports_look_through_no_entries(apart_us: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = 0
    share = MinRtt._share

    def counted(*arguments: Any) -> None:
        nonlocal searches
        searches += 1
        share(*arguments)

    monkeypatch.setattr(MinRtt, "_share", counted)
    phones = 4 * WITNESSES_MAX
    cell = Cell(**{f"phone {number}": TRUE_US + apart_us * number for number in range(phones)})
    cell.second()
    searches = 0
    seconds = PARAMETERS.max_age_s // 16 - 1
    for _ in range(seconds):
        assert cell.second() == TRUE_US
    assert searches == 0
