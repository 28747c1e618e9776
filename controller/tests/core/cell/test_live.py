# SPDX-License-Identifier: Apache-2.0
"""Which live flows are granted, by what they need of the air, and what becomes of false claims."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.addresses import Address, Mac, address_from_text
from airbound.core.cell.live import (
    FORGOTTEN_US,
    KEPT_AIR,
    LIVE,
    TAKES_ALL_US,
    WITHOUT_GRANT_MOST_US,
    WITHOUT_GRANT_US,
    FlowKey,
    LiveFlow,
    LiveFlows,
    admitted_us_per_s,
    carried_bps,
)
from airbound.core.parameters import LiveParameters
from airbound.core.reasons import Code, Reason
from airbound.core.reports import AppPart
from airbound_testing.scenario import mac

SERVER, OTHER = address_from_text("10.0.4.1"), address_from_text("10.0.4.2")
PARAMETERS = LiveParameters()
SECOND_US = 1_000_000
RATE_BPS = 10e6  # what a station carries


def part(delivered: int, *, queued: int = 0, address: Address = SERVER, uids: Sequence[int] = (10073,)) -> AppPart:
    return AppPart(address, LIVE, 1, delivered, queued, tuple(uids))


def choose(live: LiveFlows, now_us: int, *, carries_bps: float = RATE_BPS, claimants: int = 8) -> None:
    live.choose(PARAMETERS, lambda _: None, lambda _: carries_bps, claimants, now_us)


def observe(live: LiveFlows, address: Mac, app: AppPart, now_us: int, *, path_us: int = 20_000) -> bool:
    return live.observe(address, (app,), lambda _: path_us, now_us)


def run(live: LiveFlows, address: Mac, bps: float, seconds: int, *, queued: int = 0, start_s: int = 0) -> int:
    """A flow that sends at a rate, seen and decided once a second; when that ended."""
    for second in range(start_s, start_s + seconds):
        observe(live, address, part(round(bps / 8) * second, queued=queued), second * SECOND_US)
        choose(live, second * SECOND_US)
    return start_s + seconds


def the_flow(live: LiveFlows) -> LiveFlow:
    return live.flows[FlowKey(mac(1), SERVER)]


def test_a_flow_needs_the_configured_rate_until_it_sends_more() -> None:
    live = LiveFlows()
    at_s = run(live, mac(1), 300e3, 20)
    flow = the_flow(live)
    assert flow.granted
    assert flow.need_bps == PARAMETERS.rate_bps
    assert flow.part == pytest.approx(PARAMETERS.rate_bps / RATE_BPS)
    run(live, mac(1), 800e3, 20, start_s=at_s)
    assert flow.need_bps == pytest.approx(1.25 * 800e3, rel=0.02)
    assert admitted_us_per_s(flow.part) == pytest.approx(2 * flow.part * 1e6 + 20_000, abs=1)


def test_a_flow_gets_no_more_than_an_equal_part_beyond_the_configured_rate() -> None:
    live = LiveFlows()
    run(live, mac(1), 9e6, 30)
    assert the_flow(live).need_bps == RATE_BPS / 8


def test_flows_are_granted_in_their_order_while_there_is_air() -> None:
    live = LiveFlows()
    for number in range(8):
        assert observe(live, mac(number), part(0), number)
        choose(live, number, carries_bps=5e6)
    # Each needs 0.7 of 5 Mb/s, 14 %: two fit into 40 %, and more do not.
    granted = [key.mac for key, flow in live.flows.items() if flow.granted]
    assert granted == [mac(0), mac(1)]
    refused = live.flows[FlowKey(mac(2), SERVER)].refused
    assert refused == Reason(Code.LIVE_AIR, "", pytest.approx(0.28), pytest.approx(0.42), PARAMETERS.air_most)
    assert live.granted_part == pytest.approx(0.28)
    live.forget({mac(1), mac(2)}, SECOND_US, 10)  # the first one left
    choose(live, 10, carries_bps=5e6)
    assert [key.mac for key, flow in live.flows.items() if flow.granted] == [mac(1), mac(2)]


def test_a_flow_that_sends_no_more_is_forgotten_after_a_while() -> None:
    live = LiveFlows()
    run(live, mac(1), 700e3, 10)
    live.forget({mac(1)}, 3 * SECOND_US, 12 * SECOND_US)  # it sent at 9 s
    assert the_flow(live).granted
    live.forget({mac(1)}, 3 * SECOND_US, 12 * SECOND_US + 1)
    assert not live.flows


def test_stations_whose_sets_or_windows_follow_from_a_change_are_known_and_no_others() -> None:
    live = LiveFlows()

    def changed() -> tuple[set[Mac], set[Mac]]:
        found = set(live.outdated), set(live.rewindowed)
        live.outdated.clear()
        live.rewindowed.clear()
        return found

    observe(live, mac(1), part(0), 0)
    assert changed() == (set(), set())  # as long as it has no grant
    choose(live, 0)
    assert changed() == ({mac(1)}, {mac(1)})
    run(live, mac(1), 600e3, 10, start_s=1)
    assert changed() == (set(), set())
    observe(live, mac(1), part(0, uids=(10073, 10074)), 11 * SECOND_US)
    assert changed() == ({mac(1)}, set())
    run(live, mac(1), 1.2e6, 20, start_s=12)  # needs twice as much
    assert changed() == ({mac(1)}, {mac(1)})
    live.forget((), SECOND_US, 32 * SECOND_US)
    assert changed() == ({mac(1)}, {mac(1)})
    observe(live, mac(1), part(0), 33 * SECOND_US)
    choose(live, 33 * SECOND_US)
    changed()
    live.clear()
    assert not live.flows
    assert changed() == ({mac(1)}, {mac(1)})


def test_a_granted_flow_keeps_its_grant_while_what_it_needs_varies() -> None:
    live = LiveFlows()
    observe(live, mac(1), part(0), 0)
    least_bps = PARAMETERS.rate_bps / PARAMETERS.air_most
    choose(live, 0, carries_bps=least_bps)
    assert the_flow(live).granted
    late_us = 1000 * SECOND_US  # the highest rate of then counts no more
    choose(live, late_us, carries_bps=least_bps / KEPT_AIR * 1.001)
    assert the_flow(live).granted
    choose(live, 2 * late_us, carries_bps=least_bps / KEPT_AIR * 0.999)
    assert not the_flow(live).granted


def test_the_highest_rate_of_late_counts() -> None:
    live = LiveFlows()
    observe(live, mac(1), part(0), 0)
    choose(live, 0)
    choose(live, 10 * SECOND_US, carries_bps=1e6)
    assert the_flow(live).carries_bps == pytest.approx(RATE_BPS / 2)
    choose(live, 100 * SECOND_US, carries_bps=1e6)
    assert the_flow(live).carries_bps == 1e6


def test_a_station_without_a_known_rate_has_no_grant() -> None:
    live = LiveFlows()
    observe(live, mac(1), part(0), 0)
    choose(live, 0, carries_bps=0)
    refused = the_flow(live).refused
    assert refused is not None
    assert refused.code is Code.LIVE_AIR


def test_a_flow_that_takes_all_that_it_gets_loses_its_grant_for_longer_each_time() -> None:
    live = LiveFlows()
    at_s = run(live, mac(1), 1e6, 15)
    assert the_flow(live).granted
    at_s = run(live, mac(1), 1e6, TAKES_ALL_US // SECOND_US + 1, queued=400_000, start_s=at_s)
    flow = the_flow(live)
    assert flow.refused == Reason(Code.TAKES_ALL, limit=60)
    ended_us = live.false_claims[mac(1)].until_us
    assert ended_us - at_s * SECOND_US <= WITHOUT_GRANT_US
    observe(live, mac(1), part(10**8, queued=400_000), ended_us)
    choose(live, ended_us)
    assert flow.granted
    for second in range(TAKES_ALL_US // SECOND_US + 15):
        now_us = ended_us + second * SECOND_US
        observe(live, mac(1), part(10**8 + 125_000 * second, queued=400_000), now_us)
        choose(live, now_us)
    assert flow.refused == Reason(Code.TAKES_ALL, limit=120)
    assert WITHOUT_GRANT_MOST_US >= 2 * WITHOUT_GRANT_US


def test_a_false_claim_is_of_the_station_and_not_over_with_its_connection() -> None:
    live = LiveFlows()
    at_s = run(live, mac(1), 1e6, 15)
    at_s = run(live, mac(1), 1e6, TAKES_ALL_US // SECOND_US + 1, queued=400_000, start_s=at_s)
    live.forget((), SECOND_US, at_s * SECOND_US)
    until_us = live.false_claims[mac(1)].until_us
    for address, granted in ((mac(1), False), (mac(2), True)):
        live.observe(address, (part(0, address=OTHER),), lambda _: 20_000, at_s * SECOND_US)
        choose(live, at_s * SECOND_US)
        assert live.flows[FlowKey(address, OTHER)].granted is granted
    choose(live, until_us)
    assert live.flows[FlowKey(mac(1), OTHER)].granted
    live.forget({mac(1), mac(2)}, until_us + FORGOTTEN_US, until_us + FORGOTTEN_US - 1)
    assert live.false_claims
    live.forget({mac(1), mac(2)}, until_us + FORGOTTEN_US, until_us + FORGOTTEN_US)
    assert not live.false_claims


def test_a_live_flow_that_catches_up_after_an_outage_keeps_its_grant() -> None:
    live = LiveFlows()
    at_s = run(live, mac(1), 700e3, 15)
    queued = 1_300_000  # 15 s
    for second in range(at_s, at_s + 100):
        observe(live, mac(1), part(110_000 * second, queued=queued), second * SECOND_US)
        choose(live, second * SECOND_US)
        queued = max(0, queued - 35_000)
        assert the_flow(live).granted, (second, queued)


def test_what_it_needs_does_not_grow_by_a_queue() -> None:
    live = LiveFlows()
    run(live, mac(1), 5e6, 4, queued=10_000_000)
    assert the_flow(live).need_bps == PARAMETERS.rate_bps


@pytest.mark.parametrize(
    ("bps", "queued"),
    [
        (1e6, 20_000),  # a sixth of a second
        (0.1e6, 400_000),  # does not get what it needs
    ],
)
def test_a_live_flow_keeps_its_grant(bps: float, queued: int) -> None:
    live = LiveFlows()
    run(live, mac(1), bps, 200, queued=queued)
    assert the_flow(live).granted


def test_what_is_on_its_way_over_a_long_path_is_no_queue() -> None:
    live = LiveFlows()
    for second in range(100):
        app = part(125_000 * second, queued=140_000)  # 1.12 s of 1 Mb/s
        observe(live, mac(1), app, second * SECOND_US, path_us=700_000)
        choose(live, second * SECOND_US)
    assert the_flow(live).granted


def test_only_live_flows_of_known_applications_count_and_only_once_they_send() -> None:
    live = LiveFlows()
    bulk = AppPart(SERVER, 3, 1, 0, 0, (1,))
    unknown = AppPart(SERVER, LIVE, 1, 0, 0, ())
    idle = AppPart(SERVER, LIVE, 0, 0, 0, (1,))
    assert not live.observe(mac(1), (bulk, unknown, idle), lambda _: 0, 0)
    assert not live.flows
    assert observe(live, mac(1), part(0), 0)
    assert not observe(live, mac(1), part(10), 1)
    assert observe(live, mac(1), part(20, uids=(10073, 10074)), 2)  # another application of it


def test_an_agent_that_starts_again_counts_from_nothing() -> None:
    live = LiveFlows()
    run(live, mac(1), 1e6, 10)
    used_bps = the_flow(live).used_bps
    observe(live, mac(1), part(0), 10 * SECOND_US)
    assert the_flow(live).used_bps == used_bps


def test_a_flow_that_moves_bytes_is_seen_even_if_nothing_is_queued_when_it_is_looked_at() -> None:
    live = LiveFlows()
    observe(live, mac(1), part(0), 0)
    live.observe(mac(1), (AppPart(SERVER, LIVE, 0, 1000, 0, (1,)),), lambda _: 0, SECOND_US)
    assert the_flow(live).seen_at_us == SECOND_US
    live.observe(mac(1), (AppPart(SERVER, LIVE, 0, 1000, 0, (1,)),), lambda _: 0, 2 * SECOND_US)
    assert the_flow(live).seen_at_us == SECOND_US


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 10**8), st.integers(0, 10**7), st.integers(0, 3 * SECOND_US)),
        max_size=60,
    ),
    st.floats(0, 1e9),
    st.integers(0, 100),
)
def test_grants_never_need_more_than_the_air_that_they_may_have(
    reports: list[tuple[int, int, int, int]], carries_bps: float, claimants: int
) -> None:
    live, now_us = LiveFlows(), 0
    for number, delivered, queued, elapsed_us in reports:
        now_us += elapsed_us
        observe(live, mac(number), part(delivered, queued=queued), now_us)
        choose(live, now_us, carries_bps=carries_bps, claimants=claimants)
        assert live.granted_part <= PARAMETERS.air_most * KEPT_AIR + 1e-9
        for flow in live.flows.values():
            assert flow.granted == (flow.refused is None)
            assert 0 <= flow.admitted_us_per_s <= 1_000_000
            assert (flow.admitted_us_per_s > 0) == flow.granted


def test_a_rate_of_54_mbps_carries_24() -> None:
    assert carried_bps(54_000) == pytest.approx(24e6, rel=0.02)
