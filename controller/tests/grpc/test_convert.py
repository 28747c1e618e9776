# SPDX-License-Identifier: Apache-2.0
"""Every field that is read, every limit, and whatever else may be on the wire."""

from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, RenewLease, SetBounds, SetEdca, SetReporting
from airbound.core.principals import Principal, Stream
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
    AccessPointReport,
    Agent,
    BackEnd,
    Destination,
    EdcaState,
    Station,
    Survey,
    TerminalReport,
)
from airbound.grpc import convert
from airbound.v1 import access_point_pb2, reason_pb2, terminal_pb2

BSSID = bytes.fromhex("020000000001")
MAC = bytes.fromhex("020000000100")
OTHER_MAC = bytes.fromhex("020000000101")
THIRD_MAC = bytes.fromhex("020000000102")
IPV4 = bytes([10, 0, 4, 1])
OTHER_IPV4 = bytes([10, 0, 4, 2])
IPV6 = bytes.fromhex("20010db8000000000000000000000007")
STREAM = Stream(1, Principal("terminal", "192.0.2.7"))
BEST_EFFORT = access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT
EDCA = access_point_pb2.EdcaState(
    can_set=True,
    refusal="why not",
    generation=31,
    own=[access_point_pb2.Edca(category=BEST_EFFORT, aifsn=2, cw_min=15, cw_max=1023, txop_limit=32)],
    stations=[access_point_pb2.Edca(category=BEST_EFFORT, aifsn=3, cw_min=7, cw_max=63, txop_limit=33)],
    wmm=True,
    refused_total=34,
)


def unset(message: Any, path: str = "") -> list[str]:
    """The fields of a message that are not set, in any depth; `oneof` may leave out all but one."""
    found = []
    for field in message.DESCRIPTOR.fields:
        value, name = getattr(message, field.name), f"{path}{field.name}"
        if field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name) not in {
            None,
            field.name,
        }:
            continue
        if field.is_repeated:
            found += [name] if not value else []
            entries = value if field.message_type else ()
        elif field.message_type:
            found += [] if message.HasField(field.name) else [name]
            entries = [value] if message.HasField(field.name) else ()
        else:
            found += [] if value else [name]
            entries = ()
        for entry in entries:
            found += unset(entry, f"{name}.")
    return found


def cell_report(**fields: Any) -> access_point_pb2.AccessPointReport:
    """A report that is right but for these fields."""
    return access_point_pb2.AccessPointReport(**{"bssid": BSSID, "sequence": 1, **fields})


def phone_report(**fields: Any) -> terminal_pb2.TerminalReport:
    """A report that is right but for these fields."""
    return terminal_pb2.TerminalReport(**{"mac": MAC, "sequence": 1, **fields})


def station(**fields: Any) -> access_point_pb2.Station:
    return access_point_pb2.Station(**{"mac": MAC, **fields})


def destination(**fields: Any) -> terminal_pb2.Destination:
    return terminal_pb2.Destination(**{"address": IPV4, **fields})


def seen(reasons: list[Reason]) -> list[tuple[Code, str]]:
    return [(reason.code, reason.subject) for reason in reasons]


# Every field


def test_every_field_of_an_access_points_report() -> None:
    message = access_point_pb2.AccessPointReport(
        bssid=BSSID,
        ssid=b"cell",
        interface="wlan0",
        sequence=2,
        monotonic_us=3,
        channel=access_point_pb2.Channel(center_frequency_mhz=5180, width_mhz=80),
        survey=access_point_pb2.ChannelSurvey(active_us=50, busy_us=40, rx_us=30, tx_us=20),
        stations=[
            access_point_pb2.Station(
                mac=MAC,
                signal_dbm=-60,
                rx_bytes=11,
                tx_bytes=12,
                rx_packets=13,
                tx_packets=14,
                tx_retries=15,
                tx_failed=16,
                rx_bitrate_kbps=17,
                tx_bitrate_kbps=18,
                rx_airtime_us=19,
                tx_airtime_us=20,
                airtime_source=access_point_pb2.AIRTIME_SOURCE_MEASURED,
                connected_time_ms=21,
                aggregates=True,
                ip_addresses=[IPV4, IPV6],
            )
        ],
        trigger=access_point_pb2.ACCESS_POINT_REPORT_TRIGGER_INTERVAL,
        malformed_inputs_total=5,
        agent_version="1.2.3",
        edca=EDCA,
    )
    assert unset(message) == []
    expected = Station(
        mac=MAC,
        rx_bytes=11,
        rx_packets=13,
        tx_bytes=12,
        tx_packets=14,
        tx_retries=15,
        rx_bitrate_kbps=17,
        connected_time_ms=21,
        aggregates=True,
        ip_addresses=(IPV4, IPV6),
    )
    assert convert.access_point_report(message) == (
        AccessPointReport(
            bssid=BSSID,
            sequence=2,
            monotonic_us=3,
            stations=(expected,),
            survey=Survey(active_us=50, busy_us=40),
            ssid=b"cell",
            center_frequency_mhz=5180,
            malformed_inputs_total=5,
            agent_version="1.2.3",
            edca=EdcaState(
                can_set=True,
                refusal="why not",
                generation=31,
                own=(Edca(Category.BEST_EFFORT, 2, 15, 1023, 32),),
                stations=(Edca(Category.BEST_EFFORT, 3, 7, 63, 33),),
                wmm=True,
                refused_total=34,
            ),
        ),
        [],
    )


def test_every_field_of_a_terminals_report() -> None:
    events = terminal_pb2.EventCounts(local_congestion=1, duplicate_ack=2, sack=3, fast_retransmit=4, timeout=5, undo=6)
    back_end = terminal_pb2.BackEnd(
        name="ebpf", can_set_max=True, can_set_min=True, can_select_destination=True, can_select_uid=True, rules_max=64
    )
    message = terminal_pb2.TerminalReport(
        mac=MAC,
        sequence=2,
        monotonic_us=3,
        agent=terminal_pb2.Agent(version="1.2.3", back_end=back_end),
        destinations=[
            terminal_pb2.Destination(
                address=IPV6,
                connections=11,
                connections_sending=12,
                srtt_us=1300,
                min_rtt_us=1200,
                cwnd_segs=15,
                ssthresh_segs=16,
                mss_bytes=1400,
                delivered_bytes=18,
                queued_bytes=19,
                events=events,
                uids=[10_001],
            )
        ],
        bounds_generation=4,
        trigger=terminal_pb2.TERMINAL_REPORT_TRIGGER_INTERVAL,
        malformed_inputs_total=5,
    )
    assert unset(message) == []
    expected = Destination(
        IPV6, connections_sending=12, srtt_us=1300, min_rtt_us=1200, mss_bytes=1400, fills_window=False
    )
    agent = Agent(
        "1.2.3",
        BackEnd(name="ebpf", can_set_max=True, can_set_min=True, can_select_destination=True, rules_max=64),
    )
    assert convert.terminal_report(message) == (
        TerminalReport(
            mac=MAC,
            sequence=2,
            monotonic_us=3,
            destinations=(expected,),
            bounds_generation=4,
            malformed_inputs_total=5,
            agent=agent,
        ),
        [],
    )


@pytest.mark.parametrize("can", ["can_set_max", "can_set_min", "can_select_destination"])
def test_each_ability_of_a_back_end_by_itself(can: str) -> None:
    abilities = {"can_set_max": False, "can_set_min": False, "can_select_destination": False, can: True}
    back_end = terminal_pb2.BackEnd(name="x", **abilities)
    report, _ = convert.terminal_report(phone_report(agent=terminal_pb2.Agent(back_end=back_end)))
    assert report is not None
    assert report.agent == Agent("", BackEnd(name="x", rules_max=0, **abilities))


def test_an_agent_that_is_absent_is_not_one_that_can_do_nothing() -> None:
    absent, _ = convert.terminal_report(phone_report())
    undescribed, _ = convert.terminal_report(phone_report(agent=terminal_pb2.Agent()))
    assert absent is not None
    assert undescribed is not None
    assert absent.agent is None
    assert undescribed.agent == Agent(
        "", BackEnd(name="", can_set_max=False, can_set_min=False, can_select_destination=False)
    )


def test_every_field_of_every_command() -> None:
    bounds = (Bound(IPV4, 20, 35), Bound(IPV6, 21, 36), Bound(b"", 2, 4))
    reasons = (Reason(Code.CAPACITY, "x", 1.0, 2.0, 3.0), Reason(Code.CONNECTIONS, "", 1, 2))
    sent = terminal_pb2.TerminalServiceConnectResponse.FromString(
        convert.terminal_command(SetBounds(STREAM, 9, bounds, 6000, reasons, 3, 20e6 + 0.6))
    )
    assert [name for name in unset(sent) if "bounds" not in name] == []
    assert sent.command.set_bounds == terminal_pb2.SetBounds(
        generation=9,
        bounds=[
            terminal_pb2.Bound(destination=terminal_pb2.Prefix(address=IPV4, length_bits=32), min_segs=20, max_segs=35),
            terminal_pb2.Bound(
                destination=terminal_pb2.Prefix(address=IPV6, length_bits=128), min_segs=21, max_segs=36
            ),
            terminal_pb2.Bound(all=True, min_segs=2, max_segs=4),
        ],
        lease_ms=6000,
        reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_CAPACITY, subject="x", before=1, after=2, limit=3),
        active_senders=3,
        capacity_bps=20_000_001,
    )
    renewed = terminal_pb2.TerminalServiceConnectResponse.FromString(
        convert.terminal_command(RenewLease(STREAM, 9, 6000))
    )
    assert unset(renewed) == []
    assert renewed.command.renew_lease == terminal_pb2.RenewLease(generation=9, lease_ms=6000)
    reporting = terminal_pb2.TerminalServiceConnectResponse.FromString(
        convert.terminal_command(SetReporting(STREAM, 1000, 10_000, 200))
    )
    assert unset(reporting) == []
    assert reporting.command.set_reporting == terminal_pb2.SetReporting(
        interval_ms=1000, heartbeat_ms=10_000, rtt_ratio_change_permille=200
    )


def test_every_field_of_a_command_to_an_access_point() -> None:
    queues = (Edca(Category.BEST_EFFORT, 4, 15, 1023, 6), Edca(Category.BACKGROUND, 7, 31, 63, 0))
    effect = SetEdca(STREAM, 9, queues, 6000, Reason(Code.UPLOADS, "x", 0.5, 1.0, 0.75))
    sent = access_point_pb2.AccessPointServiceConnectResponse.FromString(convert.agent_command(effect))
    assert unset(sent) == ["command.set_edca.queues.txop_limit"]  # of background
    assert sent.command.set_edca == access_point_pb2.SetEdca(
        generation=9,
        queues=[
            access_point_pb2.Edca(category=BEST_EFFORT, aifsn=4, cw_min=15, cw_max=1023, txop_limit=6),
            access_point_pb2.Edca(category=access_point_pb2.ACCESS_CATEGORY_BACKGROUND, aifsn=7, cw_min=31, cw_max=63),
        ],
        lease_ms=6000,
        reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_UPLOADS, subject="x", before=0.5, after=1.0, limit=0.75),
    )
    release = convert.agent_command(effect._replace(queues=()))
    assert not access_point_pb2.AccessPointServiceConnectResponse.FromString(release).command.set_edca.queues
    renewal = RenewLease(STREAM, 9, 6000)
    assert convert.agent_command(renewal) == convert.terminal_command(renewal)


def test_a_value_that_a_reason_does_not_have_is_absent() -> None:
    bare = convert.reason_message(Reason(Code.OBSERVE_MODE))
    assert [field.name for field, _ in bare.ListFields()] == ["code"]
    zero = convert.reason_message(Reason(Code.ACTIVE_SENDERS, "", 0, 0))
    assert zero.HasField("before")
    assert not zero.HasField("limit")


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_the_contracts(code: Code) -> None:
    assert reason_pb2.ReasonCode.Name(code.value) == f"REASON_CODE_{code.name}"


# Every limit

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
    assert report.destinations == (Destination(OTHER_IPV4, mss_bytes=0)._replace(**{field: right}),)
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


# EDCA parameters


def edca_of(**fields: Any) -> tuple[EdcaState | None, list[Reason]]:
    report, refusals = convert.access_point_report(cell_report(edca=access_point_pb2.EdcaState(**fields)))
    assert report is not None
    return report.edca, refusals


def queue(**fields: Any) -> access_point_pb2.Edca:
    return access_point_pb2.Edca(**{"category": BEST_EFFORT, "aifsn": 2, "cw_min": 15, "cw_max": 1023, **fields})


def test_an_agent_that_knows_nothing_of_edca_reports_none() -> None:
    report, refusals = convert.access_point_report(cell_report())
    assert report is not None
    assert (report.edca, refusals) == (None, [])
    assert edca_of() == (EdcaState(), [])


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({}, None),
        ({"aifsn": 1}, None),
        ({"aifsn": 15}, None),
        ({"aifsn": 0}, Reason(Code.OUT_OF_RANGE, "aifsn", after=0, limit=1)),
        ({"aifsn": 16}, Reason(Code.OUT_OF_RANGE, "aifsn", after=16, limit=15)),
        ({"cw_min": 0, "cw_max": 0}, None),
        ({"cw_min": 1023}, None),
        ({"cw_min": 2}, Reason(Code.MALFORMED, "cw_min")),
        ({"cw_min": 2047, "cw_max": 2047}, Reason(Code.OUT_OF_RANGE, "cw_min", after=2047, limit=1023)),
        ({"cw_max": 1022}, Reason(Code.MALFORMED, "cw_max")),
        ({"cw_max": 1024}, Reason(Code.OUT_OF_RANGE, "cw_max", after=1024, limit=1023)),
        ({"cw_max": 7}, Reason(Code.OUT_OF_RANGE, "cw_max", after=7, limit=15)),
        ({"txop_limit": 65_535}, None),
        ({"txop_limit": 65_536}, Reason(Code.OUT_OF_RANGE, "txop_limit", after=65_536, limit=65_535)),
        ({"category": 0}, Reason(Code.OUT_OF_RANGE, "category", after=0, limit=4)),
        ({"category": 5}, Reason(Code.OUT_OF_RANGE, "category", after=5, limit=4)),
        ({"category": -1}, Reason(Code.OUT_OF_RANGE, "category", after=-1, limit=4)),
    ],
)
@pytest.mark.parametrize("field", ["own", "stations"])
def test_a_queue_at_each_limit_and_beyond(field: str, fields: dict[str, int], refused: Reason | None) -> None:
    voice = queue(category=access_point_pb2.ACCESS_CATEGORY_VOICE)
    state, refusals = edca_of(**{field: [voice, queue(**fields)], "can_set": True})
    assert state is not None
    assert state.can_set
    queues = getattr(state, field)
    assert queues[0] == Edca(Category.VOICE, 2, 15, 1023, 0)
    if refused is None:
        assert refusals == []
        assert [queues[1].aifsn, queues[1].cw_min] == [fields.get("aifsn", 2), fields.get("cw_min", 15)]
    else:
        assert len(queues) == 1
        assert refusals == [refused._replace(subject=f"edca.{field}[1].{refused.subject}")]


def test_of_a_category_that_is_listed_twice_the_first_counts() -> None:
    state, refusals = edca_of(own=[queue(), queue(aifsn=7)])
    assert state is not None
    assert [entry.aifsn for entry in state.own] == [2]
    assert seen(refusals) == [(Code.DUPLICATE_ENTRY, "edca.own[1].category")]


@pytest.mark.parametrize("count", [5, 1000])
def test_an_endless_list_of_queues_is_cut(count: int) -> None:
    state, refusals = edca_of(stations=[queue(category=category % 4 + 1) for category in range(count)])
    assert state is not None
    assert len(state.stations) == 4
    assert refusals == [Reason(Code.TOO_MANY_ENTRIES, "edca.stations", after=count, limit=4)]


@pytest.mark.parametrize(
    ("refusal", "right"), [("x" * 200, True), ("x" * 201, False), ("no\nline", False), ("\x1b[2J", False)]
)
def test_the_words_of_an_access_point(refusal: str, right: bool) -> None:  # noqa: FBT001
    state, refusals = edca_of(refusal=refusal, own=[queue()])
    assert state is not None
    assert (state.refusal, len(state.own)) == (refusal if right else "", 1)
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "edca.refusal")])


def test_a_generation_that_none_can_follow_is_refused_with_all_of_it() -> None:
    state, refusals = edca_of(generation=COUNTER_MAX)
    assert (state, refusals) == (EdcaState(generation=COUNTER_MAX), [])
    state, refusals = edca_of(generation=COUNTER_MAX + 1)
    assert state is None
    assert refusals == [Reason(Code.OUT_OF_RANGE, "edca.generation", after=COUNTER_MAX + 1, limit=COUNTER_MAX)]


def test_the_same_parameters_are_converted_once_and_refused_each_time() -> None:
    first, _ = edca_of(own=[queue()], generation=3)
    assert edca_of(own=[queue()], generation=3)[0] is first
    assert edca_of(own=[queue()], generation=4)[0] != first
    for _ in range(2):
        assert len(edca_of(own=[queue(aifsn=0)])[1]) == 1


# Whatever may come: reports that are right, with one thing broken

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
MACS = st.binary(min_size=5, max_size=5).map(lambda octets: b"\x02" + octets)
ADDRESSES = st.one_of(
    st.binary(min_size=3, max_size=3).map(lambda octets: b"\x0a" + octets),
    st.binary(min_size=14, max_size=14).map(lambda octets: b"\x20\x01" + octets),
)
STATIONS = st.builds(
    access_point_pb2.Station,
    mac=MACS,
    signal_dbm=st.integers(-100, 0),
    rx_bytes=st.integers(0, 2**50),
    rx_packets=st.integers(0, 2**40),
    connected_time_ms=st.integers(0, 2**40),
    aggregates=st.booleans(),
    ip_addresses=st.lists(ADDRESSES, max_size=3),
)
CELL_REPORTS = st.builds(
    access_point_pb2.AccessPointReport,
    bssid=MACS,
    ssid=st.binary(max_size=32),
    sequence=st.integers(1, 2**63 - 1),
    monotonic_us=st.integers(0, 2**63 - 1),
    stations=st.lists(STATIONS, max_size=5, unique_by=lambda entry: entry.mac),
)
DESTINATIONS = st.builds(
    terminal_pb2.Destination,
    address=ADDRESSES,
    connections_sending=st.integers(0, 1000),
    srtt_us=st.integers(50, 10**6),
    min_rtt_us=st.integers(50, 10**6),
    mss_bytes=st.integers(500, 9000),
)
PHONE_REPORTS = st.builds(
    terminal_pb2.TerminalReport,
    mac=MACS,
    sequence=st.integers(1, 2**63 - 1),
    monotonic_us=st.integers(0, 2**63 - 1),
    destinations=st.lists(DESTINATIONS, max_size=5, unique_by=lambda entry: entry.address),
    bounds_generation=st.integers(0, 2**63 - 1),
)


@given(CELL_REPORTS)
def test_a_right_report_of_a_cell_is_used_whole(message: access_point_pb2.AccessPointReport) -> None:
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert refusals == []
    assert [(entry.mac, entry.rx_bytes) for entry in report.stations] == [
        (entry.mac, entry.rx_bytes) for entry in message.stations
    ]


@given(PHONE_REPORTS)
def test_a_right_report_of_a_phone_is_used_whole(message: terminal_pb2.TerminalReport) -> None:
    report, refusals = convert.terminal_report(message)
    assert report is not None
    assert refusals == []
    assert [(entry.address, entry.srtt_us) for entry in report.destinations] == [
        (entry.address, entry.srtt_us) for entry in message.destinations
    ]


@given(CELL_REPORTS, STATIONS, st.data())
def test_one_broken_station_costs_itself(
    message: access_point_pb2.AccessPointReport, broken: access_point_pb2.Station, data: st.DataObject
) -> None:
    whole, _ = convert.access_point_report(message)
    field, value = data.draw(
        st.sampled_from(
            [
                ("mac", b"\x02"),
                ("mac", b"\x03" * 6),
                ("signal_dbm", -1000),
                ("rx_bytes", 2**64 - 1),
                ("tx_retries", 2**63),
                ("connected_time_ms", 2**63),
                ("rx_bitrate_kbps", 2**32 - 1),
            ]
        )
    )
    setattr(broken, field, value)
    index = data.draw(st.integers(0, len(message.stations)))
    message.stations.insert(index, broken)
    report, refusals = convert.access_point_report(message)
    assert report == whole
    assert [reason.subject.partition(" ")[0] for reason in refusals] == [f"stations[{index}].{field}"]


@given(PHONE_REPORTS, DESTINATIONS, st.data())
def test_one_broken_destination_costs_itself(
    message: terminal_pb2.TerminalReport, broken: terminal_pb2.Destination, data: st.DataObject
) -> None:
    whole, _ = convert.terminal_report(message)
    field, value = data.draw(
        st.sampled_from(
            [
                ("address", b"\x7f"),
                ("address", bytes(16)),
                ("connections_sending", 2**32 - 1),
                ("srtt_us", 49),
                ("min_rtt_us", 2**32 - 1),
                ("mss_bytes", 87),
            ]
        )
    )
    setattr(broken, field, value)
    index = data.draw(st.integers(0, len(message.destinations)))
    message.destinations.insert(index, broken)
    report, refusals = convert.terminal_report(message)
    assert report == whole
    assert [reason.subject.partition(" ")[0] for reason in refusals] == [f"destinations[{index}].{field}"]


@given(st.one_of(CELL_REPORTS, PHONE_REPORTS), st.data())
def test_octets_that_were_changed_on_their_way_are_read_or_refused(message: Any, data: st.DataObject) -> None:
    octets = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(octets) - 1))
        octets[position] = data.draw(st.integers(0, 255))
    try:
        changed = type(message).FromString(bytes(octets))
    except DecodeError:
        return  # refused by whoever reads the stream
    is_cell = isinstance(changed, access_point_pb2.AccessPointReport)
    report, refusals = (convert.access_point_report if is_cell else convert.terminal_report)(changed)
    assert report is not None or refusals


@given(st.lists(st.tuples(U32, U32, U32, U32), min_size=1, max_size=5), U64, U64)
def test_whatever_numbers_arrive_stay_within_limits_or_are_refused(
    entries: list[tuple[int, int, int, int]], sequence: int, generation: int
) -> None:
    message = phone_report(
        sequence=sequence,
        bounds_generation=generation,
        destinations=[
            destination(
                address=bytes([10, 0, 0, index + 1]),
                srtt_us=srtt,
                min_rtt_us=minimum,
                mss_bytes=mss,
                connections_sending=count,
            )
            for index, (srtt, minimum, mss, count) in enumerate(entries)
        ],
    )
    report, refusals = convert.terminal_report(message)
    kept = len(report.destinations) if report else 0
    assert report is None or kept + len(refusals) == len(entries)
    assert (report is None) == (not 1 <= sequence < 2**63 or generation >= 2**63)


@pytest.mark.parametrize(("queued_bytes", "fills"), [(0, False), (11_199, False), (11_200, True), (10**9, True)])
def test_a_window_is_full_from_four_fifths_on(queued_bytes: int, fills: bool) -> None:  # noqa: FBT001
    entry = terminal_pb2.Destination(address=IPV6, cwnd_segs=10, mss_bytes=1400, queued_bytes=queued_bytes)
    report, _ = convert.terminal_report(terminal_pb2.TerminalReport(mac=MAC, sequence=1, destinations=[entry]))
    assert report.destinations[0].fills_window is fills
