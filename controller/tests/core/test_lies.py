# SPDX-License-Identifier: Apache-2.0
"""What k of n phones, or an access point, do at most to others by what they report: a property for each row of the
table in docs/security.md, in its order.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from airbound.core.cell.live import KEPT_AIR, LIVE, LiveFlows
from airbound.core.cell.stations import VAIN_REPORTS
from airbound.core.cell.stations_window import window
from airbound.core.edca import AIFSN_MAX, Category, Edca
from airbound.core.effects import SetEdca, SetStationFlows, SetWindows
from airbound.core.events import AccessPointReported, TerminalReported
from airbound.core.parameters import LiveParameters, Parameters
from airbound.core.principals import Stream
from airbound.core.reports import (
    CONNECTIONS_MAX,
    COUNTER_MAX,
    MSS_MAX_BYTES,
    MSS_MIN_BYTES,
    RTT_MAX_US,
    RTT_MIN_US,
    AccessPointReport,
    Agent,
    AppPart,
    Arrivals,
    BackEnd,
    Destination,
    EdcaState,
    FlowAbilities,
    FlowState,
    Station,
    StationFlowState,
    Survey,
    TerminalReport,
    WindowState,
)
from airbound_testing.scenario import (
    BSSID,
    OTHER_BSSID,
    OWN_QUEUE,
    SECOND_US,
    SERVER,
    AccessPoint,
    Scenario,
    ip,
    mac,
    upload,
)

DOCUMENT = Path(__file__).parents[3] / "docs/security.md"
PHONES = tuple(map(mac, range(10)))
SETTLED_S, LYING_S = 8, 8
HONEST_MS = 40.0
FEW = settings(max_examples=8, phases=(Phase.explicit, Phase.generate))  # each takes a second

COUNTERS = st.integers(0, COUNTER_MAX) | st.integers(0, 10**9)
MINORITY = st.integers(1, 4)


def honest(number: int) -> TerminalReport:
    """What a phone reports that lies in nothing. Its path is a little longer than that of the one before."""
    return TerminalReport(mac(number), 0, 0, (upload(60, HONEST_MS + 0.1 * number),))


class Cell(Scenario):
    """Ten phones that upload, and report once a second what is so; the first of them what `lie` makes of it."""

    def __init__(self, parameters: Parameters | None = None, *, aggregate: bool = False) -> None:
        super().__init__(parameters)
        self.mbps, self.aggregate = dict.fromkeys(PHONES, 40.0 if aggregate else 2.0), aggregate
        self.edca = EdcaState(can_set=True, own=(OWN_QUEUE,), stations=(OWN_QUEUE,), wmm=True)
        self.idle: list[bytes] = []
        self.reports = 0
        self.seconds(SETTLED_S)

    def seconds(
        self, count: int, liars: int = 0, lie: Callable[[TerminalReport], TerminalReport] = lambda report: report
    ) -> None:
        for _ in range(count):
            self.advance(1)
            rates = dict.fromkeys(PHONES, 866_700) if self.aggregate else {}
            self.access_point(self.mbps, idle=self.idle, aggregating=rates)
            for number in range(len(PHONES)):
                report = honest(number)
                self.report(lie(report) if number < liars else report, number)

    def report(self, report: TerminalReport, number: int) -> None:
        """A phone reports, on its stream."""
        phone = self.phones.get(mac(number))
        if phone is None or phone.stream is None:
            self.terminal(mac(number))
            phone = self.phones[mac(number)]
        assert phone.stream is not None
        phone.sequence += 1
        generation = report.bounds_generation or phone.generation
        sent = replace(report, sequence=phone.sequence, monotonic_us=self.now_us, bounds_generation=generation)
        self.do(TerminalReported(phone.stream, sent))

    def maxima(self, liars: int) -> list[int]:
        """Of the others."""
        ranges = [self.phones[phone].range() for phone in PHONES[liars:]]
        return [found[1] for found in ranges if found is not None]

    @property
    def shared_ms(self) -> float:
        return self.engine.cells[BSSID].min_rtt.shared_us(SERVER) / 1000


def changes_nothing_for_others(liars: int, lie: Callable[[TerminalReport], TerminalReport], **cell: Any) -> None:
    lying, telling = Cell(**cell), Cell(**cell)
    for _ in range(LYING_S):
        lying.seconds(1, liars, lie)
        telling.seconds(1)
        assert lying.maxima(liars) == telling.maxima(liars)


# Of a phone


@FEW
@given(
    claims=st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=20),
)
def test_mac(claims: list[tuple[int, bool]]) -> None:
    """Claims of others' MACs from elsewhere, again and again, on streams that go on or are new."""
    cell = Cell()
    before, streams = cell.maxima(0), dict[int, tuple[Stream, int]]()
    for victim, is_new in claims:
        stream, sequence = streams.get(victim, (None, 0))
        if stream is None or is_new:
            stream, sequence = cell.new_stream("terminal", f"liar {victim}", ip(mac(99))), 0
        streams[victim] = stream, sequence + 1
        cell.do(TerminalReported(stream, TerminalReport(mac(victim), sequence + 1, cell.now_us, (upload(1, 1),))))
        cell.seconds(1)
        assert cell.maxima(0) == before


@FEW
@given(liars=MINORITY, lies_us=st.lists(st.integers(RTT_MIN_US, 300_000_000), min_size=4, max_size=4))
def test_min_rtt_us(liars: int, lies_us: list[int]) -> None:
    """Below half of the truth for 15 s each, and together at once; above half of it for ever; never above it."""
    cell, below_s = Cell(), 0

    def lie(report: TerminalReport) -> TerminalReport:
        [own] = report.destinations
        return replace(report, destinations=(own._replace(min_rtt_us=lies_us[report.mac[-1]]),))

    for _ in range(40):
        cell.seconds(1, liars, lie)
        in_flight_ms = cell.engine.cells[BSSID].most_in_flight_us() / 1000
        below_s += cell.shared_ms < (HONEST_MS - in_flight_ms) / Parameters().min_rtt.confirm_ratio
        assert cell.shared_ms <= HONEST_MS + 0.1 * liars
    assert below_s <= Parameters().min_rtt.unconfirmed_s + 1
    assert len(cell.maxima(liars)) == len(PHONES) - liars


@FEW
@given(
    liars=MINORITY,
    lies_us=st.lists(st.integers(RTT_MIN_US, RTT_MAX_US), min_size=1, max_size=60),
    aggregate=st.booleans(),
)
def test_srtt_us(liars: int, lies_us: list[int], aggregate: bool) -> None:  # noqa: FBT001
    """Bounds do not follow it, and the search for longer aggregates sees a median: one of an honest phone."""
    cell, others, given_us = Cell(aggregate=aggregate), Cell(aggregate=aggregate), iter(lies_us * 60)

    def lie(report: TerminalReport) -> TerminalReport:
        [own] = report.destinations
        return replace(report, destinations=(own._replace(srtt_us=next(given_us)),))

    for _ in range(LYING_S):
        cell.seconds(1, liars, lie)
        others.seconds(1)
        facts = cell.engine.cells[BSSID]._facts()
        assert facts.rtt_us == (60_000 if aggregate else 0)
        assert cell.maxima(liars) == others.maxima(liars)


@FEW
@given(
    liars=MINORITY,
    connections=st.integers(1, CONNECTIONS_MAX),
    mss_bytes=st.integers(MSS_MIN_BYTES, MSS_MAX_BYTES) | st.just(0),
    aggregate=st.booleans(),
)
def test_connections_and_mss_bytes(liars: int, connections: int, mss_bytes: int, aggregate: bool) -> None:  # noqa: FBT001
    def lie(report: TerminalReport) -> TerminalReport:
        [own] = report.destinations
        return replace(report, destinations=(own._replace(connections_sending=connections, mss_bytes=mss_bytes),))

    changes_nothing_for_others(liars, lie, aggregate=aggregate)


@FEW
@given(liars=MINORITY, mbps=st.floats(0.1, 0.3), aggregate=st.booleans())
def test_queued_bytes_and_cwnd_segs(liars: int, mbps: float, aggregate: bool) -> None:  # noqa: FBT001
    """Those that send next to nothing and report full windows have an equal part for 5 s."""
    cells = Cell(aggregate=aggregate), Cell(aggregate=aggregate)
    for each in cells:
        each.mbps |= dict.fromkeys(PHONES[:liars], mbps)

    def empty(report: TerminalReport) -> TerminalReport:
        [own] = report.destinations
        return replace(report, destinations=(own._replace(fills_window=False),))

    lying, telling = cells
    for second in range(40):
        lying.seconds(1, liars)
        telling.seconds(1, liars, empty)
        if second == 1:
            assert sum(lying.maxima(liars)) <= sum(telling.maxima(liars))
    # Of a capacity that moved by less than `change_ratio` decisions have the one of before.
    assert lying.maxima(liars) == pytest.approx(telling.maxima(liars), rel=0.06, abs=1)


@FEW
@given(steps=st.lists(st.lists(st.integers(0, 19), max_size=20), min_size=1, max_size=10))
def test_starts_and_stops(steps: list[list[int]]) -> None:
    """One that sends nothing counts in a third of the reports at most, whenever it starts and stops."""
    cell, idle = Cell(), mac(10)
    cell.idle = [idle]
    cell.seconds(1)
    counted, sends = 0, False
    intervals = 30
    for second in range(intervals):
        was_counted = False
        for step in range(20):
            cell.advance(0.05)
            if step in steps[second % len(steps)]:
                sends = not sends
                cell.terminal(idle, *([upload(60, HONEST_MS)] if sends else []))
            was_counted |= cell.engine.cells[BSSID].stations.active_senders > len(PHONES)
        counted += was_counted
        cell.access_point(cell.mbps, idle=[idle])
        for number in range(len(PHONES)):
            cell.report(honest(number), number)
    assert counted <= intervals / (1 + VAIN_REPORTS) + 2


@FEW
@given(liars=st.integers(1, 9), delivered=st.lists(COUNTERS, min_size=1, max_size=20))
def test_delivered_bytes(liars: int, delivered: list[int]) -> None:
    given_bytes = iter(delivered * 200)
    changes_nothing_for_others(liars, lambda report: replace(report, delivered_bytes=next(given_bytes)))


@FEW
@given(liars=st.integers(1, 9), generation=st.integers(1, COUNTER_MAX))
def test_bounds_generation(liars: int, generation: int) -> None:
    changes_nothing_for_others(liars, lambda report: replace(report, bounds_generation=generation))


AGENTS = st.builds(
    Agent,
    st.just("1"),
    st.builds(
        BackEnd,
        can_set_max=st.booleans(),
        can_set_min=st.booleans(),
        can_select_destination=st.booleans(),
        rules_max=st.integers(0, 2**32 - 1),
        can_select_uid_destination=st.booleans(),
    ),
    st.booleans(),
    st.builds(
        FlowAbilities,
        can_mark=st.booleans(),
        can_admit=st.booleans(),
        can_pace=st.booleans(),
        flows_max=st.integers(0, 2**32 - 1),
    ),
)


@FEW
@given(liars=st.integers(1, 9), agent=AGENTS)
def test_agent(liars: int, agent: Agent) -> None:
    changes_nothing_for_others(liars, lambda report: replace(report, agent=agent))


@FEW
@given(
    liars=st.integers(1, 9),
    arrivals=st.builds(Arrivals, COUNTERS, st.sampled_from(("nl80211", "controller", "")), COUNTERS),
)
def test_arrivals(liars: int, arrivals: Arrivals) -> None:
    """They decide in which of the cells that list its own station a phone is."""
    changes_nothing_for_others(liars, lambda report: replace(report, arrivals=arrivals))


PARTS = st.builds(AppPart, st.just(SERVER), st.integers(2, 4), st.integers(0, 100), COUNTERS, COUNTERS, st.just((7,)))


@FEW
@given(liars=st.integers(1, 9), parts=st.lists(PARTS, max_size=3, unique_by=lambda part: part.application_class))
def test_classes_but_live(liars: int, parts: list[AppPart]) -> None:
    changes_nothing_for_others(liars, lambda report: replace(report, apps=tuple(parts)))


@given(
    flows=st.lists(st.tuples(st.integers(0, 9), COUNTERS, COUNTERS, st.integers(1, 5)), max_size=60),
    carries_bps=st.floats(0, 1e9),
)
def test_class_live(flows: list[tuple[int, int, int, int]], carries_bps: float) -> None:
    """Grants are `air_most` of the air at most, whatever is reported, and a granted one keeps a little more."""
    live, parameters, now_us = LiveFlows(), LiveParameters(), SECOND_US
    for number, delivered, queued, seconds in flows:
        now_us += seconds * SECOND_US
        part = AppPart(SERVER, LIVE, 1, delivered, queued, (7,))
        live.observe(mac(number), [part], lambda _: 40_000, now_us)
        live.choose(parameters, lambda _: None, lambda _: carries_bps, 10, now_us)
        assert live.granted_part <= parameters.air_most * KEPT_AIR + 1e-9
    assert window(len(PHONES)) == 255  # slots, that one without a grant has all announced


@FEW
@given(
    liars=st.integers(1, 9), flows=st.builds(FlowState, COUNTERS, COUNTERS, COUNTERS, st.just(""), COUNTERS, COUNTERS)
)
def test_flows(liars: int, flows: FlowState) -> None:
    changes_nothing_for_others(liars, lambda report: replace(report, flows=flows))


@FEW
@given(liars=st.integers(1, 9), back_s=st.integers(0, 10**6), sequence=st.integers(-5, 5))
def test_sequence_and_monotonic_us(liars: int, back_s: int, sequence: int) -> None:
    """What is out of order ends the phone's own stream."""
    cell = Cell()
    before = cell.maxima(liars)
    for _ in range(LYING_S):
        cell.seconds(1)
        for number in range(liars):
            phone = cell.phones[mac(number)]
            assert phone.stream is not None
            late = replace(
                honest(number),
                sequence=phone.sequence + sequence,
                monotonic_us=max(0, cell.now_us - back_s * SECOND_US),
            )
            cell.do(TerminalReported(phone.stream, late))
        assert len(cell.maxima(liars)) == len(before)
        assert cell.shared_ms <= HONEST_MS + 0.1 * liars


# Of an access point


class Site(Cell):
    """And another access point."""

    def __init__(self) -> None:
        super().__init__()
        self.rogue = self.new_stream("access-point", "rogue")
        self.access_points[OTHER_BSSID] = AccessPoint(OTHER_BSSID, self.rogue)
        self.sequence = 0

    def _set_edca(self, point: AccessPoint, effect: SetEdca) -> None:
        """The other one takes no command, whatever it reports."""
        if point.bssid != OTHER_BSSID:
            super()._set_edca(point, effect)

    def _set_windows(self, point: AccessPoint, effect: SetWindows) -> None:
        if point.bssid != OTHER_BSSID:
            super()._set_windows(point, effect)

    def _set_station_flows(self, point: AccessPoint, effect: SetStationFlows) -> None:
        if point.bssid != OTHER_BSSID:
            super()._set_station_flows(point, effect)

    def lie(self, report: AccessPointReport) -> None:
        """The other access point reports."""
        self.sequence += 1
        self.do(AccessPointReported(self.rogue, replace(report, sequence=self.sequence)))

    def stays(self, lies: list[AccessPointReport]) -> None:
        """The good cell is as it was without them."""
        alone = Cell()
        for second in range(LYING_S):
            self.lie(lies[second % len(lies)])
            for each in (self, alone):
                each.seconds(1)
            assert self.maxima(0) == alone.maxima(0)
            assert len(self.maxima(0)) == len(PHONES)


@FEW
@given(monotonic_us=COUNTERS, listed=st.lists(st.integers(0, 12), unique=True, max_size=5))
def test_bssid(monotonic_us: int, listed: list[int]) -> None:
    """While the cell's own access point reports."""
    stations = tuple(Station(mac(number)) for number in listed)
    Site().stays([AccessPointReport(bssid=BSSID, sequence=1, monotonic_us=monotonic_us, stations=stations)])


ADDRESSES = st.sampled_from([(), (ip(mac(0)),), (ip(mac(99)),), tuple(ip(mac(number)) for number in range(10))])
STATIONS = st.builds(
    Station,
    st.sampled_from(PHONES) | st.integers(1_000, 1_050).map(mac),
    **dict.fromkeys(("rx_bytes", "rx_packets", "tx_bytes", "tx_packets", "tx_retries"), COUNTERS),
    connected_time_ms=st.integers(0, 10**7),
    ip_addresses=ADDRESSES,
)
LISTS = st.lists(STATIONS, max_size=30, unique_by=lambda station: station.mac)


@FEW
@given(lists=st.lists(LISTS, min_size=1, max_size=4))
def test_stations_of_others(lists: list[list[Station]]) -> None:
    """Whatever it lists of phones that their own access point hears, with any counters, addresses and times."""
    Site().stays(
        [
            AccessPointReport(
                bssid=OTHER_BSSID, sequence=1, monotonic_us=(number + 1) * SECOND_US, stations=tuple(each)
            )
            for number, each in enumerate(lists)
        ]
    )


EDCA = st.builds(
    EdcaState,
    can_set=st.booleans(),
    generation=COUNTERS,
    own=st.just((OWN_QUEUE,)),
    stations=st.just((Edca(Category.BEST_EFFORT, AIFSN_MAX, 15, 1023, 0),)),
    wmm=st.booleans(),
)
RESTS = st.builds(
    AccessPointReport,
    bssid=st.just(OTHER_BSSID),
    sequence=st.just(1),
    monotonic_us=COUNTERS,
    stations=st.lists(
        st.builds(
            Station,
            st.integers(1_000, 1_050).map(mac),
            **dict.fromkeys(("rx_bytes", "rx_packets", "tx_bytes", "tx_packets", "tx_retries"), COUNTERS),
            rx_bitrate_kbps=st.integers(0, 50_000_000),
            tx_bitrate_kbps=st.integers(0, 50_000_000),
            aggregates=st.booleans(),
            silent=st.booleans(),
            airtime_us=COUNTERS,
            recent_rx_bytes=COUNTERS,
            recent_rx_packets=COUNTERS,
            rx_video_packets=COUNTERS,
            rx_voice_packets=COUNTERS,
            rx_rate_format=st.integers(0, 6),
            tx_rate_format=st.integers(0, 6),
            connected_time_ms=st.integers(0, 10**9),
            ip_addresses=ADDRESSES,
        ),
        max_size=10,
        unique_by=lambda station: station.mac,
    ).map(tuple),
    survey=st.none() | st.builds(Survey, COUNTERS, COUNTERS),
    ssid=st.binary(max_size=32),
    edca=st.none() | EDCA,
    windows=st.none() | st.builds(WindowState, st.booleans(), st.just(""), COUNTERS, *[COUNTERS] * 5),
    destinations=st.dictionaries(
        st.integers(1_000, 1_050).map(mac),
        st.builds(
            Destination,
            st.just(SERVER),
            st.integers(0, CONNECTIONS_MAX),
            st.integers(RTT_MIN_US, RTT_MAX_US),
            st.integers(MSS_MIN_BYTES, MSS_MAX_BYTES),
            srtt_us=st.integers(RTT_MIN_US, RTT_MAX_US),
        ).map(lambda destination: (destination,)),
        max_size=3,
    ),
    recent_us=st.integers(0, 60_000_000),
    station_flows=st.none() | st.builds(StationFlowState, st.booleans(), st.just(""), *[COUNTERS] * 4),
)


@FEW
@given(lies=st.lists(RESTS, min_size=1, max_size=5))
def test_all_else_of_its_cell(lies: list[AccessPointReport]) -> None:
    Site().stays(lies)


@FEW
@given(first=st.integers(1, 2**64 - 1), later=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_datapath_id(first: int, later: list[int]) -> None:
    """A switch that another access point reports stays that one's."""
    site = Site()
    point = site.access_points[BSSID]
    for datapath_id in (*later, first):
        point.sequence, point.monotonic_us = point.sequence + 1, point.monotonic_us + 1
        stations = tuple(Station(phone) for phone in PHONES)
        own = AccessPointReport(
            bssid=BSSID,
            sequence=point.sequence,
            monotonic_us=point.monotonic_us,
            stations=stations,
            datapath_id=first,
        )
        site.do(AccessPointReported(point.stream, own))
        site.lie(AccessPointReport(bssid=OTHER_BSSID, sequence=1, monotonic_us=site.now_us, datapath_id=datapath_id))
        assert site.engine._registry.datapaths[first] == BSSID


def rows() -> list[str]:
    """The names of the tests, as the tables have them."""
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## What false reports do\n")[1].split("\n## ")[0]
    return re.findall(r"\| `(test_\w+)` \|$", section, re.MULTILINE)


def test_each_row_of_the_table_has_its_property_in_this_order() -> None:
    here = re.findall(r"^def (test_\w+)\(", Path(__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert rows() == [name for name in here if not name.startswith("test_each_row_")]


@pytest.mark.parametrize("kind", [Destination, TerminalReport, Station, AccessPointReport])
def test_each_row_is_of_a_field_that_is_reported(kind: type) -> None:
    """And there is none without a row."""
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## What false reports do\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section))
    named |= {"address", "destinations", "fills_window", "apps", "unclassed", "sequence", "agent_version"}
    named |= {"malformed_inputs_total", "center_frequency_mhz", "radio"}
    fields = getattr(kind, "_fields", None) or tuple(kind.__dataclass_fields__)
    assert set(fields) <= named
