# SPDX-License-Identifier: Apache-2.0
"""OpenFlow switches in the engine: whose cell they are of, what they count, which rules they are sent."""

from dataclasses import replace
from typing import Any

import pydantic
import pytest

from airbound.core.addresses import Mac
from airbound.core.effects import CloseStream, Effect, Note, SetBounds, SetStationRules
from airbound.core.engine import Engine
from airbound.core.events import (
    AccessPointReported,
    Disconnected,
    Exempted,
    ModeSet,
    SwitchReported,
    TerminalReported,
    Tick,
)
from airbound.core.openflow_parameters import OpenflowParameters, mark_of_text
from airbound.core.parameters import CapacityParameters, Parameters
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code
from airbound.core.reports import (
    AccessPointReport,
    Agent,
    BackEnd,
    Destination,
    Station,
    TerminalReport,
    WindowState,
)
from airbound.core.switch_reports import OTHER, QUIC, TCP, UDP, StationRule, SwitchReport, Traffic
from airbound.core.switches import Switch
from airbound_testing.scenario import BSSID, OTHER_BSSID, SERVER, mac

DATAPATH = 0x0000020000000001
SECOND_US = 1_000_000
METERED = Parameters(openflow=OpenflowParameters(meters="on"), capacity=CapacityParameters(default_bps=20e6))
FULL_FRAME = 1_514


class Site:
    """An engine with one access point, which counts or not, and switches."""

    def __init__(self, parameters: Parameters | None = None, *, replicas: bool = False) -> None:
        self.engine = Engine(parameters or Parameters(), replicas=replicas)
        self.now_us = 1_000 * SECOND_US
        self.access_point = Stream(1, Principal("access-point", "ap"))
        self.switch = Stream(2, Principal("switch", "openflow-1"))
        self.sequence: dict[int, int] = {}
        self.generation = 0
        self.bytes: dict[tuple[Mac, bytes, int], list[int]] = {}
        self.counts = False
        self.stations = (mac(1), mac(2), mac(3))
        self.rules: list[SetStationRules] = []
        self.applies_rules = True
        self.windows: WindowState | None = None
        self.destinations: dict[Mac, tuple[Destination, ...]] = {}
        self.bounds_sent: dict[Mac, int] = {}
        self.obeying: set[Mac] = set()

    def _next(self, stream: Stream) -> int:
        self.sequence[stream.number] = self.sequence.get(stream.number, 0) + 1
        return self.sequence[stream.number]

    def do(self, event: Any) -> list[Effect]:
        effects = self.engine.handle(event, self.now_us)
        for effect in effects:
            if isinstance(effect, SetStationRules):
                self.rules.append(effect)
                if self.applies_rules:
                    self.generation = effect.generation if effect.rules else 0
            elif isinstance(effect, SetBounds):
                self.bounds_sent[mac(effect.stream.number - 10)] = effect.generation
        return effects

    def report_cell(self, bssid: Mac = BSSID, datapath_id: int = 0) -> list[Effect]:
        stations = tuple(
            Station(station, rx_bytes=7 if self.counts else 0, connected_time_ms=60_000) for station in self.stations
        )
        report = AccessPointReport(
            bssid=bssid,
            sequence=self._next(self.access_point),
            monotonic_us=self.now_us,
            stations=stations,
            datapath_id=datapath_id,
            windows=self.windows,
            destinations=self.destinations,
        )
        return self.do(AccessPointReported(self.access_point, report))

    def report_switch(self, stream: Stream | None = None, datapath_id: int = DATAPATH, **fields: Any) -> list[Effect]:
        stream = stream or self.switch
        traffic = tuple(Traffic(*key, *counters) for key, counters in self.bytes.items())
        wanted: dict[str, Any] = {"bssid": BSSID, "meters_max": 100, "generation": self.generation} | fields
        report = SwitchReport(
            datapath_id=datapath_id,
            sequence=self._next(stream),
            monotonic_us=self.now_us,
            traffic=traffic,
            **wanted,
        )
        return self.do(SwitchReported(stream, report))

    def send(self, station: Mac, mbps: float, protocol: int = UDP, *, down: bool = False) -> None:
        """As much as a second of that rate has."""
        counters = self.bytes.setdefault((station, SERVER, protocol), [0, 0, 0, 0])
        frames = round(mbps * 1e6 / 8 / FULL_FRAME)
        at = 2 if down else 0
        counters[at] += frames * FULL_FRAME
        counters[at + 1] += frames

    def second(self, **sent_mbps: float) -> list[Effect]:
        """A second passes; stations s1, s2, s3 send so much."""
        self.now_us += SECOND_US
        for name, mbps in sent_mbps.items():
            self.send(mac(int(name[1:])), mbps)
        return [*self.report_cell(), *self.report_switch()]

    def known(self) -> Switch:
        (found,) = self.engine.switches.all()
        return found

    @property
    def senders(self) -> int:
        return self.engine.cells[BSSID].stations.active_senders

    def looks(self, number: int, *mbps: float) -> list[int]:
        """How many send after each of these looks of the switch, a fifth of a second each, before which one station
        sent so much by TCP.
        """
        seen = []
        for rate in mbps:
            self.now_us += SECOND_US // 5
            self.send(mac(number), rate / 5, TCP)
            self.send(mac(3), 0.02, TCP, down=True)  # somebody's counters always move
            self.report_switch()
            seen.append(self.senders)
        return seen

    def report_terminal(self, number: int, *, sends: bool = True) -> None:
        """An agent that sends or not, and has the bounds in force that it was sent if it is one of `obeying`."""
        stream = Stream(10 + number, Principal("terminal", f"192.0.2.{number}"))
        generation = self.bounds_sent.get(mac(number), 0) if mac(number) in self.obeying else 0
        sequence = self._next(stream)
        destination = Destination(SERVER, int(sends), 20_000, srtt_us=20_000)
        report = TerminalReport(
            mac(number), sequence, self.now_us, (destination,), generation, 0,
            Agent("1", BackEnd(can_set_max=True)) if sequence == 1 else None,
        )  # fmt: skip
        self.do(TerminalReported(stream, report))

    def join_terminal(self, number: int, *, can_bound: bool = True) -> None:
        stream = Stream(10 + number, Principal("terminal", f"192.0.2.{number}"))
        report = TerminalReport(
            mac(number), 1, self.now_us, (Destination(SERVER, 1, 20_000),), 0, 0,
            Agent("1", BackEnd(can_set_max=can_bound)),
        )  # fmt: skip
        self.do(TerminalReported(stream, report))


# Whose cell


def test_every_station_of_the_cell_is_to_be_counted() -> None:
    site = Site()
    site.second()
    assert [command.rules for command in site.rules] == [tuple(map(StationRule, site.stations))]
    assert site.rules[0].reason.code is Code.SWITCH_STATIONS
    assert site.rules[0].stream is site.switch
    site.stations = site.stations[:2]
    site.second()
    assert [len(command.rules) for command in site.rules] == [3, 2]
    assert [command.generation for command in site.rules] == [1, 2]


@pytest.mark.parametrize(
    ("configured", "reported", "said", "by"),
    [
        ([f"{DATAPATH:016x}=02:00:00:00:00:01"], OTHER_BSSID, 0, "configuration"),
        ([], BSSID, 0, "switch"),
        ([], b"", DATAPATH, "access point"),
    ],
)
def test_the_operator_comes_before_the_process_and_that_before_the_access_point(
    configured: list[str], reported: Mac, said: int, by: str
) -> None:
    site = Site(Parameters(openflow=OpenflowParameters(switches=tuple(configured))))
    site.report_cell(datapath_id=said)
    site.report_switch(bssid=reported)
    assert (site.known().bound_to, site.known().bound_by) == (BSSID, by)
    assert site.known().cell is site.engine.cells[BSSID]


def test_without_a_cell_nothing_is_sent() -> None:
    site = Site()
    site.report_switch(bssid=b"")
    reason = site.known().reason
    assert reason is not None
    assert (reason.code, reason.subject) == (Code.SWITCH_UNBOUND, "")
    site.report_switch(bssid=BSSID)
    reason = site.known().reason
    assert reason is not None
    assert (reason.code, reason.subject) == (Code.SWITCH_UNBOUND, "02:00:00:00:00:01")
    assert site.rules == []


def test_an_access_point_cannot_take_another_ones_switch_while_that_reports_it() -> None:
    site = Site()
    site.report_cell(datapath_id=DATAPATH)
    site.access_point = Stream(9, Principal("access-point", "other"))
    site.report_cell(OTHER_BSSID, DATAPATH)
    site.report_switch(bssid=b"")
    assert site.known().bound_to == BSSID
    site.now_us += 4 * SECOND_US
    site.report_cell(OTHER_BSSID, DATAPATH)
    site.report_switch(bssid=b"")
    assert site.known().bound_to == OTHER_BSSID


def test_an_access_point_is_of_one_switch_at_a_time() -> None:
    site = Site()
    for number in range(1, 100):
        site.report_cell(datapath_id=number)
    assert site.engine._registry.datapaths == {99: BSSID}
    site.report_cell()
    assert site.engine._registry.datapaths == {}


def test_one_switch_of_a_cell() -> None:
    site = Site()
    site.second()
    second = Stream(3, Principal("switch", "openflow-2"))
    site.report_switch(second, 2)
    surplus = site.engine.switches.all()[0]
    assert surplus.datapath_id == 2
    assert surplus.reason is not None
    assert (surplus.reason.code, surplus.reason.subject) == (Code.SWITCH_SURPLUS, "0000020000000001")
    site.do(Disconnected(site.switch))
    site.now_us += SECOND_US
    site.report_switch(second, 2)
    assert site.known().cell is site.engine.cells[BSSID]


# Who it is


def codes(effects: list[Effect]) -> list[Code]:
    return [effect.reason.code for effect in effects if isinstance(effect, CloseStream)]


def test_a_live_datapath_is_not_taken_by_another() -> None:
    site = Site()
    site.second()
    other = Stream(3, Principal("switch", "openflow-2"))
    assert codes(site.report_switch(other)) == [Code.SWITCH_CLAIMED]
    assert site.known().stream is site.switch
    assert codes(site.second()) == []
    site.now_us += 4 * SECOND_US
    assert codes(site.report_switch(Stream(4, Principal("switch", "openflow-2")))) == [Code.REPLACED]
    assert site.known().stream.number == 4


def test_the_same_process_replaces_itself() -> None:
    site = Site()
    site.second()
    again = Stream(3, site.switch.principal)
    assert codes(site.report_switch(again)) == [Code.REPLACED]
    assert site.known().stream is again
    assert site.report_switch(site.switch) == []  # closed
    site.do(Disconnected(site.switch))
    assert site.known().stream is again


def test_a_certificate_named_after_a_datapath_is_for_that_one_only() -> None:
    site = Site()
    site.report_cell()
    liar = Stream(3, Principal("switch", "0000020000000002"))
    assert codes(site.report_switch(liar)) == [Code.SWITCH_NOT_ITS_OWN]
    assert site.engine.switches.all() == []
    honest = Stream(4, Principal("switch", f"{DATAPATH:016x}"))
    assert codes(site.report_switch(honest)) == []


def test_a_stream_is_of_one_datapath() -> None:
    site = Site()
    site.second()
    assert codes(site.report_switch(datapath_id=3)) == [Code.SWITCH_NOT_ITS_OWN]
    assert site.engine.switches.all() == []


def test_reports_out_of_order_end_the_stream_if_that_goes_on() -> None:
    site = Site()
    for _ in range(3):
        site.second()
    ended, refused = list[Code](), list[Note]()
    for _ in range(6):
        site.sequence[2] = 0
        effects = site.report_switch()
        ended += codes(effects)
        refused += [effect for effect in effects if isinstance(effect, Note) and effect.what == "refused"]
    assert ended == [Code.OUT_OF_ORDER_STREAK]
    assert [note.level for note in refused] == ["warning", "warning", "counted", "warning", "counted"]
    assert site.engine.switches.all() == []


# What is counted


def test_where_the_access_point_does_not_count_the_switch_says_who_sends() -> None:
    site = Site()
    site.second()
    seen = []
    for sent in ({}, {"s1": 2.0}, {"s1": 2.0, "s2": 1.0}, {"s2": 1.0}, {}):
        site.second(**sent)
        seen.append(site.senders)
    assert seen == [0, 1, 2, 1, 0]
    assert site.engine.cells[BSSID].counted_by_switch


def test_what_a_terminal_has_queued_tells_a_pause_from_an_end() -> None:
    site = Site()
    site.second()
    site.second()
    site.looks(1, 0)
    assert site.looks(1, 20, 0, 0, 20, 0, 0, 20) == [1, 0, 0, 1, 1, 1, 1]  # by its pauses alone
    assert site.looks(1, 0, 0, 0, 0) == [1, 1, 1, 0]
    site.report_terminal(1)
    assert site.looks(1, 20, 0, 0, 0, 0, 20, 0) == [1] * 7
    site.report_terminal(1, sends=False)
    assert site.looks(1, 0) == [0]


def test_where_it_counts_its_own_number_stands() -> None:
    site = Site()
    site.counts = True
    for _ in range(4):
        site.second(s1=5)
    assert (site.senders, site.known().rates.active_senders) == (0, 1)
    assert not site.engine.cells[BSSID].counted_by_switch


def test_of_a_switch_that_is_gone_nothing_is_known() -> None:
    site = Site()
    for _ in range(3):
        site.second(s1=5)
    assert site.senders == 1
    effects = site.do(Disconnected(site.switch))
    assert site.senders == 0
    assert [effect.what for effect in effects if isinstance(effect, Note)] == ["senders", "switch gone"]
    assert site.engine.switches.of_cell(BSSID, site.now_us) is None


def test_of_a_switch_that_falls_silent_nothing_is_known() -> None:
    site = Site()
    for _ in range(3):
        site.second(s1=5)
    for _ in range(4):
        site.now_us += SECOND_US
        site.report_cell()
    assert site.senders == 0
    assert site.engine.switches.of_cell(BSSID, site.now_us) is None


def test_rates_by_address_and_protocol_uploads_and_downloads() -> None:
    site = Site()
    site.second()
    for _ in range(2):
        site.send(mac(1), 3, QUIC)
        site.send(mac(2), 4, TCP, down=True)
        counters = site.bytes.setdefault((mac(3), SERVER, TCP), [0, 0, 0, 0])
        counters[0] += 100 * FULL_FRAME
        counters[1] += 100
        counters[2] += 50 * 66  # their ACKs
        counters[3] += 50
        site.bytes.setdefault((mac(3), b"", OTHER), [0, 0, 0, 0])[0] += 60
        site.second()
    rates = site.known().rates.stations
    assert rates[mac(1)].pairs[SERVER, QUIC].uplink_bps == pytest.approx(3e6 * 1500 / FULL_FRAME, rel=0.01)
    assert (rates[mac(1)].sending, rates[mac(1)].receiving) == (True, False)
    assert (rates[mac(2)].sending, rates[mac(2)].receiving) == (False, True)
    assert (rates[mac(3)].sending, rates[mac(3)].receiving) == (True, False)
    assert rates[mac(3)].download_bps == 0


def test_counters_that_fall_begin_again() -> None:
    site = Site()
    for _ in range(3):
        site.second(s1=5)
    site.bytes[mac(1), SERVER, UDP] = [1_514, 1, 0, 0]
    site.now_us += SECOND_US
    site.report_switch()
    assert site.known().rates.stations[mac(1)].uplink_bps == 1_500 * 8


# Rules


def limits(command: SetStationRules) -> dict[Mac, int]:
    return {rule.mac: rule.uplink_kbps for rule in command.rules if rule.uplink_kbps}


def test_meters_are_off_unless_they_are_configured() -> None:
    site = Site()
    for _ in range(4):
        site.second(s1=30, s2=30)
    assert all(limits(command) == {} for command in site.rules)


def test_active_senders_that_nothing_bounds_get_their_share_and_a_quarter() -> None:
    site = Site(METERED)
    site.join_terminal(3)
    for _ in range(4):
        site.second(s1=30, s2=30, s3=30)
    site.join_terminal(3)
    site.second(s1=30, s2=30, s3=30)
    share_kbps = round(20e6 / 3 * 1.25 / 1e3)
    assert limits(site.rules[-1]) == {mac(1): share_kbps, mac(2): share_kbps}
    assert site.rules[-1].reason.code is Code.METERED
    site.second()
    site.second()
    assert limits(site.rules[-1]) == {}


def test_a_terminal_whose_back_end_can_do_nothing_is_limited() -> None:
    site = Site(METERED)
    site.second()
    site.join_terminal(1, can_bound=False)
    site.join_terminal(2)
    for _ in range(3):
        site.second(s1=30, s2=30)
    assert set(limits(site.rules[-1])) == {mac(1)}


def test_a_terminal_that_ignores_its_bounds_is_limited() -> None:
    site = Site(METERED)
    site.second()
    for _ in range(20):
        for number in (1, 2):
            site.report_terminal(number)
        site.obeying.add(mac(2))
        site.second(s1=30, s2=30)
    assert site.bounds_sent.keys() == {mac(1), mac(2)}
    assert set(limits(site.rules[-1])) == {mac(1)}


def test_a_terminal_that_sends_on_and_no_longer_reports_is_limited() -> None:
    site = Site(METERED)
    site.second()
    site.obeying.add(mac(1))
    for second in range(40):
        if second < 4:
            site.report_terminal(1)
        site.second(s1=30)
        assert set(limits(site.rules[-1])) <= ({mac(1)} if second > 5 else set())
    assert set(limits(site.rules[-1])) == {mac(1)}


@pytest.mark.parametrize(("can_set", "metered"), [(True, {mac(2)}), (False, {mac(1), mac(2)})])
def test_a_station_whose_windows_are_limited_has_no_meter(*, can_set: bool, metered: set[Mac]) -> None:
    site = Site(METERED)
    site.windows = WindowState(can_set=can_set, limits_max=64)
    site.destinations = {mac(1): (Destination(SERVER, connections_sending=1, min_rtt_us=20_000, srtt_us=20_000),)}
    for _ in range(4):
        site.second(s1=30, s2=30)
    assert set(limits(site.rules[-1])) == metered


def test_no_more_meters_than_the_switch_has() -> None:
    site = Site(METERED)
    for _ in range(3):
        site.now_us += SECOND_US
        for number in (1, 2, 3):
            site.send(mac(number), 30)
        site.report_cell()
        site.report_switch(meters_max=2)
    assert len(limits(site.rules[-1])) == 2


@pytest.mark.parametrize("how", ["observe", "exempt"])
def test_in_observe_mode_and_where_exempt_stations_are_only_counted(how: str) -> None:
    parameters = replace(METERED, openflow=OpenflowParameters(meters="on", marks=("quic=34",)))
    site = Site(parameters)
    for _ in range(3):
        site.second(s1=30)
    assert limits(site.rules[-1])
    assert site.rules[-1].rules[0].marks == (mark_of_text("quic=34"),)
    site.do(ModeSet("observe") if how == "observe" else Exempted("02:00:00:00:00:01", exempt=True))
    site.second(s1=30)
    assert site.rules[-1].rules == tuple(map(StationRule, site.stations))
    reason = site.known().reason
    assert reason is not None
    assert reason.code is (Code.OBSERVE_MODE if how == "observe" else Code.EXEMPT)


def test_a_lease_is_renewed_at_a_third_and_ends_when_the_cell_is_stale() -> None:
    site = Site()
    for _ in range(9):
        site.second()
    assert [command.generation for command in site.rules] == [1] * len(site.rules)
    assert 4 <= len(site.rules) <= 6  # every two seconds of nine
    assert {command.lease_ms for command in site.rules} == {6_000}
    count = len(site.rules)
    for _ in range(9):
        site.now_us += SECOND_US
        site.report_switch()
    assert len(site.rules) <= count + 2  # until the cell is stale
    reason = site.known().reason
    assert reason is not None
    assert reason.code is Code.CELL_STALE


def test_rules_that_are_not_in_force_are_sent_again_less_and_less_often() -> None:
    site = Site()
    site.applies_rules = False
    for _ in range(60):
        site.second()
    generations = {command.generation: command.reason.code for command in site.rules}
    assert generations[1] is Code.SWITCH_STATIONS
    assert set(generations.values()) == {Code.SWITCH_STATIONS, Code.REPEATED}
    assert 3 <= len(generations) <= 7


def test_a_generation_is_greater_than_that_of_an_earlier_controller() -> None:
    site = Site()
    site.generation = 41
    site.second()
    assert site.rules[0].generation == 42


def test_small_changes_of_a_share_do_not_set_meters_anew() -> None:
    site = Site(METERED)
    for _ in range(4):
        site.second(s1=30, s2=30)
    count = len({command.generation for command in site.rules})
    cell = site.engine.cells[BSSID]
    cell.decided_capacity_bps *= 1.05
    site.second(s1=30, s2=30)
    assert len({command.generation for command in site.rules}) == count


def test_a_replica_that_does_not_own_the_cell_sends_nothing() -> None:
    from airbound.core.events import Owned  # noqa: PLC0415

    site = Site(replicas=True)
    site.do(Owned(BSSID, 1, site.now_us + 10 * SECOND_US))
    site.second()
    assert len(site.rules) == 1
    site.engine.doubt(BSSID)
    site.second()
    reason = site.known().reason
    assert reason is not None
    assert reason.code is Code.OTHER_REPLICA
    assert len(site.rules) == 1


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("quic=34", (3, b"", 0, 34)),
        ("udp:3478=ef", (2, b"", 3478, 46)),
        ("TCP@192.0.2.9=af11", (1, bytes([192, 0, 2, 9]), 0, 10)),
        ("any:53@2001:db8::1=cs6", (0, bytes([0x20, 1, 0xD, 0xB8, *[0] * 11, 1]), 53, 48)),
    ],
)
def test_marks_as_people_write_them(text: str, mark: tuple[Any, ...]) -> None:
    assert tuple(mark_of_text(text)) == mark


@pytest.mark.parametrize(
    "text", ["", "icmp=1", "tcp", "tcp=64", "quic:443=1", "udp:0=1", "udp:70000=1", "tcp@x=1", "tcp=zz"]
)
def test_what_is_no_mark(text: str) -> None:
    with pytest.raises(pydantic.ValidationError):
        OpenflowParameters(marks=(text,))


@pytest.mark.parametrize(
    "text", ["", "1=02:00:00:00:00:01", "0000000000000000=02:00:00:00:00:01", f"{DATAPATH:016x}=x"]
)
def test_what_is_no_switch(text: str) -> None:
    with pytest.raises(pydantic.ValidationError):
        OpenflowParameters(switches=(text,))


# A cell that its switch alone reports


def test_a_bound_switch_that_lists_its_stations_is_a_cell_until_it_goes() -> None:
    site = Site(Parameters(openflow=OpenflowParameters(switches=(f"{DATAPATH:016x}=02:00:00:00:00:01",))))
    listed: dict[str, Any] = {"bssid": b"", "lists_stations": True, "stations": site.stations}
    for _ in range(3):
        site.now_us += SECOND_US
        site.send(mac(1), 5)
        site.report_switch(**listed)
    cell = site.engine.cells[BSSID]
    assert (site.senders, set(cell.stations.by_mac), cell.access_point) == (1, set(site.stations), None)
    assert (site.known().bound_by, cell.counted_by_switch) == ("configuration", True)
    assert {rule.mac for rule in site.rules[-1].rules} == set(site.stations)
    site.do(Disconnected(site.switch))
    assert site.senders == 0
    site.now_us += 3_600_000
    site.do(Tick())
    assert BSSID not in site.engine.cells


def test_a_switch_that_is_bound_to_no_cell_or_lists_nobody_makes_none() -> None:
    site = Site()
    site.report_switch(lists_stations=True, bssid=b"", stations=site.stations)
    site.report_switch()
    assert not site.engine.cells


def test_an_access_points_agent_comes_before_the_list_of_its_switch() -> None:
    site = Site()
    site.counts = True
    site.second()
    site.now_us += SECOND_US
    site.report_switch(lists_stations=True, stations=(mac(9),))
    cell = site.engine.cells[BSSID]
    assert (set(cell.stations.by_mac), cell.by_switch) == (set(site.stations), False)
    # It falls silent, and comes back.
    for _ in range(4):
        site.now_us += SECOND_US
        site.report_switch(lists_stations=True, stations=(mac(9),))
    assert (set(cell.stations.by_mac), cell.by_switch, cell.access_point) == ({mac(9)}, True, None)
    site.report_cell()
    assert (set(cell.stations.by_mac), cell.by_switch) == (set(site.stations), False)
    assert cell.access_point is not None


def test_a_terminal_of_such_a_cell_is_counted_once() -> None:
    site = Site()
    listed: dict[str, Any] = {"lists_stations": True, "stations": site.stations}
    for _ in range(2):
        site.now_us += SECOND_US
        site.report_switch(**listed)
    site.join_terminal(1)
    assert site.senders == 1  # by its own report
    site.now_us += 200_000
    site.send(mac(1), 5)
    site.report_switch(**listed)
    assert site.senders == 1


def test_a_replica_makes_no_cell_of_a_switch() -> None:
    site = Site(replicas=True)
    site.report_switch(lists_stations=True, stations=site.stations)
    assert not site.engine.cells


# Counters


def test_acks_are_no_upload_of_a_switch_either() -> None:
    site = Site()
    site.second()
    site.second()
    site.now_us += SECOND_US
    site.bytes[mac(1), SERVER, TCP] = [1_000 * 66, 1_000, 2_000 * FULL_FRAME, 2_000]
    site.bytes[mac(2), SERVER, TCP] = [1_000 * 66 + 100 * FULL_FRAME, 1_100, 2_000 * FULL_FRAME, 2_000]
    site.report_cell()
    site.report_switch()
    assert [site.engine.cells[BSSID].stations.is_active(mac(number)) for number in (1, 2)] == [False, True]


def test_counters_that_the_switch_has_not_brought_up_to_date_say_nothing() -> None:
    site = Site()
    site.second(s1=5)
    site.second(s1=5)
    assert site.senders == 1
    site.now_us += 300_000
    site.report_switch()
    assert site.senders == 1
    site.now_us += 300_000
    site.report_switch()
    assert site.senders == 0
