# SPDX-License-Identifier: Apache-2.0
"""Whatever fails, is silent or is switched off, a phone ends with its kernel's defaults."""

from dataclasses import replace
from typing import Any

import pytest

from airbound.core import cell_decisions
from airbound.core.addresses import mac_text
from airbound.core.cell.terminal import Terminal
from airbound.core.decisions import decide
from airbound.core.effects import Effect, Note, SetBounds
from airbound.core.events import Disconnected, Exempted, ModeSet, Tick
from airbound.core.parameters import SafetyParameters
from airbound.core.policy import Decision
from airbound.core.reasons import Code, Reason
from airbound.core.reports import Destination
from airbound.core.settings import Settings
from airbound_testing import scenario as scenarios
from airbound_testing.scenario import (
    BSSID,
    MEASURED_AT_ONCE,
    OTHER_SERVER,
    PAPER,
    SECOND_US,
    SERVER,
    Scenario,
    mac,
    name,
    upload,
    uploading,
)

CELL = "02:00:00:00:00:01"


def test_a_phone_that_leaves_the_cell_is_released() -> None:
    scenario = uploading(2)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    phone = scenario.phones[mac(1)]
    assert phone.range() is None
    assert phone.sets[-1].bounds == ()
    assert phone.sets[-1].reasons == (Reason(Code.LEFT_CELL, CELL),)
    assert scenario.phones[mac(0)].range() == (250, 555)
    scenario.terminal(mac(1), upload())
    assert scenario.no_bounds(mac(1)) is Code.LEFT_CELL
    assert len(phone.sets) == 2


def test_an_access_point_that_stops_reporting_frees_its_cell_without_any_event() -> None:
    scenario = uploading(3)
    for _ in range(4):
        scenario.advance(0.75)
        for number in range(3):
            scenario.terminal(mac(number), upload())
    assert scenario.phones[mac(0)].range() is not None  # exactly 3 s
    scenario.advance(0.1)
    assert all(phone.range() is None for phone in scenario.phones.values())
    assert scenario.phones[mac(0)].sets[-1].reasons == (Reason(Code.CELL_STALE, CELL, limit=3.0),)
    scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0))
    assert all(phone.range() is not None for phone in scenario.phones.values())


def test_a_terminal_that_stops_reporting_is_freed() -> None:
    scenario = uploading(2)
    for second in range(6):
        scenario.advance(1 if second < 5 else 0.1)
        assert (scenario.phones[mac(1)].range() is not None) is (second < 5)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0}, seconds=0.5)
        scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() is not None
    assert scenario.phones[mac(1)].sets[-1].reasons == (Reason(Code.TERMINAL_STALE, limit=5.0),)
    scenario.terminal(mac(1), upload())
    assert scenario.phones[mac(1)].range() is not None


def test_a_phone_that_disconnects_is_free_when_its_lease_ends_and_bound_when_it_connects_again() -> None:
    scenario = uploading(2)
    scenario.disconnect(mac(1))
    assert [terminal.mac for terminal in scenario.engine.terminals()] == [mac(0)]
    scenario.keep_reporting({mac(0): 2.0}, 5)
    assert scenario.phones[mac(1)].range() is not None
    scenario.keep_reporting({mac(0): 2.0}, 2)
    assert scenario.phones[mac(1)].range() is None
    scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    scenario.terminal(mac(1), upload())
    assert scenario.phones[mac(1)].range() is not None


def test_observe_computes_and_releases() -> None:
    scenario = uploading(2)
    scenario.do(ModeSet("observe"))
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0, mac(2): 2.0})
    scenario.terminal(mac(0), upload())
    cell = scenario.engine.cells[BSSID]
    [decision] = decide(cell.terminals[mac(0)], cell)
    assert decision.range == (250, 400)
    assert cell.terminals[mac(0)].sent is not None
    assert cell.terminals[mac(0)].sent.entries == ()
    assert scenario.no_bounds(mac(0)) is Code.OBSERVE_MODE
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.do(ModeSet("control"))
    assert scenario.phones[mac(0)].range() == (250, 400)


def test_observe_from_the_start_sends_nothing_at_all() -> None:
    scenario = Scenario(PAPER, mode="observe")
    for _ in range(3):
        scenario.advance(1)
        scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0))
        for number in range(3):
            scenario.terminal(mac(number), upload())
    assert all(phone.sets == [] for phone in scenario.phones.values())


def test_an_exempt_phone_is_released_and_still_counts() -> None:
    scenario = uploading(3)
    scenario.do(Exempted(name(mac(1)), exempt=True))
    assert scenario.phones[mac(1)].range() is None
    assert scenario.phones[mac(0)].range() == (250, 400)
    assert scenario.no_bounds(mac(1)) is Code.EXEMPT
    scenario.do(Exempted(name(mac(1)), exempt=False))
    assert scenario.phones[mac(1)].range() == (250, 400)


def test_an_exemption_is_a_names_whatever_the_mac_address() -> None:
    scenario = Scenario(PAPER, exempt=["192.168.1.1"])
    sending = {mac(1): 2.0, mac(2): 2.0}
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point(sending, addresses={mac(1): (), mac(2): ()})
    scenario.terminal(mac(2), upload(), comes_from=bytes([192, 168, 1, 1]))
    scenario.terminal(mac(1), upload(), comes_from=bytes([192, 168, 1, 9]))
    assert scenario.no_bounds(mac(2)) is Code.EXEMPT
    assert scenario.phones[mac(1)].range() is not None


def test_bounds_that_an_earlier_controller_left_are_released_in_observe_mode() -> None:
    scenario = Scenario(PAPER, mode="observe")
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0})
    scenario.terminal(mac(0), upload())
    scenario.phones[mac(0)].generation = 77
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].generation == 0
    last = scenario.phones[mac(0)].sets[-1]
    assert (last.bounds, last.generation, last.reasons) == ((), 78, (Reason(Code.OBSERVE_MODE),))


def test_an_unresponsive_phone_is_sent_the_same_ever_more_rarely() -> None:
    scenario = uploading(1)
    scenario.do(Exempted(name(mac(0)), exempt=True))
    phone = scenario.phones[mac(0)]
    phone.unresponsive = True
    scenario.do(Exempted(name(mac(0)), exempt=False))
    sets = len(phone.sets)
    scenario.keep_reporting({mac(0): 2.0}, 100)
    assert len(phone.sets) - sets == 5  # after 3, 6, 12, 24 and 48 s
    assert phone.sets[-1].reasons == (Reason(Code.REPEATED, before=0),)
    phone.unresponsive = False
    scenario.keep_reporting({mac(0): 2.0}, 61)
    assert phone.range() == (250, 555)


def test_an_unresponsive_phone_is_sent_its_release_again() -> None:
    scenario = uploading(1)
    phone = scenario.phones[mac(0)]
    phone.unresponsive = True
    scenario.do(Exempted(name(mac(0)), exempt=True))
    for _ in range(3):
        phone.expires_at_us = scenario.now_us + 10 * SECOND_US  # its lease does not end either
        scenario.keep_reporting({mac(0): 2.0}, 1)
    assert [entry.bounds for entry in phone.sets[-2:]] == [(), ()]
    assert phone.sets[-1].reasons[0].code is Code.REPEATED


def test_cells_are_forgotten_and_terminals_end_with_their_streams() -> None:
    safety = SafetyParameters(forget_ms=60_000)
    scenario = uploading(2, replace(PAPER, safety=safety))
    scenario.disconnect(mac(0))
    scenario.disconnect(mac(1))
    assert scenario.engine.terminals() == []
    scenario.advance(60)
    assert list(scenario.engine.cells) == [BSSID]
    scenario.advance(0.1)
    assert list(scenario.engine.cells) == []
    assert scenario.engine.next_deadline_us() is None


def test_phones_of_a_cell_that_is_forgotten_are_released() -> None:
    """Forgotten sooner than stale, as a configuration may have it: what is remembered as sent must be sent."""
    scenario = uploading(2, replace(PAPER, safety=SafetyParameters(forget_ms=1_000, cell_stale_ms=600_000)))
    scenario.advance(1.1)
    assert list(scenario.engine.cells) == []
    for phone in scenario.phones.values():
        assert phone.range() is None
        assert phone.sets[-1].reasons == (Reason(Code.LEFT_CELL, CELL),)
    for _ in range(2):
        scenario.advance(0.5)
        scenario.access_point(dict.fromkeys(scenario.phones, 2.0), seconds=0.5)
    assert all(phone.range() is not None for phone in scenario.phones.values())


def test_an_idle_controller_needs_no_ticks() -> None:
    scenario = uploading(1)
    scenario.disconnect(mac(0))
    scenario.advance(10)
    before = scenario.ticks
    for _ in range(30):
        scenario.advance(1)
        scenario.access_point({}, idle=[mac(0)])
    assert scenario.ticks == before


def test_a_phone_without_an_rtt_sample_keeps_its_bounds_until_their_lease_ends() -> None:
    """Nothing is renewed, and the lease that is due costs no more than a tick."""
    scenario = uploading(1)
    before = scenario.ticks
    phone = scenario.phones[mac(0)]
    for second in range(11):
        assert (phone.range() is None) is (second >= 9)  # three in which a pause is bridged, and the lease
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0})
        scenario.terminal(mac(0), Destination(OTHER_SERVER, connections_sending=1))
    assert scenario.no_bounds(mac(0)) is Code.NO_RTT_SAMPLE
    assert all(entry.bounds for entry in phone.sets)
    assert scenario.ticks - before < 10
    scenario.advance(1)
    scenario.terminal(mac(0), upload())
    assert phone.range() == (250, 555)


def test_an_access_point_that_boots_lets_leases_end_and_costs_no_ticks() -> None:
    scenario = uploading(1)
    before = scenario.ticks
    point = scenario.access_points[BSSID]
    for _ in range(6):
        scenario.advance(1)
        point.monotonic_us = 0
        scenario.do(Disconnected(point.stream))
        point.stream = scenario.new_stream("access-point", "ap0")
        scenario.access_point({mac(0): 2.0})
        scenario.terminal(mac(0), upload())
    assert scenario.no_bounds(mac(0)) is Code.CELL_LEARNING
    assert scenario.phones[mac(0)].range() is None
    assert all(entry.bounds for entry in scenario.phones[mac(0)].sets)
    assert scenario.ticks - before < 10


def test_an_error_of_ours_frees_one_phone_and_concerns_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = uploading(3, MEASURED_AT_ONCE)
    real = cell_decisions.decide

    def decide(terminal: Terminal, *arguments: Any) -> tuple[Decision, ...]:
        if OTHER_SERVER in terminal.sending:
            raise ZeroDivisionError("made up")
        return real(terminal, *arguments)

    monkeypatch.setattr(cell_decisions, "decide", decide)
    renewals = {number: scenario.phones[mac(number)].renewals for number in range(3)}
    effects, do = list[Effect](), scenario.do
    monkeypatch.setattr(scenario, "do", lambda event: effects.extend(made := do(event)) or made)  # ticks' as well
    for _ in range(40):
        scenario.advance(0.25)
        scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0), seconds=0.25)
        for number in range(3):
            scenario.terminal(mac(number), upload(address=OTHER_SERVER if number == 1 else SERVER))
    for number in (0, 2):
        assert scenario.phones[mac(number)].range() is not None
        assert scenario.phones[mac(number)].renewals > renewals[number] + 2
    assert scenario.phones[mac(1)].range() is None
    failed = scenario.engine.cells[BSSID].terminals[mac(1)]
    assert failed.no_bounds is not None
    assert failed.no_bounds.code is Code.INTERNAL_ERROR
    assert failed.no_bounds.subject.startswith("ZeroDivisionError: made up, in decide, line ")
    assert 40 <= failed.failures_total < 48
    assert scenario.counts.totals["failures_total", Code.UNSPECIFIED] == failed.failures_total
    notes = [effect for effect in effects if isinstance(effect, Note) and effect.what == "failed"]
    logged = [note for note in notes if note.level == "warning"]
    assert [note.subject for note in logged] == [name(mac(1))] * 6  # the 1st, 2nd, 4th, 8th, 16th and 32nd
    scenario.terminal(mac(1), upload())  # without the other server, once it is no longer remembered
    scenario.keep_reporting(dict.fromkeys(map(mac, range(3)), 2.0), 4)
    assert scenario.phones[mac(1)].range() is not None


@pytest.mark.parametrize("broken", ["changes", "fit_to_back_end"])
def test_an_error_in_making_a_command_frees_as_well(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    scenario = uploading(2)

    def fail(*_: object) -> None:
        raise KeyError("made up")

    monkeypatch.setattr(f"airbound.core.commands.{broken}", fail)
    effects = scenario.terminal(mac(0), upload(srtt_ms=9 * 256.5))
    assert [effect.bounds for effect in effects if isinstance(effect, SetBounds)] == [()]
    assert scenario.no_bounds(mac(0)) is Code.INTERNAL_ERROR
    assert scenario.phones[mac(1)].range() is not None


def test_an_error_of_one_does_not_keep_the_others_leases_from_being_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three are due in the same tick."""
    scenario = uploading(3)
    real = cell_decisions.renewal

    def renewal(terminal: Terminal, settings: Settings, now_us: int) -> list[Effect]:
        if terminal.mac == mac(0):
            raise RuntimeError
        return real(terminal, settings, now_us)

    monkeypatch.setattr(cell_decisions, "renewal", renewal)
    scenario.now_us += 2 * SECOND_US
    scenario.do(Tick())
    assert scenario.phones[mac(0)].range() is None
    assert [scenario.phones[mac(number)].renewals for number in (1, 2)] == [1, 1]


def test_the_text_of_an_error_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error may quote what it was given; where it was raised stays at the end."""
    scenario = uploading(1)

    def fail(*_: object) -> None:
        raise ValueError("x" * 10_000)

    monkeypatch.setattr(cell_decisions, "decide", fail)
    scenario.terminal(mac(0), upload(connections=2))
    [terminal] = scenario.engine.terminals()
    assert terminal.no_bounds is not None
    what, _, where = terminal.no_bounds.subject.partition(", in fail, line ")
    assert what == "ValueError: " + "x" * 188
    assert where.isdecimal()


def test_every_bounded_phone_is_renewed_by_ticks_alone() -> None:
    scenario = uploading(3, replace(PAPER, safety=SafetyParameters(cell_stale_ms=60_000, terminal_stale_ms=60_000)))
    scenario.advance(50)
    for phone in scenario.phones.values():
        assert phone.range() is not None
        assert 24 <= phone.renewals <= 25


def test_a_phone_that_is_called_by_a_mac_address_is_exempt_by_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of certificates have hyphens there, and this one is not the phone's own address."""
    monkeypatch.setattr(scenarios, "address_text", lambda source: mac(10 + source[-1]).hex("-").upper())
    scenario = uploading(2)
    chosen = mac_text(mac(10))  # as a choice has it, whichever way it was written
    assert not scenario.engine.is_exempt(chosen)
    scenario.do(Exempted(chosen, exempt=True))
    assert scenario.phones[mac(0)].range() is None
    assert scenario.no_bounds(mac(0)) is Code.EXEMPT
    assert scenario.phones[mac(1)].range() is not None
    assert scenario.engine.is_exempt(chosen)
    scenario.do(Exempted(chosen, exempt=False))
    assert scenario.phones[mac(0)].range() is not None
    assert not scenario.engine.is_exempt(chosen)
