# SPDX-License-Identifier: Apache-2.0
"""Every field of every message, read and written."""

from typing import Any

import pytest

from airbound.core.edca import Category, Edca
from airbound.core.effects import (
    Arrived,
    Bound,
    Flow,
    RenewLease,
    SetBounds,
    SetEdca,
    SetFlows,
    SetReporting,
    SetStationFlows,
    SetWindows,
    StationFlow,
    WindowLimit,
)
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    APP_PARTS_MAX,
    APP_UIDS_MAX,
    CONNECTIONS_MAX,
    COUNTER_MAX,
    AccessPointReport,
    Agent,
    AppPart,
    Arrivals,
    BackEnd,
    Destination,
    EdcaState,
    FlowAbilities,
    FlowState,
    Radio,
    Station,
    StationFlowState,
    Survey,
    TerminalReport,
    WindowState,
)
from airbound.grpc import command_convert, convert
from airbound.v1 import access_point_pb2, reason_pb2, terminal_pb2
from airbound_testing.messages import (
    BEST_EFFORT,
    BSSID,
    EDCA,
    IPV4,
    IPV6,
    MAC,
    WINDOWS,
    phone_report,
)

STREAM = Stream(1, Principal("terminal", "192.0.2.7"))


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


def test_every_field_of_an_access_points_report() -> None:
    message = access_point_pb2.AccessPointReport(
        bssid=BSSID,
        ssid=b"cell",
        interface="wlan0",
        sequence=2,
        monotonic_us=3,
        channel=access_point_pb2.Channel(
            center_frequency_mhz=5180,
            width_mhz=80,
            band=access_point_pb2.BAND_5_GHZ,
            primary_frequency_mhz=5170,
            second_center_frequency_mhz=5530,
        ),
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
                vlan_interface="wlan0.20",
                four_address=True,
                multi_link=True,
                links=0b101,
                recent_rx_bytes=10,
                recent_rx_packets=9,
                silent=True,
                rx_rate_format=access_point_pb2.RATE_FORMAT_HT,
                tx_rate_format=access_point_pb2.RATE_FORMAT_VHT,
                counts_categories=True,
                rx_video_packets=8,
                rx_voice_packets=7,
                destinations=[
                    access_point_pb2.StationDestination(
                        address=IPV6,
                        connections=53,
                        connections_sending=52,
                        srtt_us=1300,
                        min_rtt_us=1200,
                        mss_bytes=1400,
                        sent_bytes=57,
                        received_bytes=58,
                        connections_unscaled=51,
                    )
                ],
            )
        ],
        trigger=access_point_pb2.ACCESS_POINT_REPORT_TRIGGER_INTERVAL,
        malformed_inputs_total=5,
        agent_version="1.2.3",
        edca=EDCA,
        survey_refusal="the busy time exceeds the channel's",
        surveys_refused_total=6,
        links=[
            access_point_pb2.Link(
                link_id=1,
                bssid=BSSID,
                channel=access_point_pb2.Channel(
                    center_frequency_mhz=6105,
                    width_mhz=320,
                    band=access_point_pb2.BAND_6_GHZ,
                    primary_frequency_mhz=5975,
                    second_center_frequency_mhz=7,
                ),
                survey=access_point_pb2.ChannelSurvey(active_us=50, busy_us=40, rx_us=30, tx_us=20),
            )
        ],
        windows=WINDOWS,
        datapath_id=0x0000_5254_0012_3456,
        recent_us=200_000,
        station_flows=access_point_pb2.StationFlowState(
            can_set=True, refusal="why not", generation=61, refused_total=62, flows_max=63, marked_packets_total=64
        ),
        check=access_point_pb2.CheckRequest(id="65"),  # which the core does not have: see grpc/checks.py
    )
    assert unset(message) == ["edca.own.admission"]  # never of an access point's own queues
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
        recent_rx_bytes=10,
        recent_rx_packets=9,
        silent=True,
        tx_bitrate_kbps=18,
        rx_rate_format=access_point_pb2.RATE_FORMAT_HT,
        tx_rate_format=access_point_pb2.RATE_FORMAT_VHT,
        airtime_us=39,
        rx_video_packets=8,
        rx_voice_packets=7,
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
            recent_us=200_000,
            edca=EdcaState(
                can_set=True,
                refusal="why not",
                generation=31,
                own=(Edca(Category.BEST_EFFORT, 2, 15, 1023, 32),),
                stations=(Edca(Category.BEST_EFFORT, 3, 7, 63, 33, admission=True),),
                wmm=True,
                refused_total=34,
                can_set_stations=True,
                stations_refusal="why not those",
                takes_priorities=True,
            ),
            radio=Radio(band=2, links=1, survey_refusal="the busy time exceeds the channel's", surveys_refused_total=6),
            windows=WindowState(
                can_set=True,
                refusal="why not",
                generation=41,
                refused_total=42,
                connections=43,
                connections_max=44,
                connections_evicted_total=45,
                limited_segments_total=46,
                limits_max=47,
            ),
            destinations={
                MAC: (Destination(IPV6, connections_sending=52, min_rtt_us=1200, mss_bytes=1400, srtt_us=1300),)
            },
            datapath_id=0x0000_5254_0012_3456,
            station_flows=StationFlowState(
                can_set=True, refusal="why not", generation=61, refused_total=62, flows_max=63, marked_packets_total=64
            ),
        ),
        [],
    )


def test_every_field_of_a_terminals_report() -> None:
    events = terminal_pb2.EventCounts(local_congestion=1, duplicate_ack=2, sack=3, fast_retransmit=4, timeout=5, undo=6)
    back_end = terminal_pb2.BackEnd(
        name="ebpf",
        can_set_max=True,
        can_set_min=True,
        can_select_destination=True,
        can_select_uid=True,
        rules_max=64,
        can_select_uid_destination=True,
    )
    message = terminal_pb2.TerminalReport(
        mac=MAC,
        sequence=2,
        monotonic_us=3,
        agent=terminal_pb2.Agent(
            version="1.2.3",
            back_end=back_end,
            takes_arrivals=True,
            can_mark=True,
            can_admit=True,
            can_pace=True,
            flows_refusal="why not",
            flows_max=64,
        ),
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
                classes=[
                    terminal_pb2.ClassPart(
                        application_class=terminal_pb2.APPLICATION_CLASS_LIVE,
                        connections=1,
                        connections_sending=1,
                        delivered_bytes=2,
                        queued_bytes=3,
                        uids=[10_001],
                    )
                ],
            )
        ],
        bounds_generation=4,
        trigger=terminal_pb2.TERMINAL_REPORT_TRIGGER_INTERVAL,
        malformed_inputs_total=5,
        arrivals=terminal_pb2.Arrivals(
            arrivals_total=6,
            merged_reports_total=7,
            waiting_connections_total=8,
            retransmissions_total=9,
            last_source=terminal_pb2.ARRIVAL_SOURCE_FILE,
            last_age_ms=10,
            back_end=terminal_pb2.RETRANSMISSION_REQUESTS,
            answered_total=11,
            silence_ms_total=12,
            last_silence_ms=13,
            silent_downloads_total=14,
            resumed_downloads_total=15,
            server_messages_total=16,
        ),
        flows=terminal_pb2.FlowState(
            generation=21,
            refused_total=22,
            failures_total=23,
            failure="why",
            marked_packets_total=24,
            paced_packets_total=25,
            dropped_packets_total=26,
        ),
    )
    assert unset(message) == []
    expected = Destination(
        IPV6, connections_sending=12, srtt_us=1300, min_rtt_us=1200, mss_bytes=1400, fills_window=False
    )
    agent = Agent(
        "1.2.3",
        BackEnd(
            name="ebpf",
            can_set_max=True,
            can_set_min=True,
            can_select_destination=True,
            rules_max=64,
            can_select_uid_destination=True,
        ),
        takes_arrivals=True,
        flows=FlowAbilities(can_mark=True, can_admit=True, can_pace=True, refusal="why not", flows_max=64),
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
            arrivals=Arrivals(6, "file", 10),
            apps=(AppPart(IPV6, 1, 1, 2, 3, (10_001,)),),
            flows=FlowState(21, 22, 23, "why", 24, 25, 26),
            delivered_bytes=18,
        ),
        [],
    )
    message.arrivals.last_age_ms = 2**63
    report, refusals = convert.terminal_report(message)
    assert report is not None
    assert report.arrivals is None
    assert refusals == [Reason(Code.OUT_OF_RANGE, "arrivals.last_age_ms", after=2**63, limit=COUNTER_MAX)]


@pytest.mark.parametrize("number", terminal_pb2.ArrivalSource.values())
def test_sources_of_arrivals_have_the_names_of_the_contract(number: int) -> None:
    name = terminal_pb2.ArrivalSource.Name(number).removeprefix("ARRIVAL_SOURCE_").lower()
    report, refusals = convert.terminal_report(
        phone_report(arrivals=terminal_pb2.Arrivals(arrivals_total=1, last_source=number))
    )
    assert report is not None
    assert report.arrivals == Arrivals(1, name if number else "", 0)
    assert refusals == []


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
        command_convert.terminal_command(SetBounds(STREAM, 9, bounds, 6000, reasons, 3, 20e6 + 0.6))
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
        command_convert.terminal_command(RenewLease(STREAM, 9, 6000))
    )
    assert unset(renewed) == []
    assert renewed.command.renew_lease == terminal_pb2.RenewLease(generation=9, lease_ms=6000)
    reporting = terminal_pb2.TerminalServiceConnectResponse.FromString(
        command_convert.terminal_command(SetReporting(STREAM, 1000, 10_000, 200))
    )
    assert unset(reporting) == []
    assert reporting.command.set_reporting == terminal_pb2.SetReporting(
        interval_ms=1000, heartbeat_ms=10_000, rtt_ratio_change_permille=200
    )


def test_every_field_of_a_command_to_an_access_point() -> None:
    queues = (
        Edca(Category.BEST_EFFORT, 4, 15, 1023, 6),
        Edca(Category.BACKGROUND, 7, 31, 63, 0),
        Edca(Category.BEST_EFFORT, 3, 63, 511, 5, announced=True, admission=True),
    )
    effect = SetEdca(STREAM, 9, queues, 6000, Reason(Code.UPLOADS, "x", 0.5, 1.0, 0.75))
    sent = access_point_pb2.AccessPointServiceConnectResponse.FromString(command_convert.agent_command(effect))
    # None is of background, admission is never of the access point's own, and the session adds the mode and the check.
    own = ["mode", "check", "command.set_edca.queues.txop_limit", *2 * ["command.set_edca.queues.admission"]]
    assert sorted(unset(sent)) == sorted(own)
    assert sent.command.set_edca == access_point_pb2.SetEdca(
        generation=9,
        queues=[
            access_point_pb2.Edca(category=BEST_EFFORT, aifsn=4, cw_min=15, cw_max=1023, txop_limit=6),
            access_point_pb2.Edca(category=access_point_pb2.ACCESS_CATEGORY_BACKGROUND, aifsn=7, cw_min=31, cw_max=63),
        ],
        lease_ms=6000,
        reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_UPLOADS, subject="x", before=0.5, after=1.0, limit=0.75),
        stations=[
            access_point_pb2.Edca(category=BEST_EFFORT, aifsn=3, cw_min=63, cw_max=511, txop_limit=5, admission=True)
        ],
    )
    release = command_convert.agent_command(effect._replace(queues=()))
    assert not access_point_pb2.AccessPointServiceConnectResponse.FromString(release).command.set_edca.queues
    renewal = RenewLease(STREAM, 9, 6000)
    assert command_convert.agent_command(renewal) == command_convert.terminal_command(renewal)


def test_every_field_of_a_set_of_limits() -> None:
    limits = (WindowLimit(MAC, IPV4, 28_960), WindowLimit(MAC, IPV6, 2**32 - 1))
    effect = SetWindows(STREAM, 9, limits, 6000, Reason(Code.STATIONS_LIMITED, "x", 0.5, 1.0, 0.75))
    sent = access_point_pb2.AccessPointServiceConnectResponse.FromString(command_convert.agent_command(effect))
    assert unset(sent) == ["mode", "check"]  # which the session adds
    assert sent.command.set_windows == access_point_pb2.SetWindows(
        generation=9,
        limits=[
            access_point_pb2.WindowLimit(mac=MAC, address=IPV4, max_bytes=28_960),
            access_point_pb2.WindowLimit(mac=MAC, address=IPV6, max_bytes=2**32 - 1),
        ],
        lease_ms=6000,
        reason=reason_pb2.Reason(
            code=reason_pb2.REASON_CODE_STATIONS_LIMITED, subject="x", before=0.5, after=1.0, limit=0.75
        ),
    )


def test_every_field_of_a_set_of_flows() -> None:
    flows = (Flow(0, IPV4, Category.VIDEO, 70_000, 0), Flow(None, b"", 0, 0, 2_000_000), Flow(7, IPV6, 3, 1, 2))
    effect = SetFlows(STREAM, 9, flows, 6000, Reason(Code.LIVE_FLOWS, "x", 1, 2, 3))
    octets = command_convert.agent_command(effect)
    sent = terminal_pb2.TerminalServiceConnectResponse.FromString(octets)
    assert sent.command.set_flows == terminal_pb2.SetFlows(
        generation=9,
        flows=[
            terminal_pb2.Flow(
                uid=0, address=IPV4, category=access_point_pb2.ACCESS_CATEGORY_VIDEO, admitted_us_per_s=70_000
            ),
            terminal_pb2.Flow(udp_bps=2_000_000),
            terminal_pb2.Flow(
                uid=7, address=IPV6, category=access_point_pb2.ACCESS_CATEGORY_VIDEO, admitted_us_per_s=1, udp_bps=2
            ),
        ],
        lease_ms=6000,
        reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_LIVE_FLOWS, subject="x", before=1, after=2, limit=3),
    )
    assert [flow.HasField("uid") for flow in sent.command.set_flows.flows] == [True, False, True]
    assert command_convert.terminal_effect(octets, STREAM) == effect


@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_a_set_of_flows_that_was_made_before_is_the_same_again_and_another_is_not(count: int) -> None:
    flows = tuple(Flow(number, IPV4, Category.VIDEO, 70_000, 0) for number in range(count))
    effect = SetFlows(STREAM, 9, flows, 6000, Reason(Code.LIVE_FLOWS, after=count))
    others = [
        effect._replace(generation=10),
        effect._replace(flows=(*flows, Flow(None, b"", udp_bps=1))),
        effect._replace(lease_ms=7000),
        effect._replace(reason=Reason(Code.PACED, after=count)),
    ]
    for each in (effect, effect, *others, effect):
        assert command_convert.terminal_effect(command_convert.agent_command(each), STREAM) == each


def test_every_field_of_a_set_of_station_flows() -> None:
    effect = SetStationFlows(
        STREAM, 9, (StationFlow(MAC, IPV6, Category.VIDEO),), 6000, Reason(Code.LIVE_FLOWS, "x", 1, 2, 3)
    )
    sent = access_point_pb2.AccessPointServiceConnectResponse.FromString(command_convert.agent_command(effect))
    assert unset(sent) == ["mode", "check"]  # which the session adds
    assert sent.command.set_station_flows.flows == [
        access_point_pb2.StationFlow(mac=MAC, address=IPV6, category=access_point_pb2.ACCESS_CATEGORY_VIDEO)
    ]
    assert (sent.command.set_station_flows.generation, sent.command.set_station_flows.lease_ms) == (9, 6000)


@pytest.mark.parametrize("number", terminal_pb2.ApplicationClass.values())
def test_each_class_but_the_default_is_taken_and_one_of_a_later_version_is_not(number: int) -> None:
    part = terminal_pb2.ClassPart(application_class=number, connections_sending=1, uids=[1])
    later = terminal_pb2.ClassPart(application_class=99, connections_sending=1, uids=[1])  # type: ignore[arg-type]
    destination = terminal_pb2.Destination(address=IPV4, classes=[part, later])
    report, refusals = convert.terminal_report(phone_report(destinations=[destination]))
    assert report is not None
    assert [app.application_class for app in report.apps] == ([number] if number else [])
    assert refusals == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"connections_sending": CONNECTIONS_MAX + 1},
            Reason(Code.OUT_OF_RANGE, "connections_sending", after=CONNECTIONS_MAX + 1, limit=CONNECTIONS_MAX),
        ),
        (
            {"delivered_bytes": 2**63},
            Reason(Code.OUT_OF_RANGE, "delivered_bytes", after=2**63, limit=COUNTER_MAX),
        ),
        ({"queued_bytes": 2**63}, Reason(Code.OUT_OF_RANGE, "queued_bytes", after=2**63, limit=COUNTER_MAX)),
        (
            {"uids": range(APP_UIDS_MAX + 1)},
            Reason(Code.TOO_MANY_ENTRIES, "uids", after=APP_UIDS_MAX + 1, limit=APP_UIDS_MAX),
        ),
    ],
)
def test_an_absurd_part_of_an_application_is_refused_alone(change: dict[str, Any], reason: Reason) -> None:
    bad = terminal_pb2.ClassPart(application_class=terminal_pb2.APPLICATION_CLASS_LIVE, **change)
    good = terminal_pb2.ClassPart(application_class=terminal_pb2.APPLICATION_CLASS_BURST, uids=[1])
    destination = terminal_pb2.Destination(address=IPV4, connections=1, connections_sending=1, classes=[bad, good, bad])
    report, refusals = convert.terminal_report(phone_report(destinations=[destination]))
    assert report is not None
    assert [app.application_class for app in report.apps] == [good.application_class]
    assert len(report.destinations) == 1
    assert refusals == [reason._replace(subject=f"destinations[0].classes[0].{reason.subject}")]


def test_more_parts_than_a_terminal_may_have_are_refused() -> None:
    part = terminal_pb2.ClassPart(application_class=terminal_pb2.APPLICATION_CLASS_LIVE, uids=[1])
    destination = terminal_pb2.Destination(address=IPV4, classes=[part] * (APP_PARTS_MAX + 2))
    report, refusals = convert.terminal_report(phone_report(destinations=[destination]))
    assert report is not None
    assert len(report.apps) == APP_PARTS_MAX
    assert [(reason.code, reason.limit) for reason in refusals] == [(Code.TOO_MANY_ENTRIES, APP_PARTS_MAX)]


def test_a_state_of_flows_of_which_a_number_cannot_be_is_none() -> None:
    flows = terminal_pb2.FlowState(generation=2**63)
    report, refusals = convert.terminal_report(phone_report(flows=flows))
    assert report is not None
    assert report.flows is None
    assert refusals == [Reason(Code.OUT_OF_RANGE, "flows.generation", after=2**63, limit=COUNTER_MAX)]
    report, refusals = convert.terminal_report(phone_report(flows=terminal_pb2.FlowState(failure="a\n")))
    assert report is not None
    assert report.flows == FlowState()
    assert refusals == [Reason(Code.MALFORMED, "flows.failure")]


def test_a_state_of_station_flows_of_which_a_number_cannot_be_is_none() -> None:
    message = access_point_pb2.AccessPointReport(
        bssid=BSSID,
        sequence=1,
        monotonic_us=1,
        station_flows=access_point_pb2.StationFlowState(marked_packets_total=2**63),
    )
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert report.station_flows is None
    assert [reason.subject for reason in refusals] == ["station_flows.marked_packets_total"]


def test_more_packets_of_a_category_than_packets_are_as_many() -> None:
    station = access_point_pb2.Station(mac=MAC, rx_packets=5, rx_video_packets=6, rx_voice_packets=2**64 - 1)
    message = access_point_pb2.AccessPointReport(bssid=BSSID, sequence=1, monotonic_us=1, stations=[station])
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert (report.stations[0].rx_video_packets, report.stations[0].rx_voice_packets) == (5, 5)
    assert refusals == []


def test_a_value_that_a_reason_does_not_have_is_absent() -> None:
    bare = command_convert.reason_message(Reason(Code.OBSERVE_MODE))
    assert [field.name for field, _ in bare.ListFields()] == ["code"]
    zero = command_convert.reason_message(Reason(Code.ACTIVE_SENDERS, "", 0, 0))
    assert zero.HasField("before")
    assert not zero.HasField("limit")


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_the_contracts(code: Code) -> None:
    assert reason_pb2.ReasonCode.Name(code.value) == f"REASON_CODE_{code.name}"


def test_air_time_and_a_rate_that_cannot_be_are_none() -> None:
    most = 2**64 - 1
    message = access_point_pb2.AccessPointReport(
        bssid=BSSID,
        sequence=1,
        monotonic_us=1,
        stations=[
            access_point_pb2.Station(
                mac=MAC,
                rx_airtime_us=most,
                tx_airtime_us=most,
                airtime_source=access_point_pb2.AIRTIME_SOURCE_MEASURED,
                tx_bitrate_kbps=2**32 - 1,
            )
        ],
    )
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert (report.stations, refusals) == ((Station(MAC),), [])
    # What an agent estimates is not measured.
    message.stations[0].rx_airtime_us = message.stations[0].tx_airtime_us = 7
    assert convert.access_point_report(message)[0].stations[0].airtime_us == 14
    message.stations[0].airtime_source = access_point_pb2.AIRTIME_SOURCE_ESTIMATED
    assert convert.access_point_report(message)[0].stations[0].airtime_us == 0


def test_an_arrival_on_the_wire_and_back() -> None:
    octets = command_convert.agent_command(Arrived(STREAM, bytes([2, 0, 0, 0, 0, 1])))
    command = terminal_pb2.TerminalServiceConnectResponse.FromString(octets).command
    assert command.arrived.bssid == bytes([2, 0, 0, 0, 0, 1])
    assert command_convert.terminal_effect(octets, STREAM) == Arrived(STREAM, bytes([2, 0, 0, 0, 0, 1]))


def test_what_is_of_no_class_is_what_the_classes_leave() -> None:
    part = terminal_pb2.ClassPart(
        application_class=terminal_pb2.APPLICATION_CLASS_LIVE, connections_sending=1, delivered_bytes=30,
        queued_bytes=4, uids=[7],
    )  # fmt: skip
    later = terminal_pb2.ClassPart(application_class=99, delivered_bytes=1, uids=[9])  # type: ignore[arg-type]
    left = terminal_pb2.Destination(
        address=IPV4, connections=5, connections_sending=3, delivered_bytes=100, queued_bytes=9, uids=[9, 7, 8],
        classes=[part, later],
    )  # fmt: skip
    none = terminal_pb2.Destination(address=IPV6, connections=1, uids=[7], classes=[part])
    wrong = terminal_pb2.Destination(address=b"\x01", connections=1, uids=[8])
    contradicts = terminal_pb2.Destination(
        address=IPV6, uids=[8], classes=[part], delivered_bytes=2**64 - 1, queued_bytes=3
    )
    destinations = [left, none, wrong, contradicts]
    report, _ = convert.terminal_report(
        terminal_pb2.TerminalReport(mac=MAC, sequence=1, monotonic_us=1, destinations=destinations)
    )
    assert report is not None
    assert report.unclassed() == (
        AppPart(IPV4, 0, 2, 70, 5, (8, 9)), AppPart(IPV6, 0, 0, COUNTER_MAX - 30, 0, (8,)),
    )  # fmt: skip
