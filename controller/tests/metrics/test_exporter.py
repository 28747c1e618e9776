# SPDX-License-Identifier: Apache-2.0
"""A controller with agents on real streams, scraped over HTTP: what Prometheus reads is what operators are shown."""

import asyncio
import ssl
import urllib.request
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

import pytest

from airbound.core.addresses import mac_from_text
from airbound.metrics import exporter
from airbound.metrics.exporter import Exporter
from airbound.metrics.hooks import Hooks
from airbound.metrics.options import Metrics
from airbound.metrics.scrapes import REUSED_S
from airbound.v1 import access_point_pb2, operations_pb2, terminal_pb2
from airbound_testing.agents import FakePhone
from airbound_testing.live import BSSID, MACS, LiveController, seen_upload, upload
from airbound_testing.scrapes import OPENMETRICS, Samples, get, scrape

PROMETHEUS = (  # what version 2.42 asks for
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
HTTP = Metrics(listen="127.0.0.1:0", stations="mac")


class Observed:
    """A live controller and its exporter."""

    def __init__(self, live: LiveController, served: Exporter) -> None:
        self.live = live
        self.served = served
        self._second = 0

    async def scrape(self, *, openmetrics: bool = False) -> Samples:
        self.served._scrapes._made_at_s -= REUSED_S  # not the page of a moment ago
        return await scrape(self.served.port, openmetrics=openmetrics)

    async def access_point_reports(self, *stations: access_point_pb2.Station) -> None:
        """A report a second later, and wait until it is handled."""
        self._second += 1
        reports = self.live.runner.reports_total
        await self.live.access_point.report(
            access_point_pb2.AccessPointReport(
                bssid=mac_from_text(BSSID),
                ssid=b"caf\xc3\xa9 \xff",
                monotonic_us=self._second * 1_000_000,
                channel=access_point_pb2.Channel(center_frequency_mhz=2437, band=access_point_pb2.BAND_2_4_GHZ),
                links=[access_point_pb2.Link(link_id=0)],
                survey_refusal="the tx time went back",
                surveys_refused_total=self._second,
                agent_version="test",
                stations=stations,
                survey=access_point_pb2.ChannelSurvey(
                    active_us=self._second * 1_000_000, busy_us=self._second * 700_000
                ),
            )
        )
        await self.live.until(lambda: self._handled(reports))

    async def phone_reports(self, phone: FakePhone, *destinations: terminal_pb2.Destination) -> None:
        """A report, and wait until it is handled."""
        reports = self.live.runner.reports_total
        await phone.report(*destinations, monotonic_us=self._second)
        await self.live.until(lambda: self._handled(reports))

    async def _handled(self, before: int) -> bool:
        return self.live.runner.reports_total > before


def reported_station(mac: str, seconds: int) -> access_point_pb2.Station:
    """A station that has sent for so many seconds."""
    return access_point_pb2.Station(
        mac=mac_from_text(mac),
        rx_packets=300 * seconds,
        rx_bytes=300 * 1534 * seconds,
        tx_packets=150 * seconds,
        tx_bytes=150 * 86 * seconds,
        tx_retries=7 * seconds,
        tx_failed=seconds,
        rx_bitrate_kbps=54_000,
        tx_bitrate_kbps=48_000,
        rx_airtime_us=90_000 * seconds,
        tx_airtime_us=8_000 * seconds,
        airtime_source=access_point_pb2.AIRTIME_SOURCE_MEASURED,
        connected_time_ms=1000 * seconds,
        signal_dbm=-61,
        vlan_interface="" if mac == MACS[0] else "wlan0.sta1",
        four_address=mac != MACS[0],
    )


def sent_to(seconds: int) -> terminal_pb2.Destination:
    destination = upload()
    destination.cwnd_segs = 40 + seconds
    destination.delivered_bytes = 450_000 * seconds
    destination.queued_bytes = 90_000
    destination.events.CopyFrom(terminal_pb2.EventCounts(sack=3 * seconds, timeout=seconds, local_congestion=2))
    return destination


@pytest.fixture
async def observed() -> AsyncIterator[Observed]:
    async with LiveController() as live:
        hooks = Hooks()
        served = Exporter(live.runner, HTTP, hooks)
        served.start()
        yield Observed(live, served)
        served.stop()


async def filled(observed: Observed) -> FakePhone:
    """One phone that sends and has bounds, scraped before its last reports."""
    live = observed.live
    live.sets_edca = True
    for second in (1, 2):
        await observed.access_point_reports(reported_station(MACS[0], second), reported_station(MACS[1], second))
    phone = await live.phone(0)
    await observed.phone_reports(phone, sent_to(1))
    await phone.until(lambda: phone.bounds != {})
    await observed.scrape()
    await observed.access_point_reports(reported_station(MACS[0], 5), reported_station(MACS[1], 5))
    await observed.phone_reports(phone, sent_to(4))
    return phone


async def test_a_cells_metrics_are_what_operators_are_shown(observed: Observed) -> None:
    await filled(observed)
    samples = await observed.scrape()
    (cell,) = await observed.live.cells()

    def value(name: str) -> float:
        return samples.value(f"airbound_cell_{name}", bssid=BSSID)

    assert value("stations") == cell.stations == 2
    assert value("active_senders") == cell.active_senders == 2
    assert value("terminals") == cell.terminals == 1
    assert value("uplink_bytes_per_second") * 8 == pytest.approx(cell.uplink_bps, abs=1)
    assert value("capacity_bytes_per_second") * 8 == pytest.approx(cell.capacity_bps, abs=1)
    assert value("busy_ratio") == pytest.approx(cell.busy_ratio)
    assert value("frequency_hertz") == cell.center_frequency_mhz * 1e6
    assert value("reassociations_total") == cell.reassociations_total
    assert value("bounded_terminals") == 1
    assert samples.labels("airbound_cell_info") == [
        {
            "bssid": BSSID,
            "ssid": "café \\xff",
            "access_point": cell.access_point,
            "agent_version": "test",
            "band": "2.4",
        }
    ]
    assert cell.band == access_point_pb2.BAND_2_4_GHZ
    assert value("links") == cell.links == 1
    assert value("survey_refused") == 1
    assert value("surveys_refused_total") == 1  # 2 at the first scrape, 3 now
    assert cell.surveys_refused_total == 3
    assert samples.labels("airbound_cell_capacity_info") == [{"bssid": BSSID, "source": "busy_time"}]
    assert samples.value("airbound_cell_rtt_seconds", bssid=BSSID, quantile="0.5") == 0.3


async def test_a_stations_metrics_are_what_operators_are_shown(observed: Observed) -> None:
    await filled(observed)
    samples = await observed.scrape()
    request = operations_pb2.ListStationsRequest(bssid=BSSID)
    views = {view.mac: view for view in (await observed.live.ask().ListStations(request)).stations}
    for mac in MACS[:2]:
        view, labels = views[mac], {"bssid": BSSID, "station": mac}
        uplink, downlink = ({**labels, "direction": direction} for direction in ("uplink", "downlink"))

        def value(name: str, **labels: str) -> float:
            return samples.value(f"airbound_station_{name}", **labels)

        first = reported_station(mac, 2)  # before the first scrape
        assert value("airtime_seconds_total", **uplink) == (view.rx_airtime_us - first.rx_airtime_us) / 1e6
        assert value("airtime_seconds_total", **downlink) == (view.tx_airtime_us - first.tx_airtime_us) / 1e6
        assert value("retries_total", **labels) == view.tx_retries - first.tx_retries
        assert value("failures_total", **labels) == view.tx_failed - first.tx_failed
        assert value("phy_rate_bytes_per_second", **uplink) * 8 == view.rx_bitrate_kbps * 1000
        assert value("phy_rate_bytes_per_second", **downlink) * 8 == view.tx_bitrate_kbps * 1000
        assert value("signal_dbm", **labels) == view.signal_dbm
        assert value("connected_seconds", **labels) * 1000 == view.connected_time_ms
        assert value("active_sender", **labels) == view.active_sender
        assert value("uplink_bytes_per_second", **labels) * 8 == pytest.approx(view.uplink_bps, abs=1)
        kind = "bridge" if view.four_address else "station"
        info = {
            **labels,
            "terminal": view.terminal,
            "airtime_source": "measured",
            "vlan": view.vlan_interface,
            "kind": kind,
        }
        assert info in samples.labels("airbound_station_info")
    assert views[MACS[0]].terminal
    assert (views[MACS[1]].four_address, views[MACS[1]].vlan_interface) == (True, "wlan0.sta1")


async def test_a_terminals_metrics_are_what_operators_are_shown(observed: Observed) -> None:
    await filled(observed)
    samples = await observed.scrape()
    (name,) = [terminal.name for terminal in await observed.live.terminals()]
    explained: Any = await observed.live.ask().ExplainTerminal(operations_pb2.ExplainTerminalRequest(terminal=name))
    terminal, (destination,) = explained.terminal, explained.destinations
    (decision,) = terminal.decisions

    def value(metric: str, **labels: str) -> float:
        return samples.value(f"airbound_terminal_{metric}", terminal=name, **labels)

    assert value("rtt_seconds") == decision.srtt_us / 1e6
    assert value("min_rtt_seconds") == decision.min_rtt_us / 1e6
    assert value("rtt_ratio") == decision.rtt_ratio
    assert value("cwnd_segments") == destination.cwnd_segs == 44
    assert (value("cwnd_min_segments"), value("cwnd_max_segments")) == (decision.min_segs, decision.max_segs)
    assert value("queued_bytes") == destination.queued_bytes
    assert value("connections") == destination.connections
    assert value("sending_connections") == destination.connections_sending
    assert value("delivered_bytes_total") == destination.delivered_bytes - sent_to(1).delivered_bytes
    for event in ("local_congestion", "duplicate_ack", "sack", "fast_retransmit", "timeout", "undo"):
        grown = getattr(destination.events, event) - getattr(sent_to(1).events, event)
        assert value("tcp_events_total", event=event) == grown
    assert value("active_sender") == terminal.active_sender == 1
    assert value("bounds_in_force") == (terminal.bounds_generation_in_force == terminal.bounds_generation_sent)
    assert value("lease_seconds") <= 6
    assert samples.labels("airbound_terminal_info") == [
        {
            "terminal": name,
            "bssid": terminal.bssid,
            "back_end": terminal.back_end,
            "agent_version": terminal.agent_version,
        }
    ]


async def test_the_controllers_metrics_are_what_operators_are_shown(observed: Observed) -> None:
    phone = await filled(observed)
    bad = sent_to(5)
    bad.min_rtt_us = 1
    await observed.phone_reports(phone, bad)
    samples = await observed.scrape()
    response: Any = await observed.live.ask().GetController(operations_pb2.GetControllerRequest())
    counters = {(counter.name, counter.code): counter.value for counter in response.counters}
    reports = [samples.value("airbound_reports_total", role=role) for role in ("access-point", "terminal")]
    assert reports == [3, 3]
    assert sum(reports) == counters["reports_total", 0]
    commands = sum(
        samples.value("airbound_commands_total", **labels) for labels in samples.labels("airbound_commands_total")
    )
    assert commands == counters["commands_total", 0]
    assert samples.value("airbound_refusals_total", reason="out_of_range") == 1
    assert samples.value("airbound_streams", role="terminal") == 1
    assert samples.value("airbound_streams", role="access-point") == 1
    assert samples.value("airbound_streams_opened_total", role="terminal") == 1
    labels = {"subject": "bounds", "action": "set", "reason": "started_sending"}
    assert samples.value("airbound_decisions_total", **labels) == 1
    assert samples.labels("airbound_control_info") == [{"mode": "control", "policy": "paper"}]


async def test_the_control_loop_is_measured_from_report_to_write(observed: Observed) -> None:
    await filled(observed)
    samples = await observed.scrape()
    decisions = samples.value("airbound_control_loop_seconds_count", stage="decision")
    assert decisions >= 1

    async def written() -> bool:
        found = await observed.scrape()
        return found.value("airbound_control_loop_seconds_count", stage="write") >= 1

    await observed.live.until(written)


async def test_counters_do_not_fall_when_a_station_associates_again(observed: Observed) -> None:
    labels = {"bssid": BSSID, "station": MACS[0]}
    before = 0.0
    for seconds in (10, 20, 1, 2, 30, 1):
        await observed.access_point_reports(reported_station(MACS[0], seconds))
        now = (await observed.scrape()).value("airbound_station_retries_total", **labels)
        assert now >= before
        before = now
    assert before == 7 * (10 + 1 + 1 + 28 + 1)


async def test_both_formats_have_the_same_samples(observed: Observed) -> None:
    await filled(observed)
    text, openmetrics = await observed.scrape(), await observed.scrape(openmetrics=True)
    assert text.by_series.keys() == openmetrics.by_series.keys()


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (PROMETHEUS, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("text/html,*/*;q=0.8", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text;version=nonsense", "text/plain; version=0.0.4; charset=utf-8"),
        (OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ],
)
async def test_the_format_is_the_one_that_is_asked_for(observed: Observed, accept: str, content_type: str) -> None:
    response = await asyncio.to_thread(get, observed.served.port, Accept=accept)
    assert response.headers["Content-Type"] == content_type
    assert response.body.endswith(b"# EOF\n") == ("openmetrics" in content_type)
    assert "Content-Encoding" not in response.headers


async def test_it_is_healthy_when_it_serves_and_its_loop_turns(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = observed.served.port
    assert (await asyncio.to_thread(get, port, "/healthz")).status == HTTPStatus.SERVICE_UNAVAILABLE
    observed.served.ready = True
    response = await asyncio.to_thread(get, port, "/healthz")
    assert (response.status, response.body) == (HTTPStatus.OK, b"ok\n")
    monkeypatch.setattr(exporter, "HEALTH_TIMEOUT_S", 0.01)
    assert get(port, "/healthz").status == HTTPStatus.SERVICE_UNAVAILABLE  # the loop's thread asks: it does not turn


async def test_an_error_is_answered_and_logged(
    observed: Observed, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise LookupError("no page")

    monkeypatch.setattr(observed.served._scrapes, "page", broken)
    for _ in range(3):
        response = await asyncio.to_thread(get, observed.served.port)
        assert response.status == HTTPStatus.INTERNAL_SERVER_ERROR
        assert b"no page" not in response.body
    assert [record.getMessage() for record in caplog.records] == ["LookupError: no page"] * 2  # the 1st and the 2nd


async def test_over_tls_a_client_needs_a_certificate_if_that_is_configured(tls_files: tuple[str, str]) -> None:
    certificate, key = tls_files
    async with LiveController() as live:
        options = Metrics(listen="127.0.0.1:0", certificate=certificate, key=key, client_ca=certificate)
        served = Exporter(live.runner, options, Hooks())
        served.start()
        try:

            def fetch(client: ssl.SSLContext) -> int:
                url = f"https://localhost:{served.port}/metrics"
                with urllib.request.urlopen(url, timeout=20, context=client) as response:
                    return int(response.status)

            client = ssl.create_default_context(cafile=certificate)
            with pytest.raises(OSError):  # noqa: PT011  # an alert, or a connection that ended before it was read
                await asyncio.to_thread(fetch, client)
            client.load_cert_chain(certificate, key)
            assert await asyncio.to_thread(fetch, client) == HTTPStatus.OK
        finally:
            served.stop()


async def test_windows_of_stations_without_an_agent(observed: Observed) -> None:
    live = observed.live
    await live.senders(2)
    assert not (await observed.scrape()).labels("airbound_cell_window_limits")  # its access point does not look
    live.seen = {mac: [seen_upload()] for mac in MACS[:2]}
    await live.report(*MACS[:2])
    await live.access_point.until(lambda: len(live.access_point.limits) == 2)
    await live.report(*MACS[:2])

    async def in_force() -> bool:
        (cell,) = await live.cells()
        return cell.windows.state.generation > 0

    await live.until(in_force)
    samples = await observed.scrape()

    def value(name: str) -> float:
        return samples.value(f"airbound_cell_{name}", bssid=BSSID)

    assert value("stations_without_agent") == value("limited_stations") == 2
    assert value("window_limits") == value("window_limits_in_force") == 2
    assert (value("window_limits_omitted"), value("window_connections_max")) == (0, 4096)
    assert samples.labels("airbound_cell_windows_info") == [{"bssid": BSSID, "reason": "stations_limited"}]
    labels = {"subject": "windows", "action": "set", "reason": "stations_limited"}
    assert samples.value("airbound_decisions_total", **labels) == 1
    live.access_point.expire_windows()
    await live.report(*MACS[:2])

    async def ended() -> bool:
        (cell,) = await live.cells()
        return cell.windows.state.generation == 0

    await live.until(ended)
    samples = await observed.scrape()
    assert (value("window_limits"), value("window_limits_in_force")) == (2, 0)
