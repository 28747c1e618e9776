# SPDX-License-Identifier: Apache-2.0
"""From reports to pages, through the real conversion and the real engine."""

import asyncio
import gzip
import re
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.config import Config, cell_overrides, parse
from airbound.configuration.values import config_hash
from airbound.core.addresses import address_from_text, mac_text
from airbound.core.cell.live import FlowKey
from airbound.core.events import Tick
from airbound.metrics import cell, classes, controller, decisions, station, terminal
from airbound.metrics.family import Family
from airbound.metrics.hooks import Hooks
from airbound.metrics.labels import octets_text, printable
from airbound.metrics.options import Metrics
from airbound.metrics.page import Page, Pages
from airbound.metrics.snapshot import Sampler
from airbound.runtime.connections import PortCount
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.population import SERVER, Phone, Population
from airbound_testing.scrapes import Samples

ANYTHING = st.text(st.characters(exclude_categories=("Cs",)), max_size=300)
VERSION = st.text(st.characters(exclude_categories=("Cs",)), max_size=70)


class Scraped:
    """A population and the pages of it."""

    def __init__(self, population: Population, options: Metrics | None = None) -> None:
        self.population = population
        self.hooks = Hooks()
        self._pages = Pages(options or Metrics())

    def page(self) -> Page:
        async def taken() -> Page:
            sampler = Sampler(self.population.runner, self.hooks, asyncio.get_running_loop())
            return self._pages.page(await asyncio.wrap_future(sampler.request()))

        return asyncio.run(taken())

    def samples(self) -> Samples:
        """As the text format's parser reads it; the one of OpenMetrics reads the same."""
        page = self.page()
        text, openmetrics = (
            Samples(b"".join(page.chunks(openmetrics=openmetrics)).decode(), openmetrics=openmetrics)
            for openmetrics in (False, True)
        )
        assert text.by_series.keys() == openmetrics.by_series.keys()
        return text


@given(ssid=st.binary(max_size=40), names=st.lists(ANYTHING, min_size=3, max_size=3), version=VERSION, back_end=VERSION)
def test_whatever_peers_are_called_the_page_can_be_read(
    ssid: bytes, names: list[str], version: str, back_end: str
) -> None:
    population = Population(cells=1, phones_per_cell=0)
    (one,) = population.cells
    one.ssid, one.agent_version = ssid, version
    one.stream = population.stream("access-point", names[0])
    one.phones = [population.phone(number, name) for number, name in enumerate(names)]
    for phone in one.phones:
        phone.agent_version = version
        if back_end.isprintable() and len(back_end) <= 32:
            phone.back_end = back_end
    population.seconds(3)
    samples = Scraped(population).samples()
    (info,) = samples.labels("airbound_cell_info")
    assert info["ssid"] == (octets_text(ssid) if len(ssid) <= 32 else "")
    assert info["access_point"] == printable(names[0])
    shown = {labels["terminal"] for labels in samples.labels("airbound_terminal_info")}
    assert shown == {printable(name) for name in names}


def promtool(page: Page) -> tuple[int, str]:
    program = shutil.which("promtool")
    assert program, "promtool is in Debian's package prometheus"
    text = b"".join(page.chunks(openmetrics=False))
    run = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, check=False)
    return run.returncode, (run.stdout + run.stderr).decode()


def class_part(number: terminal_pb2.ApplicationClass.ValueType, delivered_bytes: int) -> terminal_pb2.ClassPart:
    return terminal_pb2.ClassPart(
        application_class=number, connections_sending=2, queued_bytes=7, delivered_bytes=delivered_bytes, uids=[10_073]
    )


def without_agents(population: Population) -> tuple[Phone, Phone]:
    """A station that its access point limits, and one that nothing limits: it has no RTT sample."""
    cell, stations = population.cells[0], (population.phone(1001), population.phone(1002))
    # Of a server that others send to, the minimum RTT is known from them.
    for phone, server, rtt_us in zip(stations, (SERVER, b"\x0a\0\x09\x09"), (20_000, 0), strict=True):
        phone.station["destinations"] = [
            access_point_pb2.StationDestination(
                address=server,
                connections=1,
                connections_sending=1,
                srtt_us=rtt_us,
                min_rtt_us=rtt_us,
                mss_bytes=1448,
            )
        ]
    with_agents = [phone for one in population.cells for phone in one.phones]
    cell.phones += stations
    for _ in range(4):
        population.now_us += 1_000_000
        for one in population.cells:
            population.access_point_reports(one)
        for phone in with_agents:
            population.phone_reports(phone)
    return stations


def full(cells: int = 2, phones_per_cell: int = 3) -> Scraped:
    """Cells that have a sample of every metric."""
    scraped = Scraped(Population(cells, phones_per_cell))
    population, hooks = scraped.population, scraped.hooks
    population.cells[0].phones.append(population.phone(1000))
    population.cells[0].windows = {"can_set": True, "limits_max": 16}
    population.cells[0].phones[1].arrivals = terminal_pb2.Arrivals(
        arrivals_total=1, answered_total=1, last_silence_ms=9, back_end=terminal_pb2.RETRANSMISSION_REQUESTS
    )
    population.cells[0].phones[1].classes = [class_part(terminal_pb2.APPLICATION_CLASS_LIVE, 1)]
    population.seconds(3)
    population.cells[0].phones[0].destinations = []  # sends no more
    population.seconds(6)
    without_agents(population)
    met = population.engine.cells[population.cells[0].bssid].unlimited
    met.mac, met.factor = b"\2\0\0\0\0\7", 3.0
    hooks.store.called("claim", 0.01)
    hooks.store.called("claim", 2.0, failed=True)
    hooks.replica_messages = lambda: {"received": 5, "missing": 3}
    hooks.epochs = lambda: {cell_sample.bssid: 7 for cell_sample in population.cells}
    hooks.enrolled = lambda: {"terminal": (7, 2)}
    hooks.certificates_end = lambda: {"server": 1.9e9, 'a"\n': 2e9}
    hooks.handshakes = lambda: {"agents": 9}
    hooks.connections_closed = lambda: {("agents", "octets"): 2}
    hooks.connections_excessive = lambda: {"agents": 1}
    hooks.front_processes = lambda: 1
    hooks.enrollment_processes = lambda: 1
    hooks.handshakes_failed = lambda: {"no_certificate": 2}
    hooks.connections = lambda: {"agents": PortCount(5, 2, 3, 4, 1)}
    hooks.configuration.applied(Config())
    population.runner.measures.commands["SetBounds"] += 3
    return scraped


@pytest.mark.parametrize("label", ["pseudonym", "mac", "off"])
def test_a_sender_that_nothing_limits_has_the_label_of_its_own_metrics(label: Any) -> None:
    scraped = Scraped(Population(1, 3), Metrics(stations=label))
    scraped.population.seconds(3)
    (one,) = scraped.population.engine.cells.values()
    one.unlimited.mac, one.unlimited.factor = next(iter(one.stations.by_mac)), 3.0
    samples = scraped.samples()
    (unlimited,) = samples.labels("airbound_cell_unlimited_info")
    stations = [labels["station"] for labels in samples.labels("airbound_station_info")] if label != "off" else [""]
    assert unlimited["station"] in stations
    assert (":" in unlimited["station"]) == (label == "mac")


def test_a_station_without_an_agent_has_its_limit_or_for_how_long_and_why_it_has_none() -> None:
    scraped = Scraped(Population(1, 1), Metrics(stations="mac"))
    scraped.population.cells[0].windows = {"can_set": True, "limits_max": 16}
    scraped.population.seconds(3)
    limited, waits = without_agents(scraped.population)
    scraped.population.now_us += 5_000_000
    samples = scraped.samples()
    windows = scraped.population.engine.cells[scraped.population.cells[0].bssid].windows
    (limit,) = windows.senders[limited.mac].limits
    named = [
        {"bssid": mac_text(scraped.population.cells[0].bssid), "station": mac_text(it.mac)} for it in (limited, waits)
    ]
    assert samples.labels("airbound_station_limit_bytes") == [named[0]]
    assert samples.value("airbound_station_limit_bytes", **named[0]) == limit.max_bytes
    assert samples.labels("airbound_station_unlimited_seconds") == [named[1] | {"reason": "no_rtt_sample"}]
    assert samples.value("airbound_station_unlimited_seconds", **named[1], reason="no_rtt_sample") == 8


def test_a_cell_without_agents_has_the_rtts_that_its_access_point_measures() -> None:
    scraped = Scraped(Population(1, 0), Metrics(stations="mac"))
    scraped.population.cells[0].windows = {"can_set": True, "limits_max": 16}
    near, _ = without_agents(scraped.population)
    near.station["destinations"][0].srtt_us = 50_000
    scraped.population.now_us += 1_000_000
    scraped.population.access_point_reports(scraped.population.cells[0])
    samples = scraped.samples()
    named = {"bssid": mac_text(scraped.population.cells[0].bssid), "station": mac_text(near.mac)}
    assert samples.labels("airbound_station_rtt_seconds") == [named]
    assert samples.value("airbound_station_rtt_seconds", **named) == 0.05
    assert samples.value("airbound_station_rtt_ratio", **named) == 2.5
    of_cell = {"bssid": named["bssid"], "quantile": "0.5"}
    assert samples.value("airbound_cell_rtt_seconds", **of_cell) == 0.05
    assert samples.value("airbound_cell_rtt_ratio", **of_cell) == 2.5


def test_of_a_station_with_an_agent_its_own_rtt_counts() -> None:
    scraped = Scraped(Population(1, 1))
    scraped.population.cells[0].windows = {"can_set": True, "limits_max": 16}
    (phone,) = scraped.population.cells[0].phones
    phone.station["destinations"] = [
        access_point_pb2.StationDestination(
            address=SERVER, connections=1, connections_sending=1, srtt_us=90_000, min_rtt_us=9_000, mss_bytes=1448
        )
    ]
    scraped.population.seconds(3)
    samples = scraped.samples()
    (own,) = samples.labels("airbound_terminal_rtt_seconds")
    of_cell = {"bssid": mac_text(scraped.population.cells[0].bssid), "quantile": "1"}
    of_terminal = samples.value("airbound_terminal_rtt_seconds", **own)
    assert samples.value("airbound_cell_rtt_seconds", **of_cell) == of_terminal


def test_promtool_finds_nothing_to_complain_of() -> None:
    scraped = full()
    assert promtool(scraped.page()) == (0, "")
    assert promtool(scraped.page()) == (0, "")


def test_promtool_finds_what_is_wrong() -> None:
    wrong = Family("airbound_x_bits", "counter", "X.")
    code, complaint = promtool(replace(full().page(), many=((wrong, [b"airbound_x_bits 1\n"]),)))
    assert code != 0
    assert 'counter metrics should have "_total" suffix' in complaint


def test_every_metric_has_help_type_and_the_labels_that_it_declares() -> None:
    scraped = full()
    families = {column.family for module in (cell, station, terminal, classes) for column in module.COLUMNS}
    families |= {*controller.FAMILIES, decisions.CELL, decisions.TERMINAL}
    samples = scraped.samples()
    text = b"".join(scraped.page().chunks(openmetrics=False)).decode()
    absent = {  # the population reports none, and is sent none
        "airbound_cell_frequency_hertz", "airbound_cell_links", "airbound_cell_edca_aifsn",
        "airbound_cell_edca_stations_aifsn", "airbound_cell_edca_stations_cw_min",
    }  # fmt: skip
    for family in families:
        assert family.help.endswith("."), family
        assert family.name.startswith("airbound_"), family
        assert (family.kind == "counter") == family.name.endswith("_total"), family
        assert (family.kind == "info") == family.name.endswith("_info"), family
        name = f"{family.name}_count" if family.kind == "histogram" else family.name
        shown = samples.labels(name)
        if family.name not in absent:
            assert shown, family
            assert f"# TYPE {family.name} " in text
        assert all(set(labels) == set(family.labels) for labels in shown), family
    (unlimited,) = samples.labels("airbound_cell_unlimited_info")
    assert re.fullmatch(r"[0-9a-f]{12}", unlimited["station"])
    bssid = scraped.population.cells[0].bssid
    ratio = 3 * scraped.population.engine.cells[bssid].neighbours.factor
    assert samples.value("airbound_cell_maxima_ratio", bssid=mac_text(bssid)) == ratio
    ours = {name for name in samples.names() if name.startswith("airbound_")}
    known = {family.name for family in families}
    assert {name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum") for name in ours} <= known


def test_names_of_metrics_differ_also_in_openmetrics() -> None:
    families = {column.family for module in (cell, station, terminal, classes) for column in module.COLUMNS}
    families |= {*controller.FAMILIES, decisions.CELL, decisions.TERMINAL}
    assert len({family.base for family in families}) == len(families)


def test_a_compressed_page_is_the_page() -> None:
    page = full().page()
    for openmetrics in (False, True):
        compressed = b"".join(page.compressed(openmetrics=openmetrics))
        assert gzip.decompress(compressed) == b"".join(page.chunks(openmetrics=openmetrics))
        assert page.compressed(openmetrics=openmetrics) is page.compressed(openmetrics=openmetrics)
    assert b"".join(page.chunks(openmetrics=True)).endswith(b"\n# EOF\n")


def test_a_page_shows_what_changed_and_what_did_not() -> None:
    scraped = Scraped(Population(2, 2))
    population = scraped.population
    for _ in range(4):
        population.seconds(1)
        again = Scraped(population).samples()
        for series, value in scraped.samples().by_series.items():
            name, labels = series
            if name.startswith(("airbound_cell", "airbound_terminal")) and not name.endswith("_total"):
                assert again.value(name, **dict(labels)) == value
    population.cells[1].phones.pop()
    population.seconds(1)
    assert len(scraped.samples().labels("airbound_station_info")) == 3
    population.cells.clear()
    population.now_us += 1_000_000_000
    population.engine.handle(Tick(), population.now_us)
    assert not scraped.samples().labels("airbound_cell_info")


def test_decisions_are_counted_for_the_cell_and_the_terminal_that_they_concern() -> None:
    scraped = Scraped(Population(2, 3))
    population = scraped.population
    population.seconds(3)
    scraped.samples()  # which shows reasons that are new as 0
    one, other = (mac_text(cell_sample.bssid) for cell_sample in population.cells)
    before = scraped.samples()
    population.cells[0].phones[0].destinations = []  # sends no more
    population.seconds(10)
    scraped.samples()
    after = scraped.samples()

    def grown(name: str, **labels: str) -> float:
        def total(samples: Samples) -> float:
            return sum(
                samples.value(name, **found) for found in samples.labels(name) if labels.items() <= found.items()
            )

        return total(after) - total(before)

    assert grown("airbound_terminal_decisions_total", terminal="phone0", action="release") == 1
    assert grown("airbound_cell_decisions_total", bssid=one, action="release", reason="not_sending") == 1
    assert grown("airbound_cell_decisions_total", bssid=other, action="release") == 0
    assert grown("airbound_terminal_decisions_total", terminal="phone5", action="release") == 0
    assert grown("airbound_cell_decisions_total", subject="bounds") == grown("airbound_decisions_total")
    assert grown("airbound_terminal_decisions_total") == grown("airbound_decisions_total")


def test_every_decision_that_can_be_has_a_series_from_the_start() -> None:
    before = {
        tuple(labels.items()) for labels in Scraped(Population(1, 0)).samples().labels("airbound_decisions_total")
    }
    after = {tuple(labels.items()) for labels in full().samples().labels("airbound_decisions_total")}
    assert after == before


@pytest.mark.parametrize(
    ("subject", "action", "reasons"),
    [
        ("bounds", "set", {"aggregates", "phy_rate", "widened", "applications"}),
        ("windows", "set", {"aggregates", "phy_rate", "widened", "stations_limited"}),
        ("bounds", "release", {"kept_txop", "neighbours", "unlimited_sender"}),
        ("windows", "release", {"kept_txop", "neighbours", "unlimited_sender"}),
        ("edca", "release", {"neighbours", "unlimited_sender", "nothing_bounded"}),
    ],
)
def test_reasons_of_cells_with_aggregates_have_a_series_from_the_start(
    subject: str, action: str, reasons: set[str]
) -> None:
    found = Scraped(Population(1, 0)).samples().labels("airbound_decisions_total")
    assert reasons <= {
        labels["reason"] for labels in found if (labels["subject"], labels["action"]) == (subject, action)
    }


# Limits


def test_beyond_the_limits_objects_are_counted_and_have_no_series() -> None:
    scraped = Scraped(Population(3, 4), Metrics(cells_max=2, stations_max=5, terminals_max=6))
    scraped.population.seconds(2)
    samples = scraped.samples()
    assert len(samples.labels("airbound_cell_stations")) == 2
    assert len(samples.labels("airbound_station_info")) == 5
    assert len(samples.labels("airbound_terminal_info")) == 6
    assert samples.value("airbound_metrics_omitted", kind="cells") == 1
    assert samples.value("airbound_metrics_omitted", kind="stations") == 7
    assert samples.value("airbound_metrics_omitted", kind="terminals") == 6
    found = [samples.value(name) for name in ("airbound_cells", "airbound_stations", "airbound_terminals")]
    assert found == [3, 12, 12]


def test_series_stay_with_their_objects_when_others_come() -> None:
    scraped = Scraped(Population(1, 4), Metrics(terminals_max=4))
    population = scraped.population
    population.seconds(2)
    before = {labels["terminal"] for labels in scraped.samples().labels("airbound_terminal_info")}
    population.cells[0].phones.insert(0, population.phone(0, "another"))
    population.disconnect(population.cells[0].phones.pop().stream)
    population.seconds(1)
    after = {labels["terminal"] for labels in scraped.samples().labels("airbound_terminal_info")}
    assert after == (before - {"phone3"}) | {"another"}


def test_without_series_of_terminals_their_cells_still_show_them() -> None:
    scraped = Scraped(Population(1, 3), Metrics(terminals=False))
    scraped.population.seconds(3)
    samples = scraped.samples()
    assert not [name for name in samples.names() if name.startswith("airbound_terminal_")]
    assert not [labels for labels in samples.labels("airbound_station_info") if labels["terminal"]]
    bssid = mac_text(scraped.population.cells[0].bssid)
    assert samples.value("airbound_cell_rtt_seconds", bssid=bssid, quantile="0.5") == 0.02
    assert samples.value("airbound_cell_rtt_ratio", bssid=bssid, quantile="1") == 5
    assert samples.value("airbound_cell_bounded_terminals", bssid=bssid) == 3


# Personal data


def test_no_mac_address_of_a_phone_is_shown_unless_that_is_asked_for() -> None:
    population = Population(2, 3)
    population.seconds(2)
    macs = [mac_text(phone.mac) for cell_sample in population.cells for phone in cell_sample.phones]

    def shown(options: Metrics) -> list[bool]:
        text = b"".join(Scraped(population, options).page().chunks(openmetrics=False)).decode()
        return [mac in text for mac in macs]

    assert not any(shown(Metrics()))
    assert all(shown(Metrics(stations="mac")))


def test_a_pseudonym_is_the_same_as_long_as_the_process_runs() -> None:
    population = Population(2, 3)
    population.seconds(2)
    scraped = Scraped(population)

    def pseudonyms(scraped: Scraped) -> set[str]:
        return {labels["station"] for labels in scraped.samples().labels("airbound_station_info")}

    first = pseudonyms(scraped)
    assert len(first) == 6
    population.seconds(1)
    assert pseudonyms(scraped) == first
    assert not pseudonyms(Scraped(population)) & first


def test_stations_may_be_left_out() -> None:
    scraped = Scraped(Population(1, 3), Metrics(stations="off"))
    scraped.population.seconds(2)
    samples = scraped.samples()
    assert not [name for name in samples.names() if name.startswith("airbound_station_")]
    assert samples.value("airbound_stations") == 3


# Counters


def station_total(samples: Samples, name: str, **labels: str) -> float:
    (labels_found,) = [found for found in samples.labels(name) if labels.items() <= found.items()]
    return samples.value(name, **labels_found)


COUNTERS: list[tuple[str, dict[str, str]]] = [
    ("airbound_station_airtime_seconds_total", {"direction": "uplink"}),
    ("airbound_station_airtime_seconds_total", {"direction": "downlink"}),
    ("airbound_station_bytes_total", {"direction": "uplink"}),
    ("airbound_station_packets_total", {"direction": "downlink"}),
    ("airbound_station_retries_total", {}),
    ("airbound_station_failures_total", {}),
]


@pytest.mark.parametrize("seconds_again", [1, 200])  # less than before, and more
def test_a_stations_counters_go_on_when_it_associates_again(seconds_again: int) -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones
    scraped.population.seconds(2)
    scraped.samples()
    population.seconds(100)
    before = scraped.samples()
    phone.packets, phone.connected_ms = 0, 0
    population.seconds(seconds_again)
    after = scraped.samples()
    for name, labels in COUNTERS:
        assert station_total(before, name, **labels) > 0
        grown = station_total(after, name, **labels) / station_total(before, name, **labels)
        assert grown == pytest.approx(1 + seconds_again / 100)


def test_counters_begin_at_0_so_that_a_restarted_controller_counts_nothing_twice() -> None:
    population = Population(1, 1)
    population.seconds(50)
    samples = Scraped(population).samples()
    assert all(station_total(samples, name, **labels) == 0 for name, labels in COUNTERS)
    assert samples.value("airbound_terminal_delivered_bytes_total", terminal="phone0") == 0


def destination(address: bytes = SERVER, **fields: Any) -> terminal_pb2.Destination:
    return terminal_pb2.Destination(address=address, mss_bytes=1448, **fields)


def test_what_a_terminal_delivered_is_summed_over_destinations_that_come_and_go() -> None:
    other = address_from_text("10.0.4.2")
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones

    def delivered(*destinations: terminal_pb2.Destination) -> float:
        phone.destinations = list(destinations)
        population.seconds(1)
        return scraped.samples().value("airbound_terminal_delivered_bytes_total", terminal="phone0")

    assert delivered(destination(delivered_bytes=1000)) == 0
    assert delivered(destination(delivered_bytes=1500), destination(other, delivered_bytes=70)) == 570
    assert delivered(destination(other, delivered_bytes=80)) == 580
    assert delivered(destination(delivered_bytes=1600), destination(other, delivered_bytes=80)) == 680
    assert delivered(destination(delivered_bytes=10)) == 690  # the agent was started again


def test_arrivals_of_a_terminal_are_counted_from_the_first_one() -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones

    def counted(arrivals: terminal_pb2.Arrivals | None) -> list[float]:
        phone.arrivals = arrivals
        population.seconds(1)
        samples = scraped.samples()
        names = ("arrivals_total", "arrival_waiting_connections_total", "arrival_retransmissions_total")
        return [samples.value(f"airbound_terminal_{name}", terminal="phone0") for name in names]

    def arrived(total: int, waiting: int, retransmitted: int) -> terminal_pb2.Arrivals:
        return terminal_pb2.Arrivals(
            arrivals_total=total, waiting_connections_total=waiting, retransmissions_total=retransmitted
        )

    assert counted(None) == [0, 0, 0]
    assert counted(arrived(1, 3, 2)) == [1, 3, 2]
    assert counted(arrived(3, 3, 2)) == [3, 3, 2]
    assert counted(None) == [3, 3, 2]  # the agent was started again
    assert counted(arrived(1, 1, 1)) == [4, 4, 3]
    assert counted(arrived(2**64 - 1, 1, 1)) == [4, 4, 3]


def test_live_flows_of_a_cell() -> None:
    scraped = Scraped(Population(1, 3))
    population = scraped.population
    (cell,), names = population.cells, ("flows", "flows_granted", "flows_short", "air_ratio", "failures_total")
    assert not scraped.samples().labels("airbound_cell_live_flows")
    for phone in cell.phones[:2]:
        phone.classes = [class_part(terminal_pb2.APPLICATION_CLASS_LIVE, 1)]
    cell.phones[1].can_mark = True
    for phone in cell.phones:
        phone.station["rx_bitrate_kbps"] = 54_000
    population.seconds(3)
    state = population.engine.cells[cell.bssid]
    short, other = (state.live.flows[FlowKey(phone.mac, SERVER)] for phone in cell.phones[:2])
    other.queued_bytes = 0
    short.queued_bytes, short.used_bps = 1_000_000, 1e5
    state.live.failures_total = 5
    state.priorities.station, state.priorities.until_us = cell.phones[2].mac, 2**62
    samples = scraped.samples()
    flows, granted, is_short, air, failures = (
        samples.value(f"airbound_cell_live_{name}", bssid=mac_text(cell.bssid)) for name in names
    )
    assert (flows, granted, is_short, failures) == (2, 1, 1, 5)
    assert air == pytest.approx(0.7 / 23.76, rel=0.01)
    assert samples.value("airbound_cell_priorities_closed", bssid=mac_text(cell.bssid)) == 1


def test_flows_of_a_terminal_are_counted_over_starts_of_its_agent() -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones

    def counted(flows: terminal_pb2.FlowState | None) -> list[float]:
        phone.flows = flows
        population.seconds(1)
        samples = scraped.samples()
        names = ("failures", "marked_packets", "paced_packets", "dropped_packets")
        return [samples.value(f"airbound_terminal_flow_{name}_total", terminal="phone0") for name in names]

    flows = terminal_pb2.FlowState(
        failures_total=1, marked_packets_total=2, paced_packets_total=3, dropped_packets_total=4
    )
    assert counted(terminal_pb2.FlowState()) == [0, 0, 0, 0]
    assert counted(flows) == [1, 2, 3, 4]
    assert counted(None) == [1, 2, 3, 4]
    assert counted(flows) == [2, 4, 6, 8]
    flows.paced_packets_total = 2**63
    assert counted(flows) == [2, 4, 6, 8]


def test_downloads_of_a_terminal_after_arrivals() -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones

    def counted(arrivals: terminal_pb2.Arrivals | None) -> list[float]:
        phone.arrivals = arrivals
        population.seconds(1)
        samples = scraped.samples()
        names = ("silent_downloads_total", "resumed_downloads_total", "server_messages_total")
        return [samples.value(f"airbound_terminal_arrival_{name}", terminal="phone0") for name in names]

    assert counted(terminal_pb2.Arrivals(arrivals_total=1)) == [0, 0, 0]
    arrivals = terminal_pb2.Arrivals(
        arrivals_total=2, silent_downloads_total=4, resumed_downloads_total=3, server_messages_total=28
    )
    assert counted(arrivals) == [4, 3, 28]
    assert counted(None) == [4, 3, 28]  # the agent was started again
    assert counted(arrivals) == [8, 6, 56]


def test_the_silence_after_arrivals_of_a_terminal() -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones

    def shown(arrivals: terminal_pb2.Arrivals | None) -> tuple[list[float], list[float], set[str]]:
        phone.arrivals = arrivals
        population.seconds(1)
        samples = scraped.samples()
        names = ("answers_total", "silence_seconds_total")
        last = "airbound_terminal_arrival_last_silence_seconds"
        return (
            [samples.value(f"airbound_terminal_arrival_{name}", terminal="phone0") for name in names],
            [samples.value(last, terminal="phone0")] if samples.labels(last) else [],
            {labels["by"] for labels in samples.labels("airbound_terminal_retransmission_info")},
        )

    assert shown(None) == ([0, 0], [], set())
    arrivals = terminal_pb2.Arrivals(arrivals_total=1)
    for number, by in enumerate(("timers", "requests", "messages"), terminal_pb2.RETRANSMISSION_TIMERS):
        arrivals.back_end = terminal_pb2.Retransmission.ValueType(number)
        assert shown(arrivals) == ([0, 0], [], {by})
    arrivals.answered_total, arrivals.silence_ms_total, arrivals.last_silence_ms = 3, 1500, 20
    assert shown(arrivals) == ([3, 1.5], [0.02], {"messages"})
    arrivals.back_end = terminal_pb2.Retransmission.ValueType(77)  # of a later version
    arrivals.last_silence_ms = 2**64 - 1
    assert shown(arrivals) == ([3, 1.5], [], set())


def test_classes_of_applications_have_series_once_a_terminal_reports_them() -> None:
    scraped = Scraped(Population(1, 2))
    population = scraped.population
    phone, _ = population.cells[0].phones
    name = "airbound_terminal_class_delivered_bytes_total"

    def shown(*parts: terminal_pb2.ClassPart) -> dict[str, tuple[float, ...]]:
        phone.classes = [*parts]
        population.seconds(1)
        samples = scraped.samples()
        names = ("sending_connections", "queued_bytes", "delivered_bytes_total")
        found = {}
        for labels in samples.labels(name):
            assert labels["terminal"] == "phone0"
            values = [samples.value(f"airbound_terminal_class_{each}", **labels) for each in names]
            found[labels["class"]] = tuple(values)
        return found

    live, bulk = terminal_pb2.APPLICATION_CLASS_LIVE, terminal_pb2.APPLICATION_CLASS_BULK
    assert shown() == {}
    assert shown(class_part(live, 1000)) == {"live": (2, 7, 0)}  # as with other counters: from the first one on
    assert shown(class_part(live, 1500), class_part(bulk, 90)) == {"live": (2, 7, 500), "bulk": (2, 7, 0)}
    assert shown(class_part(bulk, 100)) == {"live": (0, 0, 500), "bulk": (2, 7, 10)}
    assert shown(class_part(live, 1600), class_part(live, 2**64 - 1)) == {"live": (4, 14, 600), "bulk": (0, 0, 10)}
    later, latest = terminal_pb2.ApplicationClass.ValueType(77), terminal_pb2.ApplicationClass.ValueType(78)
    assert shown(class_part(later, 1))["other"] == (2, 7, 0)
    assert shown(class_part(later, 1), class_part(latest, 90))["other"] == (4, 14, 90)
    assert shown(class_part(later, 2), class_part(latest, 90))["other"] == (4, 14, 91)


def test_absurd_counters_of_a_peer_count_as_0() -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones
    population.seconds(2)
    scraped.samples()
    most = 2**64 - 1
    phone.station = {"rx_airtime_us": most, "tx_failed": most}
    phone.destinations = [destination(delivered_bytes=most, events=terminal_pb2.EventCounts(undo=most))]
    population.seconds(1)
    samples = scraped.samples()
    assert station_total(samples, "airbound_station_failures_total") == 0
    assert samples.value("airbound_terminal_delivered_bytes_total", terminal="phone0") == 0
    assert samples.value("airbound_terminal_tcp_events_total", terminal="phone0", event="undo") == 0


# Terminals


def test_of_rtts_that_of_the_worst_destination_is_shown() -> None:
    scraped = Scraped(Population(1, 1))
    population = scraped.population
    (phone,) = population.cells[0].phones
    near, far, idle = (address_from_text(f"10.0.4.{number}") for number in (1, 2, 3))
    phone.destinations = [
        destination(near, connections=1, connections_sending=1, srtt_us=8_000, min_rtt_us=2_000, cwnd_segs=3),
        destination(far, connections=2, connections_sending=1, srtt_us=90_000, min_rtt_us=60_000, cwnd_segs=20),
        destination(idle, connections=1, srtt_us=900_000, min_rtt_us=1_000, cwnd_segs=10),
    ]
    population.seconds(3)
    samples = scraped.samples()

    def value(name: str) -> float:
        return samples.value(f"airbound_terminal_{name}", terminal="phone0")

    assert (value("rtt_seconds"), value("min_rtt_seconds"), value("rtt_ratio")) == (0.008, 0.002, 4)
    assert (value("connections"), value("sending_connections"), value("cwnd_segments")) == (4, 2, 33)
    sent = population.engine.terminals()[0].sent
    assert sent is not None
    tightest = min(sent.entries, key=lambda bound: bound.max_segs)
    assert (value("cwnd_min_segments"), value("cwnd_max_segments")) == (tightest.min_segs, tightest.max_segs)


def test_a_terminal_that_does_not_send_has_no_rtt() -> None:
    scraped = Scraped(Population(1, 2))
    population = scraped.population
    population.cells[0].phones[0].destinations = []
    population.seconds(3)
    samples = scraped.samples()
    assert [labels["terminal"] for labels in samples.labels("airbound_terminal_rtt_seconds")] == ["phone1"]
    assert {"terminal": "phone0", "reason": "not_sending"} in samples.labels("airbound_terminal_no_bounds_info")
    assert samples.value("airbound_terminals_without_bounds", reason="not_sending") == 1


def test_the_minimum_rtt_is_the_cells_where_that_is_smaller() -> None:
    scraped = Scraped(Population(1, 2))
    population = scraped.population
    population.cells[0].phones[0].destinations = [
        destination(connections=1, connections_sending=1, srtt_us=20_000, min_rtt_us=7_000)
    ]
    population.seconds(3)
    assert scraped.samples().value("airbound_terminal_min_rtt_seconds", terminal="phone0") == 0.004


def test_phones_of_one_name_are_one_terminal() -> None:
    population = Population(1, 0)
    population.cells[0].phones = [population.phone(number, "nat") for number in range(3)]
    population.cells[0].phones[1].destinations = [
        destination(connections=1, connections_sending=1, srtt_us=40_000, min_rtt_us=4_000, delivered_bytes=5)
    ]
    scraped = Scraped(population)
    population.seconds(3)
    scraped.samples()
    population.seconds(1)
    samples = scraped.samples()
    assert len(samples.labels("airbound_terminal_info")) == 1
    assert samples.value("airbound_terminal_connections", terminal="nat") == 5
    assert samples.value("airbound_terminal_rtt_seconds", terminal="nat") == 0.04
    assert samples.value("airbound_terminal_delivered_bytes_total", terminal="nat") == 200_000
    population.disconnect(population.cells[0].phones.pop().stream)
    population.seconds(1)
    assert scraped.samples().value("airbound_terminal_delivered_bytes_total", terminal="nat") == 300_000


def test_a_terminal_that_comes_back_on_another_stream_goes_on() -> None:
    population = Population(1, 1)
    (phone,) = population.cells[0].phones
    scraped = Scraped(population)
    population.seconds(3)
    scraped.samples()
    population.disconnect(phone.stream)
    phone.stream = population.stream("terminal", "phone0", phone.ip)
    population.seconds(1)
    assert scraped.samples().value("airbound_terminal_delivered_bytes_total", terminal="phone0") == 100_000


# Cells


def test_a_cell_without_its_access_point_shows_its_age_and_no_stations() -> None:
    scraped = Scraped(Population(1, 2))
    population = scraped.population
    population.seconds(2)
    population.disconnect(population.cells[0].stream)
    population.now_us += 5_000_000
    samples, bssid = scraped.samples(), mac_text(population.cells[0].bssid)
    assert samples.value("airbound_cell_connected", bssid=bssid) == 0
    assert samples.value("airbound_cell_report_age_seconds", bssid=bssid) == 5
    assert samples.value("airbound_stations") == 0
    assert not samples.labels("airbound_station_info")


def test_a_driver_that_does_not_report_airtime_has_no_series_of_it() -> None:
    scraped = Scraped(Population(1, 1))
    scraped.population.cells[0].phones[0].station = {
        "rx_airtime_us": 0,
        "tx_airtime_us": 0,
        "airtime_source": access_point_pb2.AIRTIME_SOURCE_UNSPECIFIED,
    }
    scraped.population.seconds(2)
    samples = scraped.samples()
    assert not samples.labels("airbound_station_airtime_seconds_total")
    assert samples.labels("airbound_station_retries_total")


# Hooks


def test_hooks_show_the_store_ownership_certificates_and_the_configuration() -> None:
    samples = full().samples()
    assert samples.value("airbound_store_call_seconds_count", call="claim") == 2
    assert samples.value("airbound_store_call_seconds_bucket", call="claim", le="0.01") == 1
    assert samples.value("airbound_store_call_seconds_sum", call="claim") == 2.01
    assert samples.value("airbound_store_errors_total", call="claim") == 1
    assert samples.value("airbound_store_info", kind="memory") == 1
    assert samples.value("airbound_cells_owned") == 2
    assert samples.value("airbound_cell_ownership_epoch", bssid="02:01:00:00:00:01") == 7
    assert samples.value("airbound_replica_messages_total", outcome="missing") == 3
    assert samples.value("airbound_certificate_not_after_timestamp_seconds", certificate="server") == 1.9e9
    assert samples.value("airbound_config_applied_timestamp_seconds") > 1.7e9
    assert samples.labels("airbound_config_info") == [{"hash": config_hash(Config())}]


def test_a_cells_own_mode_and_exemptions_are_shown() -> None:
    overrides = """[[cell]]
        bssid = "02:01:00:00:00:01"
        mode = "observe"
        exempt = ["phone3"]
        """
    population = Population(2, 2, overrides=cell_overrides(parse(overrides, "x")))
    population.seconds(2)
    samples = Scraped(population).samples()
    modes = {labels["bssid"]: labels["mode"] for labels in samples.labels("airbound_cell_control_info")}
    assert modes == {"02:01:00:00:00:00": "control", "02:01:00:00:00:01": "observe"}
    exempt = [samples.value("airbound_terminal_exempt", terminal=f"phone{number}") for number in range(4)]
    assert exempt == [0, 0, 0, 1]


def test_without_a_shared_store_nothing_is_owned() -> None:
    samples = Scraped(Population(1, 1)).samples()
    assert not samples.labels("airbound_cells_owned")
    assert not samples.labels("airbound_replica_messages_total")


def test_process_and_interpreter_are_shown() -> None:
    names = Scraped(Population(0, 0)).samples().names()
    assert {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"} <= names
    assert {"python_info", "python_gc_collections_total"} <= names


def test_what_is_counted_by_reason_is_there_from_the_start() -> None:
    samples = Scraped(Population(0, 0)).samples()
    assert samples.value("airbound_refusals_total", reason="malformed") == 0
    assert samples.value("airbound_refusals_total", reason="too_many_streams") == 0
    assert samples.value("airbound_streams_closed_total", reason="replaced") == 0
    assert "stopping" not in {labels["reason"] for labels in samples.labels("airbound_refusals_total")}


def test_decisions_are_counted_by_what_and_why() -> None:
    scraped = Scraped(Population(1, 2))
    scraped.population.seconds(3)
    counters = scraped.population.runner.counts.totals
    shown = scraped.samples()
    for (name, code), count in counters.items():
        if name == "sets_total":
            labels = {"subject": "bounds", "action": "set", "reason": code.name.lower()}
            assert shown.value("airbound_decisions_total", **labels) == count
    assert shown.labels("airbound_decisions_total")


def test_histograms_are_cumulative() -> None:
    scraped = Scraped(Population(0, 0))
    histogram = scraped.population.runner.measures.decision
    for seconds in (0.0001, 0.003, 9.0):
        histogram.observe(seconds)
    samples = scraped.samples()

    def bucket(limit: str) -> float:
        return samples.value("airbound_control_loop_seconds_bucket", stage="decision", le=limit)

    assert [bucket(limit) for limit in ("0.0001", "0.002", "0.005", "3.0", "+Inf")] == [1, 1, 2, 2, 3]
    assert samples.value("airbound_control_loop_seconds_count", stage="decision") == 3
