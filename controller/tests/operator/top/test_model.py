# SPDX-License-Identifier: Apache-2.0

from airbound.operator.top.graphs import SAMPLES_MAX, Series
from airbound.operator.top.model import EventList, Model
from airbound.v1 import events_pb2, live_pb2, operations_pb2

A, B = "02:00:00:00:00:01", "02:00:00:00:00:02"


def cell(bssid: str, uplink_bps: int = 5) -> operations_pb2.Cell:
    return operations_pb2.Cell(bssid=bssid, uplink_bps=uplink_bps, busy_ratio=0.5)


def values(series: Series) -> list[float | None]:
    return series.columns(SAMPLES_MAX)


def test_each_second_is_a_value_of_each_cell() -> None:
    model = Model()
    model.take_cell(cell(A), 10.0)
    model.take_ratios({A: live_pb2.CellRttRatio(bssid=A, mean=1.5)})
    model.second(10.5)
    series = model.cells[A].series
    assert [values(column) for column in (series.uplink_bps, series.mean_ratio, series.busy)] == [[5.0], [1.5], [0.5]]
    model.take_cell(cell(A, 7), 11.0)
    model.take_ratios({})
    model.second(11.5)
    assert values(series.uplink_bps) == [5.0, 7.0]
    assert values(series.mean_ratio) == [1.5, None]


def test_a_cell_that_is_silent_and_a_lost_controller_have_no_values() -> None:
    model = Model()
    model.take_cell(cell(A), 10.0)
    model.second(14.0)
    model.take_cell(cell(A), 14.0)
    model.lose("gone", 14.1)
    model.second(14.2)
    model.lose("still gone", 15.0)
    assert (model.lost, model.lost_at_s) == ("still gone", 14.1)
    assert values(model.cells[A].series.uplink_bps) == values(model.cells[A].series.busy) == [None, None]


def test_cells_that_are_gone_are_forgotten() -> None:
    model = Model()
    model.take_cells([cell(A), cell(B)], 1.0)
    series = model.cells[B].series
    model.take_cells([cell(B, 9)], 2.0)
    assert list(model.cells) == [B]
    assert (model.cells[B].cell.uplink_bps, model.cells[B].series) == (9, series)


def test_another_run_of_the_controller_is_seen_once() -> None:
    model = Model()
    model.answered(7)
    model.answered(7)
    assert model.restarts == 0
    model.lose("gone", 1.0)
    model.answered(8)
    model.answered(8)
    assert (model.restarts, model.lost) == (1, "")


def page(history: int, *sequences: int) -> events_pb2.ListEventsResponse:
    position = events_pb2.EventPosition(history=history, sequence=sequences[-1])
    return events_pb2.ListEventsResponse(
        events=[events_pb2.Event(sequence=sequence) for sequence in sequences], position=position
    )


def test_events_are_listed_newest_first_and_begin_anew_with_another_history() -> None:
    events = EventList()
    events.take(page(1, 1, 2))
    events.take(page(1, 3))
    assert [event.sequence for event in events.events] == [3, 2, 1]
    events.take(page(2, 1))
    assert [event.sequence for event in events.events] == [1]
    assert events.position.history == 2
