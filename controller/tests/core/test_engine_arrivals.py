# SPDX-License-Identifier: Apache-2.0
"""Terminals that have arrived somewhere: what they are sent, and what is in the history."""

import pytest

from airbound.core.effects import Arrived, Effect, Note
from airbound.core.events import TerminalReported
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import Agent, Arrivals, TerminalReport
from airbound_testing.scenario import BSSID, OTHER_BSSID, SECOND_US, Scenario, ip, mac, name

PHONE, OTHER = mac(0), mac(1)


def connect(scenario: Scenario, *, takes_arrivals: bool = True) -> Stream:
    """The phone's first report on a stream."""
    stream = scenario.new_stream("terminal", name(PHONE), ip(PHONE))
    report(scenario, stream, 1, agent=Agent("1", takes_arrivals=takes_arrivals))
    return stream


def report(
    scenario: Scenario, stream: Stream, sequence: int, *, agent: Agent | None = None, arrivals: Arrivals | None = None
) -> list[Effect]:
    message = TerminalReport(PHONE, sequence, sequence * SECOND_US, agent=agent, arrivals=arrivals)
    return scenario.do(TerminalReported(stream, message))


def sent(effects: list[Effect]) -> list[Arrived]:
    return [effect for effect in effects if isinstance(effect, Arrived)]


def noted(effects: list[Effect]) -> list[tuple[str, tuple[Reason, ...], bytes]]:
    notes = [effect for effect in effects if isinstance(effect, Note) and effect.what == "arrived"]
    return [(note.terminal, note.reasons, note.cell) for note in notes]


def test_a_terminal_is_sent_that_its_station_has_associated() -> None:
    scenario = Scenario()
    scenario.access_point({}, idle=[OTHER])
    stream = connect(scenario)
    scenario.advance(1)
    effects = scenario.access_point({}, idle=[OTHER, PHONE])
    assert sent(effects) == [Arrived(stream, BSSID)]
    assert noted(effects) == [(name(PHONE), (Reason(Code.ARRIVED, "access point"),), BSSID)]
    scenario.advance(1)
    assert sent(scenario.access_point({}, idle=[OTHER, PHONE])) == []


def test_it_is_sent_again_for_the_next_cell() -> None:
    scenario = Scenario()
    scenario.access_point({}, idle=[PHONE])
    scenario.access_point({}, idle=[OTHER], bssid=OTHER_BSSID)
    stream = connect(scenario)
    scenario.advance(1)
    assert sent(scenario.access_point({}, idle=[OTHER, PHONE], bssid=OTHER_BSSID)) == [Arrived(stream, OTHER_BSSID)]


def test_what_a_controller_finds_at_its_start_is_no_arrival() -> None:
    scenario = Scenario()
    connect(scenario)
    assert sent(scenario.access_point({}, idle=[PHONE])) == []


def test_a_stream_that_comes_later_is_sent_it_while_it_is_of_use() -> None:
    for seconds, is_sent in ((1, True), (6, False)):
        scenario = Scenario()
        scenario.access_point({}, idle=[OTHER])
        scenario.advance(1)
        scenario.access_point({}, idle=[OTHER, PHONE])
        scenario.advance(seconds)
        stream = scenario.new_stream("terminal", name(PHONE), ip(PHONE))
        effects = report(scenario, stream, 1, agent=Agent("1", takes_arrivals=True))
        assert sent(effects) == ([Arrived(stream, BSSID)] if is_sent else [])


@pytest.mark.parametrize("why", ["an older agent", "observe", "exempt"])
def test_a_terminal_that_is_not_sent_it(why: str) -> None:
    scenario = Scenario(
        exempt=[name(PHONE)] if why == "exempt" else [], mode="observe" if why == "observe" else "control"
    )
    scenario.access_point({}, idle=[OTHER])
    connect(scenario, takes_arrivals=why != "an older agent")
    scenario.advance(1)
    effects = scenario.access_point({}, idle=[OTHER, PHONE])
    assert sent(effects) == []
    assert noted(effects) == []


def test_what_a_terminal_reports_is_in_the_history_once() -> None:
    scenario = Scenario()
    scenario.access_point({}, idle=[PHONE])
    stream = connect(scenario)
    first = Arrivals(1, "nl80211", 200)
    effects = report(scenario, stream, 2, arrivals=first)
    assert noted(effects) == [(name(PHONE), (Reason(Code.ARRIVED, "nl80211"),), BSSID)]
    assert noted(report(scenario, stream, 3, arrivals=first._replace(age_ms=1200))) == []
    assert len(noted(report(scenario, stream, 4, arrivals=Arrivals(2, "file", 10)))) == 1
    # The agent makes a new stream after each arrival.
    stream = connect(scenario)
    assert noted(report(scenario, stream, 2, arrivals=Arrivals(2, "file", 900))) == []
    assert len(noted(report(scenario, stream, 3, arrivals=Arrivals(3, "program", 1)))) == 1


def test_an_arrival_of_long_ago_is_no_event_of_a_controller_that_has_just_started() -> None:
    for age_ms, is_event in ((9_999, True), (10_000, False)):
        scenario = Scenario()
        stream = connect(scenario)
        assert bool(noted(report(scenario, stream, 2, arrivals=Arrivals(5, "nl80211", age_ms)))) is is_event
