# SPDX-License-Identifier: Apache-2.0
"""Who reports a cell, and which cell a phone is in."""

import pytest

from airbound.core.effects import CloseStream, Effect, Note, SetBounds
from airbound.core.events import AccessPointReported, Disconnected
from airbound.core.parameters import MinRttParameters, Parameters
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import AccessPointReport, Station
from airbound_testing.scenario import (
    BSSID,
    MEASURED_AT_ONCE,
    OTHER_BSSID,
    PAPER,
    SECOND_US,
    SERVER,
    Scenario,
    ip,
    mac,
    name,
    upload,
    uploading,
)

CELL, OTHER_CELL = "02:00:00:00:00:01", "02:00:00:00:00:02"


def report_on(scenario: Scenario, stream: Stream, sequence: int = 1, bssid: bytes = BSSID) -> list[Effect]:
    """An empty report of a cell on another stream than the scenario's."""
    clock_us = scenario.access_points[BSSID].monotonic_us if BSSID in scenario.access_points else SECOND_US
    report = AccessPointReport(bssid=bssid, sequence=sequence, monotonic_us=clock_us + sequence)
    return scenario.do(AccessPointReported(stream, report))


def closed(effects: list[Effect]) -> list[CloseStream]:
    return [effect for effect in effects if isinstance(effect, CloseStream)]


def refused(effects: list[Effect]) -> list[tuple[str, Reason]]:
    return [
        (effect.subject, effect.reasons[0])
        for effect in effects
        if isinstance(effect, Note) and effect.what == "refused"
    ]


def test_what_an_access_point_reports_of_itself_is_kept() -> None:
    scenario = Scenario(PAPER)
    stream = scenario.new_stream("access-point", "ap")
    for sequence, version, malformed in ((1, "1.2.3", 0), (2, "1.2.4", 7)):
        report = AccessPointReport(
            bssid=BSSID,
            sequence=sequence,
            monotonic_us=sequence,
            malformed_inputs_total=malformed,
            agent_version=version,
        )
        scenario.do(AccessPointReported(stream, report))
        reporter = scenario.engine._registry.reporters[stream.number]
        assert (reporter.agent_version, reporter.malformed_inputs_total) == (version, malformed)


def test_a_second_access_point_of_a_cell_is_refused_and_charged() -> None:
    scenario = uploading(1)
    second = scenario.new_stream("access-point", "rogue")
    for sequence in range(1, 4):
        scenario.advance(0.5)
        effects = report_on(scenario, second, sequence)
        assert closed(effects) == []
        if sequence == 1:
            assert refused(effects) == [("access-point rogue", Reason(Code.CELL_CLAIMED, "ap0"))]
    rogue, owner = scenario.engine._registry.reporters[second.number], scenario.engine.cells[BSSID].access_point
    assert owner is not None
    assert (rogue.refused_total, owner.refused_total, owner.stream.principal.name) == (3, 0, "ap0")
    assert scenario.phones[mac(0)].range() is not None


@pytest.mark.parametrize(("stale_s", "taken"), [(3.0, False), (3.001, True)])
def test_it_takes_the_cell_over_when_the_first_is_stale(stale_s: float, taken: bool) -> None:  # noqa: FBT001
    scenario = uploading(1)
    first = scenario.access_points[BSSID].stream
    second = scenario.new_stream("access-point", "other")
    scenario.advance(stale_s)
    effects = report_on(scenario, second)
    owner = scenario.engine.cells[BSSID].access_point
    assert owner is not None
    assert (owner.stream is second) is taken
    assert closed(effects) == ([CloseStream(first, Reason(Code.REPLACED))] if taken else [])
    if taken:
        assert scenario.access_point({mac(0): 2.0}) == []  # its stream is closed


def test_a_cell_that_its_access_point_left_can_be_taken_over_at_once() -> None:
    scenario = uploading(1)
    scenario.do(Disconnected(scenario.access_points[BSSID].stream))
    second = scenario.new_stream("access-point", "other")
    assert refused(report_on(scenario, second)) == []
    owner = scenario.engine.cells[BSSID].access_point
    assert owner is not None
    assert owner.stream is second


@pytest.mark.parametrize("left", [True, False], ids=["the first left", "the first is stale"])
@pytest.mark.parametrize("seconds", [1.0, 7200.0], ids=["later", "much later"])
def test_another_machines_counters_are_not_compared_with_the_firsts(*, left: bool, seconds: float) -> None:
    """Its clock and its counters are ahead. Compared with the first's they made a rate of gigabits."""
    scenario = uploading(2, MEASURED_AT_ONCE)
    before = scenario.engine.cells[BSSID].capacity.bps
    scenario.advance(3.5)
    if left:
        scenario.do(Disconnected(scenario.access_points[BSSID].stream))
    point = scenario.access_points[BSSID]
    point.stream, point.sequence = scenario.new_stream("access-point", "another"), 0
    for address in point.packets:
        point.packets[address] += 1_000_000
    point.active_us += round(seconds * SECOND_US)
    point.monotonic_us += round(seconds * SECOND_US)
    effects = scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    cell = scenario.engine.cells[BSSID]
    assert refused(effects) == []
    assert (cell.stations.measured, cell.stations.uplink_bps, cell.capacity.bps) == (False, 0.0, before)
    scenario.terminal(mac(0), upload())
    assert scenario.no_bounds(mac(0)) is Code.CELL_LEARNING
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    assert cell.stations.measured
    assert cell.stations.uplink_bps == pytest.approx(4e6, rel=0.01)
    assert cell.capacity.bps == pytest.approx(before, rel=0.01)
    scenario.terminal(mac(0), upload())
    assert scenario.no_bounds(mac(0)) is None


def test_the_same_access_points_counters_go_on_over_its_streams() -> None:
    scenario = uploading(2)
    point = scenario.access_points[BSSID]
    for leaves in (True, False):
        if leaves:
            scenario.do(Disconnected(point.stream))
        point.stream, point.sequence = scenario.new_stream("access-point", "ap0"), 0
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        assert scenario.engine.cells[BSSID].stations.uplink_bps == pytest.approx(4e6, rel=0.01)
        assert scenario.phones[mac(0)].range() is not None


def test_the_same_access_point_replaces_its_old_stream_at_once() -> None:
    scenario = uploading(1)
    point = scenario.access_points[BSSID]
    old, point.stream, point.sequence = point.stream, scenario.new_stream("access-point", "ap0"), 0
    scenario.advance(1)
    effects = scenario.access_point({mac(0): 2.0})
    assert closed(effects) == [CloseStream(old, Reason(Code.REPLACED))]
    assert scenario.engine.cells[BSSID].stations.measured
    scenario.do(Disconnected(old))
    owner = scenario.engine.cells[BSSID].access_point
    assert owner is not None
    assert owner.stream is point.stream
    assert report_on(scenario, old, 99) != []  # after its end a number is nobody's


def test_reports_on_a_replaced_stream_are_ignored() -> None:
    scenario = uploading(1)
    point = scenario.access_points[BSSID]
    old, point.stream = point.stream, scenario.new_stream("access-point", "ap0")
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    for sequence in range(100, 110):
        assert report_on(scenario, old, sequence) == []
    assert scenario.phones[mac(0)].range() is not None
    assert mac(0) in scenario.engine.cells[BSSID].stations.by_mac


def test_a_stream_that_reports_another_cell_is_closed_and_may_on_its_next() -> None:
    scenario = uploading(1)
    stream = scenario.access_points[BSSID].stream
    effects = report_on(scenario, stream, 100, OTHER_BSSID)
    other_cell = Reason(Code.OTHER_CELL, OTHER_CELL)
    assert closed(effects) == [CloseStream(stream, other_cell)]
    assert refused(effects) == [("access-point ap0", other_cell)]
    assert list(scenario.engine.cells) == [BSSID]
    assert report_on(scenario, stream, 101, OTHER_BSSID) == []
    scenario.do(Disconnected(stream))
    report_on(scenario, scenario.new_stream("access-point", "ap0"), 1, OTHER_BSSID)
    assert list(scenario.engine.cells) == [BSSID, OTHER_BSSID]


def test_a_report_that_is_not_newer_makes_no_rates() -> None:
    scenario = Scenario(PAPER)
    stream = scenario.new_stream("access-point", "ap0")
    effects = report_on(scenario, stream, 0)
    assert refused(effects) == [("access-point ap0", Reason(Code.OUT_OF_ORDER, "sequence", before=0, after=0))]
    scenario.advance(1_000)
    assert list(scenario.engine.cells) == []


# Roaming


def cell_of(scenario: Scenario, number: int) -> bytes | None:
    for terminal in scenario.engine.terminals():
        if terminal.mac == mac(number):
            return terminal.bssid or None
    raise LookupError(number)


def test_a_roaming_phone_is_in_the_cell_that_it_joined_later() -> None:
    scenario = uploading(2)
    scenario.advance(1)
    scenario.arrive(mac(1))
    for _ in range(2):
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        scenario.access_point({mac(1): 2.0}, bssid=OTHER_BSSID)
        scenario.terminal(mac(1), upload())
        scenario.advance(1)
    assert cell_of(scenario, 1) == OTHER_BSSID
    assert scenario.phones[mac(1)].range() == (250, 555)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    assert cell_of(scenario, 1) == OTHER_BSSID
    assert scenario.phones[mac(1)].range() == (250, 555)
    assert all(entry.bounds for entry in scenario.phones[mac(1)].sets)


@pytest.mark.parametrize("old_first", [True, False])
def test_an_old_association_that_is_reported_for_the_first_time_stays_old(old_first: bool) -> None:  # noqa: FBT001
    """After a restart of the controller either access point may be the first; the one that the phone left may still
    list it, with counters that stand still. Connected times decide, not the order of reports.
    """
    scenario = Scenario(PAPER)
    streams = {bssid: scenario.new_stream("access-point", str(bssid)) for bssid in (BSSID, OTHER_BSSID)}
    connected_s = {BSSID: 4_000, OTHER_BSSID: 30}
    order = [BSSID, OTHER_BSSID] if old_first else [OTHER_BSSID, BSSID]
    scenario.terminal(mac(1), upload())
    for second in range(1, 4):
        scenario.advance(1)
        for bssid in order:
            moves = second if bssid == OTHER_BSSID else 1
            station = Station(
                mac(1),
                rx_bytes=10**6 * moves,
                rx_packets=1_000 * moves,
                connected_time_ms=(connected_s[bssid] + second) * 1_000,
                ip_addresses=(ip(mac(1)),),
            )
            report = AccessPointReport(
                bssid=bssid, sequence=second, monotonic_us=(9_000 + second) * SECOND_US, stations=(station,)
            )
            scenario.do(AccessPointReported(streams[bssid], report))
        scenario.terminal(mac(1), upload())
    assert cell_of(scenario, 1) == OTHER_BSSID
    assert list(scenario.engine.cells[OTHER_BSSID].terminals) == [mac(1)]
    assert scenario.engine.cells[BSSID].terminals == {}


def test_a_phone_between_two_cells_is_released_and_bound_in_the_next() -> None:
    scenario = uploading(2)
    for _ in range(2):
        scenario.advance(0.5)
        scenario.access_point({mac(0): 2.0}, seconds=0.5)
        scenario.access_point({}, bssid=OTHER_BSSID, seconds=0.5)
    assert scenario.phones[mac(1)].sets[-1].reasons == (Reason(Code.LEFT_CELL, CELL),)
    assert cell_of(scenario, 1) is None
    for _ in range(2):
        scenario.advance(0.5)
        scenario.access_point({mac(1): 2.0}, bssid=OTHER_BSSID, seconds=0.5)
    scenario.terminal(mac(1), upload())
    assert scenario.phones[mac(1)].range() == (250, 555)


@pytest.mark.parametrize("since_rates_s", [0.05, 0.6])
def test_a_roaming_phone_that_sends_counts_in_its_new_cell_at_once(since_rates_s: float) -> None:
    """The report that shows its association may take rates, which cannot show it yet, or may come too soon for that."""
    scenario = Scenario()
    here, there = {mac(0): 8.0, mac(1): 8.0}, {mac(2): 8.0, mac(3): 8.0}
    for _ in range(4):
        scenario.advance(1)
        scenario.access_point(here)
        scenario.access_point(there, bssid=OTHER_BSSID)
        for address in (*here, *there):
            scenario.terminal(address, upload())
    assert scenario.engine.cells[OTHER_BSSID].stations.active_senders == 2
    scenario.advance(since_rates_s)
    scenario.arrive(mac(1))
    scenario.terminal(mac(1), upload())
    effects = scenario.access_point(there, idle=[mac(1)], bssid=OTHER_BSSID, seconds=since_rates_s)
    assert cell_of(scenario, 1) == OTHER_BSSID
    assert scenario.engine.cells[OTHER_BSSID].stations.active_senders == 3
    assert {effect.active_senders for effect in effects if isinstance(effect, SetBounds)} == {3}
    assert {scenario.phones[address].range() for address in there} == {scenario.phones[mac(1)].range()}
    # The old access point has not noticed; its report comes later.
    scenario.access_point(here, seconds=since_rates_s)
    scenario.advance(0.3)
    effects = scenario.access_point({**there, mac(1): 8.0}, bssid=OTHER_BSSID, seconds=0.3)
    assert scenario.engine.cells[OTHER_BSSID].stations.active_senders == 3
    assert not [effect for effect in effects if isinstance(effect, Note) and effect.what == "senders"]
    assert scenario.engine.cells[BSSID].terminals.keys() == {mac(0)}


def test_cells_do_not_know_of_each_other() -> None:
    scenario = Scenario(PAPER)
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0})
        scenario.access_point({mac(1): 2.0, mac(2): 2.0}, bssid=OTHER_BSSID)
    for number in range(3):
        scenario.terminal(mac(number), upload())
    assert scenario.phones[mac(0)].range() == (250, 555)
    assert scenario.phones[mac(1)].range() == (300, 300)
    scenario.advance(2)
    scenario.access_point({mac(0): 2.0})
    scenario.terminal(mac(0), upload())
    scenario.advance(1.5)
    assert [scenario.phones[mac(number)].range() is None for number in range(3)] == [False, True, True]


# Minimum RTTs of a cell


def shared_us(scenario: Scenario) -> int:
    return scenario.engine.cells[BSSID].min_rtt.shared_us(SERVER)


def test_minimum_rtts_that_nobody_reports_are_forgotten_with_time() -> None:
    scenario = uploading(1, Parameters(min_rtt=MinRttParameters(max_age_s=30)))
    scenario.disconnect(mac(0))
    for second in range(32):
        assert shared_us(scenario) == (256_500 if second <= 30 else 0)
        scenario.advance(1)
        scenario.access_point({}, idle=[mac(0)])
    assert shared_us(scenario) == 0
    assert len(scenario.engine.cells[BSSID].min_rtt) == 0


def test_one_phones_false_minimum_rtt_reduces_the_cell_for_a_time_only() -> None:
    """0.06 ms as through a proxy, where the others see 256.5 ms."""
    scenario = uploading(3, Parameters())
    scenario.keep_reporting(dict.fromkeys(map(mac, range(3)), 2.0), 10)
    before = scenario.phones[mac(1)].range()
    assert before is not None
    reduced_s = 0
    for second in range(120):
        scenario.advance(1)
        scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0))
        if second == 60:
            scenario.disconnect(mac(0))  # and connects again: it is the same phone
        scenario.terminal(mac(0), upload(min_rtt_ms=0.06))
        for number in (1, 2):
            scenario.terminal(mac(number), upload())
        after = scenario.phones[mac(1)].range()
        assert after is not None
        reduced_s += after[1] < before[1] / 2
    assert reduced_s == 15
    bounded = scenario.phones[mac(0)].range()
    assert bounded is not None
    assert bounded[1] <= 5  # its own counts for itself


def test_a_phone_without_a_sample_is_bounded_by_what_another_saw_and_renewed() -> None:
    """Also if it never reports again: the lease must be renewed, and end, by time."""
    scenario, sending, other = uploading(2), dict.fromkeys(map(mac, range(3)), 2.0), bytes([10, 0, 9, 9])
    for _ in range(20):  # until the capacity moves no more
        scenario.advance(1)
        scenario.access_point(sending)
        for number in range(2):
            scenario.terminal(mac(number), upload())
    scenario.terminal(mac(2), upload(0, 0, address=other))
    assert scenario.no_bounds(mac(2)) is Code.NO_RTT_SAMPLE
    scenario.terminal(mac(0), upload(), upload(address=other))
    phone = scenario.phones[mac(2)]
    assert phone.range(other) is not None
    for second in range(7):
        assert (phone.range(other) is not None) is (second <= 5)
        scenario.advance(1)
        scenario.access_point(sending)
        for number in range(2):
            scenario.terminal(mac(number), upload())
    assert phone.renewals == 2
    assert [entry.reasons[0].code for entry in phone.sets] == [Code.STARTED_SENDING, Code.TERMINAL_STALE]


def test_names_are_those_of_principals() -> None:
    scenario = uploading(1)
    [terminal] = scenario.engine.terminals()
    assert terminal.name == name(mac(0)) == "192.168.1.0"
