# SPDX-License-Identifier: Apache-2.0
"""Every limit of a report, at it and beyond."""

import pytest

from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    BITRATE_MAX_KBPS,
    CONNECTIONS_MAX,
    COUNTER_MAX,
    DESTINATIONS_MAX,
    FREQUENCY_MAX_MHZ,
    MSS_MAX_BYTES,
    MSS_MIN_BYTES,
    RTT_MAX_US,
    RTT_MIN_US,
    SIGNAL_DBM,
    SSID_MAX_BYTES,
    STATION_ADDRESSES_MAX,
    STATIONS_MAX,
    UNKNOWN_RADIO,
    Destination,
    Radio,
    Station,
    Survey,
)
from airbound.grpc import convert
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.messages import (
    BSSID,
    IPV4,
    IPV6,
    MAC,
    OTHER_IPV4,
    OTHER_MAC,
    THIRD_MAC,
    cell_report,
    destination,
    phone_report,
    seen,
    station,
)

NO_MACS = {
    "empty": b"",
    "5 octets": BSSID[:5],
    "7 octets": BSSID + b"\x01",
    "text": b"02:00:00:00:00:01",
    "group": bytes.fromhex("030000000001"),
    "broadcast": b"\xff" * 6,
    "zero": bytes(6),
}
NO_ADDRESSES = {
    "empty": b"",
    "3 octets": IPV4[:3],
    "5 octets": IPV4 + b"\x01",
    "15 octets": IPV6[:15],
    "17 octets": IPV6 + b"\x01",
    "text": b"10.0.4.1",
    "this network": bytes([0, 0, 0, 1]),
    "unspecified IPv4": bytes(4),
    "multicast IPv4": bytes([224, 0, 0, 1]),
    "last multicast IPv4": bytes([239, 255, 255, 255]),
    "broadcast IPv4": b"\xff" * 4,
    "unspecified IPv6": bytes(16),
    "multicast IPv6": b"\xff\x02" + bytes(13) + b"\x01",
    "mapped IPv4": bytes(10) + b"\xff\xff" + IPV4,
}


@pytest.mark.parametrize("octets", NO_MACS.values(), ids=NO_MACS)
def test_what_is_no_mac_address(octets: bytes) -> None:
    cell, refusals = convert.access_point_report(cell_report(bssid=octets))
    assert cell is None
    assert seen(refusals) == [(Code.MALFORMED, f"bssid (octets {octets.hex()})")]
    phone, refusals = convert.terminal_report(phone_report(mac=octets))
    assert phone is None
    assert seen(refusals) == [(Code.MALFORMED, f"mac (octets {octets.hex()})")]
    cell, refusals = convert.access_point_report(cell_report(stations=[station(mac=octets), station()]))
    assert cell is not None
    assert [entry.mac for entry in cell.stations] == [MAC]
    assert seen(refusals) == [(Code.MALFORMED, f"stations[0].mac (octets {octets.hex()})")]


@pytest.mark.parametrize("octets", NO_ADDRESSES.values(), ids=NO_ADDRESSES)
def test_what_is_no_address_of_a_peer(octets: bytes) -> None:
    phone, refusals = convert.terminal_report(
        phone_report(destinations=[destination(), destination(address=octets), destination(address=IPV6)])
    )
    assert phone is not None
    assert [entry.address for entry in phone.destinations] == [IPV4, IPV6]
    assert seen(refusals) == [(Code.MALFORMED, f"destinations[1].address (octets {octets.hex()})")]
    cell, refusals = convert.access_point_report(
        cell_report(stations=[station(rx_bytes=7, ip_addresses=[IPV4, octets, IPV6, octets])])
    )
    assert cell is not None
    assert cell.stations == (Station(MAC, rx_bytes=7, ip_addresses=(IPV4, IPV6)),)
    assert seen(refusals) == [(Code.MALFORMED, f"stations[0].ip_addresses (octets {octets.hex()})")]


def test_only_the_beginning_of_octets_is_repeated() -> None:
    for octets, shown in ((20, "ab" * 20), (21, f"{'ab' * 20}..."), (1000, f"{'ab' * 20}...")):
        _, refusals = convert.terminal_report(phone_report(mac=b"\xab" * octets))
        assert seen(refusals) == [(Code.MALFORMED, f"mac (octets {shown})")]


def test_the_first_and_the_last_unicast_address_of_ipv4() -> None:
    ends = [bytes([1, 0, 0, 0]), bytes([223, 255, 255, 255]), bytes([240, 0, 0, 0]), bytes([255, 255, 255, 254])]
    phone, refusals = convert.terminal_report(
        phone_report(destinations=[destination(address=address) for address in ends])
    )
    assert phone is not None
    assert [entry.address for entry in phone.destinations] == ends
    assert refusals == []


HEAD = [("sequence", 0, 1), ("sequence", 2**63, COUNTER_MAX), ("monotonic_us", 2**63, COUNTER_MAX)]


@pytest.mark.parametrize(("field", "value", "limit"), HEAD)
def test_a_report_at_no_possible_time_is_refused_whole(field: str, value: int, limit: int) -> None:
    expected = [Reason(Code.OUT_OF_RANGE, field, after=value, limit=limit)]
    assert convert.access_point_report(cell_report(**{field: value})) == (None, expected)
    assert convert.terminal_report(phone_report(**{field: value})) == (None, expected)


def test_the_greatest_sequence_time_and_generation_are_right() -> None:
    cell, refusals = convert.access_point_report(cell_report(sequence=COUNTER_MAX, monotonic_us=COUNTER_MAX))
    assert cell is not None
    assert refusals == []
    phone, refusals = convert.terminal_report(
        phone_report(sequence=COUNTER_MAX, monotonic_us=COUNTER_MAX, bounds_generation=COUNTER_MAX)
    )
    assert phone is not None
    assert refusals == []
    assert convert.terminal_report(phone_report(bounds_generation=2**63)) == (
        None,
        [Reason(Code.OUT_OF_RANGE, "bounds_generation", after=2**63, limit=COUNTER_MAX)],
    )


STATION_FIELDS = [
    *((field, COUNTER_MAX) for field in ("rx_bytes", "rx_packets", "tx_packets", "tx_retries", "connected_time_ms")),
    ("rx_bitrate_kbps", BITRATE_MAX_KBPS),
]


@pytest.mark.parametrize(("field", "limit"), STATION_FIELDS)
def test_a_station_at_each_limit_and_beyond(field: str, limit: int) -> None:
    stations = [station(mac=OTHER_MAC, **{field: limit}), station(**{field: limit + 1}), station(mac=THIRD_MAC)]
    report, refusals = convert.access_point_report(cell_report(stations=stations))
    assert report is not None
    assert report.stations == (Station(OTHER_MAC)._replace(**{field: limit}), Station(THIRD_MAC))
    assert refusals == [Reason(Code.OUT_OF_RANGE, f"stations[1].{field}", after=limit + 1, limit=limit)]


def test_a_counter_that_looks_like_a_negative_number_is_refused() -> None:
    report, refusals = convert.access_point_report(cell_report(stations=[station(rx_bytes=2**64 - 5)]))
    assert report is not None
    assert report.stations == ()
    assert seen(refusals) == [(Code.OUT_OF_RANGE, "stations[0].rx_bytes")]


def test_signal_at_each_limit_and_beyond() -> None:
    low, high = SIGNAL_DBM
    signals = [low - 1, low, 0, high, high + 1]
    stations = [station(mac=bytes([2, 0, 0, 0, 2, index]), signal_dbm=dbm) for index, dbm in enumerate(signals)]
    report, refusals = convert.access_point_report(cell_report(stations=stations))
    assert report is not None
    assert [entry.mac[-1] for entry in report.stations] == [1, 2, 3]
    assert refusals == [
        Reason(Code.OUT_OF_RANGE, "stations[0].signal_dbm", after=low - 1, limit=low),
        Reason(Code.OUT_OF_RANGE, "stations[4].signal_dbm", after=high + 1, limit=high),
    ]


def test_a_station_with_very_many_addresses_keeps_the_first() -> None:
    addresses = [bytes([10, 0, 5, number]) for number in range(STATION_ADDRESSES_MAX + 1)]
    report, refusals = convert.access_point_report(
        cell_report(
            stations=[
                station(mac=OTHER_MAC, ip_addresses=addresses[:STATION_ADDRESSES_MAX]),
                station(rx_bytes=7, ip_addresses=addresses),
            ]
        )
    )
    assert report is not None
    assert report.stations == (
        Station(OTHER_MAC, ip_addresses=tuple(addresses[:-1])),
        Station(MAC, rx_bytes=7, ip_addresses=tuple(addresses[:-1])),
    )
    assert refusals == [
        Reason(
            Code.TOO_MANY_ENTRIES,
            "stations[1].ip_addresses",
            after=STATION_ADDRESSES_MAX + 1,
            limit=STATION_ADDRESSES_MAX,
        )
    ]


DESTINATION_FIELDS = [
    ("connections_sending", CONNECTIONS_MAX, CONNECTIONS_MAX + 1),
    ("srtt_us", RTT_MAX_US, RTT_MAX_US + 1),
    ("min_rtt_us", RTT_MAX_US, RTT_MAX_US + 1),
    ("srtt_us", RTT_MIN_US, RTT_MIN_US - 1),
    ("min_rtt_us", RTT_MIN_US, RTT_MIN_US - 1),
    ("srtt_us", 0, 1),
    ("min_rtt_us", 0, 1),
    ("mss_bytes", MSS_MAX_BYTES, MSS_MAX_BYTES + 1),
    ("mss_bytes", MSS_MIN_BYTES, MSS_MIN_BYTES - 1),
    ("mss_bytes", 0, 1),
]


@pytest.mark.parametrize(("field", "right", "wrong"), DESTINATION_FIELDS)
def test_a_destination_at_each_limit_and_beyond(field: str, right: int, wrong: int) -> None:
    entries = [destination(**{field: wrong}), destination(address=OTHER_IPV4, **{field: right})]
    report, refusals = convert.terminal_report(phone_report(destinations=entries))
    assert report is not None
    # A window of 0 is never full.
    expected = Destination(OTHER_IPV4, mss_bytes=0, fills_window=False)._replace(**{field: right})
    assert report.destinations == (expected,)
    limit = {1: 88 if field == "mss_bytes" else RTT_MIN_US}.get(wrong, right)
    assert refusals == [Reason(Code.OUT_OF_RANGE, f"destinations[0].{field}", after=wrong, limit=limit)]


def test_the_loopback_may_be_faster_than_any_wifi() -> None:
    entries = [
        destination(address=bytes([127, 0, 0, 1]), srtt_us=1),
        destination(address=bytes(15) + b"\x01", srtt_us=1),
    ]
    report, refusals = convert.terminal_report(phone_report(destinations=entries))
    assert report is not None
    assert len(report.destinations) == 2
    assert refusals == []


@pytest.mark.parametrize("over", [0, 1, 100])
def test_as_many_destinations_as_an_agent_sends_are_used(over: int) -> None:
    count = DESTINATIONS_MAX + over
    entries = [destination(address=bytes([10, 1, *divmod(number, 256)])) for number in range(count)]
    report, refusals = convert.terminal_report(phone_report(destinations=entries))
    assert report is not None
    assert [entry.address for entry in report.destinations] == [entry.address for entry in entries[:DESTINATIONS_MAX]]
    expected = Reason(Code.TOO_MANY_ENTRIES, "destinations", after=count, limit=DESTINATIONS_MAX)
    assert refusals == ([expected] if over else [])


@pytest.mark.parametrize("over", [0, 1, 100])
def test_as_many_stations_as_a_cell_may_have_are_used(over: int) -> None:
    count = STATIONS_MAX + over
    entries = [station(mac=bytes([2, 0, 0, 1, *divmod(number, 256)])) for number in range(count)]
    report, refusals = convert.access_point_report(cell_report(stations=entries))
    assert report is not None
    assert [entry.mac for entry in report.stations] == [entry.mac for entry in entries[:STATIONS_MAX]]
    expected = Reason(Code.TOO_MANY_ENTRIES, "stations", after=count, limit=STATIONS_MAX)
    assert refusals == ([expected] if over else [])


def test_an_endless_list_makes_no_endless_list_of_refusals() -> None:
    report, refusals = convert.terminal_report(phone_report(destinations=[terminal_pb2.Destination()] * 50_000))
    assert report is not None
    assert len(refusals) == 1 + DESTINATIONS_MAX
    crowd = access_point_pb2.Station(mac=MAC, ip_addresses=[b""] * 20)
    cell, refusals = convert.access_point_report(cell_report(stations=[crowd] * 3000))
    assert cell is not None
    assert len(refusals) <= 1 + 3 * STATIONS_MAX


def test_ssid_at_its_limit_and_beyond() -> None:
    for octets, kept in ((SSID_MAX_BYTES, SSID_MAX_BYTES), (SSID_MAX_BYTES + 1, 0)):
        report, refusals = convert.access_point_report(cell_report(ssid=b"x" * octets))
        assert report is not None
        assert report.ssid == b"x" * kept
        expected = Reason(Code.OUT_OF_RANGE, "ssid", after=octets, limit=SSID_MAX_BYTES)
        assert refusals == ([] if kept else [expected])


def test_frequency_at_its_limit_and_beyond() -> None:
    for mhz, kept in ((FREQUENCY_MAX_MHZ, FREQUENCY_MAX_MHZ), (FREQUENCY_MAX_MHZ + 1, 0)):
        channel = access_point_pb2.Channel(center_frequency_mhz=mhz)
        report, refusals = convert.access_point_report(cell_report(channel=channel))
        assert report is not None
        assert report.center_frequency_mhz == kept
        expected = Reason(Code.OUT_OF_RANGE, "channel.center_frequency_mhz", after=mhz, limit=FREQUENCY_MAX_MHZ)
        assert refusals == ([] if kept else [expected])


@pytest.mark.parametrize(
    ("active_us", "busy_us", "refused"),
    [
        (5, 5, None),
        (COUNTER_MAX, COUNTER_MAX, None),
        (0, 0, None),
        (5, 6, Reason(Code.OUT_OF_RANGE, "survey.busy_us", after=6, limit=5)),
        (2**63, 5, Reason(Code.OUT_OF_RANGE, "survey.active_us", after=2**63, limit=COUNTER_MAX)),
        (2**63, 2**63 + 1, Reason(Code.OUT_OF_RANGE, "survey.active_us", after=2**63, limit=COUNTER_MAX)),
        (5, 2**64 - 1, Reason(Code.OUT_OF_RANGE, "survey.busy_us", after=2**64 - 1, limit=5)),
    ],
)
def test_a_survey_at_each_limit_and_beyond(active_us: int, busy_us: int, refused: Reason | None) -> None:
    survey = access_point_pb2.ChannelSurvey(active_us=active_us, busy_us=busy_us)
    report, refusals = convert.access_point_report(cell_report(survey=survey, stations=[station()]))
    assert report is not None
    assert len(report.stations) == 1
    assert report.survey == (None if refused else Survey(active_us, busy_us))
    assert refusals == ([refused] if refused else [])


def test_a_report_without_a_survey_has_none() -> None:
    report, refusals = convert.access_point_report(cell_report())
    assert report is not None
    assert (report.survey, refusals) == (None, [])


def test_what_is_listed_twice_counts_as_it_was_listed_first() -> None:
    stations = [station(mac=mac, rx_bytes=number) for number, mac in enumerate((MAC, OTHER_MAC, MAC))]
    cell, refusals = convert.access_point_report(cell_report(stations=stations))
    assert cell is not None
    assert [(entry.mac, entry.rx_bytes) for entry in cell.stations] == [(MAC, 0), (OTHER_MAC, 1)]
    assert seen(refusals) == [(Code.DUPLICATE_ENTRY, "stations[2].mac")]
    same = [destination(srtt_us=2000), destination(address=IPV6), destination(srtt_us=3000)]
    phone, refusals = convert.terminal_report(phone_report(destinations=same))
    assert phone is not None
    assert [(entry.address, entry.srtt_us) for entry in phone.destinations] == [(IPV4, 2000), (IPV6, 0)]
    assert seen(refusals) == [(Code.DUPLICATE_ENTRY, "destinations[2].address")]


@pytest.mark.parametrize(
    ("name", "right"),
    [("", True), ("a" * 32, True), ("proc fs", True), ("\x1b[2J", False), ("a" * 33, False), ("procfs\n", False)],
)
def test_the_name_of_a_back_end(name: str, right: bool) -> None:  # noqa: FBT001
    agent = terminal_pb2.Agent(back_end=terminal_pb2.BackEnd(name=name))
    report, refusals = convert.terminal_report(phone_report(agent=agent))
    assert (report is not None) == right
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "agent.back_end.name")])


@pytest.mark.parametrize(("version", "right"), [("v" * 64, True), ("v" * 65, False), ("1\x1b[2J", False)])
def test_the_version_of_an_agent(version: str, right: bool) -> None:  # noqa: FBT001
    """It is refused alone: what the back end can do is reported once."""
    agent = terminal_pb2.Agent(version=version, back_end=terminal_pb2.BackEnd(name="x", can_set_max=True))
    report, refusals = convert.terminal_report(phone_report(agent=agent, destinations=[destination()]))
    assert report is not None
    assert report.agent is not None
    assert (report.agent.version, report.agent.back_end.can_set_max) == (version if right else "", True)
    assert len(report.destinations) == 1
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "agent.version")])
    cell, refusals = convert.access_point_report(cell_report(agent_version=version, stations=[station()]))
    assert cell is not None
    assert (cell.agent_version, len(cell.stations)) == (version if right else "", 1)
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "agent_version")])


def test_what_a_cell_is_on() -> None:
    message = access_point_pb2.AccessPointReport(bssid=BSSID, sequence=1, monotonic_us=1)
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert (report.radio, refusals) == (UNKNOWN_RADIO, [])
    for _ in range(16):
        message.links.add()
    message.surveys_refused_total = 2**63
    message.survey_refusal = "x" * 300
    message.channel.band = 9  # of a later version
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert report.radio == Radio(band=0, links=15, survey_refusal="x" * 200, surveys_refused_total=0)
    assert refusals == [
        Reason(Code.TOO_MANY_ENTRIES, "links", after=16, limit=15),
        Reason(Code.OUT_OF_RANGE, "surveys_refused_total", after=2**63, limit=COUNTER_MAX),
    ]
