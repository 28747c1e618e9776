# SPDX-License-Identifier: Apache-2.0
"""The core of `airbound openflow` with a switch that interprets what it is sent."""

import pytest

from airbound.core.addresses import Mac
from airbound.core.reasons import Code, RefusedError
from airbound.core.switch_reports import ANY_PROTOCOL, TCP, UDP, Mark, StationRule, SwitchReport, Traffic
from airbound.openflow import packets
from airbound.openflow.flows import Kind
from airbound.openflow.messages import AddFlow, Answer, AskFlowStats, Match, Message, PacketIn, SetMeter
from airbound.openflow.switch import COPYING_S, IDLE_S, MUTED_US, STATION_GONE_US, Limits, Rules, Switch
from airbound_testing.fake_switch import FakeSwitch, Forwarded, frame

PHONE, OTHER_PHONE, ROUTER = (bytes([2, 0, 0, 0, 0, number]) for number in (1, 2, 9))
PHONE_IP, OTHER_IP, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), bytes([192, 0, 2, 9])
PHONE_IP6, SERVER6 = bytes([0xFD, *range(15)]), bytes([0x20, 1, *range(14)])
OPENFLOW_QUIC = packets.Protocol.QUIC.value


class Pair:
    """A switch and the core, in virtual time."""

    def __init__(self, fake: FakeSwitch | None = None, connection: int = 1, limits: Limits | None = None) -> None:
        self.fake = fake or FakeSwitch(now_us=1_000_000_000)
        self.core = Switch(7, connection, limits or Limits(), self.fake.now_us)
        self.sent: list[Message] = []
        self.exchange(self.core.connected())
        self.run(0.1)

    def exchange(self, sent: list[Message]) -> None:
        while sent:
            self.sent += sent
            sent = [more for answer in self.fake.take(sent) for more in self.answered(answer)]

    def answered(self, answer: Answer) -> list[Message]:
        return self.core.answered(answer, self.fake.now_us)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.fake.advance(0.1)
            self.exchange(self.core.due(self.fake.now_us))

    def set_rules(self, generation: int, *rules: StationRule, lease_ms: int = 6_000) -> None:
        self.exchange(self.core.set_rules(Rules(generation, rules, lease_ms), self.fake.now_us))

    def packet(self, octets: bytes, size: int = 0, in_port: int = 0) -> Forwarded:
        result = self.fake.packet(octets, size, in_port)
        for answer in result.answers:
            self.exchange(self.answered(answer))
        return result

    def up(self, protocol: int = 17, port: int = 4000, size: int = 1_000, mac: Mac = PHONE) -> Forwarded:
        return self.packet(frame(mac, ROUTER, PHONE_IP, SERVER, protocol, (5000, port)), size)

    def down(self, protocol: int = 17, port: int = 4000, size: int = 1_000, mac: Mac = PHONE) -> Forwarded:
        return self.packet(frame(ROUTER, mac, SERVER, PHONE_IP, protocol, (port, 5000)), size)

    def report(self) -> SwitchReport:
        self.run(1.1)
        found = self.core.report(bssid=b"", peer="", agent_version="")
        assert found is not None
        return found

    def traffic(self) -> dict[tuple[bytes, int], Traffic]:
        return {
            (counters.address, counters.protocol): counters
            for counters in self.report().traffic
            if counters.mac == PHONE
        }


def test_a_switch_forwards_from_the_first_base_flow_on_and_never_stops() -> None:
    fake = FakeSwitch(now_us=1_000_000_000)
    packet_, forwards = frame(PHONE, ROUTER, PHONE_IP, SERVER), []
    for message in Switch(7, 1, Limits(), fake.now_us).connected():
        fake.take([message])
        forwards.append(fake.packet(packet_).forwarded)
    assert forwards == sorted(forwards)
    assert forwards[-1]
    for message in Switch(7, 2, Limits(), fake.now_us).connected():  # the next process
        fake.take([message])
        assert fake.packet(packet_).forwarded


def test_what_a_station_exchanges_with_whom_is_counted_to_the_octet() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE), lease_ms=60_000)
    for _ in range(10):
        pair.up(packets.TCP, 80)
        pair.down(packets.TCP, 80, 60)
        pair.up(packets.UDP, 443)
        pair.up(packets.UDP, 53, 80)
        pair.packet(frame(PHONE, ROUTER, PHONE_IP6, SERVER6, packets.TCP, (1, 443)), 500)
        pair.packet(frame(PHONE, ROUTER, PHONE_IP, SERVER, 1), 100)
    found = pair.traffic()
    assert found[SERVER, TCP][3:] == (9_000, 9, 600, 10)  # its first packet was copied, and counts without an address
    assert found[SERVER, OPENFLOW_QUIC][3:] == (9_000, 9, 0, 0)
    assert found[SERVER, UDP][3:] == (720, 9, 0, 0)
    assert found[SERVER6, TCP][3:] == (4_500, 9, 0, 0)
    assert found[SERVER, packets.Protocol.OTHER][3:] == (900, 9, 0, 0)
    assert found[b"", packets.Protocol.OTHER][3:] == (1_000 + 80 + 500 + 100, 4, 0, 0)
    assert found[b"", OPENFLOW_QUIC][3:] == (1_000, 1, 0, 0)


def test_only_the_first_packet_is_copied() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE))
    copies = [len(pair.up().answers) for _ in range(20)]
    assert copies == [1] + [0] * 19
    assert len(pair.down().answers) == 0  # the answers' flow was made with it
    assert pair.packet(frame(OTHER_PHONE, ROUTER, OTHER_IP, SERVER)).answers == []  # nobody's station


def test_a_packet_between_two_stations_counts_for_both() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE), StationRule(OTHER_PHONE))
    for _ in range(3):
        assert pair.packet(frame(PHONE, OTHER_PHONE, PHONE_IP, OTHER_IP, packets.TCP, (1, 2)), 100).forwarded
    found = {(counters.mac, counters.address): counters for counters in pair.report().traffic}
    assert found[PHONE, OTHER_IP].uplink_packets == 2
    assert found[OTHER_PHONE, PHONE_IP].downlink_packets == 2


def test_counters_go_on_when_flows_end_are_made_again_and_the_switch_starts_again() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE), lease_ms=60_000)
    for _ in range(3):
        pair.up()
    assert pair.traffic()[SERVER, UDP].uplink_packets == 2
    for _ in range(2):
        pair.set_rules(1, StationRule(PHONE), lease_ms=60_000)
        pair.run(IDLE_S / 2 + 2)
    assert pair.fake.flows(Kind.COUNT) == []  # idle
    for _ in range(4):
        pair.up()
    assert pair.traffic()[SERVER, UDP].uplink_packets == 2 + 3
    for table in pair.fake.tables:
        for flow in table.values():
            flow.packets = flow.octets = 0  # a switch that forgets counters
    pair.up()
    assert pair.traffic()[SERVER, UDP].uplink_packets == 2 + 3 + 1


def test_the_flows_that_copy_are_renewed_without_a_gap_in_their_counters() -> None:
    pair = Pair()
    for _ in range(COPYING_S):
        pair.set_rules(1, StationRule(PHONE), lease_ms=6_000)
        pair.packet(frame(PHONE, ROUTER, b"", b"")[:14] + b"", 60)
        pair.run(2)
    assert len(pair.fake.flows(Kind.COPY)) == 6
    assert pair.fake.unmatched == 0


def test_limits_hold_while_they_are_renewed_and_end_with_the_lease_under_traffic() -> None:
    pair = Pair()
    rule = StationRule(PHONE, uplink_kbps=1_000, downlink_kbps=2_000)
    passed = {"up": 0, "down": 0}
    for second in range(20):
        if second % 2 == 0:
            pair.set_rules(1, rule)
        for _ in range(100):
            passed["up"] += pair.up(size=1_250).forwarded  # 1 Mb/s each
            passed["down"] += pair.down(size=1_250).forwarded
            pair.run(0.1) if _ % 10 == 9 else None
    assert 1_900 <= passed["up"] <= 2_100 or passed["up"] == 2_000
    report = pair.report()
    assert report.generation == 1
    assert report.meters == 2
    for _ in range(80):
        pair.up(size=1_250)
        pair.fake.advance(0.1)  # nobody renews, and nobody is there
    assert pair.fake.flows(Kind.RULE) == []
    assert pair.up(size=10_000_000).forwarded


def test_a_meter_drops_what_is_above_its_rate() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE, uplink_kbps=1_000), StationRule(OTHER_PHONE), lease_ms=60_000)
    passed = 0
    for _ in range(100):  # 10 s of 2 Mb/s
        for _ in range(20):
            passed += pair.up(size=1_250).forwarded
        assert pair.up(size=1_250, mac=OTHER_PHONE).forwarded
        pair.run(0.1)
    assert 1_000 <= passed <= 1_000 + 15 + 10  # 10 s of 1 Mb/s, and the burst of 150 kb
    assert pair.report().meter_dropped_bytes == pytest.approx((2_000 - passed) * 1_250, abs=2_500)


def test_a_meter_is_modified_in_place_and_one_that_is_there_already_is_taken_over() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE, uplink_kbps=1_000))
    (meter,) = pair.fake.meters
    pair.set_rules(2, StationRule(PHONE, uplink_kbps=3_000))
    assert {number: meter_state.kbps for number, meter_state in pair.fake.meters.items()} == {meter: 3_000}
    again = Pair(pair.fake, connection=2)  # it asked for the meters only after somebody else had made one
    again.core._leftovers.meters.clear()
    again.set_rules(1, StationRule(PHONE, uplink_kbps=500))
    assert pair.fake.meters[meter].kbps == 500
    assert again.core.totals.errors == 0
    assert again.report().generation == 1


def test_marks_by_address_port_and_protocol_the_most_particular_first() -> None:
    pair = Pair()
    marks = (
        Mark(ANY_PROTOCOL, b"", 0, 8),
        Mark(TCP, b"", 0, 10),
        Mark(TCP, b"", 443, 18),
        Mark(TCP, SERVER, 0, 26),
        Mark(ANY_PROTOCOL, b"", 53, 40),
        Mark(OPENFLOW_QUIC, b"", 0, 34),
    )
    pair.set_rules(1, StationRule(PHONE, downlink_kbps=10_000, marks=marks))
    elsewhere = bytes([192, 0, 2, 10])

    def dscp(protocol: int, port: int, source: bytes = elsewhere) -> int:
        to = PHONE_IP if len(source) == 4 else PHONE_IP6
        return pair.packet(frame(ROUTER, PHONE, source, to, protocol, (port, 9))).dscp

    assert [dscp(1, 0), dscp(6, 80), dscp(6, 443), dscp(6, 443, SERVER)] == [8, 10, 18, 26]
    assert [dscp(17, 53), dscp(6, 53), dscp(17, 443), dscp(17, 444)] == [40, 40, 34, 8]
    assert dscp(6, 443, SERVER6) == 18
    assert pair.up().dscp == -1


def test_what_a_former_process_left_is_deleted_and_nothing_of_others() -> None:
    before = Pair()
    before.set_rules(1, StationRule(PHONE, uplink_kbps=1_000), lease_ms=60_000)
    before.up()
    foreign = AddFlow(0, 5_000, Match(OTHER_PHONE), 0x1234, goto=1)
    before.fake.take([foreign, SetMeter(3, 1_000, 100)])
    after = Pair(before.fake, connection=2)
    after.run(2)
    assert {flow.cookie >> 32 & 0xFFFF for flow in before.fake.flows() if flow is not foreign} == {2}
    assert foreign in before.fake.flows()
    assert set(before.fake.meters) == {3}
    assert before.fake.unmatched == 0


def test_nothing_is_deleted_before_the_base_flows_are_there() -> None:
    before = Pair()
    before.set_rules(1, StationRule(PHONE), lease_ms=60_000)
    fake = before.fake
    fake.flows_max = 0  # it takes no flow, and replaces none whose match is another
    core = Switch(7, 2, Limits(), fake.now_us)
    fake.take(core.connected()[3:4])
    stats = fake.take(core.due(fake.now_us + 1_100_000))
    assert [more for answer in stats for more in core.answered(answer, fake.now_us)] == []


def test_a_full_table_is_counted_and_stations_are_counted_as_a_whole_until_later() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE), lease_ms=60_000)
    pair.fake.flows_max = 4
    for number in range(20):
        address = bytes([198, 51, 100, number])
        assert pair.packet(frame(PHONE, ROUTER, PHONE_IP, address, packets.UDP), 100).forwarded
    report = pair.report()
    assert report.errors_total > 0
    assert sum(counters.uplink_bytes for counters in report.traffic) == 2_000  # nothing is lost
    assert not any(flow.copy for flow in pair.fake.flows(Kind.COPY))
    pair.fake.flows_max = 10_000
    for _ in range(4):
        pair.run(MUTED_US / 4e6)
        pair.set_rules(1, StationRule(PHONE), lease_ms=60_000)
    assert all(flow.copy for flow in pair.fake.flows(Kind.COPY))


def test_one_station_cannot_take_all_flows() -> None:
    pair = Pair(limits=Limits(flows_of_station=40))
    pair.set_rules(1, StationRule(PHONE), StationRule(OTHER_PHONE), lease_ms=60_000)
    for number in range(200):
        pair.packet(frame(PHONE, ROUTER, PHONE_IP, bytes([198, 51, 100, number]), packets.UDP), 100)
    assert len(pair.fake.flows(Kind.COUNT)) <= 40
    pair.packet(frame(OTHER_PHONE, ROUTER, OTHER_IP, SERVER, packets.UDP), 100)
    assert any(flow.match.station == OTHER_PHONE for flow in pair.fake.flows(Kind.COUNT))


def test_a_flood_of_copies_is_limited_and_counted() -> None:
    pair = Pair(limits=Limits(copies_per_s=10))
    pair.set_rules(1, StationRule(PHONE), lease_ms=60_000)
    sent = len(pair.sent)
    for number in range(1_000):
        octets = frame(PHONE, ROUTER, PHONE_IP, number.to_bytes(4, "big"), packets.UDP)
        pair.exchange(pair.core.answered(PacketIn(octets), pair.fake.now_us))
    report = pair.report()
    assert (report.packet_ins_total, report.packet_ins_dropped_total) == (1_000, 980)
    assert len(pair.sent) - sent < 60


def test_a_lease_that_ends_ends_the_counting_too() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE), lease_ms=2_000)
    pair.up()
    assert pair.report().generation == 1
    pair.run(2)
    assert pair.fake.flows(Kind.COPY) == []
    report = pair.report()
    assert (report.generation, report.traffic) == (0, ())
    assert pair.up().forwarded


def test_a_station_that_is_gone_leaves_no_flows_that_copy() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE), StationRule(OTHER_PHONE))
    pair.set_rules(2, StationRule(OTHER_PHONE))
    assert {flow.match.station for flow in pair.fake.flows(Kind.COPY)} == {OTHER_PHONE}
    pair.set_rules(3)
    assert pair.fake.flows(Kind.COPY) == []
    assert pair.report().generation == 0


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (Rules(4, (StationRule(PHONE),), 6_000), Code.OUT_OF_ORDER),
        (Rules(5, (StationRule(OTHER_PHONE),), 6_000), Code.DUPLICATE_ENTRY),
        (Rules(6, (StationRule(PHONE), StationRule(PHONE)), 6_000), Code.DUPLICATE_ENTRY),
        (Rules(6, (StationRule(b"\xff" * 6),), 6_000), Code.MALFORMED),
    ],
)
def test_a_command_that_is_refused_changes_nothing(rules: Rules, code: Code) -> None:
    pair = Pair()
    pair.set_rules(5, StationRule(PHONE))
    before = pair.fake.flows()
    with pytest.raises(RefusedError) as caught:
        pair.core.set_rules(rules, pair.fake.now_us)
    assert caught.value.reason.code is code
    assert pair.fake.flows() == before
    report = pair.report()
    assert (report.generation, report.refused_total) == (5, 1)


def test_a_switch_without_meters_is_asked_for_none() -> None:
    pair = Pair(FakeSwitch(now_us=1_000_000_000, meters_max=0))
    with pytest.raises(RefusedError):
        pair.core.set_rules(Rules(1, (StationRule(PHONE, uplink_kbps=100),), 6_000), pair.fake.now_us)
    pair.set_rules(1, StationRule(PHONE))
    report = pair.report()
    assert (report.meters_max, report.generation, report.errors_total) == (0, 1, 0)


def test_rules_that_the_switch_refuses_are_not_in_force() -> None:
    pair = Pair()
    pair.fake.flows_max = 1  # of each table: the base flow is there
    pair.set_rules(1, StationRule(PHONE, uplink_kbps=1_000))
    assert pair.report().generation == 0


def test_statistics_that_never_come_are_asked_for_again() -> None:
    pair = Pair()
    asked = pair.core.due(pair.fake.now_us + 2_000_000)
    assert len(asked) == 1
    assert pair.core.due(pair.fake.now_us + 6_000_000) == []
    assert len(pair.core.due(pair.fake.now_us + 7_100_000)) == 1


def test_a_stopped_process_leaves_only_what_forwards_and_counts() -> None:
    pair = Pair()
    pair.set_rules(1, StationRule(PHONE, uplink_kbps=1_000), lease_ms=60_000)
    pair.up()
    pair.fake.take(pair.core.stopped())
    assert pair.fake.flows(Kind.RULE) == pair.fake.flows(Kind.COPY) == []
    assert pair.fake.meters == {}
    assert pair.up().forwarded


# Stations behind ports that the operator named

RADIO, WIRE = 3, 1


def radio() -> Pair:
    fake = FakeSwitch(now_us=1_000_000_000, ports={WIRE: "lan1", RADIO: "phy0-ap0"})
    return Pair(fake, limits=Limits(station_ports=frozenset({"phy0-ap0"})))


def test_who_sends_from_a_port_of_stations_is_one_and_is_counted_at_once() -> None:
    pair = radio()
    uplink = frame(PHONE, ROUTER, PHONE_IP, SERVER, packets.TCP, (5000, 80))
    copies = [len(pair.packet(uplink, 1_000, RADIO).answers) for _ in range(5)]
    pair.packet(frame(ROUTER, OTHER_PHONE, SERVER, OTHER_IP), 1_000, WIRE)
    report = pair.report()
    assert (report.lists_stations, report.stations) == (True, (PHONE,))
    assert copies == [1, 0, 0, 0, 0]  # the station is learnt, and its traffic with it
    assert sum(counters.uplink_packets for counters in report.traffic if counters.mac == PHONE) == 4
    pair.set_rules(1, StationRule(PHONE), lease_ms=1_000)
    pair.run(2)  # rules end, counting goes on
    pair.packet(uplink, 1_000, RADIO)
    assert sum(counters.uplink_packets for counters in pair.report().traffic if counters.mac == PHONE) == 5


def test_a_station_that_appears_at_another_port_or_is_silent_is_none_any_more() -> None:
    pair = radio()
    for mac in (PHONE, OTHER_PHONE):
        pair.packet(frame(mac, ROUTER, PHONE_IP, SERVER), 1_000, RADIO)
    assert set(pair.report().stations) == {PHONE, OTHER_PHONE}
    pair.packet(frame(PHONE, ROUTER, PHONE_IP, OTHER_IP, 6), 1_000, WIRE)
    assert pair.report().stations == (OTHER_PHONE,)
    pair.run(STATION_GONE_US / 1e6 + 2)
    assert pair.report().stations == ()
    pair.packet(frame(PHONE, ROUTER, PHONE_IP, SERVER), 1_000, RADIO)
    assert pair.report().stations == (PHONE,)


def test_without_such_ports_nobody_is_listed() -> None:
    pair = Pair(FakeSwitch(now_us=1_000_000_000, ports={RADIO: "phy0-ap0"}))
    pair.packet(frame(PHONE, ROUTER, PHONE_IP, SERVER), 1_000, RADIO)
    report = pair.report()
    assert (report.lists_stations, report.stations) == (False, ())


def test_statistics_are_asked_for_often_unless_there_are_many_flows() -> None:
    pair = Pair()
    pair.sent.clear()
    pair.run(2)
    assert sum(isinstance(message, AskFlowStats) for message in pair.sent) == 10
    pair.core.flows = 3_000
    assert pair.core.stats_every_us() == 1_000_000
