# SPDX-License-Identifier: Apache-2.0
"""Every field that operators are shown: each has a value of its own, and the whole message is compared."""

import math
from dataclasses import replace
from typing import Any

import pytest

from airbound.core.addresses import mac_from_text
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.channel_access import ChannelAccess
from airbound.core.cell.live import FlowKey, LiveFlow, LiveFlows
from airbound.core.cell.pacing import Beside
from airbound.core.cell.priorities import Priorities
from airbound.core.cell.senders import StationSender, StationSenders
from airbound.core.cell.state import CellState
from airbound.core.cell.stations import Stations, StationState
from airbound.core.cell.terminal import Terminal
from airbound.core.decisions import decide
from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, StationFlow, WindowLimit
from airbound.core.leases import Lease, SentSet
from airbound.core.overrides import CellOverride, Match
from airbound.core.parameters import EdcaParameters, Parameters
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    BackEnd,
    Destination,
    EdcaState,
    FlowState,
    Radio,
    Station,
    StationFlowState,
    WindowState,
)
from airbound.core.settings import Settings
from airbound.grpc import operations_convert as convert
from airbound.v1 import access_point_pb2, operations_pb2, reason_pb2, terminal_pb2

NOW_US = 1_000_000_000
BSSID, MAC, OTHER_MAC = map(mac_from_text, ("02:00:00:00:00:01", "02:00:00:00:01:00", "02:00:00:00:01:01"))
IPV4, OTHER_IPV4 = bytes([10, 0, 4, 1]), bytes([10, 0, 4, 2])
IPV6 = bytes.fromhex("20010db8000000000000000000000007")


def unset(message: Any, path: str = "") -> list[str]:
    """The fields of a message that are not set, in any depth."""
    found = []
    for field in message.DESCRIPTOR.fields:
        value, name = getattr(message, field.name), f"{path}{field.name}"
        present = message.HasField(field.name) if field.has_presence else bool(value)
        if not present:
            found.append(name)
        elif field.message_type:
            for entry in value if field.is_repeated else [value]:
                found += unset(entry, f"{name}.")
    return found


LIMIT_SENT = operations_pb2.WindowLimitSent(station="02:00:00:00:01:01", destination="10.0.4.1", max_bytes=28_960)


def cell_state(settings: Settings) -> CellState:
    state = CellState(BSSID, settings)
    state.ssid, state.center_frequency_mhz, state.reported_at_us = b"cell", 5180, NOW_US - 1_234_567
    state.radio = Radio(band=2, links=1, survey_refusal="it went back", surveys_refused_total=3)
    latest = Station(MAC, ip_addresses=(IPV4, IPV6))
    station = StationState(
        latest, latest, 0, 0, sending=True, payload_bytes_per_s=1000.0, air_ratio=0.25, retries_per_s=28.5
    )
    other = Station(OTHER_MAC)
    state.stations = Stations(
        by_mac={MAC: station, OTHER_MAC: StationState(other, other, 0, 0)},
        active_senders=5,
        uplink_bps=6_000_000.4,
        busy_ratio=0.75,
        reassociations_total=7,
    )
    state.access_point = AccessPoint(
        Stream(1, Principal("access-point", "192.0.2.1")),
        refused_total=8,
        malformed_inputs_total=9,
        agent_version="1.2.3",
        bssid=state.bssid,
        edca=EdcaState(
            can_set=True,
            refusal="why not",
            generation=21,
            own=(Edca(Category.BEST_EFFORT, 2, 15, 1023, 1),),
            stations=(Edca(Category.BEST_EFFORT, 3, 7, 511, 2),),
            wmm=True,
            refused_total=22,
            can_set_stations=True,
            stations_refusal="why not those",
            takes_priorities=True,
        ),
        edca_lease=Lease(
            SentSet(
                generation=23,
                entries=(
                    Edca(Category.BEST_EFFORT, 4, 31, 255, 3),
                    Edca(Category.BEST_EFFORT, 6, 63, 127, 4, announced=True),
                ),
                reasons=(Reason(Code.UPLOADS),),
                lease_us=6_000_000,
                set_at_us=0,
                renewed_at_us=NOW_US - 1_500_000,
            )
        ),
        windows=WindowState(
            can_set=True,
            refusal="why not",
            generation=41,
            refused_total=42,
            connections=43,
            connections_max=44,
            connections_evicted_total=45,
            limited_segments_total=46,
            limits_max=1,
        ),
        windows_lease=Lease(
            SentSet(
                generation=48,
                entries=(WindowLimit(OTHER_MAC, IPV4, 28_960),),
                reasons=(Reason(Code.STATIONS_LIMITED),),
                lease_us=6_000_000,
                set_at_us=0,
                renewed_at_us=NOW_US - 1_500_000,
            )
        ),
        station_flows=StationFlowState(
            can_set=True, refusal="why not", generation=61, refused_total=62, flows_max=63, marked_packets_total=64
        ),
        station_flows_lease=Lease(
            SentSet(
                generation=65,
                entries=(StationFlow(MAC, IPV4, Category.VIDEO), StationFlow(MAC, IPV6, Category.VIDEO)),
                reasons=(Reason(Code.LIVE_FLOWS, after=2),),
                lease_us=6_000_000,
                set_at_us=0,
                renewed_at_us=NOW_US - 1_500_000,
            )
        ),
    )
    near, far = Destination(IPV4, 1, 4000, srtt_us=5000), Destination(IPV6, 1, 8000, srtt_us=9000)
    sender = StationSender(
        OTHER_MAC, "x", sending={IPV4: near, IPV6: far}, no_agent=Reason(Code.NO_AGENT), limited=True
    )
    sender.decisions = decide(sender, state)
    why = Reason(Code.CANNOT_SET_WINDOWS, "y")
    state.windows = StationSenders({OTHER_MAC: sender}, reason=why, omitted=1, failures_total=49)
    state.datapath_id = 50
    state.channel_access = ChannelAccess(uplink_bps=7_500_000.4, downlink_bps=2_500_000.4)
    state.edca_reason = Reason(Code.CANNOT_SET_EDCA, "x")
    state.edca_traffic = Reason(Code.DOWNLOADS, after=state.channel_access.share, limit=0.6)
    state.edca_failures_total = 24
    live, refused = (
        LiveFlow(0, 0, 0, 0, 0, (7, 9)),
        LiveFlow(0, 0, 0, 0, 0, (8,), refused=Reason(Code.TAKES_ALL, limit=60)),
    )
    live.used_bps, live.need_bps, live.part, live.granted, live.admitted_us_per_s = 6e5, 7e5, 0.25, True, 520_000
    state.live = LiveFlows({FlowKey(MAC, IPV4): live, FlowKey(MAC, IPV6): refused}, failures_total=51)
    state.priorities = Priorities(station=OTHER_MAC, until_us=NOW_US + 1)
    return state


LIVE = [
    operations_pb2.LiveFlow(
        destination="10.0.4.1",
        uids=[7, 9],
        used_bps=600_000,
        need_bps=700_000,
        air=0.25,
        granted=True,
        admitted_us_per_s=520_000,
    ),
    operations_pb2.LiveFlow(
        destination="2001:db8::7",
        uids=[8],
        refused=reason_pb2.Reason(code=reason_pb2.REASON_CODE_TAKES_ALL, limit=60),
    ),
]


def queue(aifsn: int, cw_min: int, cw_max: int, txop_limit: int) -> access_point_pb2.Edca:
    return access_point_pb2.Edca(
        category=access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT,
        aifsn=aifsn,
        cw_min=cw_min,
        cw_max=cw_max,
        txop_limit=txop_limit,
    )


def terminal_state(cell: CellState | None) -> Terminal:
    destination = Destination(IPV4, connections_sending=2, srtt_us=300_000, min_rtt_us=200_000)
    return Terminal(
        Stream(2, Principal("terminal", "192.0.2.7")),
        reported_at_us=NOW_US - 2_345_678,
        refused_total=11,
        malformed_inputs_total=12,
        agent_version="4.5.6",
        mac=MAC,
        back_end=BackEnd(name="ebpf", rules_max=16),
        generation_in_force=13,
        sending={IPV4: destination},
        bssid=cell.bssid if cell else b"",
        sent=SentSet(14, (Bound(IPV4, 15, 16, 7), Bound(b"", 17, 18)), (), 0, 0, 0),
        no_bounds=Reason(Code.EXEMPT, "x", 1, 2, 3),
        failures_total=19,
        flow_state=FlowState(generation=21, failure="why"),
        flows_lease=Lease(SentSet(22, (), (), 0, 0, 0)),
        classes_chosen={7: 1, None: 3},
    )


def test_every_field_of_a_cell() -> None:
    match = Match(CellOverride(name="cell.3", parameters=Parameters()), "ssid c*")
    parameters = Parameters(edca=EdcaParameters(stations_cw_min=31, txop_limit=1))
    state = cell_state(Settings(parameters, exempt={"02:00:00:00:00:01"}, match=match, mode_by_operator=True))
    state.terminals = {MAC: terminal_state(state)}
    message = convert.cell(state, NOW_US)
    assert [
        field
        for field in unset(message)
        if not field.startswith(("edca.reason.", "edca.traffic.", "windows.reason.", "station_flows.reason."))
        and not field.endswith(".admission")
    ] == []
    assert message == operations_pb2.Cell(
        mode=operations_pb2.MODE_CONTROL,
        policy="aggregate",
        override=operations_pb2.CellOverride(name="cell.3", matched="ssid c*"),
        mode_by_operator=True,
        band=access_point_pb2.BAND_5_GHZ,
        links=1,
        survey_refusal="it went back",
        surveys_refused_total=3,
        bssid="02:00:00:00:00:01",
        ssid=b"cell",
        center_frequency_mhz=5180,
        stations=2,
        active_senders=5,
        terminals=1,
        uplink_bps=6_000_000,
        capacity_bps=20_000_000,
        capacity_source=operations_pb2.CAPACITY_SOURCE_DEFAULT,
        busy_ratio=0.75,
        report_age_ms=1234,
        refused_total=8,
        reassociations_total=7,
        access_point="192.0.2.1",
        malformed_inputs_total=9,
        agent_version="1.2.3",
        exempt=True,
        edca=operations_pb2.CellEdca(
            state=access_point_pb2.EdcaState(
                can_set=True,
                refusal="why not",
                generation=21,
                own=[queue(2, 15, 1023, 1)],
                stations=[queue(3, 7, 511, 2)],
                wmm=True,
                refused_total=22,
                can_set_stations=True,
                stations_refusal="why not those",
                takes_priorities=True,
            ),
            wanted=[queue(5, 15, 1023, 1)],
            wanted_stations=[queue(3, 31, 511, 2)],
            formula="AIFSN 3 of the stations + 2, at least its own 2, at most 7: 5; "
            "stations' best effort AIFSN 3, CW 31..511, TXOP limit 64 us, as configured",
            sent=[queue(4, 31, 255, 3)],
            sent_stations=[queue(6, 63, 127, 4)],
            generation_sent=23,
            lease_remaining_ms=4_500,
            reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_CANNOT_SET_EDCA, subject="x"),
            traffic=reason_pb2.Reason(
                code=reason_pb2.REASON_CODE_DOWNLOADS, after=state.channel_access.share, limit=0.6
            ),
            uplink_bps=7_500_000,
            downlink_bps=2_500_000,
            uplink_share=state.channel_access.share,
            failures_total=24,
        ),
        windows=operations_pb2.CellWindows(
            state=access_point_pb2.WindowState(
                can_set=True,
                refusal="why not",
                generation=41,
                refused_total=42,
                connections=43,
                connections_max=44,
                connections_evicted_total=45,
                limited_segments_total=46,
                limits_max=1,
            ),
            sent=[LIMIT_SENT],
            generation_sent=48,
            lease_remaining_ms=4_500,
            reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_CANNOT_SET_WINDOWS, subject="y"),
            stations_without_agent=1,
            stations_limited=1,
            omitted=1,
            failures_total=49,
        ),
        datapath_id=50,
        live=operations_pb2.CellLive(flows=2, granted=1, air=0.25, closed_by="02:00:00:00:01:01", failures_total=51),
        station_flows=operations_pb2.CellStationFlows(
            state=access_point_pb2.StationFlowState(
                can_set=True, refusal="why not", generation=61, refused_total=62, flows_max=63, marked_packets_total=64
            ),
            sent=2,
            generation_sent=65,
            lease_remaining_ms=4_500,
            reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_LIVE_FLOWS, after=2),
        ),
    )


def test_a_cells_edca_before_anything_was_decided() -> None:
    state = cell_state(Settings(Parameters(edca=EdcaParameters(aifsn_extra=0, txop_limit=1))))
    assert state.access_point is not None
    assert state.access_point.edca is not None
    state.channel_access, state.edca_reason, state.edca_traffic = ChannelAccess(), None, None
    state.access_point.edca_lease.sent, state.edca_failures_total = None, 0
    own = state.access_point.edca.own
    state.access_point.edca = replace(state.access_point.edca, stations=own)
    missing = [name for name in unset(convert.cell(state, NOW_US).edca) if not name.endswith(".admission")]
    assert missing == [
        "wanted",  # the same as its own
        "sent",
        "generation_sent",
        "lease_remaining_ms",
        "reason",
        "traffic",
        "uplink_bps",
        "downlink_bps",
        "uplink_share",
        "failures_total",
        "wanted_stations",  # nothing is configured
        "sent_stations",
    ]
    state.access_point.edca = replace(state.access_point.edca, own=())
    message = convert.cell(state, NOW_US).edca
    assert (list(message.wanted), message.formula) == ([], "it does not report the parameters of its best effort queue")
    state = cell_state(Settings(Parameters(edca=EdcaParameters(stations_aifsn=4))))
    assert state.access_point is not None
    assert state.access_point.edca is not None
    beyond = (state.access_point.edca.stations[0]._replace(cw_min=1),)
    state.access_point.edca = replace(state.access_point.edca, stations=beyond)
    message = convert.cell(state, NOW_US).edca
    assert not message.wanted_stations
    assert message.formula.endswith("; what it announces of its own is out of the limits of what can be set")


@pytest.mark.parametrize(("ago_us", "queues", "remaining_ms"), [(0, 1, 6_000), (7_000_000, 1, 0), (0, 0, 0)])
def test_what_remains_of_a_lease(ago_us: int, queues: int, remaining_ms: int) -> None:
    state = cell_state(Settings(Parameters()))
    assert state.access_point is not None
    sent = state.access_point.edca_lease.sent
    assert sent is not None
    sent.renewed_at_us, sent.entries = NOW_US - ago_us, sent.entries[:queues]
    message = convert.cell(state, NOW_US).edca
    assert (message.lease_remaining_ms, len(message.sent), message.generation_sent) == (remaining_ms, queues, 23)


def test_a_terminal_of_an_exempt_cell_is_exempt() -> None:
    settings = Settings(Parameters(), exempt={"02:00:00:00:00:01"})
    cell = cell_state(settings)
    assert convert.terminal(terminal_state(cell), cell, settings, NOW_US).exempt


def test_a_cell_without_an_access_point_or_survey() -> None:
    state = cell_state(Settings(Parameters()))
    state.access_point, state.stations.busy_ratio = None, None
    assert unset(convert.cell(state, NOW_US)) == [
        "terminals",
        "busy_ratio",
        "refused_total",
        "access_point",
        "malformed_inputs_total",
        "agent_version",
        "edca",
        "exempt",
        "override",
        "mode_by_operator",
        "windows",
        "station_flows",
    ]
    state.stations.busy_ratio = 0.0
    assert convert.cell(state, NOW_US).HasField("busy_ratio")


def test_a_maximum_beside_the_terminals_udp_is_explained() -> None:
    settings = Settings(Parameters(policy="bdp"))
    cell = cell_state(settings)
    state = terminal_state(cell)
    cell.terminals = {MAC: state}
    [whole] = decide(state, cell)
    cell.pacing.beside[MAC] = Beside(0, 0, taken=0.5)
    [half] = decide(state, cell)
    assert half.range.max_segs == math.ceil(whole.range.max_segs / 2)
    formula = convert.terminal(state, cell, settings, NOW_US).decisions[0].formula
    assert formula.endswith("; maximum x 0.50, beside the terminal's UDP")


@pytest.mark.parametrize("policy", ["bdp", "paper"])
def test_every_field_of_a_terminal(policy: Any) -> None:
    settings = Settings(Parameters(policy=policy), exempt={"192.0.2.7"})
    cell = cell_state(settings)
    state = terminal_state(cell)
    cell.terminals = {MAC: state}
    (decided,) = decide(state, cell)
    message = convert.terminal(state, cell, settings, NOW_US)
    refused = [name for name in unset(message.live_flows[1]) if name != "refused.code"]  # it has what a refusal has
    assert set(refused) == {"used_bps", "need_bps", "air", "granted", "admitted_us_per_s"} | {
        "refused.subject", "refused.before", "refused.after",
    }  # fmt: skip
    del message.live_flows[1]
    assert unset(message.live_flows[0]) == ["refused"]
    missing = [
        name
        for name in unset(message)
        if name not in {"bounds_sent.destination", "bounds_sent.uid", "live_flows.refused", "classes_chosen.uid"}
    ]
    assert missing == (["decisions.notes"] if policy == "bdp" else ["decisions.capacity_bps", "decisions.notes"])
    formula = message.decisions[0].formula
    assert message == operations_pb2.Terminal(
        mac="02:00:00:00:01:00",
        name="192.0.2.7",
        bssid="02:00:00:00:00:01",
        active_sender=True,
        exempt=True,
        back_end="ebpf",
        bounds_generation_in_force=13,
        bounds_generation_sent=14,
        bounds_sent=[
            operations_pb2.BoundSent(destination="10.0.4.1", min_segs=15, max_segs=16, uid=7),
            operations_pb2.BoundSent(destination="", min_segs=17, max_segs=18),
        ],
        decisions=[
            operations_pb2.Decision(
                destination="10.0.4.1",
                min_segs=decided.range.min_segs,
                max_segs=decided.range.max_segs,
                policy=policy,
                active_senders=5,
                connections=2,
                srtt_us=300_000,
                min_rtt_us=200_000,
                own_min_rtt_us=200_000,
                rtt_ratio=1.5,
                capacity_bps=20_000_000 if policy == "bdp" else 0,
                formula=formula,
            )
        ],
        report_age_ms=2345,
        refused_total=11,
        failures_total=19,
        malformed_inputs_total=12,
        agent_version="4.5.6",
        no_bounds=reason_pb2.Reason(code=reason_pb2.REASON_CODE_EXEMPT, subject="x", before=1, after=2, limit=3),
        live_flows=LIVE[:1],
        flows_generation_in_force=21,
        flows_generation_sent=22,
        flows_failure="why",
        classes_chosen=[
            operations_pb2.ClassChoice(application_class=terminal_pb2.APPLICATION_CLASS_BULK),
            operations_pb2.ClassChoice(uid=7, application_class=terminal_pb2.APPLICATION_CLASS_LIVE),
        ],
        uplink_bps=8000,
    )
    assert list(convert.terminal(state, cell, settings, NOW_US).live_flows) == LIVE


def test_a_terminal_in_no_cell() -> None:
    settings = Settings(Parameters())
    state = terminal_state(None)
    state.sent = state.no_bounds = state.flow_state = state.flows_lease.sent = None
    state.classes_chosen = {}
    message = convert.terminal(state, None, settings, NOW_US)
    assert unset(message) == [
        "bssid", "active_sender", "exempt", "bounds_generation_sent", "bounds_sent", "decisions", "no_bounds",
        "live_flows", "flows_generation_in_force", "flows_generation_sent", "flows_failure", "classes_chosen",
        "uplink_bps",
    ]  # fmt: skip


def test_a_minimum_rtt_that_another_terminal_saw_is_told_from_its_own() -> None:
    settings = Settings(Parameters())
    cell = cell_state(settings)
    state = terminal_state(cell)
    cell.min_rtt.observe(99, IPV4, 150_000, NOW_US)
    (decision,) = convert.terminal(state, cell, settings, NOW_US).decisions
    assert (decision.min_rtt_us, decision.own_min_rtt_us) == (150_000, 200_000)


def test_what_the_back_end_does_not_take_is_noted() -> None:
    settings = Settings(Parameters())
    cell = cell_state(settings)
    state = terminal_state(cell)
    state.back_end = BackEnd(rules_max=1)
    far = Destination(OTHER_IPV4, connections_sending=2, srtt_us=900_000, min_rtt_us=800_000)
    state.sending[OTHER_IPV4] = far
    near, omitted = convert.terminal(state, cell, settings, NOW_US).decisions
    assert list(near.notes) == []
    assert list(omitted.notes) == [
        reason_pb2.Reason(code=reason_pb2.REASON_CODE_OMITTED_RULES_MAX, subject="10.0.4.2", limit=1)
    ]


def test_every_field_of_a_station() -> None:
    state = cell_state(Settings(Parameters()))
    state.terminals = {MAC: terminal_state(state)}
    report = access_point_pb2.AccessPointReport(
        stations=[
            access_point_pb2.Station(
                mac=MAC,
                signal_dbm=-60,
                rx_bitrate_kbps=21,
                tx_bitrate_kbps=22,
                rx_airtime_us=23,
                tx_airtime_us=24,
                airtime_source=access_point_pb2.AIRTIME_SOURCE_ESTIMATED,
                tx_retries=25,
                tx_failed=26,
                connected_time_ms=27,
                vlan_interface="wlan0.20",
                four_address=True,
                multi_link=True,
                links=0b101,
            )
        ]
    )
    known, unknown = convert.stations(state, report, NOW_US)
    of_windows = ["destinations", "lack", "decisions", "limits", "no_limit", "exempt", "unlimited_for_ms"]
    assert unset(known) == of_windows
    assert known == operations_pb2.StationView(
        mac="02:00:00:00:01:00",
        ip_addresses=["10.0.4.1", "2001:db8::7"],
        active_sender=True,
        terminal="192.0.2.7",
        uplink_bps=8000,
        signal_dbm=-60,
        rx_bitrate_kbps=21,
        tx_bitrate_kbps=22,
        rx_airtime_us=23,
        tx_airtime_us=24,
        airtime_source=access_point_pb2.AIRTIME_SOURCE_ESTIMATED,
        tx_retries=25,
        tx_failed=26,
        connected_time_ms=27,
        vlan_interface="wlan0.20",
        four_address=True,
        multi_link=True,
        links=0b101,
        air_ratio=0.25,
        retries_per_s=28.5,
    )
    assert [name for name in unset(unknown) if name not in of_windows][:1] == ["ip_addresses"]


def test_every_field_of_a_station_without_an_agent() -> None:
    state = cell_state(Settings(Parameters(), exempt={"02:00:00:00:01:01"}))
    state.windows.senders[OTHER_MAC].no_limit = Reason(Code.EXEMPT)
    state.windows.senders[OTHER_MAC].unlimited_since_us = NOW_US - 7_000_000
    seen = access_point_pb2.StationDestination(
        address=IPV4,
        connections=31,
        connections_sending=32,
        srtt_us=33,
        min_rtt_us=34,
        mss_bytes=35,
        sent_bytes=36,
        received_bytes=37,
        connections_unscaled=38,
    )
    station = access_point_pb2.Station(mac=OTHER_MAC, destinations=[seen])
    view = convert.station(state, OTHER_MAC, access_point_pb2.AccessPointReport(stations=[station]), NOW_US)
    assert view is not None
    assert view.destinations == [
        operations_pb2.StationDestinationView(
            address="10.0.4.1",
            connections=31,
            connections_sending=32,
            srtt_us=33,
            min_rtt_us=34,
            mss_bytes=35,
            sent_bytes=36,
            received_bytes=37,
            connections_unscaled=38,
        )
    ]
    assert (view.lack.code, view.no_limit.code, view.exempt) == (
        reason_pb2.REASON_CODE_NO_AGENT,
        reason_pb2.REASON_CODE_EXEMPT,
        True,
    )
    assert view.unlimited_for_ms == 7000
    assert list(view.limits) == [LIMIT_SENT]
    near, far = view.decisions
    assert (near.destination, far.destination) == ("10.0.4.1", "2001:db8::7")
    assert not near.notes
    omitted = reason_pb2.Reason(code=reason_pb2.REASON_CODE_OMITTED_LIMITS_MAX, subject="2001:db8::7", limit=1)
    assert list(far.notes) == [omitted]
    assert convert.station(state, b"\x02" * 6, access_point_pb2.AccessPointReport(), NOW_US) is None


PART = terminal_pb2.ClassPart(
    application_class=terminal_pb2.APPLICATION_CLASS_BULK,
    connections=9,
    connections_sending=8,
    delivered_bytes=7,
    queued_bytes=6,
    uids=[10_001],
)


def test_every_field_of_a_destination() -> None:
    events = terminal_pb2.EventCounts(local_congestion=1, duplicate_ack=2, sack=3, fast_retransmit=4, timeout=5, undo=6)
    report = terminal_pb2.TerminalReport(
        destinations=[
            terminal_pb2.Destination(
                address=IPV4,
                connections=31,
                connections_sending=32,
                srtt_us=33,
                min_rtt_us=34,
                cwnd_segs=35,
                ssthresh_segs=36,
                delivered_bytes=37,
                queued_bytes=38,
                events=events,
                uids=[10_001, 10_002],
                classes=[PART],
            ),
            terminal_pb2.Destination(address=b"\x01\x02"),
        ]
    )
    view, refused = convert.destinations(report)
    assert unset(view) == []
    assert view == operations_pb2.DestinationView(
        address="10.0.4.1",
        connections=31,
        connections_sending=32,
        srtt_us=33,
        min_rtt_us=34,
        cwnd_segs=35,
        ssthresh_segs=36,
        delivered_bytes=37,
        queued_bytes=38,
        events=events,
        uids=[10_001, 10_002],
        classes=[PART],
    )
    assert refused.address == "0102"
