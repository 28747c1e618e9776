# SPDX-License-Identifier: Apache-2.0
"""Cells whose frames are aggregated, from the reports to the phones' bounds."""

from dataclasses import replace

import pytest

from airbound.core.addresses import Mac, address_from_text
from airbound.core.effects import SetBounds
from airbound.core.events import ModeSet, Reconfigured
from airbound.core.parameters import CapacityParameters, Parameters, SharesParameters
from airbound.core.policy.knee import STEP
from airbound.core.reasons import Code, Reason
from airbound_testing.scenario import BSSID, Scenario, mac, upload

FAST_KBPS, SLOW_KBPS = 866_700, 65_000
FIXED = Parameters(capacity=CapacityParameters(min_bps=400e6, max_bps=400e6))
NEAR, FAR = [mac(number) for number in range(4)], mac(4)


def run(
    scenario: Scenario, rates_kbps: dict[Mac, int], seconds: float = 4.0, mbps: float = 60.0, srtt_ms: float = 12.0
) -> None:
    for _ in range(round(seconds * 2)):
        scenario.advance(0.5)
        scenario.access_point(dict.fromkeys(rates_kbps, mbps), seconds=0.5, aggregating=rates_kbps)
        for address in rates_kbps:
            scenario.terminal(address, upload(srtt_ms=srtt_ms, min_rtt_ms=4.5))


def most(scenario: Scenario, address: Mac) -> int:
    found = scenario.phones[address].range()
    assert found is not None
    return found[1]


def test_a_window_holds_the_path_and_an_aggregate() -> None:
    scenario = Scenario(FIXED)
    run(scenario, dict.fromkeys([*NEAR, FAR], FAST_KBPS), seconds=2.0)  # before it searches
    path = 80e6 * 4.5e-3 / 12_000
    assert [most(scenario, address) for address in [*NEAR, FAR]] == [pytest.approx(path + 53, abs=4)] * 5
    plain = Scenario(FIXED)
    for _ in range(8):
        plain.advance(0.5)
        plain.access_point(dict.fromkeys([*NEAR, FAR], 75.0), seconds=0.5)
        plain.terminal(NEAR[0], upload(srtt_ms=12.0, min_rtt_ms=4.5))
    assert most(plain, NEAR[0]) == pytest.approx(path + 1, abs=2)  # as bdp


def test_a_far_phone_has_its_time_and_the_others_have_theirs() -> None:
    near, mixed = Scenario(FIXED), Scenario(FIXED)
    run(near, dict.fromkeys([*NEAR, FAR], FAST_KBPS))
    run(mixed, {**dict.fromkeys(NEAR, FAST_KBPS), FAR: SLOW_KBPS})
    assert most(mixed, FAR) < most(mixed, NEAR[0]) / 8
    equal = Scenario(Parameters(capacity=FIXED.capacity, shares=SharesParameters(by="throughput")))
    run(equal, {**dict.fromkeys(NEAR, FAST_KBPS), FAR: SLOW_KBPS})
    assert most(equal, FAR) > most(mixed, FAR)
    assert most(equal, NEAR[0]) < most(mixed, NEAR[0])


def test_another_rate_is_told_as_another_share() -> None:
    scenario = Scenario(FIXED)
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS))
    before = len(scenario.phones[NEAR[0]].sets)
    run(scenario, {**dict.fromkeys(NEAR[1:], FAST_KBPS), NEAR[0]: SLOW_KBPS}, seconds=6.0)
    codes = {reason.code for effect in scenario.phones[NEAR[0]].sets[before:] for reason in reasons(effect)}
    assert Code.SHARE in codes


def reasons(effect: object) -> tuple[Reason, ...]:
    assert isinstance(effect, SetBounds)
    return effect.reasons


def test_a_search_begins_in_a_full_cell_and_is_explained() -> None:
    scenario = Scenario(FIXED)
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), mbps=95.0)
    before = most(scenario, NEAR[0])
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=3.0, mbps=95.0)
    policy = scenario.engine.cells[BSSID].policy
    assert policy.trials_total >= 1
    tried = [reason for effect in scenario.phones[NEAR[0]].sets for reason in reasons(effect)]
    found = [reason for reason in tried if reason.code is Code.AGGREGATES]
    assert (found[0].before, found[0].after) == (1.0, STEP)
    assert most(scenario, NEAR[0]) != before


def send(scenario: Scenario, senders: list[Mac], seconds: float) -> None:
    """The others are there, and send nothing."""
    rates_kbps = dict.fromkeys(NEAR, FAST_KBPS)
    for _ in range(round(seconds * 2)):
        scenario.advance(0.5)
        scenario.access_point(
            {address: 190.0 * (address in senders) for address in NEAR}, seconds=0.5, aggregating=rates_kbps
        )
        for address in NEAR:
            scenario.terminal(address, *([upload(srtt_ms=12.0, min_rtt_ms=4.5)] if address in senders else []))


def test_where_phones_come_and_go_windows_allow_for_one_that_stops() -> None:
    scenario, stays = Scenario(FIXED), NEAR[0]
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=2.0)
    send(scenario, [stays, NEAR[1]], seconds=2.0)  # before it searches
    computed = most(scenario, stays)
    for turn in range(12):
        send(scenario, [stays, NEAR[1 + turn % 3]], seconds=2.0)
    assert scenario.engine.cells[BSSID].policy.stopping == 1
    assert most(scenario, stays) > 1.6 * computed
    told = [reason for effect in scenario.phones[stays].sets for reason in reasons(effect)]
    assert [(one.before, one.after) for one in told if one.code is Code.STOPPING_SENDERS] == [(0, 1)]
    send(scenario, [stays, NEAR[1]], seconds=30.0)
    assert scenario.engine.cells[BSSID].policy.stopping == 0
    assert most(scenario, stays) == computed


@pytest.mark.parametrize("destinations", [1, 50])
def test_a_liar_among_four_does_not_move_the_search(destinations: int) -> None:
    """Of the senders' RTTs the median counts, and each sender once, however many destinations it reports."""
    honest, lied_to = Scenario(FIXED), Scenario(FIXED)
    for scenario, falls in ((honest, 1.0), (lied_to, 0.9)):
        for half_second in range(40):
            scenario.advance(0.5)
            scenario.access_point(dict.fromkeys(NEAR, 95.0), seconds=0.5, aggregating=dict.fromkeys(NEAR, FAST_KBPS))
            srtt_ms = 12.0 if scenario is honest else 900.0 * falls**half_second
            servers = [address_from_text(f"10.0.5.{number}") for number in range(1, destinations + 1)]
            scenario.terminal(NEAR[0], *(upload(address=to, srtt_ms=srtt_ms, min_rtt_ms=4.5) for to in servers))
            for address in NEAR[1:]:
                scenario.terminal(address, upload(srtt_ms=12.0, min_rtt_ms=4.5))
    one, other = (scenario.engine.cells[BSSID].policy for scenario in (honest, lied_to))
    assert one.trials_total > 0
    assert (one.found, one.trials_total) == (other.found, other.trials_total)


def test_what_was_found_stays_when_an_operator_sets_the_mode() -> None:
    scenario = Scenario(FIXED)
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=6.0, mbps=95.0)
    policy = scenario.engine.cells[BSSID].policy
    scenario.do(ModeSet("observe", BSSID))
    scenario.do(ModeSet("control", BSSID))
    assert scenario.engine.cells[BSSID].policy is policy
    scenario.do(Reconfigured(replace(FIXED, shares=SharesParameters(by="throughput"))))
    assert scenario.engine.cells[BSSID].policy is not policy


def test_a_search_learns_nothing_while_bounds_are_not_in_force() -> None:
    """Round trips are those of windows that nothing bounds then, and the search would go wherever they lead it."""
    scenario = Scenario(FIXED)
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=2.0, mbps=95.0)
    scenario.do(ModeSet("observe", BSSID))
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=2.0, mbps=95.0, srtt_ms=60.0)
    policy = scenario.engine.cells[BSSID].policy
    trials = policy.trials_total
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=20.0, mbps=95.0, srtt_ms=60.0)
    assert (policy.found, policy.trials_total) == (1.0, trials)
    scenario.do(ModeSet("control", BSSID))
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=20.0, mbps=95.0)  # the first ten of them do not count
    assert policy.trials_total > trials


def test_another_rate_of_the_fastest_is_told_from_a_change_of_the_policy() -> None:
    equal = replace(FIXED, shares=SharesParameters(by="throughput"))
    scenario = Scenario(equal)
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS), seconds=2.0)
    before = len(scenario.phones[NEAR[0]].sets)
    run(scenario, dict.fromkeys(NEAR, FAST_KBPS // 8), seconds=8.0)
    codes = {reason.code for effect in scenario.phones[NEAR[0]].sets[before:] for reason in reasons(effect)}
    assert Code.POLICY not in codes
    assert Code.PHY_RATE in codes
