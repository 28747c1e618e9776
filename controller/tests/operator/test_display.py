# SPDX-License-Identifier: Apache-2.0
"""What operators read: what a terminal was sent is shown apart from what was only computed."""

import json
from typing import Any

import pytest

from airbound.core.reasons import Code
from airbound.operator import display, explanation
from airbound.v1 import access_point_pb2, operations_pb2, reason_pb2, terminal_pb2

NEAR = operations_pb2.BoundSent(destination="10.0.4.1", min_segs=20, max_segs=35)
FAR = operations_pb2.BoundSent(destination="10.0.4.2", min_segs=40, max_segs=70)
ALL = operations_pb2.BoundSent(min_segs=20, max_segs=35)
BEST_EFFORT = access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT
OWN = access_point_pb2.Edca(category=BEST_EFFORT, aifsn=2, cw_min=15, cw_max=1023)
SET = access_point_pb2.Edca(category=BEST_EFFORT, aifsn=4, cw_min=15, cw_max=1023, txop_limit=3)
SET_TEXT = "best effort AIFSN 4, CW 15..1023, TXOP limit 96 us"
UPLOADS = reason_pb2.Reason(code=reason_pb2.REASON_CODE_UPLOADS, after=0.98, limit=0.75)
UPLOADS_TEXT = "uploads are 98.0 % of the payload (first needed: 75.0 %)"


def terminal(*sent: operations_pb2.BoundSent) -> operations_pb2.Terminal:
    decisions = [
        operations_pb2.Decision(
            destination=bound.destination, min_segs=bound.min_segs, max_segs=bound.max_segs, policy="paper"
        )
        for bound in (NEAR, FAR)
    ]
    return operations_pb2.Terminal(mac="02:00:00:00:01:00", name="192.0.2.7", decisions=decisions, bounds_sent=sent)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ((NEAR, FAR), "  10.0.4.1 20..35, 10.0.4.2 40..70  "),
        ((ALL,), "  all 20..35  "),
        ((), "  none (would be 10.0.4.1 20..35, 10.0.4.2 40..70)  "),
    ],
)
def test_the_table_shows_what_was_sent(sent: tuple[operations_pb2.BoundSent, ...], shown: str) -> None:
    assert shown in display.terminals(operations_pb2.ListTerminalsResponse(terminals=[terminal(*sent)]))


def test_a_terminal_with_nothing_decided_has_none() -> None:
    answer = operations_pb2.ListTerminalsResponse(terminals=[operations_pb2.Terminal(mac="02:00:00:00:01:00")])
    assert "would be" not in display.terminals(answer)
    assert "not joined" in display.terminals(answer)


@pytest.mark.parametrize(
    ("sent", "fitted", "not_sent"),
    [
        ((NEAR, FAR), "", 0),
        ((NEAR,), "sent, as its back end can take it: 10.0.4.1 20..35", 1),
        ((ALL,), "sent, as its back end can take it: all 20..35", 2),
        ((), "", 2),
    ],
)
def test_the_explanation_marks_what_was_not_sent(
    sent: tuple[operations_pb2.BoundSent, ...], fitted: str, not_sent: int
) -> None:
    text = explanation.explanation(operations_pb2.ExplainTerminalResponse(terminal=terminal(*sent)))
    assert text.count("computed, not sent") == not_sent
    assert text.count("as its back end can take it") == bool(fitted)
    assert fitted in text


def test_everything_about_a_terminal_is_explained() -> None:
    shown = terminal(NEAR, FAR)
    shown.back_end, shown.agent_version, shown.report_age_ms = "procfs", "1.2.3", 1500
    shown.refused_total, shown.malformed_inputs_total, shown.failures_total = 3, 4, 5
    shown.bounds_generation_sent, shown.bounds_generation_in_force, shown.active_sender = 7, 6, True
    shown.no_bounds.CopyFrom(reason_pb2.Reason(code=reason_pb2.REASON_CODE_EXEMPT))
    decision = shown.decisions[0]
    decision.srtt_us, decision.min_rtt_us, decision.own_min_rtt_us, decision.rtt_ratio = 3000, 2000, 2500, 1.5
    decision.formula, decision.active_senders = "a = b", 9
    note = reason_pb2.Reason(code=reason_pb2.REASON_CODE_OMITTED_RULES_MAX, subject="10.0.4.1", limit=1)
    decision.notes.append(note)
    destination = operations_pb2.DestinationView(
        address="10.0.4.1",
        connections=2,
        connections_sending=1,
        cwnd_segs=33,
        queued_bytes=4000,
        delivered_bytes=5_000_000,
        events=terminal_pb2.EventCounts(timeout=6, fast_retransmit=7),
        uids=[10_001, 10_002],
        classes=[
            terminal_pb2.ClassPart(application_class=number, connections=2, connections_sending=1)
            for number in (terminal_pb2.APPLICATION_CLASS_LIVE, terminal_pb2.ApplicationClass.ValueType(77))
        ],
    )
    answer = operations_pb2.ExplainTerminalResponse(
        terminal=shown,
        cell=operations_pb2.Cell(bssid="02:00:00:00:00:01", active_senders=9, stations=11, capacity_bps=21_000_000),
        destinations=[destination],
        last_trigger=terminal_pb2.TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED,
    )
    lines = explanation.explanation(answer).splitlines()
    assert lines[:5] == [
        "terminal 192.0.2.7, MAC 02:00:00:00:01:00: sending; agent: back end procfs, version 1.2.3",
        "last report 1.5 s ago (bounds changed); 3 refused here, 4 by its agent",
        "generation sent 7, in force 6",
        "5 decisions ended in an error of the controller",
        "cell 02:00:00:00:00:01: n=9 of 11 stations send, uplink 0.0 Mb/s, capacity 21.0 Mb/s (from ?)",
    ]
    assert lines[5] == "no bounds: exempted by an operator: computed and shown, not applied"
    assert lines[7:12] == [
        "10.0.4.1 20..35 segments, policy paper, n=9",
        "  RTT 3.0 ms, 1.5 x min RTT 2.0 ms",
        "  smallest RTT that it saw itself 2.5 ms",
        "  a = b",
        "  no bound for 10.0.4.1: the back end takes at most 1 rules",
    ]
    assert lines[-1].split() == [
        "10.0.4.1", "1/2", "33", "4", "kB", "5.0", "MB", "fast", "retransmit", "7,", "timeout", "6", "10001,10002",
        "live", "1/2,", "?", "1/2",
    ]  # fmt: skip


def cell(**edca: Any) -> operations_pb2.Cell:
    shown = operations_pb2.Cell(
        bssid="02:00:00:00:00:01",
        ssid=b"lab",
        stations=11,
        active_senders=9,
        terminals=10,
        uplink_bps=20_000_000,
        capacity_bps=21_000_000,
        access_point="192.0.2.1",
        agent_version="1.2.3",
        report_age_ms=700,
        refused_total=3,
        malformed_inputs_total=4,
    )
    if edca:
        state = access_point_pb2.EdcaState(can_set=True, generation=7, own=[OWN], stations=[OWN], refused_total=5)
        shown.edca.CopyFrom(operations_pb2.CellEdca(**{"state": state, "formula": "a + b = c", **edca}))
    return shown


def explained(shown: operations_pb2.Cell) -> list[str]:
    return explanation.explanation(operations_pb2.ExplainCellResponse(cell=shown)).splitlines()


def test_everything_about_a_cell_is_explained() -> None:
    shown = cell(
        wanted=[SET],
        sent=[SET],
        generation_sent=8,
        lease_remaining_ms=4_500,
        reason=UPLOADS,
        traffic=UPLOADS,
        uplink_bps=20_500_000,
        downlink_bps=400_000,
        uplink_share=0.98,
        failures_total=6,
    )
    assert explained(shown) == [
        "cell 02:00:00:00:00:01 lab: access point 192.0.2.1, agent version 1.2.3",
        "last report 0.7 s ago; 3 refused here, 4 by its agent",
        "n=9 of 11 stations send, 10 terminals; uplink 20.0 Mb/s, capacity 21.0 Mb/s (from ?)",
        "",
        f"EDCA parameters of the access point: {SET_TEXT}: {UPLOADS_TEXT}",
        "  uplink 20.5 Mb/s, downlink 0.4 Mb/s without the ACKs of uploads: uplink's share 98%",
        "  a + b = c",
        "  generation sent 8, in force 7, lease ends in 4.5 s unless renewed; 5 commands refused by its agent",
        "  its own: best effort AIFSN 2, CW 15..1023",
        "  stations: best effort AIFSN 2, CW 15..1023 (no WMM)",
        "  6 decisions ended in an error of the controller",
    ]


def test_what_is_computed_and_not_applied_is_marked() -> None:
    observed = cell(wanted=[SET], reason=reason_pb2.Reason(code=reason_pb2.REASON_CODE_OBSERVE_MODE), traffic=UPLOADS)
    observed.exempt = True
    assert explained(observed)[0].startswith("cell 02:00:00:00:00:01 lab, exempt: ")
    assert explained(observed)[4:8] == [
        "EDCA parameters of the access point: its own: observe mode: computed and shown, not applied",
        f"  traffic: {UPLOADS_TEXT}",
        "  a + b = c; computed, not sent: best effort AIFSN 4, CW 15..1023, TXOP limit 96 us",
        "  generation sent none, in force 7; 5 commands refused by its agent",
    ]
    assert explained(cell(formula="x"))[4].endswith("its own: not decided yet")
    told = cell(sent=[SET], wanted=[SET], sent_stations=[OWN], wanted_stations=[SET], reason=UPLOADS)
    stations = "stations' best effort AIFSN 2, CW 15..1023"
    assert explained(told)[4:6] == [
        f"EDCA parameters of the access point: {SET_TEXT}; {stations}: {UPLOADS_TEXT}",
        f"  a + b = c; computed, not sent: {SET_TEXT}; stations' {SET_TEXT}",
    ]
    told = cell(sent_stations=[OWN], wanted_stations=[OWN], generation_sent=8, lease_remaining_ms=4_500)
    assert ", lease ends in 4.5 s unless renewed" in explained(told)[6]


def test_a_cell_whose_agent_knows_nothing_of_edca() -> None:
    shown = cell()
    shown.access_point = shown.agent_version = ""
    assert explained(shown)[0] == "cell 02:00:00:00:00:01 lab: access point not connected"
    assert explained(shown)[-1] == "EDCA parameters: its agent reports none"


def test_a_terminals_explanation_has_its_cells() -> None:
    answer = operations_pb2.ExplainTerminalResponse(terminal=terminal(), cell=cell(sent=[SET], reason=UPLOADS))
    text = explanation.explanation(answer)
    assert f"EDCA parameters of the access point: {SET_TEXT}: {UPLOADS_TEXT}" in text
    assert "EDCA" not in explanation.explanation(
        operations_pb2.ExplainTerminalResponse(terminal=terminal(), cell=cell())
    )


@pytest.mark.parametrize("code", [*Code, 1, 60, 999])
def test_a_reason_of_any_version_is_shown(code: int) -> None:
    shown = terminal()
    shown.no_bounds.code = code  # type: ignore[assignment]
    assert "no bounds: " in explanation.explanation(operations_pb2.ExplainTerminalResponse(terminal=shown))
    counter = operations_pb2.Counter(name="x_total", value=5)
    counter.code = code  # type: ignore[assignment]
    assert "x_total" in display.controller(operations_pb2.GetControllerResponse(counters=[counter]))


def test_values_of_another_version_are_shown_as_unknown() -> None:
    cell = operations_pb2.Cell(bssid="02:00:00:00:00:01")
    cell.capacity_source = 99  # type: ignore[assignment]
    assert " ? " in display.cells(operations_pb2.ListCellsResponse(cells=[cell]))
    answer = operations_pb2.ExplainTerminalResponse(terminal=terminal())
    answer.last_trigger = 99  # type: ignore[assignment]
    assert "ago (?)" in explanation.explanation(answer)


def test_control_characters_of_peers_do_not_reach_the_terminal() -> None:
    evil = "\x1b[2J\u202e"
    shown = operations_pb2.Terminal(mac="02:00:00:00:01:00", name=evil, back_end=evil, agent_version=evil)
    shown.no_bounds.code, shown.no_bounds.subject = Code.BACK_END_CANNOT_BOUND, evil  # type: ignore[assignment]
    cell = operations_pb2.Cell(bssid="02:00:00:00:00:01", ssid=evil.encode(), access_point=evil, agent_version=evil)
    cell.edca.formula = cell.edca.reason.subject = evil
    cell.edca.reason.code = reason_pb2.REASON_CODE_CANNOT_SET_EDCA
    station = operations_pb2.StationView(mac="02:00:00:00:01:00", terminal=evil)
    for text in (
        display.terminals(operations_pb2.ListTerminalsResponse(terminals=[shown])),
        explanation.explanation(operations_pb2.ExplainTerminalResponse(terminal=shown)),
        display.cells(operations_pb2.ListCellsResponse(cells=[cell])),
        display.cell_line(cell),
        explanation.explanation(operations_pb2.ExplainCellResponse(cell=cell)),
        display.stations(operations_pb2.ListStationsResponse(stations=[station])),
        display.controller(operations_pb2.GetControllerResponse(exempt=[evil])),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_cell_as_a_row_and_as_a_line() -> None:
    cell = operations_pb2.Cell(
        bssid="02:00:00:00:00:01",
        ssid=b"caf\xc3\xa9 \xff",
        stations=5,
        active_senders=2,
        terminals=3,
        uplink_bps=4_300_000,
        capacity_bps=22_000_000,
        capacity_source=operations_pb2.CAPACITY_SOURCE_BUSY_TIME,
        report_age_ms=1234,
        refused_total=6,
    )
    row = display.cells(operations_pb2.ListCellsResponse(cells=[cell])).splitlines()[1]
    assert " ".join(row.split()) == (
        "02:00:00:00:00:01 - caf\u00e9 \ufffd 2 4.3 Mb/s 22.0 Mb/s - 5 3 - busy time - 1.2 s 6"
    )
    cell.busy_ratio = 0.0
    assert "busy 0%" in display.cell_line(cell)
    cell.survey_refusal = "the busy time, 7 ms, exceeds the channel's, 3 ms"
    assert "busy refused" in display.cell_line(cell)
    answer = operations_pb2.ExplainCellResponse(cell=cell)
    assert "survey is refused: the busy time, 7 ms, exceeds" in explanation.explanation(answer)
    cell.band = access_point_pb2.BAND_2_4_GHZ
    assert "band 2.4  " in display.cell_line(cell)
    cell.links = 2
    assert "band 2 links  " in display.cell_line(cell)
    cell.edca.state.own.append(OWN)
    assert "edca own  age" in display.cell_line(cell)
    cell.edca.sent.append(SET)
    assert "edca 4 15-1023  age" in display.cell_line(cell)
    cell.edca.sent_stations.append(OWN)
    assert "edca 4 15-1023, stations 2 15-1023  age" in display.cell_line(cell)
    assert display.cells(operations_pb2.ListCellsResponse()).startswith("No access point has reported. To have one:")


def test_stations() -> None:
    measured = operations_pb2.StationView(
        mac="02:00:00:00:01:00",
        ip_addresses=["10.0.4.7", "2001:db8::7"],
        active_sender=True,
        terminal="10.0.4.7",
        uplink_bps=4_300_000,
        signal_dbm=0,
        rx_bitrate_kbps=54_000,
        tx_bitrate_kbps=6_500,
        air_ratio=0.25,
        airtime_source=access_point_pb2.AIRTIME_SOURCE_MEASURED,
        retries_per_s=8.4,
        tx_failed=9,
    )
    estimated = operations_pb2.StationView(
        mac="02:00:00:00:01:01", air_ratio=0.5, airtime_source=access_point_pb2.AIRTIME_SOURCE_ESTIMATED
    )
    unknown = operations_pb2.StationView(mac="02:00:00:00:01:02")
    _, first, second, third = display.stations(
        operations_pb2.ListStationsResponse(stations=[unknown, measured, estimated])
    ).splitlines()
    assert " ".join(first.split()) == "02:00:00:00:01:01 no agent idle 0.0 50% est. 0 - -/- - 0"
    assert " ".join(second.split()) == (
        "02:00:00:00:01:00 10.0.4.7 sending 4.3 25% 8 0 dBm 54/6.5 10.0.4.7 2001:db8::7 9"
    )
    assert " ".join(third.split()) == "02:00:00:00:01:02 no agent idle 0.0 - 0 - -/- - 0"
    assert display.stations(operations_pb2.ListStationsResponse()) == "No station is associated."


def test_json_has_the_wires_field_names_and_every_value() -> None:
    cell = operations_pb2.Cell(bssid="02:00:00:00:00:01", active_senders=2)
    assert json.loads(display.as_json(cell))["active_senders"] == 2
    line = display.as_json_line(cell)
    assert "\n" not in line
    assert json.loads(line)["refused_total"] == "0"


def test_what_is_not_as_with_most_stations() -> None:
    shown = display.stations(
        operations_pb2.ListStationsResponse(
            stations=[
                operations_pb2.StationView(mac="02:00:00:00:01:00", four_address=True, vlan_interface="wlan0.sta1"),
                operations_pb2.StationView(mac="02:00:00:00:01:01", multi_link=True, links=0b101),
                operations_pb2.StationView(mac="02:00:00:00:01:02", multi_link=True),
                operations_pb2.StationView(mac="02:00:00:00:01:03"),
            ]
        )
    ).splitlines()
    assert [" ".join(line.split()).partition(" -/- - 0 ")[2] for line in shown[1:]] == [
        "WDS peer, on wlan0.sta1",
        "multi-link 0 2",
        "multi-link",
        "-",
    ]
    assert "bridge" in shown[1]  # which has no agent, and is no phone without one
    assert "no agent" in shown[4]


NO_AGENT = reason_pb2.Reason(code=reason_pb2.REASON_CODE_NO_AGENT)
LIMIT = operations_pb2.WindowLimitSent(station="02:00:00:00:01:01", destination="10.0.4.1", max_bytes=28_960)


def windows(**fields: Any) -> operations_pb2.CellWindows:
    limited = reason_pb2.Reason(code=reason_pb2.REASON_CODE_STATIONS_LIMITED, after=1)
    state = access_point_pb2.WindowState(
        generation=3,
        refused_total=4,
        connections=5,
        connections_max=6,
        connections_evicted_total=7,
        limited_segments_total=8,
        limits_max=1,
    )
    right = {
        "state": state, "sent": [LIMIT], "generation_sent": 9, "lease_remaining_ms": 4_500, "reason": limited,
        "stations_without_agent": 2, "stations_limited": 1,
    }  # fmt: skip
    return operations_pb2.CellWindows(**{**right, **fields})


def test_what_a_cell_does_with_windows_is_explained() -> None:
    cell = operations_pb2.Cell(bssid="02:00:00:00:00:01", datapath_id=0x5254_0012_3456, windows=windows())
    text = explanation.explanation(operations_pb2.ExplainCellResponse(cell=cell))
    assert "port of the OpenFlow switch 0000525400123456" in text
    assert text.splitlines()[-4:] == [
        "windows of stations without a working agent: stations with limited windows 1",
        "  1 of 2 stations that send are limited, 1 limits",
        "  generation sent 9, in force 3, lease ends in 4.5 s unless renewed; 4 commands refused by its agent",
        "  5 connections known of 6 at most, 7 forgotten for others; 8 segments limited",
    ]


def test_what_is_wrong_with_a_cells_windows_is_explained() -> None:
    cannot = reason_pb2.Reason(code=reason_pb2.REASON_CODE_CANNOT_SET_WINDOWS, subject="no clsact")
    cell = operations_pb2.Cell(
        windows=windows(reason=cannot, sent=[], generation_sent=0, omitted=2, failures_total=3, state=None)
    )
    text = explanation.explanation(operations_pb2.ExplainCellResponse(cell=cell))
    assert "the access point cannot limit windows: no clsact" in text
    assert "generation sent none, in force none; 0 commands" in text
    assert "2 limits left out: the access point takes at most 0" in text
    assert "3 decisions ended in an error of the controller" in text
    undecided = operations_pb2.Cell(windows=operations_pb2.CellWindows())
    assert "agent: not decided yet" in explanation.explanation(operations_pb2.ExplainCellResponse(cell=undecided))


def station(**fields: Any) -> operations_pb2.StationView:
    return operations_pb2.StationView(mac="02:00:00:00:01:01", ip_addresses=["192.0.2.9"], **fields)


def test_everything_about_a_station_without_an_agent_is_explained() -> None:
    decisions = [
        operations_pb2.Decision(
            destination="10.0.4.1", min_segs=10, max_segs=20, policy="bdp", active_senders=2, srtt_us=30_000,
            min_rtt_us=20_000, rtt_ratio=1.5, own_min_rtt_us=21_000, formula="the formula",
        ),
        operations_pb2.Decision(destination="10.0.4.2", max_segs=40, policy="bdp"),
    ]  # fmt: skip
    view = station(
        active_sender=True,
        exempt=True,
        uplink_bps=8_000_000,
        lack=NO_AGENT,
        no_limit=reason_pb2.Reason(code=reason_pb2.REASON_CODE_EXEMPT),
        unlimited_for_ms=600_000,
        decisions=decisions,
        limits=[LIMIT],
        destinations=[
            operations_pb2.StationDestinationView(
                address="10.0.4.1",
                connections=3,
                connections_sending=2,
                connections_unscaled=1,
                srtt_us=30_000,
                min_rtt_us=20_000,
                mss_bytes=1448,
                sent_bytes=5_000_000,
                received_bytes=100_000,
            )
        ],
    )
    cell = operations_pb2.Cell(bssid="02:00:00:00:00:01", active_senders=2, stations=3, windows=windows())
    lines = explanation.explanation(operations_pb2.ExplainStationResponse(station=view, cell=cell)).splitlines()
    assert lines[0] == "station 02:00:00:00:01:01 (192.0.2.9): sending, exempt; no agent; uplink 8.0 Mb/s"
    assert lines[2] == "windows: stations with limited windows 1; generation sent 9, in force 3"
    assert lines[3] == "the access point is to limit it: the station has no agent"
    assert lines[4] == "no limit for 10 min: exempted by an operator: computed and shown, not applied"
    assert "10.0.4.1 20 segments, policy bdp, n=2, 28960 bytes a connection" in lines
    assert "10.0.4.2 40 segments, policy bdp, n=0, computed, not sent" in lines
    assert "  the formula" in lines
    assert lines[-1].split() == ["10.0.4.1", "2/3", "1", "30.0", "ms", "(20.0", "ms)", "1448", "5.0", "MB", "0.1", "MB"]


def test_a_station_whose_access_point_does_not_look() -> None:
    answer = operations_pb2.ExplainStationResponse(station=station(terminal="192.0.2.9"), cell=operations_pb2.Cell())
    text = explanation.explanation(answer)
    assert "idle; terminal 192.0.2.9" in text
    assert "the access point's agent does not look at its stations' connections" in text


def test_the_table_of_stations_has_limits_only_where_there_are_some() -> None:
    plain = display.stations(operations_pb2.ListStationsResponse(stations=[station()]))
    assert "WINDOWS" not in plain
    waits = reason_pb2.Reason(code=reason_pb2.REASON_CODE_NO_RTT_SAMPLE)
    text = display.stations(
        operations_pb2.ListStationsResponse(
            stations=[station(limits=[LIMIT]), station(no_limit=waits, unlimited_for_ms=40_000)]
        )
    )
    assert text.splitlines()[0].split()[-1] == "WINDOWS"
    assert "10.0.4.1 28960 B" in text
    assert "no limit for 40 s: no RTT sample yet" in text


def test_the_table_of_cells_has_a_column_of_limited_stations_only_where_one_looks() -> None:
    plain, looks = operations_pb2.Cell(bssid="02:00:00:00:00:01"), operations_pb2.Cell(windows=windows())
    assert "LIMITED" not in display.cells(operations_pb2.ListCellsResponse(cells=[plain]))
    head, *rows = display.cells(operations_pb2.ListCellsResponse(cells=[plain, looks])).splitlines()
    assert head.split()[-1] == "LIMITED"
    assert [row.split()[-1] for row in rows] == ["-", "1/2"]


def station_flows(**change: Any) -> list[str]:
    shown = cell()
    shown.station_flows.CopyFrom(operations_pb2.CellStationFlows(**change))
    lines = explained(shown)
    return lines[lines.index(next(line for line in lines if line.startswith("packets to stations"))) :]


def test_what_an_access_point_does_with_packets_to_live_flows() -> None:
    able = access_point_pb2.StationFlowState(
        can_set=True, generation=8, refused_total=2, flows_max=64, marked_packets_total=12
    )
    why = reason_pb2.Reason(code=reason_pb2.REASON_CODE_LIVE_FLOWS, after=3)
    assert station_flows(state=able, sent=3, generation_sent=9, lease_remaining_ms=4500, reason=why) == [
        "packets to stations as video: 3 of at most 64 flows: live flows with the category for video 3",
        (
            "  generation sent 9, in force 8, lease ends in 4.5 s unless renewed; 2 commands refused by its agent;"
            " 12 packets so far"
        ),
    ]
    able.generation = 0
    assert station_flows(state=able) == [
        "packets to stations as video: 0 of at most 64 flows, none was needed yet",
        "  generation sent none, in force none; 2 commands refused by its agent; 12 packets so far",
    ]
    unable = access_point_pb2.StationFlowState(refusal="no BPF\x1b", refused_total=1)
    assert station_flows(state=unable) == [
        "packets to stations as video: its agent cannot change them: no BPF?; 1 commands refused by its agent"
    ]
    assert not any("packets to stations" in line for line in explained(cell()))


def test_classes_that_an_operator_chose() -> None:
    shown = operations_pb2.Terminal(name="a")
    shown.classes_chosen.add(application_class=terminal_pb2.APPLICATION_CLASS_BULK)
    shown.classes_chosen.add(uid=7, application_class=77)  # type: ignore[arg-type]
    lines = explanation.explanation(operations_pb2.ExplainTerminalResponse(terminal=shown)).splitlines()
    assert lines[-1] == "classes that an operator chose: all applications bulk, uid 7 ?"
    assert (
        display.class_set(operations_pb2.SetClassResponse(previous=terminal_pb2.APPLICATION_CLASS_LIVE)) == "was live"
    )
    assert display.class_set(operations_pb2.SetClassResponse()) == "was its own"
