# SPDX-License-Identifier: Apache-2.0
"""Cells whose access point keeps its TXOP limit: no bounds where frames are aggregated, and a reason."""

from dataclasses import replace

import pytest

from airbound.core.addresses import mac_text
from airbound.core.edca import Category, Edca
from airbound.core.effects import Effect, Note
from airbound.core.events import ModeSet
from airbound.core.parameters import CapacityParameters, Parameters, PolicyName
from airbound.core.reasons import Code
from airbound.core.reports import EdcaState
from airbound_testing.scenario import BSSID, Scenario, mac, upload
from airbound_testing.windows import CAN_SET

PHONES = [mac(number) for number in range(3)]
FIXED = Parameters(capacity=CapacityParameters(min_bps=400e6, max_bps=400e6))
FAST_KBPS = 866_700
SENDS = upload(srtt_ms=30, min_rtt_ms=4.5)
OWN = Edca(Category.BEST_EFFORT, 3, 15, 63, 62)
STATIONS = OWN._replace(cw_max=1023, txop_limit=0)
REFUSED = EdcaState(can_set=False, refusal="not permitted", own=(OWN,), stations=(STATIONS,), wmm=True)
ABLE = replace(REFUSED, can_set=True, refusal="")


def scenario_of(edca: EdcaState, parameters: Parameters = FIXED) -> Scenario:
    scenario = Scenario(parameters)
    scenario.edca = edca
    return scenario


def run(scenario: Scenario, seconds: float, *, aggregating: bool = True, agents: bool = True) -> list[Effect]:
    effects = list[Effect]()
    for _ in range(round(seconds * 2)):
        scenario.advance(0.5)
        rates = dict.fromkeys(PHONES, 100.0)
        kbps = dict.fromkeys(PHONES, FAST_KBPS) if aggregating else None
        seen = dict.fromkeys(PHONES, (SENDS,)) if scenario.windows is not None else {}
        effects += scenario.access_point(rates, seconds=0.5, aggregating=kbps, destinations=seen)
        for address in PHONES if agents else ():
            effects += scenario.terminal(address, SENDS)
    return effects


def report(scenario: Scenario, edca: EdcaState) -> None:
    """What the access point reports of its queues from now on, but for the generation in force."""
    point = scenario.access_points[BSSID]
    point.edca = edca if point.edca is None or not edca.can_set else replace(edca, generation=point.edca.generation)


def has_bounds(scenario: Scenario) -> set[bool]:
    return {scenario.phones[address].range() is not None for address in PHONES}


def edca_code(scenario: Scenario) -> Code | None:
    reason = scenario.engine.cells[BSSID].edca_reason
    return reason.code if reason is not None else None


def test_there_are_no_bounds_and_the_reason_has_the_limit_and_the_access_points_words() -> None:
    scenario = scenario_of(REFUSED)
    effects = run(scenario, 10)
    assert has_bounds(scenario) == {False}
    assert not [effect for effect in effects if isinstance(effect, Note) and effect.kind == "bounds" and effect.bounds]
    [note] = [effect for effect in effects if isinstance(effect, Note) and effect.kind == "unbounded"]
    assert (note.level, note.subject, note.reasons[0].code) == ("warning", mac_text(BSSID), Code.KEPT_TXOP)
    reasons = {terminal.no_bounds for terminal in scenario.engine.terminals()}
    [reason] = reasons
    assert reason is not None
    assert (reason.code, reason.subject, reason.limit) == (Code.KEPT_TXOP, "not permitted", 1984)
    assert reason.releases
    assert edca_code(scenario) is Code.CANNOT_SET_EDCA


@pytest.mark.parametrize("edca", [ABLE, replace(REFUSED, own=(OWN._replace(txop_limit=0),))])
def test_there_are_bounds_where_the_limit_can_be_set_or_is_none(edca: EdcaState) -> None:
    scenario = scenario_of(edca)
    run(scenario, 4)
    assert has_bounds(scenario) == {True}


def test_there_are_bounds_where_frames_are_not_aggregated() -> None:
    scenario = scenario_of(REFUSED)
    run(scenario, 4, aggregating=False)
    assert has_bounds(scenario) == {True}


@pytest.mark.parametrize("policy", ["bdp", "paper"])
def test_there_are_bounds_by_policies_without_aggregates(policy: PolicyName) -> None:
    scenario = scenario_of(REFUSED, replace(FIXED, policy=policy))
    run(scenario, 4)
    assert has_bounds(scenario) == {True}


def test_bounds_are_raised_and_then_released_when_the_driver_refuses_and_return_when_a_set_is_in_force() -> None:
    scenario = scenario_of(ABLE)
    run(scenario, 2)  # before the search for the length of aggregates tries another
    computed = scenario.phones[PHONES[0]].range()
    assert computed is not None
    report(scenario, REFUSED)
    run(scenario, 2)
    raised = scenario.phones[PHONES[0]].range()
    assert raised is not None
    assert raised[0] >= 4 * computed[1]
    run(scenario, 60)
    assert has_bounds(scenario) == {False}
    report(scenario, ABLE)
    effects = run(scenario, 4)
    assert len([effect for effect in effects if isinstance(effect, Note) and effect.kind == "bounded"]) == 1
    assert edca_code(scenario) is Code.UPLOADS  # set again, though neither bounds nor limits were in force
    assert has_bounds(scenario) == {True}
    assert scenario.phones[PHONES[0]].range() == computed


def test_a_cell_that_is_empty_for_a_while_is_noted_once() -> None:
    scenario = scenario_of(REFUSED)
    effects = run(scenario, 4)
    for _ in range(5):
        scenario.advance(1)
        effects += scenario.access_point({})
    effects += run(scenario, 4)
    assert [effect.kind for effect in effects if isinstance(effect, Note) and "bounded" in effect.kind] == ["unbounded"]
    assert has_bounds(scenario) == {False}


def test_no_window_is_limited_either() -> None:
    scenario = scenario_of(REFUSED)
    scenario.windows = CAN_SET
    run(scenario, 6, agents=False)
    assert not scenario.access_points[BSSID].limits
    reason = scenario.engine.cells[BSSID].windows.reason
    assert reason is not None
    assert reason.code is Code.KEPT_TXOP


def test_nothing_is_searched_and_nobody_counts_as_unlimited_meanwhile() -> None:
    scenario = scenario_of(REFUSED)
    run(scenario, 40)
    cell = scenario.engine.cells[BSSID]
    assert not cell.policy.trials_total
    assert not cell.unlimited.mac
    assert cell.widened_for(aggregates=True) == 1


def test_a_cell_that_is_observed_shows_what_it_would_have() -> None:
    scenario = scenario_of(REFUSED)
    scenario.do(ModeSet("observe"))
    run(scenario, 4)
    reasons = {terminal.no_bounds.code for terminal in scenario.engine.terminals() if terminal.no_bounds is not None}
    assert reasons == {Code.OBSERVE_MODE}
