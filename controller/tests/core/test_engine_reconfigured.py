# SPDX-License-Identifier: Apache-2.0
"""Other parameters while phones hold bounds."""

from dataclasses import replace

import pytest

from airbound.core.events import ModeSet, Reconfigured
from airbound.core.parameters import (
    BdpParameters,
    CapacityParameters,
    MinRttParameters,
    Parameters,
    SafetyParameters,
    SenderParameters,
)
from airbound.testing.scenario import BSSID, PAPER, mac, upload, uploading


def test_another_policy_reaches_every_phone_at_once() -> None:
    scenario = uploading(10)
    scenario.do(Reconfigured(Parameters(policy="bdp")))
    ranges = {phone.range() for phone in scenario.phones.values()}
    assert len(ranges) == 1
    assert ranges != {(20, 35)}
    assert scenario.phones[mac(0)].sets[-1].reason.startswith("10.0.4.1: policy paper -> bdp; 10.0.4.1: ")


def test_the_same_parameters_change_nothing() -> None:
    scenario = uploading(3)
    assert scenario.do(Reconfigured(PAPER)) == []


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
    busier = SenderParameters(start_bytes_per_s=1e6, stop_bytes_per_s=1e6)
    capacity = CapacityParameters(max_bps=1e6)
    parameters = replace(PAPER, senders=busier, capacity=capacity, min_rtt=MinRttParameters(max_age_s=1))
    scenario.do(Reconfigured(parameters))
    scenario.advance(2)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    cell = scenario.engine.cell(BSSID, scenario.now_us)
    assert cell is not None
    assert (cell.active_senders, cell.capacity_bps) == (0, 1e6)
    scenario.terminal(mac(0), upload(min_rtt_ms=290))
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.decisions[0].min_rtt_us == 290_000  # the 256.5 ms of before are forgotten


def test_the_mode_is_the_operators() -> None:
    scenario = uploading(1)
    scenario.do(ModeSet("observe"))
    scenario.do(Reconfigured(PAPER))
    assert scenario.engine.mode == "observe"
    assert scenario.phones[mac(0)].range() is None


@pytest.mark.parametrize("change", [{"min_fraction": 0.0}, {"gain": 1.35, "queue_segs": 2}, {"floor_segs": 30}])
def test_another_formula_holds_at_once_however_little_it_changes(change: dict[str, float]) -> None:
    scenario = uploading(10, Parameters())
    before = scenario.phones[mac(0)].range()
    parameters = Parameters(bdp=replace(BdpParameters(), **change))
    scenario.do(Reconfigured(parameters))
    after = scenario.phones[mac(0)].range()
    assert after != before
    assert after == uploading(10, parameters).phones[mac(0)].range()
