# SPDX-License-Identifier: Apache-2.0
"""Cells beside others on the channel that nothing limits: maxima grow, access points have their own parameters."""

import pytest

from airbound.core.edca import Category, Edca
from airbound.core.effects import Effect, Note
from airbound.core.parameters import CapacityParameters, Parameters, PolicyName
from airbound.core.reasons import Code
from airbound.core.reports import EdcaState
from airbound_testing.scenario import BSSID, Scenario, mac, upload
from airbound_testing.windows import CAN_SET

PHONES = [mac(number) for number in range(3)]
FIXED = Parameters(capacity=CapacityParameters(min_bps=400e6, max_bps=400e6))
FAST_KBPS = 866_700
SENDS = upload(srtt_ms=90, min_rtt_ms=4.5)
WAITS = upload(srtt_ms=900, min_rtt_ms=4.5)
OWN = Edca(Category.BEST_EFFORT, 3, 15, 63, 0)
QUEUES = EdcaState(can_set=True, own=(OWN,), stations=(OWN._replace(cw_max=1023),), wmm=True)
CROWDED, LESS_CROWDED, ALONE = 8.0, 16.0, 120.0
"""Mb/s of each phone, of a channel that is busy for 0.9 of the time."""


def scenario_of(parameters: Parameters = FIXED) -> Scenario:
    scenario = Scenario(parameters)
    scenario.edca = QUEUES
    return scenario


def run(
    scenario: Scenario, seconds: int, mbps: float, *, busy: float | None = 0.9, agents: bool = True
) -> list[Effect]:
    effects = list[Effect]()
    for _ in range(seconds):
        scenario.advance(1)
        kbps = dict.fromkeys(PHONES, FAST_KBPS)
        seen = dict.fromkeys(PHONES, (SENDS if mbps == ALONE else WAITS,)) if scenario.windows is not None else {}
        effects += scenario.access_point(dict.fromkeys(PHONES, mbps), aggregating=kbps, destinations=seen, busy=busy)
        for address in PHONES if agents else ():
            effects += scenario.terminal(address, SENDS)
    return effects


def kinds(effects: list[Effect], *wanted: str) -> list[str]:
    return [effect.kind for effect in effects if isinstance(effect, Note) and effect.kind in wanted]


def largest(scenario: Scenario) -> int | None:
    found = scenario.phones[PHONES[0]].range()
    return found[1] if found is not None else None


def edca_code(scenario: Scenario) -> Code | None:
    reason = scenario.engine.cells[BSSID].edca_reason
    return reason.code if reason is not None else None


def test_maxima_grow_and_the_access_point_has_its_own_parameters() -> None:
    scenario = scenario_of()
    run(scenario, 6, ALONE)
    computed = largest(scenario)
    assert computed is not None
    assert edca_code(scenario) is Code.UPLOADS
    effects = run(scenario, 4, CROWDED)
    [note] = [effect for effect in effects if isinstance(effect, Note) and effect.kind == "crowded"]
    [reason] = note.reasons
    assert reason.code is Code.NEIGHBOURS
    assert reason.before == pytest.approx(0.9 - (reason.after or 0))
    assert note.cell == BSSID
    assert scenario.engine.cells[BSSID].widened_for(aggregates=True) == 2
    grown = largest(scenario)
    assert grown is not None
    assert grown > computed  # though the capacity counts as less now
    assert edca_code(scenario) is Code.NEIGHBOURS
    assert not scenario.access_points[BSSID].queues


def test_bounds_end_with_that_reason_where_growing_does_not_help_and_return_when_others_are_gone() -> None:
    scenario = scenario_of()
    run(scenario, 8, CROWDED)
    run(scenario, 30, LESS_CROWDED)
    assert largest(scenario) is None
    reasons = {terminal.no_bounds.code for terminal in scenario.engine.terminals() if terminal.no_bounds is not None}
    assert reasons == {Code.NEIGHBOURS}
    effects = run(scenario, 40, ALONE)
    assert kinds(effects, "crowded", "uncrowded") == ["uncrowded"]
    assert largest(scenario) is not None
    assert edca_code(scenario) is Code.UPLOADS


def test_windows_that_the_access_point_limits_end_as_well() -> None:
    scenario = scenario_of()
    scenario.windows = CAN_SET
    run(scenario, 6, ALONE, agents=False)
    assert scenario.access_points[BSSID].limits
    run(scenario, 8, CROWDED, agents=False)
    run(scenario, 40, LESS_CROWDED, agents=False)
    assert not scenario.access_points[BSSID].limits
    reason = scenario.engine.cells[BSSID].windows.reason
    assert reason is not None
    assert reason.code is Code.NEIGHBOURS


@pytest.mark.parametrize(("mbps", "busy"), [(ALONE, 0.9), (CROWDED, 0.2), (CROWDED, None)])
def test_a_cell_with_most_of_the_channel_or_with_a_channel_that_is_not_full_stays(
    mbps: float, busy: float | None
) -> None:
    scenario = scenario_of()
    effects = run(scenario, 30, mbps, busy=busy)
    assert not kinds(effects, "crowded")
    assert scenario.engine.cells[BSSID].widened_for(aggregates=True) == 1


@pytest.mark.parametrize("policy", ["bdp", "paper"])
def test_policies_without_aggregates_stay_as_they_are(policy: PolicyName) -> None:
    scenario = scenario_of(Parameters(policy=policy, capacity=FIXED.capacity))
    assert not kinds(run(scenario, 30, CROWDED), "crowded")
    assert largest(scenario) is not None
