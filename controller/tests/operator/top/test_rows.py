# SPDX-License-Identifier: Apache-2.0

import datetime

from airbound.operator.top import cell_rows, event_rows, flow_rows, station_rows
from airbound.operator.top.model import Model, OpenCell
from airbound.operator.top.table import Row
from airbound.v1 import access_point_pb2, events_pb2, live_pb2, operations_pb2, reason_pb2, terminal_pb2

A, B, C = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))


def model() -> Model:
    made = Model()
    made.take_cell(
        operations_pb2.Cell(
            mode=operations_pb2.MODE_CONTROL, bssid=B, ssid=b"Lobby", uplink_bps=3, active_senders=2, stations=9
        ),
        0.0,
    )
    made.take_cell(
        operations_pb2.Cell(
            mode=operations_pb2.MODE_CONTROL, bssid=A, ssid=b"office", uplink_bps=1, active_senders=3, busy_ratio=0.0
        ),
        0.0,
    )
    made.take_cell(
        operations_pb2.Cell(
            mode=operations_pb2.MODE_CONTROL, bssid=C, ssid=b"office", uplink_bps=2, exempt=True, busy_ratio=0.9
        ),
        0.0,
    )
    made.take_ratios(
        {A: live_pb2.CellRttRatio(bssid=A, worst=4.0, worst_terminal="x"), C: live_pb2.CellRttRatio(worst=9.0)}
    )
    return made


def order(sort: str, *, descending: bool, wanted: str = "") -> list[str]:
    return [row.key for row in cell_rows.rows(model(), 1.0, sort=sort, descending=descending, wanted=wanted)]


def test_cells_are_sorted_and_filtered() -> None:
    assert order("ssid", descending=False) == [B, A, C]
    assert order("bssid", descending=True) == [C, B, A]
    assert order("senders", descending=True) == [A, B, C]
    assert order("uplink", descending=True) == [B, C, A]
    assert order("busy", descending=True) == [C, A, B]
    assert order("ratio", descending=True) == [C, A, B]
    assert order("stations", descending=True)[0] == B
    assert order("ssid", descending=False, wanted="LOB") == order("ssid", descending=False, wanted=":02") == [B]
    assert order("ssid", descending=False, wanted="nothing") == []
    assert set(cell_rows.sorts()) <= {column.key for column in cell_rows.COLUMNS}


def test_a_cell_shows_what_is_done_for_it() -> None:
    rows = {row.key: row.cells for row in cell_rows.rows(model(), 1.0, sort="ssid", descending=False)}
    assert [rows[bssid]["state"] for bssid in (A, B, C)] == ["control", "control", "exempt"]
    assert (rows[A]["ratio"], rows[A]["worst"], rows[B]["ratio"], rows[B]["busy"]) == ("4.0", "x", "-", "-")
    assert {row.cells["state"] for row in cell_rows.rows(model(), 9.0, sort="ssid", descending=False)} == {"silent"}


def opened() -> OpenCell:
    made = OpenCell(A)
    measured = access_point_pb2.AIRTIME_SOURCE_MEASURED
    for second in (1, 2):
        made.stations = [
            operations_pb2.StationView(
                mac=B, ip_addresses=["192.0.2.8"], rx_airtime_us=1000 * second, airtime_source=measured
            ),
            operations_pb2.StationView(
                mac=A, terminal="phone", active_sender=True, signal_dbm=-50, rx_bitrate_kbps=6_500,
                tx_bitrate_kbps=54_000, rx_airtime_us=3000 * second, airtime_source=measured,
            ),
        ]  # fmt: skip
        made.airtime.take(made.stations)
    return made


def test_stations_have_bars_of_their_airtime() -> None:
    first, second = station_rows.stations(opened())
    assert first.cells["name"] == "phone"
    assert (first.cells["agent"], first.cells["sends"], first.cells["signal"]) == ("yes", "sends", "-50")
    assert first.cells["airtime"] == "[########--]  75%"
    assert first.cells["rates"] == "6.5/54"
    assert (second.cells["name"], second.cells["agent"], second.cells["sends"]) == ("192.0.2.8", "no", "")
    assert second.cells["signal"] == "-"


def test_a_station_has_the_limits_of_its_access_point_or_why_it_has_none() -> None:
    made = opened()
    limits = [
        operations_pb2.WindowLimitSent(destination=f"{i}", max_bytes=limit) for i, limit in enumerate((48_000, 12_400))
    ]
    lack = reason_pb2.Reason(code=reason_pb2.REASON_CODE_NO_AGENT)
    waits = reason_pb2.Reason(code=reason_pb2.REASON_CODE_NO_RTT_SAMPLE)
    made.stations = [
        operations_pb2.StationView(mac=B, lack=lack, limits=limits),
        operations_pb2.StationView(mac=A, lack=lack, no_limit=waits, unlimited_for_ms=5000),
        operations_pb2.StationView(mac=C, lack=lack, limits=limits[:1]),
        operations_pb2.StationView(mac="02:00:00:00:00:0d", terminal="phone"),
    ]
    shown = {row.key: (row.cells["limit"], row.cells["no_limit"]) for row in station_rows.stations(made)}
    assert shown == {
        B: ("12..48", ""),
        A: ("no", "no rtt sample for 5 s"),
        C: ("48", ""),
        "02:00:00:00:00:0d": ("", ""),
    }


def terminal(**fields: object) -> operations_pb2.Terminal:
    decision = operations_pb2.Decision(
        destination="198.51.100.1", min_segs=1, max_segs=12, srtt_us=45_000, min_rtt_us=30_000, rtt_ratio=1.5
    )
    return operations_pb2.Terminal(mac=A, name="phone", decisions=[decision], **fields)  # type: ignore[arg-type]


def rows_of(terminal: operations_pb2.Terminal) -> list[Row]:
    made = opened()
    view = operations_pb2.DestinationView(address="198.51.100.1", cwnd_segs=9)
    made.terminals, made.destinations = [terminal], {A: live_pb2.TerminalDestinations(mac=A, destinations=[view])}
    return station_rows.terminals(made)


def test_a_terminal_shows_its_window_within_the_bounds_that_were_sent() -> None:
    sent = operations_pb2.BoundSent(destination="198.51.100.1", min_segs=1, max_segs=12)
    (row,) = rows_of(terminal(bounds_sent=[sent]))
    assert (row.cells["bounds"], row.cells["window"]) == ("1..12", "[######--] 9")
    assert [row.cells[key] for key in ("srtt", "min_rtt", "ratio")] == ["45.0", "30.0", "1.5"]
    everybody = operations_pb2.BoundSent(min_segs=10, max_segs=20)
    (row,) = rows_of(terminal(bounds_sent=[everybody]))
    assert (row.cells["bounds"], row.cells["window"]) == ("10..20", "[--------] <9")


def test_what_is_computed_and_not_sent_is_in_parentheses_with_the_reason() -> None:
    reason = reason_pb2.Reason(code=reason_pb2.REASON_CODE_OBSERVE_MODE)
    (row,) = rows_of(terminal(no_bounds=reason))
    assert (row.cells["bounds"], row.cells["window"]) == ("(1..12)", "[######--] 9 observe mode")
    idle = operations_pb2.Terminal(mac=A, name="phone", no_bounds=reason_pb2.Reason(code=9999))  # type: ignore[arg-type]
    (row,) = rows_of(idle)
    assert (row.cells["bounds"], row.cells["window"], row.cells["destination"]) == ("none", "code 9999", "-")
    (row,) = rows_of(operations_pb2.Terminal(mac=A, name="phone"))
    assert row.cells["window"] == ""


def test_events_are_lines_and_can_be_looked_for() -> None:
    warning = events_pb2.Event(
        sequence=3,
        time_us=1_000_000,
        level=events_pb2.EVENT_LEVEL_WARNING,
        kind="refused",
        subject="terminal x",
        text="why",
    )
    other = events_pb2.Event(sequence=2, time_us=2_500_000, kind="bounds", bounds=events_pb2.EventBounds())
    first, second = event_rows.rows([warning, other], datetime.UTC)
    assert (first.cells["time"], first.cells["mark"], first.cells["why"]) == ("00:00:01.000", "!", "why")
    assert (second.cells["time"], second.cells["mark"], second.cells["why"]) == ("00:00:02.500", "", "released")
    assert [row.key for row in event_rows.rows([warning, other], datetime.UTC, "TERMINAL")] == ["3"]


def with_classes() -> OpenCell:
    made = OpenCell(A)
    refused = reason_pb2.Reason(code=reason_pb2.REASON_CODE_LIVE_AIR)
    made.terminals = [
        operations_pb2.Terminal(
            mac=A, name="phone",
            live_flows=[
                operations_pb2.LiveFlow(
                    destination="10.0.4.1", uids=[7, 9], used_bps=600_000, need_bps=750_000, air=0.1, granted=True
                ),
                operations_pb2.LiveFlow(destination="10.0.5.1", uids=[8], need_bps=700_000, air=0.25, refused=refused),
            ],
        ),
        operations_pb2.Terminal(mac=B, name="other"),
    ]  # fmt: skip

    def part(number: int, sending: int) -> terminal_pb2.ClassPart:
        return terminal_pb2.ClassPart(application_class=number, connections_sending=sending, uids=[7])  # type: ignore[arg-type]

    parts = [part(1, 1), part(3, 2), part(4, 0), part(77, 1)]
    view = operations_pb2.DestinationView(address="10.0.4.1", classes=parts)
    made.destinations = {A: live_pb2.TerminalDestinations(mac=A, destinations=[view])}
    return made


def test_live_flows_have_need_and_grant_and_other_classes_are_there_while_they_send() -> None:
    rows = flow_rows.rows(with_classes())
    shown = [[row.cells.get(column.key, "") for column in flow_rows.COLUMNS] for row in rows]
    assert shown == [
        ["phone", "10.0.5.1", "8", "live", "0.0", "0.7", "25%", "live air"],
        ["phone", "10.0.4.1", "7,9", "live", "0.6", "0.8", "10%", "granted"],
        ["phone", "10.0.4.1", "7", "bulk", "-", "-", "-", ""],
        ["phone", "10.0.4.1", "7", "?", "-", "-", "-", ""],
    ]
    assert len({row.key for row in rows}) == len(rows)
    assert all(row.key.split(" ")[0] == A for row in rows)
    assert flow_rows.rows(OpenCell(A)) == []


def test_a_live_flow_that_an_operator_made_another_class_is_shown_as_its_phone_reports_it() -> None:
    cell = with_classes()
    del cell.terminals[0].live_flows[:]
    assert [row.cells["class"] for row in flow_rows.rows(cell)] == ["live", "bulk", "?"]
