# SPDX-License-Identifier: Apache-2.0
"""UDP of phones with an agent has their share of the cell as a rate."""

from dataclasses import replace

import pytest

from airbound.core.cell.pacing import HEADROOM, LINGERS_US, STEP, Pacing
from airbound.core.effects import Effect, Flow, Note
from airbound.core.events import Reconfigured
from airbound.core.parameters import CapacityParameters, PacingParameters, Parameters
from airbound.core.reasons import Code
from airbound.core.reports import AppPart, FlowAbilities
from airbound_testing.scenario import BSSID, SERVER, Scenario, mac, upload

CAPACITY_MBPS = 24.0
PACED = Parameters(
    capacity=CapacityParameters(min_bps=CAPACITY_MBPS * 1e6, max_bps=CAPACITY_MBPS * 1e6),
)
ABLE = FlowAbilities(can_mark=True, can_pace=True, flows_max=64)
UDP, *TCP = (mac(number) for number in range(4))
SHARE_BPS = CAPACITY_MBPS * 1e6 / 4
SECOND_US = 1_000_000


def run(
    scenario: Scenario,
    seconds: float,
    udp_mbps: float = 12.0,
    *,
    abilities: FlowAbilities = ABLE,
    tcp_mbps: float = 4.0,
    apps: tuple[AppPart, ...] = (),
) -> list[Effect]:
    effects = list[Effect]()
    for _ in range(round(2 * seconds)):
        scenario.advance(0.5)
        effects += scenario.access_point({UDP: udp_mbps} | dict.fromkeys(TCP, tcp_mbps), seconds=0.5)
        known = UDP in scenario.phones
        effects += scenario.terminal(UDP, apps=apps, abilities=None if known else abilities)
        for phone in TCP:
            effects += scenario.terminal(phone, upload(30, 20))
    return effects


def rate_bps(scenario: Scenario) -> int | None:
    """The rate of the phone that sends UDP; none if it has none."""
    flows = scenario.phones[UDP].flows
    if not flows:
        return None
    [flow] = flows
    assert flow == Flow(None, b"", udp_bps=flow.udp_bps)
    return flow.udp_bps


def test_it_has_its_share_and_the_others_keep_their_bounds() -> None:
    scenario = Scenario(PACED)
    effects = run(scenario, 10)
    assert rate_bps(scenario) == pytest.approx(HEADROOM * SHARE_BPS, rel=0.02)
    assert all(scenario.phones[phone].range() is not None for phone in TCP)
    assert scenario.engine.cells[BSSID].unlimited.mac == b""
    [note] = [effect for effect in effects if isinstance(effect, Note) and effect.kind == "flows"]
    assert note.reasons[0].code is Code.PACED
    assert scenario.phones[UDP].flow_renewals >= 3


def test_without_it_nothing_is_paced() -> None:
    scenario = Scenario(replace(PACED, pacing=PacingParameters(enabled=False)))
    run(scenario, 10)
    assert rate_bps(scenario) is None
    assert scenario.engine.cells[BSSID].unlimited.mac == UDP


def test_an_agent_that_cannot_is_sent_none() -> None:
    scenario = Scenario(PACED)
    run(scenario, 10, abilities=replace(ABLE, can_pace=False))
    assert rate_bps(scenario) is None
    assert scenario.engine.cells[BSSID].unlimited.mac == UDP


def test_who_takes_little_is_left_alone() -> None:
    scenario = Scenario(PACED)
    run(scenario, 10, 2.0)
    assert rate_bps(scenario) is None


def test_it_ends_some_time_after_it_took_little() -> None:
    scenario = Scenario(PACED)
    run(scenario, 5)
    assert rate_bps(scenario) is not None
    run(scenario, 2, 1.0)
    assert rate_bps(scenario) is not None
    run(scenario, 3, 1.0)
    assert rate_bps(scenario) is None
    assert not scenario.engine.cells[BSSID].pacing.paces


def test_it_ends_when_it_is_no_longer_configured() -> None:
    scenario = Scenario(PACED)
    run(scenario, 5)
    scenario.do(Reconfigured(replace(PACED, pacing=PacingParameters(enabled=False))))
    run(scenario, 1)
    assert rate_bps(scenario) is None


def test_a_live_flow_of_the_same_phone_has_no_rate() -> None:
    scenario = Scenario(PACED)
    run(scenario, 5)
    parts = (AppPart(SERVER, 1, 1, 0, 0, (10073,)),)
    run(scenario, 1, apps=parts)
    flows = scenario.phones[UDP].flows
    assert [(flow.uid, flow.udp_bps > 0) for flow in flows] == [(10073, False), (None, True)]


def test_a_rate_follows_the_share_in_steps() -> None:
    pacing, used = Pacing(), {UDP: 1.0}
    pacing.observe({UDP: 10e6}, used, 0)
    assert pacing.paces[UDP].bps == HEADROOM * 10e6
    pacing.observe({UDP: 10e6 * STEP * 0.99}, used, SECOND_US)
    assert pacing.paces[UDP].bps == HEADROOM * 10e6
    pacing.observe({UDP: 10e6 * STEP * 1.01}, used, 2 * SECOND_US)
    assert pacing.paces[UDP].bps == pytest.approx(HEADROOM * 10e6 * STEP * 1.01)
    pacing.observe({}, {}, 3 * SECOND_US)
    assert not pacing.paces


def test_a_pause_does_not_end_it() -> None:
    pacing = Pacing()
    pacing.observe({UDP: 10e6}, {UDP: 1.0}, 0)
    pacing.observe({UDP: 10e6}, {UDP: 0.1}, LINGERS_US - 1)
    assert pacing.paces
    pacing.observe({UDP: 10e6}, {}, LINGERS_US)
    assert not pacing.paces


def test_a_phone_that_does_not_apply_its_rate_counts_as_one_that_nothing_limits() -> None:
    scenario = Scenario(PACED)
    run(scenario, 0.5)
    scenario.phones[UDP].unresponsive = True
    run(scenario, 5)
    assert UDP in scenario.engine.cells[BSSID].pacing.paces
    run(scenario, 20)
    assert UDP not in scenario.engine.cells[BSSID].pacing.paces
    assert scenario.engine.cells[BSSID].unlimited.mac == UDP
