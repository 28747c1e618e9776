# SPDX-License-Identifier: Apache-2.0
"""The order of reports, refusals and who is charged with them, ends of streams, and what operators see."""

from dataclasses import replace

import pytest

from airbound.core.addresses import address_text
from airbound.core.cell.reporter import OUT_OF_ORDER_MAX
from airbound.core.cell.terminal import Terminal
from airbound.core.effects import CellChanged, CloseStream, Effect, Note, refusal
from airbound.core.events import Disconnected, Exempted, ModeSet, Reconfigured, Refused
from airbound.core.reasons import Code, Reason
from airbound_testing.scenario import (
    BSSID,
    MEASURED_AT_ONCE,
    PAPER,
    SECOND_US,
    Phone,
    Scenario,
    ip,
    mac,
    upload,
    uploading,
)

MALFORMED = Reason(Code.MALFORMED, "mac")


def test_a_stream_whose_first_report_is_refused_has_no_terminal_yet() -> None:
    scenario = Scenario(PAPER)
    scenario.phones[mac(0)] = Phone(mac(0), None, sequence=-1)
    scenario.terminal(mac(0), upload())
    assert scenario.engine.terminals() == []
    assert scenario.do(ModeSet("observe")) == [Note("info", "mode", "observe")]
    scenario.terminal(mac(0), upload())
    assert [terminal.mac for terminal in scenario.engine.terminals()] == [mac(0)]


def terminal_of(scenario: Scenario, number: int = 0) -> Terminal:
    stream = scenario.phones[mac(number)].stream
    assert stream is not None
    [terminal] = [terminal for terminal in scenario.engine.terminals() if terminal.stream == stream]
    return terminal


def notes(effects: list[Effect], what: str) -> list[Note]:
    return [effect for effect in effects if isinstance(effect, Note) and effect.what == what]


@pytest.mark.parametrize("stale", ["sequence", "monotonic_us"])
def test_stale_terminal_reports_are_refused_counted_and_change_nothing(stale: str) -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    if stale == "sequence":
        scenario.phones[mac(0)].sequence -= 1
        effects = scenario.terminal(mac(0), upload(srtt_ms=9000))
    else:
        effects = scenario.terminal(mac(0), upload(srtt_ms=9000), monotonic_us=1)
    assert terminal_of(scenario).refused_total == 1
    assert scenario.phones[mac(0)].range() == before
    [note] = notes(effects, "refused")
    assert (note.level, note.subject) == ("warning", "terminal 192.168.1.0")
    assert [(reason.code, reason.subject) for reason in note.reasons] == [(Code.OUT_OF_ORDER, stale)]
    assert scenario.counts.totals["refused_total", Code.OUT_OF_ORDER] == 1


def test_stale_access_point_reports_are_refused_counted_and_change_nothing() -> None:
    scenario = uploading(2)
    scenario.access_points[BSSID].sequence -= 1
    scenario.access_point({mac(0): 2.0})
    cell = scenario.engine.cells[BSSID]
    assert cell.access_point is not None
    assert (cell.access_point.refused_total, cell.stations.active_senders) == (1, 2)
    assert scenario.phones[mac(1)].range() is not None


def test_refusals_are_counted_every_time_and_logged_ever_more_rarely() -> None:
    scenario = uploading(1)
    stream = scenario.phones[mac(0)].stream
    assert stream is not None
    logged = [scenario.do(Refused(stream, MALFORMED)) for _ in range(100)]
    assert terminal_of(scenario).refused_total == 100
    levels = [note.level for [note] in logged if isinstance(note, Note)]
    assert [number for number, level in enumerate(levels, 1) if level == "warning"] == [1, 2, 4, 8, 16, 32, 64]
    assert set(levels) == {"warning", "counted"}
    assert logged[0] == [refusal(stream.principal, MALFORMED, BSSID)]


def test_a_refusal_is_charged_to_the_stream_and_not_to_whom_it_names() -> None:
    """A stream that sends garbage in the name of another phone raises its own counters."""
    scenario = uploading(2)
    attacker, victim = terminal_of(scenario, 1), terminal_of(scenario, 0)
    scenario.do(Refused(attacker.stream, Reason(Code.OUT_OF_RANGE, "00:11:22:33:44:55")))
    phone = scenario.phones[mac(1)]
    scenario.phones[mac(0)], kept = replace(phone, mac=mac(0), sequence=0), scenario.phones[mac(0)]
    scenario.terminal(mac(0), upload())  # an old report on the attacker's stream, with the victim's MAC
    scenario.phones[mac(0)] = kept
    assert (attacker.refused_total, victim.refused_total) == (2, 0)
    assert attacker.mac == mac(1)


def test_refusals_of_a_stream_that_never_reported_are_counted_and_logged_ever_more_rarely() -> None:
    scenario = Scenario(PAPER)
    logged = 0
    for _ in range(100):
        stream = scenario.new_stream("terminal", "10.0.0.9")
        [note] = scenario.do(Refused(stream, MALFORMED))
        assert isinstance(note, Note)
        assert note.subject == "terminal 10.0.0.9"
        logged += note.level == "warning"
    assert scenario.engine._registry.reporters == {}
    assert logged == 7
    assert scenario.counts.totals["refused_total", Code.MALFORMED] == 100
    assert scenario.do(Disconnected(stream)) == []


@pytest.mark.parametrize("jumped", ["access point", "terminal"])
def test_a_clock_that_jumped_ahead_costs_a_stream_and_not_the_cell(jumped: str) -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    closed = list[CloseStream]()
    for second in range(2 + OUT_OF_ORDER_MAX):
        scenario.advance(0.1)
        if jumped == "access point":
            point = scenario.access_points[BSSID]
            clock_us = point.monotonic_us
            if second == 0:
                point.monotonic_us = 2**62
            effects = scenario.access_point({mac(0): 2.0})
            point.monotonic_us = clock_us + SECOND_US
        else:
            effects = scenario.terminal(mac(0), upload(), monotonic_us=2**62 if second == 0 else None)
        closed += [effect for effect in effects if isinstance(effect, CloseStream)]
    [close] = closed
    assert close.reason == Reason(Code.OUT_OF_ORDER_STREAK, after=5)
    assert scenario.phones[mac(0)].range() == before
    assert scenario.counts.totals["closed_total", Code.OUT_OF_ORDER_STREAK] == 1


def test_a_report_that_comes_twice_costs_no_stream() -> None:
    scenario = uploading(1)
    for _ in range(3 * OUT_OF_ORDER_MAX):
        scenario.phones[mac(0)].sequence -= 1
        effects = scenario.terminal(mac(0), upload())
        assert not any(isinstance(effect, CloseStream) for effect in effects)


def out_of_order(scenario: Scenario) -> None:
    """Have the engine close the stream of the first phone."""
    for _ in range(OUT_OF_ORDER_MAX):
        scenario.terminal(mac(0), upload(), monotonic_us=1)
    assert scenario.phones[mac(0)].closed is Code.OUT_OF_ORDER_STREAK


def test_nothing_is_sent_on_a_stream_that_was_closed() -> None:
    scenario = uploading(2)
    out_of_order(scenario)
    stream = scenario.phones[mac(0)].stream
    effects = list[Effect]()
    for event in (ModeSet("observe"), ModeSet("control"), Reconfigured(PAPER), Exempted("192.168.1.0", exempt=True)):
        effects += scenario.do(event)
    for _ in range(8):
        scenario.advance(1)
        effects += scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        effects += scenario.terminal(mac(0), upload())
    assert [effect for effect in effects if getattr(effect, "stream", None) == stream] == []
    assert [terminal.mac for terminal in scenario.engine.terminals()] == [mac(1)]
    assert scenario.phones[mac(0)].range() is None  # its lease has ended


def test_a_terminal_whose_stream_was_closed_is_bounded_on_its_next() -> None:
    scenario = uploading(1)
    out_of_order(scenario)
    old = scenario.phones[mac(0)].stream
    assert old is not None
    scenario.phones[mac(0)].stream = None
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].sets[-1].bounds
    before = scenario.phones[mac(0)].sets[-1]
    scenario.do(Disconnected(old))
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].sets[-1] is before
    scenario.disconnect(mac(0))
    assert scenario.engine.terminals() == []


def test_an_access_point_whose_stream_was_closed_is_closed_once() -> None:
    scenario = uploading(1)
    point = scenario.access_points[BSSID]
    clock_us, point.monotonic_us = point.monotonic_us, 0
    closed = list[Effect]()
    for _ in range(OUT_OF_ORDER_MAX):
        closed += scenario.access_point({mac(0): 2.0}, seconds=0.1)
    point.monotonic_us, point.stream = clock_us, scenario.new_stream("access-point", "ap0")
    closed += scenario.access_point({mac(0): 2.0})
    assert [effect.reason.code for effect in closed if isinstance(effect, CloseStream)] == [Code.OUT_OF_ORDER_STREAK]
    access_point = scenario.engine.cells[BSSID].access_point
    assert access_point is not None
    assert access_point.stream == point.stream


def test_every_access_point_report_is_news_to_those_who_watch() -> None:
    scenario = Scenario(PAPER)
    for _ in range(2):
        scenario.advance(1)
        assert CellChanged(BSSID) in scenario.access_point({mac(0): 2.0})


def test_what_is_known_of_a_cell_and_its_terminals() -> None:
    scenario = uploading(2, MEASURED_AT_ONCE, mbps=8.0)
    scenario.advance(0.5)
    cell = scenario.engine.cells[BSSID]
    assert (len(cell.stations.by_mac), cell.stations.active_senders, len(cell.terminals)) == (2, 2, 2)
    assert cell.stations.uplink_bps == pytest.approx(16e6, rel=0.001)
    assert cell.stations.busy_ratio == pytest.approx(0.9)
    assert cell.capacity.bps == pytest.approx(16e6 / 0.99, rel=0.02)
    assert cell.decided_capacity_bps == pytest.approx(cell.capacity.bps, rel=0.05)
    assert scenario.now_us - cell.reported_at_us == SECOND_US // 2
    terminal = terminal_of(scenario)
    assert (terminal.name, terminal.mac, terminal.bssid) == (address_text(ip(mac(0))), mac(0), cell.bssid)
    assert scenario.now_us - terminal.reported_at_us == SECOND_US // 2
    assert terminal.agent_version == "test"


def test_a_terminal_in_no_cell_has_none() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(9), upload())
    assert not terminal_of(scenario, 9).bssid
    assert {terminal.mac for terminal in scenario.engine.terminals()} == {mac(0), mac(9)}


def test_a_terminal_that_disconnected_is_gone_at_once() -> None:
    scenario = uploading(1)
    stream = scenario.phones[mac(0)].stream
    assert stream is not None
    scenario.disconnect(mac(0))
    assert stream.number not in scenario.engine._registry.reporters
    assert scenario.engine.terminals() == []
    assert scenario.engine.cells[BSSID].terminals == {}
    assert scenario.do(Disconnected(stream)) == []


def test_an_access_point_that_disconnects_leaves_its_cell() -> None:
    scenario = uploading(1)
    point = scenario.access_points[BSSID]
    assert scenario.engine.cells[BSSID].access_point is not None
    [note] = scenario.do(Disconnected(point.stream))
    assert note == Note("info", "disconnected", "02:00:00:00:00:01", cell=BSSID)
    assert scenario.engine.cells[BSSID].access_point is None
    assert scenario.phones[mac(0)].range() is not None
    scenario.advance(3.1)
    assert scenario.phones[mac(0)].range() is None


def test_a_change_of_the_number_of_senders_is_logged() -> None:
    scenario = uploading(2)
    scenario.advance(1)
    [note] = notes(scenario.access_point({mac(0): 2.0}, idle=[mac(1)]), "senders")
    assert (note.subject, note.reasons) == ("02:00:00:00:00:01", (Reason(Code.ACTIVE_SENDERS, "", 2, 1),))
    scenario.advance(1)
    assert notes(scenario.access_point({mac(0): 2.0}, idle=[mac(1)]), "senders") == []


def test_a_counter_that_jumped_is_charged_to_the_access_point() -> None:
    scenario = uploading(2)
    point = scenario.access_points[BSSID]
    point.packets[mac(0)] += 10**12
    scenario.advance(1)
    [note] = notes(scenario.access_point({mac(0): 2.0, mac(1): 2.0}), "refused")
    assert note.subject == "access-point ap0"
    assert note.reasons[0].code is Code.COUNTER_JUMP
    access_point = scenario.engine.cells[BSSID].access_point
    assert access_point is not None
    assert access_point.refused_total == 1
    assert scenario.engine.cells[BSSID].stations.active_senders == 2
