# SPDX-License-Identifier: Apache-2.0
"""Whose word counts: streams, refusals, and what operators see."""

from dataclasses import replace

import pytest

from airbound.core.effects import CellChanged, CloseStream, Note
from airbound.core.engine import BEHIND_AT_MOST
from airbound.core.events import Disconnected, Refused
from airbound.core.reports import ReportRefusedError
from airbound.testing.scenario import BSSID, OTHER_BSSID, PAPER, SECOND_US, Scenario, mac, upload, uploading


def test_a_newer_stream_of_the_same_phone_takes_its_place() -> None:
    scenario = uploading(1)
    first = scenario.phones.pop(mac(0))
    scenario.terminal(mac(0), upload())
    second = scenario.phones[mac(0)]
    assert second.range() == (250, 555)
    assert second.sets[-1].generation > first.sets[-1].generation
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.connected


@pytest.mark.parametrize("stale", ["sequence", "monotonic"])
def test_stale_terminal_reports_are_refused_and_counted(stale: str) -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    if stale == "sequence":
        scenario.phones[mac(0)].sequence -= 1
        effects = scenario.terminal(mac(0), upload(srtt_ms=9000))
    else:
        effects = scenario.terminal(mac(0), upload(srtt_ms=9000), monotonic_us=1)
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.refused_total == 1
    assert scenario.phones[mac(0)].range() == before
    assert [effect.what for effect in effects if isinstance(effect, Note)] == ["refused"]


def test_stale_access_point_reports_are_refused_and_counted() -> None:
    scenario = uploading(2)
    scenario.access_points[BSSID].sequence -= 1
    scenario.access_point({mac(0): 2.0})
    cell = scenario.engine.cell(BSSID, scenario.now_us)
    assert cell is not None
    assert (cell.refused_total, cell.active_senders) == (1, 2)


def test_a_stream_speaks_for_one_terminal() -> None:
    scenario = uploading(1)
    scenario.phones[mac(1)] = replace(scenario.phones[mac(0)], mac=mac(1))
    effects = scenario.terminal(mac(1), upload())
    assert scenario.phones[mac(1)].closed
    assert any(isinstance(effect, Note) and "this stream speaks for" in effect.why for effect in effects)
    assert scenario.engine.terminal(mac(1), scenario.now_us) is None
    assert scenario.engine.refused_unattributed_total == 1


def test_refusals_are_counted_every_time_and_logged_ever_more_rarely() -> None:
    scenario = uploading(1)
    error = ReportRefusedError("srtt_us", -1, "outside 0 to 9")
    logged = [scenario.do(Refused("terminal", mac(0), error)) for _ in range(100)]
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.refused_total == 100
    assert sum(len(effects) for effects in logged) == 7
    first = logged[0][0]
    assert isinstance(first, Note)
    assert first.why == "srtt_us = -1: outside 0 to 9 (refusal 1)"


def test_every_access_point_report_is_news_to_those_who_watch() -> None:
    scenario = Scenario(PAPER)
    assert CellChanged(BSSID) in scenario.access_point({mac(0): 2.0})


def test_what_operators_see_of_a_cell() -> None:
    scenario = uploading(2, mbps=8.0)
    scenario.advance(0.5)
    cell = scenario.engine.cell(BSSID, scenario.now_us)
    assert cell is not None
    assert (cell.stations, cell.active_senders, cell.terminals) == (2, 2, 2)
    assert cell.uplink_bps == pytest.approx(16e6, rel=0.001)
    assert cell.busy_ratio == pytest.approx(0.9)
    assert cell.capacity_bps == pytest.approx(16e6 / 0.99, rel=0.02)
    assert cell.report_age_us == SECOND_US // 2


def test_an_access_point_whose_bssid_changed_is_believed_on_its_next_stream() -> None:
    scenario = uploading(1)
    point = scenario.access_points[OTHER_BSSID] = replace(scenario.access_points[BSSID], bssid=OTHER_BSSID)
    for _ in range(3):
        effects = scenario.access_point({mac(0): 2.0}, bssid=OTHER_BSSID)
        closed = [effect for effect in effects if isinstance(effect, CloseStream)]
        assert [effect.stream for effect in closed] == [point.stream]
        assert closed[0].reason == f"this stream speaks for {BSSID}, not for {OTHER_BSSID}"
    scenario.do(Disconnected(point.stream))
    point.stream = scenario.new_stream()
    scenario.access_point({mac(0): 2.0}, bssid=OTHER_BSSID)
    assert scenario.engine.cell(OTHER_BSSID, scenario.now_us) is not None


def test_a_refusal_of_nobody_known_names_no_one() -> None:
    scenario = Scenario(PAPER)
    (note,) = scenario.do(Refused("terminal", "me\n" * 1000, ReportRefusedError("mac", "me\n" * 1000, "no address")))
    assert isinstance(note, Note)
    assert note.subject == "terminal"
    assert len(note.why) < 200


def test_a_phone_that_hung_up_is_shown_so() -> None:
    scenario = uploading(1)
    scenario.hang_up(mac(0))
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert (view.decisions, view.no_bounds_reason) == ((), "its agent is not connected")


@pytest.mark.parametrize("jumped", ["access point", "terminal"])
def test_a_clock_that_jumped_ahead_costs_a_stream_and_not_the_cell(jumped: str) -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    closed = list[CloseStream]()
    for second in range(2 + BEHIND_AT_MOST):
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
    assert "5 reports in a row are older" in close.reason
    assert scenario.phones[mac(0)].range() == before


def test_a_report_that_comes_twice_costs_no_stream() -> None:
    scenario = uploading(1)
    for _ in range(3 * BEHIND_AT_MOST):
        scenario.phones[mac(0)].sequence -= 1
        effects = scenario.terminal(mac(0), upload())
        assert not any(isinstance(effect, CloseStream) for effect in effects)
