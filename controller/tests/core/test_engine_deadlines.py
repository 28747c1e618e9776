# SPDX-License-Identifier: Apache-2.0
"""What an event costs: it handles what it concerns and what is due, however many others there are."""

import pytest

from airbound.core import cell_decisions
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.effects import RenewLease, SetBounds
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, Event, Reconfigured, TerminalReported, Tick
from airbound.core.parameters import Parameters, SafetyParameters
from airbound.core.placement import Placement
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code
from airbound.core.registry import Registry
from airbound.core.reports import AccessPointReport, Agent, BackEnd, Destination, Station, Survey, TerminalReport
from airbound_testing.scenario import BSSID, OTHER_BSSID, PAPER, SECOND_US, Phone, Scenario, mac, upload, uploading

CELLS = 500
PER_CELL = 20
BUSY = mac(5)


class Large:
    """500 cells of 20 idle terminals, and one phone in the first cell that sends."""

    def __init__(self) -> None:
        self.engine = Engine(Parameters())
        self.now_us = 1_000 * SECOND_US
        self.sequence = 0
        self.generation = 0  # of the busy phone's bounds
        self.described = set[Stream]()
        self.stations = {bssid(number): self._macs(number) for number in range(CELLS)}
        self.access_points()
        number = CELLS
        for macs in self.stations.values():
            for address in macs:
                number += 1
                stream = Stream(number, Principal("terminal", address.hex()))
                self.terminal(stream, address)
        self.busy = Stream(number + 1, Principal("terminal", "busy"))
        self.seconds(2)

    @staticmethod
    def _macs(cell: int) -> list[bytes]:
        return [b"\x06" + (cell * PER_CELL + number).to_bytes(5, "big") for number in range(PER_CELL)]

    def access_points(self) -> None:
        self.sequence += 1
        for number, cell in enumerate(self.stations):
            self.access_point(number, cell)

    def access_point(self, number: int, cell: bytes) -> None:
        macs = [*self.stations[cell], BUSY] if number == 0 else self.stations[cell]
        elapsed = self.sequence
        stations = tuple(
            Station(address, *((elapsed * 300_000, elapsed * 200) if address == BUSY else (0, 0))) for address in macs
        )
        survey = Survey(active_us=elapsed * SECOND_US, busy_us=elapsed * SECOND_US // 2)
        report = AccessPointReport(
            bssid=cell, sequence=elapsed, monotonic_us=elapsed * SECOND_US, stations=stations, survey=survey
        )
        stream = Stream(number + 1, Principal("access-point", str(number)))
        self.handle(AccessPointReported(stream, report))

    def terminal(self, stream: Stream, address: bytes, *destinations: Destination) -> None:
        report = TerminalReport(
            mac=address,
            sequence=self.sequence,
            monotonic_us=self.now_us,
            destinations=destinations,
            bounds_generation=self.generation if stream.principal.name == "busy" else 0,
            agent=None if stream in self.described else Agent("test", BackEnd()),
        )
        self.described.add(stream)
        self.handle(TerminalReported(stream, report))

    def handle(self, event: Event) -> None:
        """The busy phone does what it is commanded."""
        for effect in self.engine.handle(event, self.now_us):
            if isinstance(effect, SetBounds):
                self.generation = effect.generation

    def seconds(self, count: int) -> None:
        """The access points and the busy phone report once a second, the idle ones do not."""
        for _ in range(count):
            self.now_us += SECOND_US
            self.access_points()
            self.terminal(self.busy, BUSY, upload())


def bssid(number: int) -> bytes:
    return b"\x02" + number.to_bytes(5, "big")


@pytest.fixture(scope="module")
def large() -> Large:
    return Large()


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The MAC address of each terminal that is decided."""
    calls = list[bytes]()
    real = cell_decisions.decide_terminal

    def decide(cell: CellState, terminal: Terminal, now_us: int) -> object:
        calls.append(terminal.mac)
        return real(cell, terminal, now_us)

    monkeypatch.setattr(cell_decisions, "decide_terminal", decide)
    unplaced = Placement.decide_unplaced

    def decide_unplaced(self: Placement, terminal: Terminal, now_us: int) -> object:
        calls.append(terminal.mac)
        return unplaced(self, terminal, now_us)

    monkeypatch.setattr(Placement, "decide_unplaced", decide_unplaced)
    return calls


def test_ten_thousand_terminals_are_there(large: Large) -> None:
    assert len(large.engine.terminals()) == CELLS * PER_CELL + 1
    assert len(large.engine.cells) == CELLS
    assert all(len(cell.terminals) >= PER_CELL for cell in large.engine.cells.values())


def test_a_report_decides_its_own_terminal_alone(large: Large, decided: list[bytes]) -> None:
    for connections in (2, 1):
        large.sequence += 1
        large.now_us += 1000
        large.terminal(large.busy, BUSY, upload(connections=connections))
    assert decided == [BUSY, BUSY]


def test_a_report_that_changes_nothing_decides_nobody(large: Large, decided: list[bytes]) -> None:
    large.sequence += 1
    large.now_us += 1000
    large.terminal(large.busy, BUSY, upload(srtt_ms=400))
    assert decided == []


def test_a_tick_decides_what_is_due_alone(large: Large, decided: list[bytes]) -> None:
    large.seconds(1)
    decided.clear()
    large.now_us += 2 * SECOND_US
    effects = large.engine.handle(Tick(), large.now_us)
    assert [effect.stream for effect in effects if isinstance(effect, RenewLease)] == [large.busy]
    assert decided == []  # a renewal is no decision
    assert large.engine.handle(Tick(), large.now_us) == []
    assert decided == []


def test_reports_that_move_nothing_decide_nobody(large: Large, decided: list[bytes]) -> None:
    large.seconds(20)
    decided.clear()
    large.seconds(1)
    assert decided == []


def test_the_next_deadline_needs_no_walk(large: Large, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a walk over the terminals")

    monkeypatch.setattr(Registry, "terminals", fail)
    monkeypatch.setattr(cell_decisions, "terminal_due_at_us", fail)
    deadline_us = large.engine.next_deadline_us()
    assert deadline_us is not None
    assert deadline_us <= large.now_us + 2 * SECOND_US


def test_reports_leave_one_entry_each_in_the_heap(large: Large) -> None:
    large.seconds(3)
    before = len(large.engine._registry.deadlines)
    assert before <= CELLS + 10
    large.seconds(10)
    assert len(large.engine._registry.deadlines) <= before + 3


def test_the_heap_does_not_grow_with_reports_and_new_sets() -> None:
    scenario = uploading(5)
    for step in range(3_000):
        scenario.advance(0.05)
        if step % 5 == 0:
            scenario.access_point(dict.fromkeys(map(mac, range(3 + step % 2)), 2.0), idle=[mac(3)] * (1 - step % 2))
        scenario.terminal(mac(step % 5), upload(srtt_ms=300 + step % 7 * 300))
    assert len(scenario.engine._registry.deadlines) <= 30
    streams = len(scenario.engine._registry.reporters)
    for _ in range(100):
        scenario.advance(0.05)
        scenario.disconnect(mac(0))
        scenario.terminal(mac(0), upload())
    assert len(scenario.engine._registry.reporters) == streams
    scenario.advance(700)
    assert len(scenario.engine._registry.deadlines) == 0


def test_a_cell_is_due_when_it_is_to_be_forgotten_and_not_before() -> None:
    scenario = Scenario()
    forget_us = Parameters().safety.forget_ms * 1000
    scenario.access_point({})
    first_us = scenario.now_us
    assert scenario.engine.next_deadline_us() == first_us + forget_us + 1
    scenario.now_us += 1
    scenario.access_point({})
    scenario.now_us += forget_us  # exactly as long ago as a cell is kept
    scenario.do(Tick())
    assert list(scenario.engine.cells) == [BSSID]
    assert scenario.engine.next_deadline_us() == scenario.now_us + 1
    scenario.now_us += 1
    scenario.do(Tick())
    assert list(scenario.engine.cells) == []
    assert scenario.engine.next_deadline_us() is None


def test_another_time_to_forget_moves_a_cells_deadline() -> None:
    scenario = Scenario()
    scenario.access_point({})
    scenario.do(Reconfigured(Parameters(safety=SafetyParameters(forget_ms=7_000))))
    assert scenario.engine.next_deadline_us() == scenario.now_us + 7 * SECOND_US + 1


def test_a_superseded_stream_is_due_when_it_is_to_be_closed_and_not_before() -> None:
    scenario = Scenario()
    old, new = Phone(mac(0), None), Phone(mac(0), None)
    scenario.phones = {mac(0): old}
    scenario.terminal(mac(0))
    scenario.now_us += SECOND_US
    scenario.phones = {mac(0): new, b"before": old}
    scenario.terminal(mac(0))
    due_us = scenario.now_us + 30 * SECOND_US  # three heartbeats
    assert scenario.engine.next_deadline_us() == due_us
    scenario.now_us = due_us
    scenario.do(Tick())
    assert old.closed is Code.REPLACED
    assert scenario.engine.next_deadline_us() is None


def test_a_superseded_stream_that_is_heard_once_more_is_due_later() -> None:
    scenario = Scenario()
    old, new = Phone(mac(0), None), Phone(mac(0), None)
    for phone, other in ((old, new), (new, old)):
        scenario.phones = {mac(0): phone, b"other!": other}
        scenario.terminal(mac(0))
    scenario.now_us += 2 * SECOND_US
    scenario.phones = {mac(0): old, b"other!": new}
    scenario.terminal(mac(0))
    due_us = scenario.now_us + 30 * SECOND_US
    scenario.advance(29)
    assert scenario.engine.next_deadline_us() == due_us
    scenario.advance(1.1)
    assert old.closed is Code.REPLACED


def test_ticks_come_with_leases_and_no_more_often() -> None:
    scenario = uploading(10)
    before = scenario.ticks
    scenario.keep_reporting(dict.fromkeys(map(mac, range(10)), 2.0), 60)
    assert scenario.ticks - before <= 300  # each of the ten has its own time, every 2 s


def test_renewals_of_a_cells_phones_come_one_at_a_time() -> None:
    """All were sent bounds at once. Together, their renewals made the phones contend for the air with their ACKs."""
    scenario = uploading(20)
    for phone in scenario.phones.values():
        scenario.terminal(phone.mac, upload())
    scenario.advance(2.1)
    sending = dict.fromkeys(scenario.phones, 2.0)
    counts = []
    for _ in range(100):
        before = sum(phone.renewals for phone in scenario.phones.values())
        scenario.advance(0.1)
        counts.append(sum(phone.renewals for phone in scenario.phones.values()) - before)
        scenario.access_point(sending, seconds=0.1)
        for phone in scenario.phones.values():
            scenario.terminal(phone.mac, upload())
    assert max(counts) <= 3
    assert sum(counts) == pytest.approx(100, abs=20)


def test_a_deadline_is_never_late() -> None:
    """Between two events the next deadline is no later than anything that a terminal is due for."""
    scenario = uploading(4, PAPER)
    for step in range(200):
        scenario.advance(0.1)
        if step % 9 == 0:
            scenario.access_point(dict.fromkeys(map(mac, range(4)), 2.0))
        if step % 4:
            scenario.terminal(mac(step % 4), upload())
        deadline_us = scenario.engine.next_deadline_us()
        for cell in scenario.engine.cells.values():
            for terminal in cell.terminals.values():
                due_us = cell_decisions.terminal_due_at_us(cell, terminal)
                assert not due_us or (deadline_us is not None and deadline_us <= due_us)


def test_a_phone_that_leaves_its_cell_is_free_although_the_one_before_still_lists_it() -> None:
    scenario, sending = Scenario(), {mac(0): 2.0}
    for _ in range(2):
        scenario.access_point(sending, bssid=OTHER_BSSID)
        scenario.advance(1)
    scenario.arrive(mac(0))
    scenario.access_point(sending)  # it joined later: the phone is here
    scenario.terminal(mac(0), upload())
    scenario.keep_reporting(sending, 1)
    scenario.advance(0.9)
    phone = scenario.phones[mac(0)]
    assert phone.range() is not None
    scenario.access_point({})
    [terminal] = scenario.engine.terminals()
    assert not terminal.bssid
    assert phone.range() is None
    assert scenario.no_bounds(mac(0)) is Code.LEFT_CELL
