# SPDX-License-Identifier: Apache-2.0
"""Other parameters while phones are bounded."""

from dataclasses import replace

import pytest

from airbound.core.decisions import decide
from airbound.core.effects import SetReporting
from airbound.core.events import ModeSet, Reconfigured
from airbound.core.parameters import (
    BdpParameters,
    CapacityParameters,
    MinRttParameters,
    Parameters,
    ReportingParameters,
    SafetyParameters,
)
from airbound.core.reasons import Code, Reason
from airbound_testing.scenario import BSSID, PAPER, SERVER, mac, upload, uploading


def test_another_policy_reaches_every_phone_at_once() -> None:
    scenario = uploading(10)
    scenario.do(Reconfigured(Parameters(policy="bdp")))
    ranges = {phone.range() for phone in scenario.phones.values()}
    assert len(ranges) == 1
    assert ranges != {(20, 35)}
    assert scenario.phones[mac(0)].sets[-1].reasons == (Reason(Code.POLICY, "bdp"),)


def test_the_same_parameters_change_nothing() -> None:
    scenario = uploading(3)
    assert scenario.do(Reconfigured(PAPER)) == []


def test_agents_are_sent_other_times_of_reports() -> None:
    scenario = uploading(2)
    slower = replace(PAPER, reporting=ReportingParameters(interval_ms=2_000, heartbeat_ms=30_000))
    effects = scenario.do(Reconfigured(slower))
    assert effects == [SetReporting(phone.stream, 2_000, 30_000, 200) for phone in scenario.phones.values()]
    effects = scenario.do(Reconfigured(replace(slower, policy="bdp")))
    assert [effect for effect in effects if isinstance(effect, SetReporting)] == [
        SetReporting(phone.stream, 2_000, 30_000, 0) for phone in scenario.phones.values()
    ]


@pytest.mark.parametrize("lease_ms", [60_000, 1_000])
def test_another_lease_leaves_no_gap(lease_ms: int) -> None:
    scenario = uploading(1)
    scenario.do(Reconfigured(replace(PAPER, safety=SafetyParameters(lease_ms=lease_ms))))
    phone = scenario.phones[mac(0)]
    for _ in range(20):
        for _ in range(2):
            scenario.advance(0.5)
            assert phone.range() == (250, 555)
        scenario.access_point({mac(0): 2.0})
        scenario.terminal(mac(0), upload())


def test_cells_and_minimum_rtts_go_by_the_new_parameters() -> None:
    scenario = uploading(2)
    capacity = CapacityParameters(max_bps=1e6)
    parameters = replace(PAPER, capacity=capacity, min_rtt=MinRttParameters(max_age_s=1))
    scenario.do(Reconfigured(parameters))
    cell = scenario.engine.cells[BSSID]
    assert cell.decided_capacity_bps == 1e6
    scenario.advance(2)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    assert cell.capacity.bps == 1e6
    scenario.terminal(mac(0), upload(min_rtt_ms=290))
    [decision] = decide(cell.terminals[mac(0)], cell)
    assert decision.policy_input.min_rtt_us == 290_000  # the 256.5 ms of before are forgotten


def test_a_minimum_rtt_that_is_shared_no_longer_counts_no_longer() -> None:
    scenario = uploading(2)
    scenario.terminal(mac(0), upload(min_rtt_ms=90))
    assert scenario.engine.cells[BSSID].min_rtt.shared_us(SERVER) == 90_000
    shared = scenario.phones[mac(1)].range()
    scenario.do(Reconfigured(replace(PAPER, min_rtt=MinRttParameters(share=False))))
    assert scenario.phones[mac(1)].range() == (300, 300) != shared


def test_shorter_times_apply_to_what_is_known() -> None:
    scenario = uploading(1)
    safety = SafetyParameters(cell_stale_ms=1_000, forget_ms=10_000)
    scenario.do(Reconfigured(replace(PAPER, safety=safety)))
    scenario.advance(0.9)
    assert scenario.phones[mac(0)].range() is not None
    scenario.advance(0.2)
    assert scenario.phones[mac(0)].range() is None
    scenario.advance(9)
    assert list(scenario.engine.cells) == []


def test_the_mode_is_the_operators() -> None:
    scenario = uploading(1)
    scenario.do(ModeSet("observe"))
    scenario.do(Reconfigured(PAPER))
    assert scenario.engine.settings.mode == "observe"
    assert scenario.phones[mac(0)].range() is None


@pytest.mark.parametrize("change", [{"min_fraction": 0.0}, {"gain": 1.05, "queue_segs": 2}, {"floor_segs": 90}])
def test_another_formula_applies_at_once_however_little_it_changes(change: dict[str, float]) -> None:
    scenario = uploading(10, Parameters())
    before = scenario.phones[mac(0)].range()
    parameters = Parameters(bdp=replace(BdpParameters(), **change))
    scenario.do(Reconfigured(parameters))
    after = scenario.phones[mac(0)].range()
    assert after != before
    assert after == uploading(10, parameters).phones[mac(0)].range()
