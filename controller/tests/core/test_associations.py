# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.associations import Associations
from airbound.core.cell.state import CellState
from airbound.core.cell.stations import StationState
from airbound.core.parameters import Parameters
from airbound.core.reports import Station
from airbound.core.settings import Settings
from airbound.testing.scenario import mac

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
        associations.remove(PHONE, made[1])
        assert associations.cell_of(PHONE) is made[2]
        associations.remove(PHONE, made[2])
        assert associations.cell_of(PHONE) is made[0]


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
            expected.discard(number)
        assert associations.cell_of(PHONE) is (made[max(expected)] if expected else None)
        assert len(associations) == (1 if expected else 0)
