# SPDX-License-Identifier: Apache-2.0

import math
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.addresses import Mac
from airbound.core.cell.aggregation import bulk_bps
from airbound.core.cell.air import AirShares, Claim, parts
from airbound.core.cell.full_rates import FullRate
from airbound.core.cell.stations import Stations, StationState
from airbound.core.parameters import CapacityParameters, Parameters, SharesParameters
from airbound.core.reports import Station
from airbound_testing.scenario import mac

FAST, SLOW = FullRate(866.7e6, 866.7e6), FullRate(32.5e6, 32.5e6)
CAPACITY_BPS = 400e6


def station(
    number: int,
    rate: FullRate,
    mbps: float = 0.0,
    *,
    aggregates: bool = True,
    down_mbps: float = 0.0,
) -> StationState:
    latest = Station(mac(number), aggregates=aggregates, rx_rate_format=3)
    return StationState(
        latest,
        latest,
        0,
        0,
        sending=True,
        payload_bytes_per_s=mbps * 1e6 / 8,
        receiving=down_mbps > 0,
        downlink_bytes_per_s=down_mbps * 1e6 / 8,
        full=rate,
    )


class Cell:
    def __init__(self, *states: StationState, parameters: Parameters | None = None, hungry: bool = True) -> None:
        self.shares, self.hungry = AirShares(), hungry
        self.parameters = parameters or Parameters(policy="aggregate")
        self.moved = self.report(*states)

    def report(self, *states: StationState, capacity_bps: float = CAPACITY_BPS) -> bool:
        stations = Stations({state.latest.mac: state for state in states})
        equal_bps = capacity_bps / (len(states) or 1)
        return self.shares.update(stations, capacity_bps, equal_bps, self.parameters, self._wants_more)

    def _wants_more(self, _mac: Mac, _state: StationState) -> bool:
        return self.hungry

    def mbps(self, number: int) -> float:
        found = self.shares.air_for(mac(number))
        assert found is not None
        return found.share_bps / 1e6

    def air_times(self) -> list[float]:
        """The part of the cell's time that each share needs, beside those of the others."""
        every = self.shares.by_mac.values()
        needs = [
            sender.share_bps / bulk_bps([(FullRate(sender.rate_bps), True)] * len(every), CapacityParameters())
            for sender in every
        ]
        return [need / sum(needs) for need in needs]


def test_those_with_one_rate_have_equal_shares_of_the_capacity() -> None:
    cell = Cell(*(station(number, FAST, 30.0) for number in range(5)))
    assert [cell.mbps(number) for number in range(5)] == pytest.approx([80.0] * 5)


def test_a_far_phone_takes_its_time_and_not_the_others() -> None:
    cell = Cell(*(station(number, FAST, 90.0) for number in range(4)), station(4, SLOW, 3.0))
    assert cell.air_times() == pytest.approx([0.2] * 5, rel=1e-3)
    assert cell.mbps(0) > 15 * cell.mbps(4)
    assert cell.shares.air_for(mac(4)) is not None
    assert cell.shares.by_mac[mac(4)].fastest_bps == FAST.up_bps
    assert cell.shares.by_mac[mac(4)].fastest_share_bps == cell.shares.by_mac[mac(0)].share_bps


def test_what_they_carry_together_is_the_capacity_if_they_send_by_these_shares() -> None:
    cell = Cell(*(station(number, FAST, 90.0) for number in range(4)), station(4, SLOW, 3.0))
    for _ in range(3):  # the estimate is of the mix that was sent
        sent = [cell.mbps(number) for number in range(5)]
        cell.report(*(station(number, FAST, sent[number]) for number in range(4)), station(4, SLOW, sent[4]))
    assert sum(cell.mbps(number) for number in range(5)) == pytest.approx(CAPACITY_BPS / 1e6, rel=0.05)


def test_equal_throughput_can_be_had() -> None:
    parameters = Parameters(policy="aggregate", shares=SharesParameters(by="throughput"))
    cell = Cell(station(0, FAST), station(1, SLOW), parameters=parameters)
    assert cell.mbps(0) == cell.mbps(1) == 200.0


def test_a_floor_is_for_the_slowest_and_costs_all_others() -> None:
    states = (*(station(number, FAST, 90.0) for number in range(4)), station(4, SLOW, 3.0))
    without, with_floor = (
        Cell(*states),
        Cell(*states, parameters=Parameters(policy="aggregate", shares=SharesParameters(floor_bps=10e6))),
    )
    assert without.mbps(4) < 10.0
    assert with_floor.mbps(4) == pytest.approx(10.0)
    assert 10.0 < with_floor.mbps(0) < without.mbps(0)


def test_floors_that_the_air_cannot_carry_are_lowered_together() -> None:
    parameters = Parameters(policy="aggregate", shares=SharesParameters(floor_bps=100e6))
    cell = Cell(*(station(number, SLOW, 3.0) for number in range(5)), parameters=parameters)
    assert cell.air_times() == pytest.approx([0.2] * 5)
    assert sum(cell.mbps(number) for number in range(5)) <= CAPACITY_BPS / 1e6


def test_what_one_leaves_goes_to_the_others() -> None:
    cell = Cell(station(0, FAST, 200.0), station(1, FAST, 10.0), hungry=False)
    assert cell.mbps(0) == pytest.approx(390.0, rel=0.02)


def test_one_whose_window_is_full_wants_more_than_it_sends() -> None:
    cell = Cell(station(0, FAST, 200.0), station(1, FAST, 10.0))
    assert cell.mbps(0) == pytest.approx(200.0)


def test_a_download_claims_a_part() -> None:
    cell = Cell(*(station(number, FAST, 30.0, down_mbps=200.0 if number == 0 else 0.0) for number in range(4)))
    assert cell.mbps(0) == pytest.approx(80.0, rel=0.05)  # of five
    small = Cell(*(station(number, FAST, 90.0, down_mbps=4.0 if number == 0 else 0.0) for number in range(4)))
    assert small.mbps(0) == pytest.approx(99.0, rel=0.05)


@pytest.mark.parametrize("by", ["air-time", "throughput"])
def test_what_receivers_get_is_known_over_their_parts(by: Literal["air-time", "throughput"]) -> None:
    parameters = Parameters(policy="aggregate", shares=SharesParameters(by=by))
    states = [station(number, FAST, 90.0, down_mbps=40.0 * (number < 2)) for number in range(2)]
    cell = Cell(*states, parameters=parameters)
    part_mbps = cell.mbps(0)
    assert cell.shares.received == pytest.approx([40 / part_mbps] * 2, rel=0.05)
    cell.report(*(station(number, FAST, 90.0) for number in range(2)))
    assert cell.shares.received == []
    cell.report(*states)
    cell.report()
    assert cell.shares.received == []


def test_one_of_unknown_rate_claims_a_part_and_has_no_share_of_its_own() -> None:
    cell = Cell(station(0, FAST, 90.0), station(1, FullRate(), 90.0), station(2, FAST, 90.0, aggregates=False))
    assert cell.mbps(0) == pytest.approx(CAPACITY_BPS / 3e6)
    assert cell.shares.air_for(mac(1)) is cell.shares.air_for(mac(2)) is None


def test_small_changes_move_nothing_and_larger_ones_everything() -> None:
    states = [station(number, FAST, 90.0) for number in range(3)]
    cell = Cell(*states)
    assert cell.moved
    assert not cell.report(*states)
    assert not cell.report(*states, capacity_bps=CAPACITY_BPS * 1.02)
    assert cell.mbps(0) == pytest.approx(CAPACITY_BPS / 3e6)
    assert cell.report(*states, capacity_bps=CAPACITY_BPS * 1.1)
    assert cell.report(*(replace(state, full=SLOW) for state in states))
    assert cell.report(*states[:2])
    assert cell.report()
    assert not cell.shares.by_mac
    assert not cell.report()


def test_block_acks_are_as_long_as_their_standards() -> None:
    states = [station(number, FAST, 90.0) for number in range(4)]
    for state, rate_format in zip(states, (2, 3, 4, 5), strict=True):
        state.latest = state.latest._replace(rx_rate_format=rate_format)
    cell = Cell(*states)
    assert [cell.shares.by_mac[mac(number)].frames_most for number in range(4)] == [64, 64, 256, 1024]


claims = st.builds(
    lambda wanted, floor: Claim(wanted, min(wanted, floor)),
    st.one_of(st.floats(0.0, 1.0), st.just(math.inf)),
    st.floats(0.0, 0.5),
)


@given(st.lists(claims, min_size=1, max_size=40))
def test_parts_are_max_min_fair_above_their_floors(every: list[Claim]) -> None:
    level, floors = parts(every)
    given_parts = [min(claim.wanted, max(level, floor)) for claim, floor in zip(every, floors, strict=True)]
    assert sum(given_parts) <= 1 + 1e-6
    assert all(floor <= claim.floor for claim, floor in zip(every, floors, strict=True))
    assert sum(floors) <= 0.9 + 1e-6
    if any(claim.wanted == math.inf for claim in every):
        assert sum(given_parts) == pytest.approx(1.0)
    if not any(claim.floor for claim in every):
        assert all(part == level or claim.wanted <= level for claim, part in zip(every, given_parts, strict=True))
