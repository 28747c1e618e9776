# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.core.cell.full_rates import FullRate, FullRates
from airbound.core.reports import Station
from airbound_testing.scenario import mac

LEGACY, HT, VHT = 1, 2, 3
HT_BYTES, VHT_BYTES = 65_535, 1_048_575


def at(kbps: int, rate_format: int, down_kbps: int = 0, *, aggregates: bool = True) -> Station:
    return Station(
        mac(0),
        rx_bitrate_kbps=kbps,
        rx_rate_format=rate_format,
        tx_bitrate_kbps=down_kbps,
        tx_rate_format=HT,
        aggregates=aggregates,
    )


def test_it_is_the_second_highest_of_the_last() -> None:
    rates = FullRates()
    assert rates.see(at(0, 0)) == FullRate(0.0, 0.0, VHT_BYTES, VHT_BYTES, 0.0)
    assert rates.see(at(400_000, VHT)).up_bps == 400e6
    assert rates.see(at(866_700, VHT)).up_bps == 400e6
    assert rates.see(at(780_000, VHT)).up_bps == 780e6
    assert rates.see(at(780_000, VHT, 65_000)) == FullRate(780e6, 65e6, VHT_BYTES, HT_BYTES, 866.7e6)
    for _ in range(8):
        full = rates.see(at(65_000, HT))  # it walked away
    assert full == FullRate(65e6, 65e6, HT_BYTES, HT_BYTES, 65e6)


def test_it_is_the_highest_while_rate_control_climbs() -> None:
    rates = FullRates()
    for kbps, highest in ((6_500, 6.5e6), (57_800, 57.8e6), (26_000, 57.8e6)):
        full = rates.see(at(kbps, HT, kbps), climbing=True)
        assert (full.up_bps, full.down_bps, full.up_highest_bps) == (highest, highest, highest)
    # What it had climbed through does not count among those that it settled at.
    full = rates.see(at(65_000, HT, 58_500))
    assert (full.up_bps, full.down_bps, full.up_highest_bps) == (65e6, 58.5e6, 65e6)
    assert rates.see(at(72_200, HT)).up_bps == 65e6


def test_equal_reports_while_rate_control_climbs_are_not_those_of_a_settled_one() -> None:
    rates = FullRates()
    rates.see(at(72_200, HT), climbing=True)
    for _ in range(30):
        assert rates.see(at(6_500, HT), climbing=True).up_bps == 72.2e6
    assert rates.see(at(6_500, HT)).up_bps == 6.5e6


def test_a_frame_without_aggregation_says_nothing_of_those_that_are() -> None:
    rates = FullRates()
    rates.see(at(866_700, VHT))
    for _ in range(20):
        assert rates.see(at(24_000, LEGACY)).up_bps == 866.7e6
    assert FullRates().see(at(24_000, LEGACY, aggregates=False)).up_bps == 24e6


def test_who_sends_at_rates_without_aggregation_for_long_has_them() -> None:
    """As in 2.4 GHz at the edge of the range."""
    rates = FullRates()
    rates.see(at(65_000, HT), sending=True)
    for _ in range(8):
        assert rates.see(at(6_000, LEGACY), sending=True).up_bps == 65e6
    full = rates.see(at(6_000, LEGACY), sending=True)
    assert (full.up_bps, full.up_psdu_max_bytes) == (6e6, 4_095)
    assert rates.see(at(65_000, HT), sending=True).up_psdu_max_bytes == HT_BYTES
    assert rates.see(at(65_000, HT), sending=True).up_bps == 65e6


@pytest.mark.parametrize("reports", [7, 8, 9, 30])
def test_equal_reports_count_like_others(reports: int) -> None:
    rates = FullRates()
    rates.see(at(866_700, VHT))
    rates.see(at(866_700, VHT))
    for _ in range(reports):
        rates.see(at(433_300, VHT))
    assert rates.see(at(390_000, VHT)).up_bps == (866.7e6 if reports < 6 else 433.3e6)
