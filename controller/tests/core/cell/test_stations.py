# SPDX-License-Identifier: Apache-2.0

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.addresses import Mac, address_from_text
from airbound.core.cell.aggregation import bulk_bps, full_channel_us
from airbound.core.cell.assumed_rates import FRAMES_SHARE
from airbound.core.cell.capacity import Interval
from airbound.core.cell.contradicted_rates import SURE
from airbound.core.cell.full_rates import FullRate
from airbound.core.cell.stations import STARTING_US, Change, Queue, Stations
from airbound.core.parameters import CapacityParameters
from airbound.core.policy import RateSource
from airbound.core.reasons import Code, Reason
from airbound.core.reports import AccessPointReport, Station, Survey
from airbound_testing.scenario import BSSID, SECOND_US, mac

START_US = 100 * SECOND_US
VHT = 3


class Cell:
    """Stations as an access point reports them; seconds are of its clock, and of the controller's."""

    def __init__(self) -> None:
        self.stations = Stations()
        self.interval: Interval | None = None
        self.jumps: list[Reason] = []
        self.queued: dict[Mac, Queue] = {}  # by their terminals

    def report(
        self,
        second: float,
        *stations: Station,
        survey: Survey | None = None,
        now_s: float | None = None,
        recent_us: int = 0,
    ) -> Change:
        report = AccessPointReport(
            bssid=BSSID,
            sequence=1,
            monotonic_us=START_US + round(SECOND_US * second),
            stations=stations,
            survey=survey,
            recent_us=recent_us,
        )
        now_us = round(SECOND_US * (1000 + (second if now_s is None else now_s)))
        change = self.stations.update(report, now_us)
        self.interval, self.jumps = self.stations.differences(report, CapacityParameters(), self.queued.get)
        return change

    @property
    def senders(self) -> int:
        return self.stations.active_senders

    @property
    def uplink_bps(self) -> float:
        return self.stations.uplink_bps


def station(packets: int, *, number: int = 0, size: int = 1534, connected_s: float = 100, **other: Any) -> Station:
    return Station(mac(number), packets * size, packets, connected_time_ms=round(connected_s * 1000), **other)


PACKETS_1000 = pytest.approx(1_000 * 1_500 * 8)


def test_the_first_report_gives_no_rate() -> None:
    cell = Cell()
    cell.report(1, station(1_000_000))
    assert (cell.senders, cell.uplink_bps, cell.stations.measured, cell.interval) == (0, 0, False, None)
    assert cell.stations.by_mac[mac(0)].payload_bytes_per_s == 0
    cell.report(2, station(1_000_000))
    assert cell.stations.measured


def test_headers_are_not_payload() -> None:
    cell = Cell()
    cell.report(1, station(1_000))
    cell.report(2, station(2_000))
    assert cell.uplink_bps == PACKETS_1000


@pytest.mark.parametrize(
    ("bytes_per_s", "sending"), [([9_999], False), ([10_000], True), ([10_000, 2_000], True), ([10_000, 1_999], False)]
)
def test_two_levels_so_that_a_sender_does_not_flap(bytes_per_s: list[int], sending: bool) -> None:  # noqa: FBT001
    cell, count = Cell(), 0
    cell.report(0, Station(mac(0)))
    for second, rate in enumerate(bytes_per_s, 1):
        count += rate
        cell.report(second, Station(mac(0), count))
    assert (cell.senders == 1) is sending


def test_rates_are_not_rounded_to_whole_bytes() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(0.7, station(1))
    assert cell.stations.by_mac[mac(0)].payload_bytes_per_s == 1_500 * 1e6 / 700_000
    assert cell.uplink_bps == 1_500 * 8e6 / 700_000


@pytest.mark.parametrize(
    ("ack_ip_bytes", "most_share"),
    [
        (52, 0.0),  # IPv4, time stamps
        (40, 0.0),  # without
        (80, 0.01),  # three SACK blocks
        (72, 0.01),  # IPv6
    ],
)
def test_the_acks_of_an_upload_are_no_downlink(ack_ip_bytes: int, most_share: float) -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(1_000, tx_packets=500, tx_bytes=500 * (34 + ack_ip_bytes)))
    assert cell.stations.downlink_bps <= most_share * cell.uplink_bps
    assert cell.uplink_bps == PACKETS_1000


def test_a_download_counts_by_its_payload_and_beside_an_upload_as_well() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1), station(0, number=2))
    cell.report(
        1,
        station(1_000, tx_packets=500, tx_bytes=500 * 86),
        station(500, number=1, size=86, tx_packets=1_000, tx_bytes=1_000 * 1534),
        station(1_000, number=2, tx_packets=1_500, tx_bytes=1_000 * 1534 + 500 * 86),
    )
    assert cell.stations.downlink_bps == 2_000 * 1448 * 8
    cell.report(1.5, station(1_000, tx_packets=1_000, tx_bytes=500 * 86 + 500 * 1534))
    assert cell.stations.downlink_bps == 500 * 1448 * 8 / 0.5
    cell.stations.restart()
    assert (cell.stations.uplink_bps, cell.stations.downlink_bps) == (0, 0)


def test_a_downlink_counter_that_begins_again_costs_no_other_stations_downlink() -> None:
    """Some drivers count bytes to 2**32."""
    cell = Cell()
    cell.report(0, station(0, tx_bytes=2**32 - 10), station(0, number=1))
    cell.report(1, station(10, tx_packets=10, tx_bytes=10**4), station(0, number=1, tx_packets=100, tx_bytes=153_400))
    assert cell.stations.downlink_bps == 100 * 1448 * 8
    assert cell.stations.reassociations_total == 0


def test_the_acks_of_a_download_are_no_upload() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(1, station(900, size=86, tx_packets=1_800, tx_bytes=1_800 * 1534), station(900, number=1, size=114))
    assert cell.senders == 0
    assert cell.stations.by_mac[mac(0)].payload_bytes_per_s == 900 * 52


RECENT = {"recent_rx_packets": 100, "recent_rx_bytes": 153_400}


def test_who_began_a_moment_ago_sends_and_who_is_silent_does_not() -> None:
    """Averaged over the interval it would be too little, and enough."""
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(5, station(30, recent_rx_packets=4, recent_rx_bytes=4 * 1534), station(0, number=1), recent_us=200_000)
    assert [cell.stations.is_active(mac(number)) for number in (0, 1)] == [True, False]
    cell.report(5.2, station(31), station(100, number=1, **RECENT), recent_us=200_000)
    assert cell.senders == 2  # the one pauses, and is not silent
    cell.report(5.8, station(90, silent=True), station(400, number=1, silent=True), recent_us=200_000)
    assert cell.senders == 0


SILENT = {"recent_us": 200_000}


def test_who_is_silent_but_has_data_queued_sends_for_another_second() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1), station(0, number=2))
    cell.queued = {mac(0): Queue(has_data=True, for_us=0), mac(1): Queue(has_data=False, for_us=5 * SECOND_US)}
    cell.report(1, *(station(100, number=number, **RECENT) for number in range(3)), **SILENT)
    assert cell.senders == 3
    silent = [station(100, number=number, silent=True) for number in range(3)]
    cell.report(1.4, *silent, **SILENT)
    assert [cell.stations.is_active(mac(number)) for number in range(3)] == [True, False, False]
    cell.report(2.3, *silent, **SILENT)
    assert cell.senders == 1
    cell.report(2.5, station(200, **RECENT), *silent[1:], **SILENT)
    cell.report(2.9, station(200, silent=True), *silent[1:], **SILENT)
    assert cell.senders == 1
    cell.report(3.9, station(200, silent=True), *silent[1:], **SILENT)
    assert cell.senders == 0


def test_who_is_silent_and_has_sent_what_was_queued_has_stopped() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.queued = {mac(number): Queue(has_data=True, for_us=0) for number in (0, 1)}
    cell.report(1, station(100, **RECENT), station(100, number=1, **RECENT), **SILENT)
    assert not cell.stations.stopped(mac(0))  # its access point has seen it send a moment ago
    cell.report(1.4, station(100, silent=True), station(100, number=1, silent=True), **SILENT)
    assert cell.stations.stopped(mac(0))
    assert not cell.stations.stopped(mac(0))
    assert not cell.stations.stopped(mac(7))
    assert (cell.senders, cell.stations.is_active(mac(1))) == (1, True)
    cell.report(1.6, station(100, silent=True), station(100, number=1, silent=True), **SILENT)
    assert cell.senders == 1


def test_who_pauses_just_after_its_terminal_has_sent_all_has_stopped() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1), station(0, number=2))
    cell.report(1, *(station(100, number=number, **RECENT) for number in range(3)), **SILENT)
    assert cell.senders == 3
    long_ago = Queue(has_data=False, for_us=5 * SECOND_US)
    cell.queued = {mac(0): Queue(has_data=False, for_us=100_000), mac(1): long_ago}
    cell.report(1.4, *(station(100, number=number) for number in range(3)), **SILENT)
    assert [cell.stations.is_active(mac(number)) for number in range(3)] == [False, True, True]


def test_what_comes_just_after_its_terminal_has_sent_all_is_no_start() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.queued = {mac(0): Queue(has_data=False, for_us=100_000), mac(1): Queue(has_data=False, for_us=5 * SECOND_US)}
    cell.report(1, station(100, **RECENT), station(100, number=1, **RECENT), **SILENT)
    assert [cell.stations.is_active(mac(number)) for number in (0, 1)] == [False, True]
    cell.queued[mac(0)] = Queue(has_data=False, for_us=600_000)  # By something else than TCP.
    cell.report(1.5, station(200, **RECENT), station(200, number=1, **RECENT), **SILENT)
    assert cell.senders == 2


def test_a_packet_or_two_in_the_last_moment_are_no_upload() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(2, recent_rx_packets=2, recent_rx_bytes=3_068), recent_us=200_000)
    assert cell.senders == 0


def test_who_is_never_silent_and_sends_too_little_stops_after_an_interval() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(100, **RECENT), recent_us=200_000)
    cell.report(1.2, station(100), recent_us=200_000)
    assert cell.senders == 1
    cell.report(2.2, station(101), recent_us=200_000)
    assert cell.senders == 0


def test_null_frames_are_no_sending() -> None:
    cell = Cell()
    cell.report(0, station(0, size=26))
    cell.report(1, station(1_000, size=26))
    assert cell.senders == 0
    assert cell.stations.by_mac[mac(0)].payload_bytes_per_s == 0


def test_one_packet_in_a_moment_is_no_sender() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(0.001, station(1), station(0, number=1))
    assert cell.senders == 0
    cell.report(1, station(1), station(0, number=1))
    assert cell.senders == 0


def test_a_moment_after_its_association_a_packet_is_no_sender_either() -> None:
    """Its rate is over the shortest time at least."""
    cell = Cell()
    cell.report(0)
    cell.report(0.9)
    cell.report(0.95, station(1, connected_s=0))
    cell.report(1.2, station(1, connected_s=0.25))
    assert cell.stations.by_mac[mac(0)].payload_bytes_per_s == pytest.approx(1_500 / 0.3)


def test_reports_in_between_do_not_break_the_rate() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(0.9, station(900))
    cell.report(1.0, station(1_000))
    cell.report(1.1, station(1_100))
    assert cell.uplink_bps == PACKETS_1000
    cell.report(2.0, station(2_000))
    assert cell.uplink_bps == PACKETS_1000


@pytest.mark.parametrize(("seconds", "counted"), [(0.1499, False), (0.15, True)])
def test_the_shortest_time_over_which_rates_are_taken(seconds: float, counted: bool) -> None:  # noqa: FBT001
    cell = Cell()
    cell.report(0, station(0))
    cell.report(seconds, station(1_000))
    assert cell.stations.measured is counted


def test_a_station_that_just_joined_counts_from_zero() -> None:
    cell = Cell()
    cell.report(0)
    cell.report(1, station(500, connected_s=0))
    assert cell.senders == 1
    assert cell.uplink_bps == pytest.approx(500 * 1_500 * 8)


@pytest.mark.parametrize(("connected_s", "counts"), [(0, True), (2, True), (2.001, False), (4_000, False)])
def test_a_station_that_was_there_before_does_not(connected_s: float, counts: bool) -> None:  # noqa: FBT001
    """Its counters of before are not of this interval; connected time is in whole seconds on some drivers."""
    cell = Cell()
    cell.report(0)
    cell.report(1, station(5_000, connected_s=connected_s))
    assert (cell.senders, cell.uplink_bps > 0) == ((1, True) if counts else (0, False))


@pytest.mark.parametrize("connected_s", [0, 7, 4_000])
def test_a_station_was_associated_when_the_access_point_says_so(connected_s: float) -> None:
    cell = Cell()
    cell.report(1, station(0, connected_s=connected_s), now_s=50)
    assert cell.stations.by_mac[mac(0)].associated_at_us == round((1000 + 50 - connected_s) * SECOND_US)


COUNTERS = ["rx_bytes", "rx_packets", "tx_packets", "tx_retries"]
FULL = Station(mac(0), 10**9, 10**6, tx_packets=10**6, tx_retries=10**4, connected_time_ms=100_000)


@pytest.mark.parametrize("fallen", [*COUNTERS, "connected_time_ms"])
def test_counters_that_fall_mean_a_new_association_and_no_negative_rate(fallen: str) -> None:
    cell = Cell()
    cell.report(0, FULL)
    assert cell.report(1, FULL).appeared == []
    again = FULL._replace(**{fallen: 5})  # type: ignore[arg-type]  # all integers
    assert cell.report(2, again).appeared == [mac(0)]
    assert cell.stations.reassociations_total == 1
    assert cell.uplink_bps >= 0
    cell.report(3, again._replace(connected_time_ms=again.connected_time_ms + 1000))
    assert (cell.uplink_bps, cell.stations.reassociations_total) == (0, 1)


def test_counters_that_stay_mean_the_same_association() -> None:
    cell = Cell()
    cell.report(0, FULL)
    cell.report(1, FULL)
    assert cell.stations.reassociations_total == 0


def test_who_came_who_left_and_who_has_another_address() -> None:
    cell = Cell()
    one, other = address_from_text("192.168.1.1"), address_from_text("192.168.1.2")
    assert cell.report(0, station(0), station(0, number=1)) == Change(appeared=[mac(0), mac(1)])
    assert cell.report(1, station(0), station(0, number=1)) == Change()
    assert cell.report(2, station(0, number=1, ip_addresses=(one,)), station(0, number=2)) == Change(
        appeared=[mac(2)], gone=[mac(0)], readdressed=[mac(1)]
    )
    assert cell.report(3, station(0, number=1, ip_addresses=(one, other)), station(0, number=2)) == Change(
        readdressed=[mac(1)]
    )
    assert list(cell.stations.addresses()) == [mac(1), mac(2)]


def test_a_sender_that_leaves_is_gone_at_once() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(1, station(1_000), station(1_000, number=1))
    assert cell.senders == 2
    cell.report(1.05, station(1_050))
    assert cell.senders == 1


def test_a_sender_that_associates_again_sends_nothing_until_rates_are_taken() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(1, station(1_000), station(1_000, number=1))
    cell.report(1.05, station(1_050), station(0, number=1, connected_s=0))
    assert cell.senders == 1


def surveyed(second: int, busy: float = 0.9) -> Survey:
    return Survey(active_us=(100 + second) * SECOND_US, busy_us=round((100 + second) * SECOND_US * busy))


def test_an_interval_has_what_the_capacity_follows_from() -> None:
    cell = Cell()
    plain = {"tx_packets": 10, "tx_retries": 3, "rx_bitrate_kbps": 54_000}
    aggregating = {"tx_packets": 20, "tx_retries": 5, "rx_bitrate_kbps": 866_700, "aggregates": True}
    aggregating |= {"rx_rate_format": VHT, "tx_bitrate_kbps": 780_000, "tx_rate_format": VHT, "tx_bytes": 20 * 86}
    idle = {"rx_bitrate_kbps": 6_000}
    cell.report(0, station(0), station(0, number=1), station(0, number=2), survey=surveyed(0))
    cell.report(
        1,
        station(100, airtime_us=30_000, **plain),
        station(1_000, number=1, airtime_us=70_000, **aggregating),
        station(0, number=2, **idle),
        survey=surveyed(1),
    )
    slow, fast = 54e6 * 0.44, 866.7e6 * 0.65
    assert cell.interval == Interval(
        duration_us=SECOND_US,
        payload_bytes=1_100 * 1_500,
        frames=113,
        uplink_frames=100,
        aggregated_frames=1_020,
        active_senders=2,
        goodput_bps=pytest.approx(2 / (1 / slow + 1 / fast)),
        aggregated_us=full_channel_us(
            [(1_000, 1_500_000, 866.7e6, 1_048_575)],
            [(20, 20 * 52, 780e6, 1_048_575)],
            2,
            CapacityParameters(),
        ),
        airtime_us=100_000,
        unaggregated_airtime_us=30_000,
        climbing=1.0,
        survey_active_us=SECOND_US,
        survey_busy_us=900_000,
    )


@pytest.mark.parametrize(
    ("tx_packets", "ip_bytes", "expected"),
    [
        (400, 52, (400, 400 * 52)),
        (500, 52, (500, 500 * 52)),
        (1_000, 52, (500, 500 * 52)),  # each packet by itself, as at light load
        (1_000, 1_500, (1_000, 1_000 * 1_500)),  # a download
    ],
)
def test_of_acks_no_more_are_expected_than_a_full_channel_has(
    tx_packets: int, ip_bytes: int, expected: tuple[int, int]
) -> None:
    cell = Cell()
    rates = {"rx_bitrate_kbps": 866_700, "tx_bitrate_kbps": 866_700, "rx_rate_format": VHT, "tx_rate_format": VHT}
    sent = {"tx_packets": tx_packets, "tx_bytes": tx_packets * (ip_bytes + 34)}
    cell.report(0, station(0, aggregates=True, **rates))
    cell.report(1, station(1_000, aggregates=True, **rates, **sent))
    assert cell.interval is not None
    up, down = (1_000, 1_500_000, 866.7e6, 1_048_575), (*expected, 866.7e6, 1_048_575)
    assert cell.interval.aggregated_us == full_channel_us([up], [down], 1, CapacityParameters())


def test_of_single_frames_the_rate_is_that_of_the_access_point_if_it_is_higher() -> None:
    """As two of ten phones on 802.11ac at 5 % load, whose rate control stayed at 240 and 585 of 866 Mb/s."""
    rates = {"rx_bitrate_kbps": 240_000, "tx_bitrate_kbps": 866_700, "rx_rate_format": VHT, "tx_rate_format": VHT}

    def needed_us(at_s: int, packets: int) -> float:
        sent = {"tx_packets": packets // 2, "tx_bytes": packets // 2 * (52 + 34)}
        cell.report(at_s, station(packets, aggregates=True, **rates, **sent))
        assert cell.interval is not None
        return cell.interval.aggregated_us

    def full_us(packets: int, mbps: float) -> float:
        up = (packets, packets * 1500, mbps * 1e6, 1_048_575)
        return full_channel_us([up], [(packets // 2, packets // 2 * 52, 866.7e6, 1_048_575)], 1, CapacityParameters())

    cell = Cell()
    cell.report(0, station(0, aggregates=True, **rates))
    assert needed_us(1, 1_000) == full_us(1_000, 866.7)
    # By its own rate a full channel: its transmitter may be weaker than the access point's.
    assert needed_us(2, 17_000) == full_us(16_000, 240)
    assert needed_us(3, 18_000) == full_us(1_000, 866.7)


def test_the_access_points_rate_stands_for_one_that_is_not_known() -> None:
    cell = Cell()
    rates = {"tx_bitrate_kbps": 866_700, "tx_rate_format": VHT}
    cell.report(0, station(0, aggregates=True, **rates))
    cell.report(1, station(20_000, aggregates=True, **rates))
    assert cell.interval is not None
    up = (20_000, 20_000 * 1500, 866.7e6, 1_048_575)
    assert cell.interval.aggregated_us == full_channel_us([up], [], 1, CapacityParameters())


def test_a_station_without_any_rate_has_an_assumed_one() -> None:
    """Which, and from what, is of test_assumed_rates.py."""
    cell = Cell()
    rates = {"rx_bitrate_kbps": 866_700, "rx_rate_format": VHT}
    cell.report(0, station(0, aggregates=True, **rates), station(0, number=1, aggregates=True))
    cell.report(1, station(1_000, aggregates=True, **rates), station(1_000, number=1, aggregates=True))
    assert cell.interval is not None
    up = (1_000, 1_000 * 1500, 866.7e6, 1_048_575)
    assert cell.interval.aggregated_us == full_channel_us([up, up], [], 2, CapacityParameters())
    assert cell.stations.assumed.count == 1


def test_a_rate_that_air_time_contradicts_is_assumed_by_it_and_capacity_is_no_less_than_what_passed() -> None:
    cell = Cell()
    rates = {"aggregates": True, "rx_bitrate_kbps": 866_700, "rx_rate_format": VHT}

    def report(second: int) -> None:
        far = station(2_000 * second, number=1, airtime_us=900_000 * second, **rates)
        cell.report(second, station(2_000 * second, airtime_us=40_000 * second, **rates), far)

    for second in range(SURE + 2):  # in the first its rate control may climb
        report(second)
    assert not cell.stations.assumed.count
    report(SURE + 2)
    near, far = (cell.stations.by_mac[mac(number)].full for number in (0, 1))
    assert (near.up_bps, near.source) == (866.7e6, RateSource.REPORTED)
    octets = cell.stations.by_mac[mac(1)].latest.rx_bytes / (SURE + 2)
    assert (far.up_bps, far.source) == (pytest.approx(octets * 8 / 0.9 / FRAMES_SHARE), RateSource.AIR_TIME)
    assert cell.stations.assumed.count == 1
    assert cell.interval is not None
    assert cell.interval.aggregated_us <= cell.interval.duration_us


def test_short_packets_are_known_with_what_full_ones_would_carry() -> None:
    cell = Cell()
    rate = {"rx_bitrate_kbps": 54_000, "rx_rate_format": 1}
    cell.report(0, station(0, **rate))
    cell.report(1, station(400, size=234, **rate))
    assert cell.interval is not None
    assert cell.interval.has_short_packets
    assert cell.interval.bulk_bps == bulk_bps([(FullRate(up_bps=54e6), False)], CapacityParameters())


def test_air_time_that_cannot_be_is_cut() -> None:
    cell = Cell()
    cell.report(0, station(0, airtime_us=500))
    cell.report(1, station(100, airtime_us=1 << 40))
    assert cell.interval is not None
    assert cell.interval.airtime_us == SECOND_US
    cell.report(2, station(200, airtime_us=7))
    assert cell.interval is not None
    assert cell.interval.airtime_us == 0


def test_intervals_in_which_a_sender_came_or_left_are_incomplete() -> None:
    """Its air is in the survey, but not all of its bytes are in the counters."""
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(1_000))
    assert cell.interval is not None
    cell.report(2, station(1_100), station(900, number=1, connected_s=1))
    assert (cell.senders, cell.interval) == (2, None)
    cell.report(3, station(1_200), station(1_800, number=1, connected_s=2))
    assert cell.interval is not None
    cell.report(4, station(1_300))
    assert cell.interval is None
    cell.report(5, station(1_400))
    assert cell.interval is not None
    cell.report(6, station(100, connected_s=1))  # it associated again
    assert cell.interval is None
    cell.report(7, station(200, connected_s=2), station(0, number=2, connected_s=1))
    assert cell.interval is not None  # who came sends nothing


def test_a_sender_that_left_between_differences_makes_the_next_incomplete() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(1, station(1_000), station(1_000, number=1))
    cell.report(1.1, station(1_100))
    cell.report(2, station(2_000))
    assert cell.interval is None
    cell.report(3, station(3_000))
    assert cell.interval is not None


def test_a_sender_that_associates_again_makes_the_interval_incomplete_even_if_it_sends_no_more() -> None:
    """What it sent before is in the survey, and in no counter."""
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(1, station(1_000), station(1_000, number=1))
    cell.report(2, station(2_000), station(0, number=1, connected_s=0.5))
    assert (cell.senders, cell.interval) == (1, None)
    cell.report(3, station(3_000), station(0, number=1, connected_s=1.5))
    assert cell.interval is not None


@pytest.mark.parametrize(
    ("sending", "best_bps"), [([], 0), ([54_000, 24_000], 54e6), ([6_000, 12_000], 12e6)], ids=["none", "54", "12"]
)
def test_the_best_bitrate_is_that_of_the_fastest_sender(sending: list[int], best_bps: float) -> None:
    cell = Cell()
    idle = station(0, number=9, rx_bitrate_kbps=300_000)
    for second in range(2):
        senders = [
            station(100 * second, number=number, rx_bitrate_kbps=kbps) for number, kbps in enumerate(sending, start=1)
        ]
        cell.report(second, idle, *senders)
    assert cell.interval is not None
    assert cell.interval.best_bitrate_bps == best_bps


def test_the_best_bitrate_is_that_of_the_last_reports_not_of_the_last_frame() -> None:
    cell = Cell()
    for second, kbps in enumerate([54_000, 54_000, 6_000, 12_000]):
        cell.report(second, station(1_000 + 100 * second, rx_bitrate_kbps=kbps))
    assert cell.interval is not None
    assert cell.interval.best_bitrate_bps == 54e6


@pytest.mark.parametrize(
    ("airtimes_us", "climbing"),
    [
        ((0, 0, 0, 0, 0), 200 / 401),  # not measured: by packets
        ((300_000, 200_000, 100_000, 99_000, 1_000), 5 / 7),
        ((0, 0, 100_000, 0, 0), 0.0),
    ],
)
def test_how_much_air_senders_have_whose_rate_control_has_just_begun(
    airtimes_us: tuple[int, ...], climbing: float
) -> None:
    """By what they had sent before the interval. The last one sends too little to be a sender."""
    cell, before = Cell(), (0, 99, 100, 5_000, 0)
    cell.report(0, *(station(packets, number=number) for number, packets in enumerate(before)))
    counted = zip(before, (100, 100, 100, 100, 1), airtimes_us, strict=True)
    cell.report(
        1, *(station(had + sent, number=number, airtime_us=us) for number, (had, sent, us) in enumerate(counted))
    )
    assert cell.interval is not None
    assert (cell.senders, cell.interval.climbing) == (4, pytest.approx(climbing))


def test_who_associated_again_begins_again() -> None:
    cell = Cell()
    cell.report(0, station(5_000))
    cell.report(1, station(6_000))
    assert cell.interval is not None
    assert cell.interval.climbing == 0
    cell.report(2, station(60, connected_s=0.5))
    cell.report(3, station(1_000, connected_s=1.5))
    assert cell.interval is not None
    assert cell.interval.climbing == 1


def test_a_survey_that_began_again_gives_no_ratio() -> None:
    cell = Cell()
    cell.report(0, station(0), survey=surveyed(50))
    cell.report(1, station(1_000), survey=surveyed(0))
    assert cell.stations.busy_ratio is None
    assert cell.interval is not None
    assert cell.interval.survey_active_us == 0
    cell.report(2, station(2_000), survey=surveyed(1))
    assert cell.stations.busy_ratio == pytest.approx(0.9)
    cell.report(3, station(3_000))
    assert cell.stations.busy_ratio is None
    cell.report(4, station(4_000), survey=surveyed(3))
    assert cell.stations.busy_ratio is None


@pytest.mark.parametrize(
    ("active_us", "busy_us", "ratio"),
    [(2_000, 1_500, 0.5), (2_000, 3_000, 1.0), (1_000, 1_500, None), (2_000, 999, None), (2_000, 1_000, 0.0)],
)
def test_the_differences_of_surveys(active_us: int, busy_us: int, ratio: float | None) -> None:
    cell = Cell()
    cell.report(0, survey=Survey(1_000, 1_000))
    cell.report(1, survey=Survey(active_us, busy_us))
    assert cell.stations.busy_ratio == ratio


def test_an_access_point_that_booted_is_compared_with_nothing() -> None:
    cell = Cell()
    cell.report(50, station(1_000), survey=surveyed(50))
    cell.report(51, station(2_000), station(0, number=1), survey=surveyed(51))
    cell.report(51.1, survey=surveyed(51))  # the sender left
    assert cell.stations.measured
    cell.stations.restart()
    assert (cell.senders, cell.uplink_bps, cell.stations.measured, cell.stations.busy_ratio) == (0, 0, False, None)
    cell.report(1, station(5_000), survey=surveyed(1))
    assert (cell.senders, cell.stations.measured) == (0, False)
    cell.report(2, station(5_500), survey=surveyed(2))
    assert cell.uplink_bps == pytest.approx(500 * 1_500 * 8)
    assert cell.interval is not None  # that somebody left is long ago


def test_a_gap_between_reports_is_bridged() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(1_000))
    cell.report(3, station(3_000))
    assert cell.uplink_bps == PACKETS_1000


def test_a_counter_that_jumped_is_reported_and_spoils_nothing() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    cell.report(1, station(1_000), station(0, number=1))
    cell.report(2, station(2_000), station(2**40, number=1))
    assert cell.uplink_bps == PACKETS_1000
    assert cell.senders == 1
    assert cell.interval is None
    assert [jump.code for jump in cell.jumps] == [Code.COUNTER_JUMP]
    cell.report(3, station(3_000), station(2**40 + 500, number=1))
    assert cell.uplink_bps == pytest.approx(1_500 * 1_500 * 8)
    assert (cell.senders, cell.jumps) == (2, [])


def test_a_sender_whose_counter_jumped_still_counts() -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(1_000))
    cell.report(2, station(2**40))
    assert cell.senders == 1


@pytest.mark.parametrize("counter", [*COUNTERS, "tx_bytes"])
def test_every_counter_that_jumps_is_named(counter: str) -> None:
    cell = Cell()
    cell.report(0, station(0))
    cell.report(1, station(1_000))
    jumped = station(2_000)._replace(**{counter: 2**40})  # type: ignore[arg-type]  # all integers
    cell.report(2, jumped)
    before = getattr(station(1_000), counter)
    name = f"stations[02:00:00:00:01:00].{counter}"
    assert cell.jumps == [Reason(Code.COUNTER_JUMP, name, before=before, after=2**40)]


@pytest.mark.parametrize(
    ("counter", "most"),
    [
        ("rx_bytes", 2_500_000_000),
        ("tx_bytes", 2_500_000_000),
        ("rx_packets", 20_000_000),
        ("tx_packets", 20_000_000),
    ],
)
def test_what_a_counter_can_move_in_a_second(counter: str, most: int) -> None:
    for count, jumps in ((most, 0), (most + 1, 1)):
        cell = Cell()
        cell.report(0, Station(mac(0)))
        cell.report(1, Station(mac(0))._replace(**{"tx_packets": 1, counter: count}))  # type: ignore[arg-type]
        assert len(cell.jumps) == jumps


COUNTS = st.integers(0, 2**63 - 1)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5 * SECOND_US),
            st.lists(
                st.builds(
                    Station,
                    mac=st.sampled_from([mac(number) for number in range(3)]),
                    rx_bytes=COUNTS,
                    rx_packets=COUNTS,
                    tx_packets=COUNTS,
                    tx_retries=COUNTS,
                    connected_time_ms=st.integers(0, 10_000),
                ),
                max_size=3,
                unique_by=lambda entry: entry.mac,
            ),
        ),
        max_size=20,
    )
)
def test_no_counters_make_a_negative_rate(reports: list[tuple[int, list[Station]]]) -> None:
    cell, at_us = Cell(), 0
    for pause_us, stations in reports:
        at_us += pause_us
        change = cell.report(at_us / 1e6, *stations)
        assert cell.uplink_bps >= 0
        assert all(state.payload_bytes_per_s >= 0 for state in cell.stations.by_mac.values())
        assert 0 <= cell.senders <= len(stations)
        assert cell.senders == sum(state.sending for state in cell.stations.by_mac.values())
        assert set(cell.stations.addresses()) == {entry.mac for entry in stations}
        assert set(change.appeared) <= set(cell.stations.addresses())
        assert not set(change.gone) & set(cell.stations.addresses())


def test_a_station_whose_terminal_began_to_send_counts_until_its_counters_say() -> None:
    cell = Cell()
    cell.report(0, station(0), station(0, number=1))
    assert not cell.stations.started(mac(0))  # nothing is measured yet
    cell.report(1, station(100), station(0, number=1))
    assert not cell.stations.started(mac(0))  # it is counted
    assert not cell.stations.started(mac(7))  # it is not here
    assert cell.stations.started(mac(1))
    assert not cell.stations.started(mac(1))
    assert (cell.senders, cell.stations.is_active(mac(1)), cell.stations.is_active(mac(7))) == (2, True, False)
    cell.report(1.1, station(110), station(1, number=1))  # too soon for rates
    assert cell.senders == 2
    cell.report(2, station(200), station(1, number=1))
    assert (cell.senders, cell.stations.is_active(mac(1))) == (1, False)
    cell.report(3, station(300), station(100, number=1))
    assert (cell.senders, cell.stations.is_active(mac(1))) == (2, True)


def idle_beside_a_sender(cell: Cell, *seconds: int) -> None:
    for second in seconds:
        cell.report(second, station(100 * second), station(0, number=1))


def test_after_a_start_that_brought_nothing_none_counts_in_two_reports() -> None:
    cell = Cell()
    idle_beside_a_sender(cell, 0, 1)
    assert cell.stations.started(mac(1))
    for second in (2, 3):
        idle_beside_a_sender(cell, second)
        assert not cell.stations.started(mac(1))
        assert cell.senders == 1
    idle_beside_a_sender(cell, 4)
    assert cell.stations.started(mac(1))
    assert cell.senders == 2


def test_nor_after_one_that_ended_before_the_report_and_had_brought_nothing() -> None:
    cell = Cell()
    idle_beside_a_sender(cell, 0, 1)
    assert cell.stations.started(mac(1))
    cell.stations.count_started({}.get)
    assert cell.senders == 1
    assert cell.stations.started(mac(1))  # what it sent may come still
    cell.stations.count_started({}.get)
    idle_beside_a_sender(cell, 2)
    assert not cell.stations.started(mac(1))


def test_one_that_goes_on_to_start_counts_in_two_reports_and_then_not_in_four() -> None:
    cell, counted = Cell(), list[int]()
    idle_beside_a_sender(cell, 0, 1)
    for second in range(2, 14):
        cell.stations.started(mac(1))
        counted.append(cell.senders - 1)
        cell.stations.count_started({mac(1): STARTING_US - 1}.get)
        idle_beside_a_sender(cell, second)
    assert counted == [1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0]


def test_a_station_that_sends_after_a_start_that_brought_nothing_starts_like_any_other() -> None:
    cell = Cell()
    idle_beside_a_sender(cell, 0, 1)
    assert cell.stations.started(mac(1))
    idle_beside_a_sender(cell, 2)
    for second, packets in ((3, 100), (4, 100)):
        cell.report(second, station(100 * second), station(packets, number=1))
    assert cell.senders == 1
    assert cell.stations.started(mac(1))


def test_what_is_kept_of_starts_ends_with_the_station() -> None:
    cell = Cell()
    idle_beside_a_sender(cell, 0, 1)
    assert cell.stations.started(mac(1))
    idle_beside_a_sender(cell, 2)
    cell.report(3, station(300))
    idle_beside_a_sender(cell, 4)
    assert cell.stations.started(mac(1))


def test_of_stations_that_began_to_send_those_count_that_still_do_and_the_latest_until_the_next_differences() -> None:
    cell = Cell()
    idle = [station(0, number=number) for number in (1, 2, 3)]
    for second in range(2):
        cell.report(second, station(100 * second), *idle)
    for number in (1, 2, 3):
        assert cell.stations.started(mac(number))
    cell.stations.count_started({mac(1): None, mac(2): STARTING_US, mac(3): STARTING_US - 1}.get)
    assert (cell.senders, cell.stations.is_active(mac(1))) == (3, False)
    cell.report(2, station(200), *idle)
    assert [cell.stations.is_active(mac(number)) for number in (0, 1, 2, 3)] == [True, False, False, True]
    assert cell.senders == 2
    cell.stations.count_started({mac(3): STARTING_US}.get)
    cell.report(3, station(300), *idle)
    assert cell.senders == 1


def test_a_station_that_began_to_send_and_left_does_not_count() -> None:
    cell = Cell()
    for second in range(2):
        cell.report(second, station(100 * second), station(0, number=1), station(0, number=2))
    assert cell.stations.started(mac(1))
    assert cell.stations.started(mac(2))
    cell.report(1.1, station(110), station(0, number=1))
    assert cell.senders == 2
    cell.stations.restart()
    cell.report(2, station(110), station(0, number=1))
    assert cell.senders == 0
