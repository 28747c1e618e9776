# SPDX-License-Identifier: Apache-2.0
"""UDP of phones with an agent has their share of the cell as a rate."""

from dataclasses import replace

import pytest

from airbound.core.addresses import mac_text
from airbound.core.cell.delivered import PER_PAYLOAD
from airbound.core.cell.pacing import BEGINS_US, HEADROOM, LEAST_BPS, LINGERS_US, STEP, Pacing, Use
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


def test_a_phone_that_does_not_apply_its_rate_counts_as_one_that_nothing_limits() -> None:
    scenario = Scenario(PACED)
    run(scenario, 0.5)
    scenario.phones[UDP].unresponsive = True
    run(scenario, 5)
    assert UDP in scenario.engine.cells[BSSID].pacing.paces
    run(scenario, 20)
    assert UDP not in scenario.engine.cells[BSSID].pacing.paces
    assert scenario.engine.cells[BSSID].unlimited.mac == UDP


def run_both(
    scenario: Scenario, seconds: float, udp_mbps: float, tcp_mbps: float, *, fills_window: bool = True
) -> None:
    """Phone UDP sends so much by UDP and by TCP; what it sends by both is what its access point counts."""
    for _ in range(round(2 * seconds)):
        scenario.advance(0.5)
        sent = {UDP: udp_mbps + tcp_mbps} | dict.fromkeys(TCP, 4.0)
        scenario.access_point(sent, seconds=0.5)
        tcp = upload(30, 20)._replace(fills_window=fills_window)
        known = UDP in scenario.phones
        delivered = round((scenario.now_us - 1_000 * SECOND_US) * tcp_mbps / PER_PAYLOAD / 8)
        scenario.terminal(UDP, tcp, abilities=None if known else ABLE, delivered_bytes=delivered)
        for phone in TCP:
            scenario.terminal(phone, upload(30, 20))


def test_udp_and_tcp_of_one_phone_have_one_share_between_them() -> None:
    scenario = Scenario(PACED)
    run_both(scenario, 10, 6.0, 5.0)
    whole = scenario.phones[TCP[0]].range()
    half = scenario.phones[UDP].range()
    assert rate_bps(scenario) == pytest.approx(HEADROOM * SHARE_BPS / 2, rel=0.03)
    assert whole is not None
    assert half is not None
    assert half[1] == (whole[1] + 1) // 2
    assert scenario.engine.cells[BSSID].unlimited.mac == b""


def test_udp_has_what_tcp_leaves_of_the_share() -> None:
    scenario = Scenario(PACED)
    run_both(scenario, 10, 6.0, 1.2, fills_window=False)
    assert rate_bps(scenario) == pytest.approx(HEADROOM * (SHARE_BPS - 1.2e6), rel=0.03)


def test_tcp_of_a_phone_with_little_udp_keeps_its_windows() -> None:
    """Such as ACKs of downloads, or names that are looked up."""
    scenario = Scenario(PACED)
    run_both(scenario, 10, 0.5, 4.0)
    assert rate_bps(scenario) is None
    assert scenario.phones[UDP].range() == scenario.phones[TCP[0]].range()


def test_tcp_that_begins_is_not_taken_for_udp() -> None:
    """For some round trips more is counted than was delivered."""
    pacing = Pacing()
    for after_us in range(0, BEGINS_US, SECOND_US // 2):
        assert not pacing.observe({UDP: Use(10e6, 8e6, 1e6, tcp_wants_more=True)}, after_us)
    pacing.observe({UDP: Use(10e6, 8e6, 7.9e6, tcp_wants_more=True)}, BEGINS_US)
    assert not pacing.paces
    assert pacing.tcp_part(UDP) == 1.0


def test_windows_return_some_time_after_udp_has_ended() -> None:
    pacing, both = Pacing(), Use(10e6, 9e6, 4e6, tcp_wants_more=True)
    pacing.observe({UDP: both}, 0)
    assert pacing.observe({UDP: both}, BEGINS_US)
    assert pacing.tcp_part(UDP) == 0.5
    alone = both._replace(sent_bps=4e6)
    assert not pacing.observe({UDP: alone}, BEGINS_US + LINGERS_US - 1)
    assert pacing.observe({UDP: alone}, BEGINS_US + LINGERS_US)
    assert pacing.tcp_part(UDP) == 1.0
    assert not pacing.paces


def test_windows_follow_in_steps() -> None:
    pacing, both = Pacing(), Use(10e6, 8e6, 6e6, tcp_wants_more=True)
    for at_us in (0, BEGINS_US):
        pacing.observe({UDP: both}, at_us)
    assert pacing.tcp_part(UDP) == pytest.approx(0.8)
    assert not pacing.observe({UDP: both._replace(sent_bps=8.9e6)}, BEGINS_US + SECOND_US)
    assert pacing.observe({UDP: both._replace(sent_bps=9.1e6)}, BEGINS_US + 2 * SECOND_US)
    assert pacing.tcp_part(UDP) == pytest.approx(0.69)


def test_a_rate_stays_when_tcp_begins_beside_it() -> None:
    pacing = Pacing()
    pacing.observe({UDP: Use(10e6, 10e6)}, 0)
    pacing.observe({UDP: Use(10e6, 10e6, 1e6, tcp_wants_more=True)}, SECOND_US)
    assert pacing.paces[UDP].bps == HEADROOM * 5e6


def background(*, udp: bool) -> tuple[AppPart, ...]:
    return (AppPart(SERVER, 4 if udp else 3, 1, 0, 0, (10073,)),)


def test_udp_of_a_background_application_has_what_is_left() -> None:
    scenario = Scenario(PACED)
    run(scenario, 5, 1.0, apps=background(udp=True))
    assert scenario.phones[UDP].flows == (Flow(10073, b"", udp_bps=round(LEAST_BPS)),)
    run(scenario, 1, 1.0, apps=background(udp=False))
    assert scenario.phones[UDP].flows == ()


def test_of_a_background_application_alone_in_its_cell_nothing_is_held_back() -> None:
    scenario = Scenario(PACED)
    scenario.advance(1)
    for _ in range(5):
        scenario.advance(1)
        scenario.access_point({UDP: 5.0})
        scenario.terminal(UDP, apps=background(udp=True), abilities=ABLE)
    assert scenario.phones[UDP].flows == ()


def test_an_exempt_phone_or_one_that_cannot_has_no_rate_for_a_background_application() -> None:
    scenario = Scenario(PACED, exempt=(mac_text(UDP),))
    run(scenario, 5, 1.0, apps=background(udp=True))
    assert scenario.phones[UDP].flows == ()
    scenario = Scenario(PACED)
    run(scenario, 5, 1.0, apps=background(udp=True), abilities=replace(ABLE, can_pace=False))
    assert scenario.phones[UDP].flows == ()


def test_a_rate_follows_the_share_in_steps() -> None:
    pacing = Pacing()
    for after_s, share_bps, wanted_bps in ((0, 10e6, 10e6), (1, 10e6 * STEP * 0.99, 10e6), (2, 11.1e6, 11.1e6)):
        pacing.observe({UDP: Use(share_bps, share_bps)}, after_s * SECOND_US)
        assert pacing.paces[UDP].bps == pytest.approx(HEADROOM * wanted_bps)
    pacing.observe({}, 3 * SECOND_US)
    assert not pacing.paces


def test_a_pause_does_not_end_it() -> None:
    pacing = Pacing()
    pacing.observe({UDP: Use(10e6, 10e6)}, 0)
    pacing.observe({UDP: Use(10e6, 1e6)}, LINGERS_US - 1)
    assert pacing.paces
    pacing.observe({UDP: Use(10e6, 0.0)}, LINGERS_US)
    assert not pacing.paces
