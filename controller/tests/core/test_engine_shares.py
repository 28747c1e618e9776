# SPDX-License-Identifier: Apache-2.0
"""What a sender leaves of its share goes to the others."""

import pytest

from airbound.core.effects import SetBounds
from airbound.core.parameters import CapacityParameters, Parameters
from airbound.core.reasons import Code
from airbound.core.reports import Destination
from airbound_testing.scenario import Scenario, mac, upload

# A capacity that does not move: 24 Mb/s to a server at 256.5 ms are 513 segments.
FIXED = Parameters(capacity=CapacityParameters(min_bps=24e6, max_bps=24e6))
SEGMENTS = 24e6 * 0.2565 / 8 / 1500
PHONE, NEIGHBOURS = mac(0), [mac(number) for number in range(1, 8)]


def second(scenario: Scenario, rates_mbps: dict[bytes, float], *uploads: bytes, full: bool = True) -> None:
    scenario.advance(1)
    scenario.access_point(rates_mbps)
    for address in uploads:
        scenario.terminal(address, upload()._replace(fills_window=full))


def most(scenario: Scenario, address: bytes = PHONE) -> int:
    found = scenario.phones[address].range()
    assert found is not None
    return found[1]


def beside_udp(mbps: float = 1.0) -> Scenario:
    """One upload beside seven stations that send at a rate of their own."""
    scenario = Scenario(FIXED)
    rates = {PHONE: 3.0, **dict.fromkeys(NEIGHBOURS, mbps)}
    for _ in range(3):
        second(scenario, rates, PHONE)
    return scenario


def test_an_upload_beside_seven_that_want_little_gets_the_rest() -> None:
    assert most(beside_udp()) == pytest.approx(SEGMENTS * 17 / 24, abs=2)
    assert most(beside_udp(mbps=2.0)) == pytest.approx(SEGMENTS * 10 / 24, abs=2)


def test_those_that_use_nearly_their_share_keep_it() -> None:
    assert most(beside_udp(mbps=2.5)) == pytest.approx(SEGMENTS / 8, abs=2)


def test_when_the_others_want_more_the_share_is_an_equal_one_again_at_once() -> None:
    scenario = beside_udp()
    second(scenario, {PHONE: 16.0, **dict.fromkeys(NEIGHBOURS, 3.0)}, PHONE)
    assert most(scenario) == pytest.approx(SEGMENTS / 8, abs=2)
    effect = scenario.phones[PHONE].sets[-1]
    assert isinstance(effect, SetBounds)
    (reason,) = effect.reasons
    assert reason.code is Code.SHARE
    assert reason.before == pytest.approx(17e6, rel=0.01)
    assert reason.after == pytest.approx(3e6)


def test_an_upload_that_fills_its_window_wants_more_whatever_it_gets() -> None:
    scenario = Scenario(FIXED)
    rates = {PHONE: 3.0, mac(1): 0.5}
    for _ in range(3):
        second(scenario, rates, PHONE, mac(1))
    assert most(scenario) == most(scenario, mac(1)) == pytest.approx(SEGMENTS / 2, abs=3)


def test_an_upload_that_waits_for_its_camera_leaves_the_rest_and_may_have_it_back() -> None:
    scenario = Scenario(FIXED)
    for _ in range(3):
        scenario.advance(1)
        scenario.access_point({PHONE: 3.0, mac(1): 2.0})
        scenario.terminal(PHONE, upload())
        scenario.terminal(mac(1), upload()._replace(fills_window=False))
    # Its own bound is no smaller: it may grow into what is its own before the next report.
    assert most(scenario) == most(scenario, mac(1)) == pytest.approx(SEGMENTS * 22 / 24, abs=3)


def test_if_nobody_wants_more_each_may_have_what_the_others_leave() -> None:
    scenario = Scenario(FIXED)
    for _ in range(3):
        second(scenario, {PHONE: 4.0, mac(1): 2.0}, PHONE, mac(1), full=False)
    assert most(scenario) == pytest.approx(SEGMENTS * 22 / 24, abs=3)


def test_small_moves_of_what_is_left_send_nothing() -> None:
    scenario = beside_udp(1.0)
    sets = len(scenario.phones[PHONE].sets)
    for mbps in (1.01, 0.99, 1.02, 1.0):
        second(scenario, {PHONE: 16.0, **dict.fromkeys(NEIGHBOURS, mbps)}, PHONE)
    assert len(scenario.phones[PHONE].sets) == sets


def test_one_that_begins_is_given_its_share_before_its_rate_is_known() -> None:
    scenario = Scenario(FIXED)
    for _ in range(3):
        second(scenario, {PHONE: 16.0, mac(1): 0.0}, PHONE)
    scenario.terminal(mac(1), Destination(upload().address, connections_sending=1))
    assert most(scenario) == pytest.approx(SEGMENTS / 2, abs=3)


# Downloads

DOWNLOADS = {mac(1): 6.0, mac(2): 6.0, mac(3): 6.0}


def beside_downloads(srtt_ms: float = 1000, seconds: int = 12) -> Scenario:
    """One upload beside three downloads, which fill the access point's queue."""
    scenario = Scenario(FIXED)
    for _ in range(seconds):
        scenario.advance(1)
        scenario.access_point({PHONE: 6.0}, idle=DOWNLOADS, downloading=DOWNLOADS)
        scenario.terminal(PHONE, upload(srtt_ms, 4.5))
    return scenario


def test_an_upload_whose_acks_wait_behind_downloads_is_bounded_by_the_rtt_that_they_make() -> None:
    quarter = 6e6 * 1.0 / 8 / 1500
    # The RTT counts in steps of a fifth; one that is alone as a sender gets a tenth more.
    assert quarter / 1.2 < most(beside_downloads()) < quarter * 1.1 * 1.2
    # For the empty path it would be 2 segments in flight: 24 kbit/s.
    assert most(beside_downloads(srtt_ms=4.5)) == pytest.approx(6e6 * 0.0045 / 8 / 1500 * 1.1 + 4, abs=1.5)


def test_small_moves_of_that_rtt_send_nothing() -> None:
    scenario = beside_downloads()
    sets = len(scenario.phones[PHONE].sets)
    for srtt_ms in (1010, 990, 1030, 1000):
        scenario.advance(1)
        scenario.access_point({PHONE: 6.0}, idle=DOWNLOADS, downloading=DOWNLOADS)
        scenario.terminal(PHONE, upload(srtt_ms, 4.5))
    assert len(scenario.phones[PHONE].sets) == sets


def test_once_the_downloads_end_the_bounds_are_for_the_empty_path_again() -> None:
    scenario = beside_downloads()
    for _ in range(8):
        scenario.advance(1)
        scenario.access_point({PHONE: 20.0}, idle=DOWNLOADS)
        scenario.terminal(PHONE, upload(1000, 4.5))
    assert most(scenario) == pytest.approx(24e6 * 0.0045 / 8 / 1500 * 1.1 + 4, abs=1.5)


def test_the_acks_of_an_upload_are_no_download() -> None:
    scenario = Scenario(FIXED)
    for _ in range(6):
        second(scenario, {PHONE: 20.0}, PHONE)
    cell = next(iter(scenario.engine.cells.values()))
    assert (cell.stations.active_receivers, cell.has_downloads) == (0, False)


def test_the_air_that_downloads_take_is_part_of_the_capacity() -> None:
    scenario = Scenario()
    for _ in range(20):
        scenario.advance(1)
        scenario.access_point({PHONE: 1.0}, idle=DOWNLOADS, downloading=DOWNLOADS, busy=0.95)
        scenario.terminal(PHONE, upload(1000, 4.5))
    cell = next(iter(scenario.engine.cells.values()))
    assert cell.capacity.bps > 18e6
    # Three want nearly a quarter each; what one upload does not use now is its own all the same.
    assert cell.spare_bps == pytest.approx(cell.decided_capacity_bps / 4 - cell.decided_capacity_bps)
