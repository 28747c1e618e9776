# SPDX-License-Identifier: Apache-2.0

from airbound.operator.top.airtime import SAMPLES, AirtimeShares
from airbound.v1 import access_point_pb2
from airbound.v1.operations_pb2 import StationView


def station(mac: str, airtime_us: int, *, known: bool = True) -> StationView:
    source = access_point_pb2.AIRTIME_SOURCE_MEASURED if known else access_point_pb2.AIRTIME_SOURCE_UNSPECIFIED
    return StationView(
        mac=mac, rx_airtime_us=airtime_us - airtime_us // 4, tx_airtime_us=airtime_us // 4, airtime_source=source
    )


def test_shares_are_of_what_was_taken_between_reports() -> None:
    shares = AirtimeShares()
    shares.take([station("a", 1_000_000), station("b", 5_000)])
    assert shares.by_mac == {}
    shares.take([station("a", 1_300_000), station("b", 105_000)])
    assert shares.by_mac == {"a": 0.75, "b": 0.25}
    shares.take([station("a", 1_300_000), station("b", 105_000)])  # the same report
    assert shares.by_mac == {"a": 0.75, "b": 0.25}


def test_shares_are_over_the_last_reports_only() -> None:
    shares = AirtimeShares()
    for second in range(10):
        shares.take([station("a", 100_000 * min(second, 5)), station("b", 100_000 * second)])
    assert SAMPLES == 4
    assert shares.by_mac == {"a": 0.0, "b": 1.0}


def test_a_station_that_came_or_was_associated_again_has_no_share_yet() -> None:
    shares = AirtimeShares()
    shares.take([station("a", 900_000), station("b", 100)])
    shares.take([station("a", 40), station("b", 1_100), station("c", 7)])
    assert shares.by_mac == {"a": 0.0, "b": 1.0}


def test_what_is_not_measured_has_no_share() -> None:
    shares = AirtimeShares()
    for airtime_us in (1, 2, 3):
        shares.take([station("a", airtime_us, known=False)])
    assert shares.by_mac == {}
