# SPDX-License-Identifier: Apache-2.0
"""Whatever fails or is told to end, a phone ends with its kernel's defaults."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from airbound.core import decisions
from airbound.core.decisions import Decision, Sending
from airbound.core.effects import Note
from airbound.core.events import Exempted, ModeSet, Stopping
from airbound.core.parameters import SafetyParameters
from airbound.testing.scenario import PAPER, Scenario, mac, upload, uploading


def test_a_phone_that_leaves_the_cell_is_released() -> None:
    scenario = uploading(2)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    phone = scenario.phones[mac(1)]
    assert phone.range() is None
    assert phone.sets[-1].bounds == ()
    assert "not joined" in phone.sets[-1].reason
    assert scenario.phones[mac(0)].range() == (250, 555)


def test_a_silent_access_point_frees_its_cell_without_any_event() -> None:
    scenario = uploading(3)
    scenario.advance(2.9)
    assert scenario.phones[mac(0)].range() is not None
    scenario.advance(0.5)
    assert all(phone.range() is None for phone in scenario.phones.values())
    assert "silent for more than 3 s" in scenario.no_bounds_reason(mac(0))
    scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0))
    assert all(phone.range() is not None for phone in scenario.phones.values())


def test_a_silent_terminal_is_freed() -> None:
    scenario = uploading(2)
    for _ in range(7):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() is not None
    assert scenario.phones[mac(1)].range() is None
    assert "its agent has been silent" in scenario.no_bounds_reason(mac(1))


def test_a_phone_that_hangs_up_is_free_when_its_lease_ends_and_bound_when_it_calls_again() -> None:
    scenario = uploading(2)
    scenario.hang_up(mac(1))
    scenario.keep_reporting({mac(0): 2.0}, 5)
    assert scenario.phones[mac(1)].range() is not None
    scenario.keep_reporting({mac(0): 2.0}, 2)
    assert scenario.phones[mac(1)].range() is None
    scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    assert "not connected" in scenario.no_bounds_reason(mac(1))
    scenario.terminal(mac(1), upload())
    assert scenario.phones[mac(1)].range() is not None


def test_observe_computes_shows_and_releases() -> None:
    scenario = uploading(2)
    scenario.do(ModeSet("observe"))
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0, mac(2): 2.0})
    scenario.terminal(mac(0), upload())
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert (view.decisions[0].bound.min_segs, view.decisions[0].bound.max_segs) == (250, 400)
    assert view.bounds_sent == ()
    assert "observe" in view.no_bounds_reason
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.do(ModeSet("control"))
    assert scenario.phones[mac(0)].range() == (250, 400)


def test_observe_from_the_start_sends_nothing_at_all() -> None:
    scenario = uploading(3, replace(PAPER, mode="observe"))
    assert all(phone.sets == [] for phone in scenario.phones.values())


def test_an_exempt_phone_is_released_and_still_counts() -> None:
    scenario = uploading(3)
    scenario.do(Exempted(mac(1), exempt=True))
    assert scenario.phones[mac(1)].range() is None
    assert scenario.phones[mac(0)].range() == (250, 400)
    assert "exempt" in scenario.no_bounds_reason(mac(1))
    scenario.do(Exempted(mac(1), exempt=False))
    assert scenario.phones[mac(1)].range() == (250, 400)


def test_stopping_frees_every_phone_at_once() -> None:
    scenario = uploading(3)
    scenario.do(Stopping())
    assert all(phone.range() is None for phone in scenario.phones.values())


def test_a_phone_that_still_holds_a_dead_controllers_set_is_freed() -> None:
    scenario = Scenario(replace(PAPER, mode="observe"))
    scenario.access_point({mac(0): 2.0})
    scenario.terminal(mac(0), upload())
    scenario.phones[mac(0)].generation = 77
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].generation == 0
    assert scenario.phones[mac(0)].sets[-1].bounds == ()


def test_a_deaf_phone_is_asked_again_ever_more_rarely() -> None:
    scenario = uploading(1)
    scenario.do(Exempted(mac(0), exempt=True))
    phone = scenario.phones[mac(0)]
    phone.deaf = True
    scenario.do(Exempted(mac(0), exempt=False))
    sets = len(phone.sets)
    scenario.keep_reporting({mac(0): 2.0}, 100)
    assert 4 <= len(phone.sets) - sets <= 6  # after 3, 6, 12, 24 and 48 s
    phone.deaf = False
    scenario.keep_reporting({mac(0): 2.0}, 61)
    assert phone.range() == (250, 555)


def test_silent_cells_and_gone_terminals_are_forgotten() -> None:
    scenario = uploading(2, replace(PAPER, safety=SafetyParameters(forget_ms=60_000)))
    scenario.hang_up(mac(0))
    scenario.hang_up(mac(1))
    scenario.advance(120)
    assert scenario.engine.cells(scenario.now_us) == []
    assert scenario.engine.terminals(scenario.now_us) == []
    assert scenario.engine.next_deadline_us() is None


def test_an_idle_controller_asks_for_no_ticks() -> None:
    scenario = uploading(1)
    scenario.hang_up(mac(0))
    before = scenario.ticks
    for _ in range(30):
        scenario.advance(1)
        scenario.access_point({}, idle=[mac(0)])
    assert scenario.ticks == before


def test_an_error_of_ours_frees_one_phone_and_concerns_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = uploading(3)
    real = decisions.decide

    def decide(sending: Mapping[str, Sending], *arguments: Any) -> tuple[Decision, ...]:
        if "10.0.4.99" in sending:
            raise ZeroDivisionError("made up")
        return real(sending, *arguments)

    monkeypatch.setattr(decisions, "decide", decide)
    renewals = {number: scenario.phones[mac(number)].renewals for number in range(3)}
    for _ in range(40):
        scenario.advance(0.25)
        scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0))
        for number in range(3):
            scenario.terminal(mac(number), upload(address="10.0.4.99" if number == 1 else "10.0.4.1"))
    for number in (0, 2):
        assert scenario.phones[mac(number)].range() is not None
        assert scenario.phones[mac(number)].renewals > renewals[number] + 2
    assert scenario.phones[mac(1)].range() is None
    assert scenario.no_bounds_reason(mac(1)) == "an error of the controller: ZeroDivisionError: made up"
    effects = scenario.do(Stopping())
    assert [phone.range() for phone in scenario.phones.values()] == [None] * 3
    assert all("made up" not in effect.why for effect in effects if isinstance(effect, Note))  # told often enough
