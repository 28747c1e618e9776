# SPDX-License-Identifier: Apache-2.0
"""Phones that have bounds beside stations that nothing limits."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from airbound.core.addresses import Mac, mac_text
from airbound.core.effects import Effect, Note, SetBounds
from airbound.core.events import Exempted, ModeSet, Reconfigured
from airbound.core.parameters import CapacityParameters, Parameters, PolicyName, SafetyParameters
from airbound.core.reasons import Code
from airbound.core.reports import BackEnd
from airbound_testing.scenario import BSSID, NO_WMM, Scenario, mac, name, upload
from airbound_testing.windows import CAN_SET

PHONES, STATION = [mac(number) for number in range(4)], mac(4)
FIXED = Parameters(capacity=CapacityParameters(min_bps=400e6, max_bps=400e6))
FAST_KBPS = 866_700
SENDS = upload(srtt_ms=30, min_rtt_ms=4.5)
BEHIND = {**dict.fromkeys(PHONES, 60.0), STATION: 160.0}
STARVED = {**dict.fromkeys(PHONES, 20.0), STATION: 320.0}
EQUAL = {**dict.fromkeys(PHONES, 80.0), STATION: 80.0}
ALONE = dict.fromkeys(PHONES, 100.0)


def run(
    scenario: Scenario, rates_mbps: dict[Mac, float], seconds: float, *, with_agents: Iterable[Mac] = PHONES
) -> list[Effect]:
    effects = list[Effect]()
    for _ in range(round(seconds * 2)):
        scenario.advance(0.5)
        kbps = dict.fromkeys(rates_mbps, FAST_KBPS)
        seen = dict.fromkeys(rates_mbps, (SENDS,)) if scenario.windows is not None else {}
        effects += scenario.access_point(rates_mbps, seconds=0.5, aggregating=kbps, destinations=seen)
        for address in with_agents:
            effects += scenario.terminal(address, *([SENDS] if address in rates_mbps else []))
    return effects


def most(scenario: Scenario, address: Mac = PHONES[0]) -> int:
    found = scenario.phones[address].range()
    assert found is not None
    return found[1]


def notes(effects: list[Effect], kind: str) -> list[Note]:
    return [effect for effect in effects if isinstance(effect, Note) and effect.kind == kind]


def codes(scenario: Scenario) -> set[Code]:
    sets = scenario.phones[PHONES[0]].sets
    return {reason.code for effect in sets if isinstance(effect, SetBounds) for reason in effect.reasons}


def test_bounds_grow_beside_a_station_without_an_agent_and_return_when_it_is_gone() -> None:
    scenario = Scenario(FIXED)
    scenario.edca = NO_WMM
    run(scenario, EQUAL, 1.0)
    before = most(scenario)
    effects = run(scenario, BEHIND, 8.0)
    wide = most(scenario)
    assert wide > 3 * before
    [note] = notes(effects, "unlimited")
    assert (note.level, note.subject, note.reasons[0].subject) == ("warning", mac_text(BSSID), mac_text(STATION))
    assert Code.WIDENED in codes(scenario)
    assert scenario.engine.cells[BSSID].edca_reason is not None
    assert scenario.engine.cells[BSSID].edca_reason.code is Code.UNLIMITED_SENDER
    assert not notes(run(scenario, EQUAL, 20.0), "limited")
    assert most(scenario) <= wide * 1.01
    assert notes(run(scenario, ALONE, 4.0), "limited")
    assert most(scenario) < wide / 3
    assert scenario.engine.cells[BSSID].edca_reason.code is Code.UPLOADS


def test_bounds_end_beside_one_that_has_several_times_as_much_and_return_three_seconds_after_it() -> None:
    scenario = Scenario(FIXED)
    run(scenario, EQUAL, 1.0)
    before = most(scenario)
    effects = run(scenario, STARVED, 4.0)
    raised = scenario.phones[PHONES[0]].range()
    assert raised is not None
    assert raised[0] >= 4 * before  # the window is at once what it would be without bounds
    effects += run(scenario, STARVED, 4.0)
    assert all(scenario.phones[address].range() is None for address in PHONES)
    assert len(notes(effects, "unlimited")) == 1
    [released] = {reason for note in notes(effects, "bounds") if not note.bounds for reason in note.reasons}
    assert (released.code, released.subject) == (Code.UNLIMITED_SENDER, mac_text(STATION))
    assert not notes(run(scenario, EQUAL, 30.0), "bounds")
    effects = run(scenario, ALONE, 4.0)
    assert len(notes(effects, "limited")) == 1
    assert before <= most(scenario) < 2 * before


def test_limits_of_windows_end_as_well_and_who_had_them_does_not_count_as_unlimited() -> None:
    """One sends by UDP, which nothing limits; the others have no agent."""
    scenario = Scenario(FIXED)
    scenario.windows = CAN_SET

    def sends(rates: dict[Mac, float], seconds: float) -> list[Effect]:
        effects = list[Effect]()
        for _ in range(round(2 * seconds)):
            scenario.advance(0.5)
            kbps, seen = dict.fromkeys(rates, FAST_KBPS), dict.fromkeys(set(rates) - {STATION}, (SENDS,))
            effects += scenario.access_point(rates, seconds=0.5, aggregating=kbps, destinations=seen)
        return effects

    sends(EQUAL, 2.0)
    assert {limit.mac for limit in scenario.access_points[BSSID].limits} == set(PHONES)
    sends(STARVED, 8.0)
    assert not scenario.access_points[BSSID].limits
    assert scenario.engine.cells[BSSID].unlimited.mac == STATION
    sends(EQUAL, 10.0)
    assert not scenario.access_points[BSSID].limits
    sends(ALONE, 5.0)
    assert {limit.mac for limit in scenario.access_points[BSSID].limits} == set(PHONES)


def test_with_an_agent_on_each_phone_maxima_stay() -> None:
    """What a phone gets is then for the policy, and for its radio: more than its part is no harm by itself."""
    scenario = Scenario(FIXED)
    run(scenario, STARVED, 10.0, with_agents=[*PHONES, STATION])
    assert not scenario.engine.cells[BSSID].unlimited.mac


def test_maxima_grow_beside_a_phone_whose_kernel_cannot_bound() -> None:
    scenario = Scenario(FIXED)
    scenario.terminal(STATION, upload(), back_end=BackEnd(name="none", can_set_max=False))
    run(scenario, STARVED, 6.0, with_agents=[*PHONES, STATION])
    assert scenario.engine.cells[BSSID].unlimited.mac == STATION


def test_maxima_stay_beside_a_station_whose_windows_the_access_point_limits() -> None:
    scenario = Scenario(FIXED)
    scenario.windows = CAN_SET
    run(scenario, STARVED, 10.0)
    assert STATION in {limit.mac for limit in scenario.access_points[BSSID].limits}
    assert not scenario.engine.cells[BSSID].unlimited.mac


def test_maxima_grow_beside_an_exempt_phone() -> None:
    scenario = Scenario(FIXED)
    run(scenario, EQUAL, 1.0, with_agents=[*PHONES, STATION])
    scenario.do(Exempted(name(STATION), exempt=True))
    run(scenario, STARVED, 6.0, with_agents=[*PHONES, STATION])
    assert scenario.engine.cells[BSSID].unlimited.mac == STATION


def test_maxima_grow_beside_a_phone_that_sends_by_udp_alone() -> None:
    scenario = Scenario(FIXED)
    for _ in range(12):
        run(scenario, STARVED, 0.5)
        scenario.terminal(STATION)
    assert scenario.engine.cells[BSSID].unlimited.mac == STATION


def test_in_observe_mode_maxima_are_as_computed_again() -> None:
    scenario = Scenario(FIXED)
    run(scenario, STARVED, 6.0)
    scenario.do(ModeSet("observe"))
    run(scenario, STARVED, 6.0)
    assert not scenario.engine.cells[BSSID].unlimited.mac


def test_another_configuration_does_not_begin_anew_and_another_policy_ends_it() -> None:
    scenario = Scenario(FIXED)
    run(scenario, BEHIND, 6.0)
    factor = scenario.engine.cells[BSSID].unlimited.factor
    assert factor > 1.0
    scenario.do(Reconfigured(replace(FIXED, safety=SafetyParameters(lease_ms=7_000))))
    assert scenario.engine.cells[BSSID].unlimited.factor == factor
    assert not notes(run(scenario, BEHIND, 4.0), "limited")
    scenario.do(Reconfigured(replace(FIXED, policy="bdp")))
    assert len(notes(run(scenario, BEHIND, 4.0), "limited")) == 1
    assert scenario.engine.cells[BSSID].unlimited.factor == 1.0


@pytest.mark.parametrize("policy", ["bdp", "paper"])
def test_other_policies_stay_as_they_are(policy: PolicyName) -> None:
    scenario = Scenario(replace(FIXED, policy=policy))
    run(scenario, STARVED, 10.0)
    assert scenario.engine.cells[BSSID].unlimited.factor == 1.0


def test_a_search_for_longer_aggregates_ends_its_trial_and_waits() -> None:
    scenario = Scenario(FIXED)
    run(scenario, EQUAL, 4.0)
    policy = scenario.engine.cells[BSSID].policy
    assert policy.found != 1.0  # a trial
    run(scenario, STARVED, 6.0)
    assert scenario.engine.cells[BSSID].unlimited.mac
    trials = policy.trials_total
    run(scenario, STARVED, 6.0)
    assert (policy.found, policy.trials_total) == (1.0, trials)
