# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace

import pytest

from airbound.core import cell_decisions
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.cell_decisions import CellDecisions, terminal_due_at_us
from airbound.core.deadlines import Deadlines
from airbound.core.decisions import decide
from airbound.core.effects import Effect, SetBounds
from airbound.core.parameters import CapacityParameters, Parameters, SafetyParameters
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    COUNTER_MAX,
    AccessPointReport,
    BackEnd,
    Destination,
    Station,
    Survey,
    TerminalReport,
)
from airbound.core.restriction import restriction
from airbound.core.settings import Settings
from airbound_testing.scenario import BSSID, OTHER_SERVER, SECOND_US, SERVER, mac, upload

NAME = "02:00:00:00:00:01"


AT_ONCE = Parameters(capacity=CapacityParameters(default_bps=1e5))  # a first sample counts whole


class Cell:
    """A cell whose access point counts one station, and its terminals."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.settings = Settings(parameters or AT_ONCE)
        self.state = CellState(BSSID, self.settings)
        self.decisions = CellDecisions(Deadlines())
        self.now_us = 1_000 * SECOND_US
        self.bytes = self.packets = self.busy_us = 0
        self.clock_us = 50 * SECOND_US

    def access_point(self, mbps: float = 8.0, busy: float = 0.5, seconds: float = 1.0) -> bool:
        """Report after some time; whether the cell's terminals must be decided again."""
        self.now_us += round(seconds * SECOND_US)
        self.clock_us += round(seconds * SECOND_US)
        packets = round(mbps * 1e6 / 8 / 1500 * seconds)
        self.packets += packets
        self.bytes += packets * 1534
        self.busy_us += round(busy * seconds * SECOND_US)
        station = Station(mac(0), self.bytes, self.packets)
        report = AccessPointReport(
            bssid=BSSID,
            sequence=1,
            monotonic_us=self.clock_us,
            stations=(station,),
            survey=Survey(self.clock_us, self.busy_us),
            ssid=b"lab",
            center_frequency_mhz=5180,
        )
        _, moved, _ = self.state.observe_report(report, self.now_us)
        return moved

    def join(self, number: int, *destinations: Destination) -> Terminal:
        terminal = Terminal(Stream(number, Principal("terminal", f"phone {number}")), mac=mac(number))
        terminal.back_end = BackEnd()
        self.state.terminals[mac(number)] = terminal
        self.report(terminal, *destinations)
        return terminal

    def report(self, terminal: Terminal, *destinations: Destination) -> list[Effect]:
        report = TerminalReport(mac=terminal.mac, sequence=1, monotonic_us=1, destinations=destinations)
        terminal.accept(report, self.now_us, 3 * SECOND_US)
        terminal.reported_at_us = self.now_us
        terminal.generation_in_force = terminal.sent.generation if terminal.sent else 0
        return self.decisions.decide_by_report(self.state, terminal, self.now_us)


def measured(parameters: Parameters | None = None) -> Cell:
    cell = Cell(parameters)
    for _ in range(2):
        cell.access_point()
    return cell


def test_a_cell_begins_with_the_default_and_knows_no_rates() -> None:
    state = Cell(Parameters()).state
    assert (state.name, state.decided_capacity_bps, state.stations.measured) == (NAME, 20e6, False)
    assert (state.ssid, state.center_frequency_mhz, state.terminals) == (b"", 0, {})
    assert (state.monotonic_us, state.reported_at_us, state.due_us) == (0, 0, 0)


def test_what_the_access_point_reports_of_the_cell_is_kept() -> None:
    cell = measured()
    assert (cell.state.ssid, cell.state.center_frequency_mhz) == (b"lab", 5180)
    assert (cell.state.reported_at_us, cell.state.monotonic_us) == (cell.now_us, cell.clock_us)


def test_terminals_are_decided_again_when_something_moved() -> None:
    cell = Cell()
    assert cell.access_point(0)  # the first report
    assert cell.access_point(0)  # rates are known
    assert not cell.access_point(0)
    assert cell.access_point(8.0)  # a sender, and a capacity
    assert not cell.access_point(8.0)
    assert not cell.access_point(8.0, 0.51)  # noise
    assert cell.access_point(8.0, 0.9)
    assert cell.access_point(0)  # no sender
    assert not cell.access_point(0, seconds=3.0)
    assert cell.access_point(0, seconds=3.1)  # it was stale


def test_decisions_use_the_estimate_but_for_small_changes() -> None:
    cell = measured()
    used_bps = cell.state.decided_capacity_bps
    for _ in range(5):
        cell.access_point(8.0, 0.51)
    assert cell.state.capacity.bps != used_bps
    assert cell.state.decided_capacity_bps == used_bps
    for _ in range(20):
        cell.access_point(8.0, 0.25)
    assert cell.state.decided_capacity_bps == pytest.approx(cell.state.capacity.bps, rel=0.05)
    assert cell.state.decided_capacity_bps > 1.5 * used_bps


def test_the_ratio_of_a_change_is_a_parameter() -> None:
    exact = measured(Parameters(capacity=CapacityParameters(change_ratio=0.0)))
    assert exact.access_point(8.0, 0.51)
    assert exact.state.decided_capacity_bps == exact.state.capacity.bps
    idle = Cell(Parameters(capacity=CapacityParameters(change_ratio=0.0)))
    assert [idle.access_point(0) for _ in range(5)] == [True, True, False, False, False]
    coarse = measured(Parameters(capacity=CapacityParameters(change_ratio=1.0)))
    assert not coarse.access_point(8.0, 0.26)


def test_a_terminal_is_bounded_with_its_report() -> None:
    cell = measured()
    terminal = cell.join(0, upload())
    assert terminal.no_bounds is None
    assert terminal.sent is not None
    assert terminal.sent_decisions == decide(terminal, cell.state)


def test_a_new_minimum_rtt_decides_those_who_send_there_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = measured()
    terminals = [cell.join(0, upload()), cell.join(1, upload()), cell.join(2, upload(address=OTHER_SERVER))]
    cell.now_us += SECOND_US
    decided, real = list[bytes](), cell_decisions.decide_terminal

    def decide(cell: CellState, terminal: Terminal, now_us: int) -> object:
        decided.append(terminal.mac)
        return real(cell, terminal, now_us)

    monkeypatch.setattr(cell_decisions, "decide_terminal", decide)
    effects = cell.report(terminals[0], upload(100, 90))
    assert decided == [mac(0), mac(1)]
    assert [effect.stream.number for effect in effects if isinstance(effect, SetBounds)] == [0, 1]
    cell.now_us += SECOND_US
    effects = cell.report(terminals[0], upload(100, 90))
    assert not any(isinstance(effect, SetBounds) for effect in effects)


def test_of_several_new_minimum_rtts_one_is_enough_to_decide_who_sends_there() -> None:
    cell = measured()
    reporting = cell.join(0, upload(), upload(address=OTHER_SERVER))
    cell.join(1, upload())
    cell.join(2, upload(address=OTHER_SERVER))
    cell.now_us += SECOND_US
    effects = cell.report(reporting, upload(100, 90), upload(100, 80, address=OTHER_SERVER))
    assert [effect.stream.number for effect in effects if isinstance(effect, SetBounds)] == [0, 1, 2]


def test_witnesses_are_names() -> None:
    """A phone's next stream is the same witness."""
    cell = measured()
    for number in (1, 2):
        other = cell.join(number, upload())
        cell.report(other, upload())
    for number in (7, 8, 9):
        again = cell.join(number)
        again.stream = Stream(number, Principal("terminal", "the same"))
        for _ in range(10):
            cell.now_us += SECOND_US
            cell.report(again, upload(min_rtt_ms=0.06))
            cell.report(other, upload())
    assert cell.state.min_rtt.shared_us(SERVER) == 256_500


@pytest.mark.parametrize(
    ("silent_s", "sending", "reason"),
    [
        (3.0, True, None),
        (3.001, True, Reason(Code.CELL_STALE, NAME, limit=3.0)),
        (5.0, True, Reason(Code.CELL_STALE, NAME, limit=3.0)),
        (5.001, True, Reason(Code.TERMINAL_STALE, limit=5.0)),
        (2.0, False, Reason(Code.NOT_SENDING)),
        (9.0, False, Reason(Code.CELL_STALE, NAME, limit=3.0)),
    ],
)
def test_what_has_not_reported_is_stale(silent_s: float, sending: bool, reason: Reason | None) -> None:  # noqa: FBT001
    cell = measured()
    terminal = cell.join(0, upload(connections=int(sending)))
    cell.decisions.decide(cell.state, terminal, cell.now_us + round(silent_s * SECOND_US))
    assert terminal.no_bounds == reason


def test_the_limits_of_what_is_stale_are_given_in_seconds() -> None:
    cell = measured(Parameters(safety=SafetyParameters(cell_stale_ms=1_500, terminal_stale_ms=2_250)))
    terminal = cell.join(0, upload())
    cell.decisions.decide(cell.state, terminal, cell.now_us + round(1.6 * SECOND_US))
    assert terminal.no_bounds == Reason(Code.CELL_STALE, NAME, limit=1.5)
    cell.decisions.decide(cell.state, terminal, cell.now_us + round(2.3 * SECOND_US))
    assert terminal.no_bounds == Reason(Code.TERMINAL_STALE, limit=2.25)


def test_a_cell_that_reported_once_waits() -> None:
    cell = Cell()
    cell.access_point()
    terminal = cell.join(0, upload())
    assert terminal.no_bounds == Reason(Code.CELL_LEARNING, NAME)
    assert terminal.sent is None


@pytest.mark.parametrize(
    ("mode", "exempt", "can", "sends", "code"),
    [
        ("control", False, True, True, None),
        ("observe", True, False, False, Code.OBSERVE_MODE),
        ("control", True, False, False, Code.EXEMPT),
        ("control", False, False, False, Code.BACK_END_CANNOT_BOUND),
        ("control", False, True, False, Code.NOT_SENDING),
    ],
)
def test_what_restricts_comes_in_this_order(
    *, mode: str, exempt: bool, can: bool, sends: bool, code: Code | None
) -> None:
    cell = measured()
    terminal = cell.join(0, upload(connections=int(sends)))
    terminal.back_end = replace(BackEnd(), can_set_max=can)
    cell.settings.mode = mode  # type: ignore[assignment]  # one of the two
    if exempt:
        cell.settings.exempt.add("phone 0")
    reason = restriction(terminal, cell.settings)
    assert (reason.code if reason else None) is code


def test_what_a_terminal_is_due_for() -> None:
    cell = measured()
    idle, waiting = cell.join(1), cell.join(2, Destination(OTHER_SERVER, 1))
    terminal = cell.join(0, upload())
    assert terminal_due_at_us(cell.state, idle) == 0
    assert terminal_due_at_us(cell.state, waiting) == 0
    assert terminal_due_at_us(cell.state, terminal) == cell.now_us + 2 * SECOND_US  # a third of the lease
    cell.now_us += 2 * SECOND_US
    cell.report(terminal, upload())
    assert terminal_due_at_us(cell.state, terminal) == cell.now_us + SECOND_US + 1  # the cell will be stale
    for _ in range(5):
        cell.access_point(seconds=0.9)
        cell.decisions.decide(cell.state, terminal, cell.now_us)  # the lease is renewed, now and then
    assert terminal.sent is not None
    terminal.sent = replace(terminal.sent, renewed_at_us=cell.now_us)
    assert terminal_due_at_us(cell.state, terminal) == terminal.reported_at_us + 5 * SECOND_US + 1
    cell.decisions.decide(cell.state, terminal, cell.now_us + 5 * SECOND_US)
    assert terminal.no_bounds is not None
    assert terminal_due_at_us(cell.state, terminal) == 0


def test_a_terminal_that_waits_is_due_when_stale() -> None:
    cell = measured()
    terminal = cell.join(0, upload())
    due_us = terminal_due_at_us(cell.state, terminal)
    terminal.no_bounds = Reason(Code.NO_RTT_SAMPLE)
    assert terminal_due_at_us(cell.state, terminal) > due_us


def test_an_access_point_that_booted_is_learned_again() -> None:
    cell = measured()
    cell.clock_us = 0
    assert cell.access_point()
    assert not cell.state.stations.measured
    assert cell.access_point()
    assert cell.state.stations.measured
    assert cell.state.stations.active_senders == 1


def test_two_reports_at_one_moment_are_no_boot() -> None:
    cell = measured()
    assert not cell.access_point(seconds=0)
    assert cell.state.stations.measured


def test_another_access_points_first_report_counts_as_one_after_a_boot() -> None:
    """The report's own time does not count."""
    cell = measured()
    for name in ("one", "other"):
        cell.state.report_by(Principal("access-point", name))
    cell.clock_us = COUNTER_MAX
    cell.access_point(seconds=0)
    assert not cell.state.stations.measured


def test_who_left_while_the_access_point_booted_is_gone() -> None:
    cell = measured()
    report = AccessPointReport(bssid=BSSID, sequence=9, monotonic_us=1, stations=(Station(mac(7)),))
    change, moved, jumps = cell.state.observe_report(report, cell.now_us + 1)
    assert (change.appeared, change.gone, moved, jumps) == ([mac(7)], [mac(0)], True, [])


def test_all_are_decided() -> None:
    cell = measured()
    for number in range(3):
        cell.join(number, upload())
    cell.settings.mode = "observe"
    effects = cell.decisions.decide_all(cell.state, cell.now_us)
    assert [effect.stream.number for effect in effects if isinstance(effect, SetBounds)] == [0, 1, 2]
