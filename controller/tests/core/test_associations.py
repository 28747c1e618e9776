# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.associations import Associations
from airbound.core.cell.state import CellState
from airbound.core.cell.stations import StationState
from airbound.core.parameters import Parameters
from airbound.core.reports import Station
from airbound.core.settings import Settings
from airbound_testing.scenario import mac

PHONE = mac(7)


def cells(*associated_at_us: int) -> list[CellState]:
    """Cells that report one station, each from its time on."""
    made = []
    for number, at_us in enumerate(associated_at_us):
        cell = CellState(mac(100 + number), Settings(Parameters()))
        station = Station(PHONE)
        cell.stations.by_mac[PHONE] = StationState(station, station, 0, at_us)
        made.append(cell)
    return made


def test_a_station_is_in_the_cell_that_reports_it() -> None:
    associations, [cell] = Associations(), cells(5)
    assert associations.cell_of(PHONE) is None
    associations.add(PHONE, cell)
    associations.add(PHONE, cell)
    assert associations.cell_of(PHONE) is cell
    associations.remove(PHONE, cell)
    assert associations.cell_of(PHONE) is None
    assert len(associations) == 0


def test_of_several_it_is_in_the_one_that_it_joined_last_whoever_reports_first() -> None:
    made = cells(5, 9, 7)
    for order in (made, made[::-1], [made[1], made[0], made[2]]):
        associations = Associations()
        for cell in order:
            associations.add(PHONE, cell)
        assert associations.cell_of(PHONE) is made[1]
        for older in (made[0], made[2]):
            associations.remove(PHONE, older)
            assert associations.cell_of(PHONE) is made[1]


def test_a_station_that_leaves_is_in_none_of_those_that_it_left_before() -> None:
    for left in range(3):
        associations, made = Associations(), cells(5, 7, 9)
        for cell in made:
            associations.add(PHONE, cell)
        for cell in made[left:][::-1]:
            associations.remove(PHONE, cell)
            assert associations.cell_of(PHONE) is None
        assert len(associations) == 0
        for cell in made[:left]:
            associations.remove(PHONE, cell)  # they notice later
        assert len(associations) == 0


def test_a_station_that_comes_back_is_where_it_was_before() -> None:
    associations, [first, second] = Associations(), cells(5, 9)
    associations.add(PHONE, first)
    associations.add(PHONE, second)
    first.stations.by_mac[PHONE].associated_at_us = 12
    associations.add(PHONE, first)
    assert associations.cell_of(PHONE) is first
    associations.remove(PHONE, first)
    assert associations.cell_of(PHONE) is None
    second.stations.by_mac[PHONE].associated_at_us = 15
    associations.add(PHONE, second)
    assert associations.cell_of(PHONE) is second


def test_equal_times_are_decided_by_the_cells_name() -> None:
    first, second = cells(5, 5)
    for order in ([first, second], [second, first]):
        associations = Associations()
        for cell in order:
            associations.add(PHONE, cell)
        assert associations.cell_of(PHONE) is second


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=30))
def test_it_knows_who_reports_a_station(steps: list[tuple[bool, int]]) -> None:
    associations, made, expected = Associations(), cells(1, 2, 3, 4), set[int]()
    for adds, number in steps:
        if adds:
            associations.add(PHONE, made[number])
            expected.add(number)
        else:
            associations.remove(PHONE, made[number])
            if number in expected:
                expected = {other for other in expected if other > number}
        assert associations.cell_of(PHONE) is (made[max(expected)] if expected else None)
        assert len(associations) == (1 if expected else 0)
