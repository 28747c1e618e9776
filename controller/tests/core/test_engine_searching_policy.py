# SPDX-License-Identifier: Apache-2.0
"""A policy that keeps what it learned, one object for each cell."""

import pytest

from airbound.core.events import Reconfigured
from airbound.core.parameters import CapacityParameters, Parameters
from airbound.core.policy import POLICIES, CellFacts, Policy, PolicyInput, Range
from airbound_testing.scenario import BSSID, OTHER_BSSID, Scenario, mac, upload, uploading

LARGEST_SEGS = 40
OF = PolicyInput(2, 1, 300_000, 256_500, 1500, 20e6)


class Search(Policy):
    """One segment more after each report in which somebody sent, up to a limit."""

    name = "bdp"  # takes the place of a policy that can be configured
    uses_capacity = True
    uses_rtt_ratio = False

    def __init__(self, parameters: Parameters) -> None:
        self._segs = parameters.bdp.floor_segs

    def observe(self, facts: CellFacts, now_us: int) -> bool:  # noqa: ARG002
        if not facts.active_senders or self._segs >= LARGEST_SEGS:
            return False
        self._segs += 1
        return True

    def decide(self, given: PolicyInput) -> Range:  # noqa: ARG002
        return Range(2, self._segs)

    def formula(self, given: PolicyInput) -> str:  # noqa: ARG002
        return f"{self._segs} by now"


@pytest.fixture(autouse=True)
def searching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "bdp", Search)


def cell(phones: int = 2) -> Scenario:
    return uploading(phones, Parameters(policy="bdp", capacity=CapacityParameters(default_bps=1e5)))


def test_what_a_policy_learned_reaches_the_phones() -> None:
    scenario = cell()
    before = scenario.phones[mac(0)].range()
    for _ in range(5):
        scenario.advance(0.25)
        scenario.access_point(dict.fromkeys(map(mac, range(2)), 2.0), seconds=0.25)
    after = scenario.phones[mac(0)].range()
    assert after[1] - before[1] == 5
    assert scenario.phones[mac(1)].range() == after


def test_a_policy_that_has_found_its_window_sends_nothing_more() -> None:
    scenario = cell()
    for _ in range(LARGEST_SEGS + 5):
        scenario.advance(0.25)
        scenario.access_point(dict.fromkeys(map(mac, range(2)), 2.0), seconds=0.25)
        for number in range(2):
            scenario.terminal(mac(number), upload())
    sets = len(scenario.phones[mac(0)].sets)
    assert scenario.phones[mac(0)].range()[1] == LARGEST_SEGS
    for _ in range(4):
        scenario.advance(0.25)
        scenario.access_point(dict.fromkeys(map(mac, range(2)), 2.0), seconds=0.25)
    assert len(scenario.phones[mac(0)].sets) == sets


def test_each_cell_has_its_own_and_other_parameters_begin_anew() -> None:
    scenario = cell()
    scenario.access_point({mac(5): 2.0}, bssid=OTHER_BSSID)
    cells = scenario.engine.cells
    learned = cells[BSSID].policy.decide(OF)
    assert learned.max_segs > cells[OTHER_BSSID].policy.decide(OF).max_segs
    scenario.do(Reconfigured(Parameters(policy="bdp", capacity=CapacityParameters(default_bps=2e5))))
    assert cells[BSSID].policy.decide(OF).max_segs < learned.max_segs
