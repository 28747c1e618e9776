# SPDX-License-Identifier: Apache-2.0
"""A check of a cell that behaves by its mode, on a clock of the test's; and what it leaves behind."""

import re

import pytest

from airbound.core.check import course, figures
from airbound.operator.check import run, text
from airbound.operator.client import UnreachableError
from airbound.v1 import access_point_pb2, operations_pb2

BSSID = "02:00:00:00:00:01"


class Cell:
    """A cell whose mode ends by itself, as the controller's does. With Airbound it carries more, a little later."""

    def __init__(self, mode: str = "control", *, gain: float = 0.5, senders: int = 3) -> None:
        self.now_s, self.below, self.gain, self.senders = 0.0, mode, gain, senders
        self.mode, self.ends_s, self.changed_s = mode, 0.0, -1000.0
        self.answers_until_s = float("inf")
        self.set: list[tuple[str, int]] = []

    def wait_s(self, seconds: float) -> None:
        self.now_s += seconds

    def in_force(self) -> str:
        return self.mode if self.now_s < self.ends_s else self.below

    def set_mode(self, mode: str, bssid: str = "", *, for_ms: int = 0) -> None:
        assert bssid == BSSID
        assert 0 < for_ms < 2 * course.TURN_S * 1000, "a mode without an end would outlive a check that is killed"
        if mode != self.in_force():
            self.changed_s = self.now_s
        self.mode, self.ends_s = mode, self.now_s + for_ms / 1000
        self.set.append((mode, for_ms))

    def cells(self, bssid: str = "") -> operations_pb2.ListCellsResponse:
        if self.now_s > self.answers_until_s:
            raise UnreachableError("gone")
        settled = self.now_s - self.changed_s >= course.SETTLED_S
        rate_bps = 40e6 * (1 + self.gain * (self.in_force() == "control")) if settled else 1e6
        noise = 1 + 0.01 * (self.now_s % 3)
        cell = operations_pb2.Cell(bssid=bssid, active_senders=self.senders, uplink_bps=round(rate_bps * noise))
        cell.edca.downlink_bps = 10_000_000
        return operations_pb2.ListCellsResponse(cells=[cell])

    def terminals(self, bssid: str = "") -> operations_pb2.ListTerminalsResponse:
        srtt_us = 20_000 if self.in_force() == "control" else 300_000
        phone = operations_pb2.Terminal(active_sender=True, bssid=bssid)
        phone.decisions.add(srtt_us=srtt_us)
        return operations_pb2.ListTerminalsResponse(terminals=[phone])

    def stations(self, bssid: str) -> operations_pb2.ListStationsResponse:
        assert bssid == BSSID
        srtt_us = 30_000 if self.in_force() == "control" else 310_000
        television = operations_pb2.StationView(active_sender=True)
        television.destinations.add(srtt_us=srtt_us, connections_sending=1)
        return operations_pb2.ListStationsResponse(stations=[television])


def check(cell: Cell, minutes: float = 10) -> tuple[figures.Result | None, list[str]]:
    said: list[str] = []
    made = run.turns(cell, BSSID, minutes, run.Clock(lambda: cell.now_s, cell.wait_s), said.append)
    return figures.result(made), said


def test_it_finds_what_is_there_and_leaves_nothing() -> None:
    cell = Cell("observe")
    found, said = check(cell)
    assert found is not None
    assert (found.pairs, found.senders) == (6, 3)
    assert found.carried.low < 0.4 + 0.001  # 70 over 50 Mb/s
    assert found.carried.mean == pytest.approx(0.4, abs=0.01)
    assert found.rtt_us == (305e3, 25e3)
    assert cell.now_s == pytest.approx(600, abs=1)
    assert len(said) == 12
    assert re.fullmatch(r"turn 1 of 12, observe: 50\.\d Mb/s, RTT 305 ms, 3\.0 senders", said[0])
    cell.wait_s(0.01)
    assert cell.in_force() == "observe"  # as before


@pytest.mark.parametrize("before", ["observe", "control"])
def test_one_that_ends_in_an_error_or_is_interrupted_leaves_nothing(before: str) -> None:
    cell = Cell(before)
    cell.answers_until_s = 130.0
    with pytest.raises(UnreachableError):
        check(cell)
    cell.wait_s(0.01)
    assert cell.in_force() == before


def test_the_mode_before_is_in_force_65_s_after_one_that_is_killed() -> None:
    cell = Cell("control")
    cell.set_mode("observe", BSSID, for_ms=course.MODE_S * 1000)
    cell.wait_s(66)
    assert cell.in_force() == "control"


def test_nobody_sends() -> None:
    found, said = check(Cell(senders=0))
    assert found is None
    assert said[0].endswith("nobody sent")


SHOWN = operations_pb2.Cell(stations=5, policy="aggregate", band=access_point_pb2.BAND_5_GHZ)


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (0.5, "It is worth it here: more is carried, and round trips are shorter."),
        (0.0, "It is worth it here: no difference in what is carried, and round trips are shorter."),
        (-0.3, "It costs throughput here: `airbound explain CELL` says"),
    ],
)
def test_the_answer_says_whether_it_is_worth_it(gain: float, verdict: str) -> None:
    found, _ = check(Cell(gain=gain))
    assert found is not None
    shown = text.text(found, SHOWN, "1.2.3")
    assert verdict in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[:4])
    last = shown.splitlines()[-1]
    assert last.startswith("airbound 1.2.3 check: carried ")
    assert "5 GHz, policy aggregate, 3.0 senders of 5 stations, 6 pairs of turns of 50 s" in last


def test_without_a_difference_it_says_so() -> None:
    same = [figures.Turn(controlled, 1e7 * (1 + 0.01 * (number % 3)), 2e4, 1.0)
            for number, controlled in enumerate(figures.plan(12))]  # fmt: skip
    found = figures.result(same)
    assert found is not None
    shown = text.text(found, SHOWN, "1.2.3")
    assert "No difference was found" in shown
    assert "`airbound explain CELL` says what is limited there, or why nothing is." in shown
    assert '"pairs": 6' in text.as_json(found)
