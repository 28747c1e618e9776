# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.effects import Bound, RenewLease, SetBounds
from airbound.core.reports import AccessPointReport, BackEnd, TerminalReport
from airbound.edges import convert
from airbound.v1 import access_point_pb2, terminal_pb2

BSSID = "02:00:00:00:00:01"
MAC = "02:00:00:00:01:00"


def test_one_absurd_station_does_not_cost_the_others() -> None:
    message = access_point_pb2.AccessPointReport(
        bssid=BSSID,
        sequence=1,
        stations=[
            access_point_pb2.Station(mac=MAC, rx_bytes=7, signal_dbm=-60),
            access_point_pb2.Station(mac="02:00:00:00:01:01", signal_dbm=-1000),
            access_point_pb2.Station(mac="phone"),
            access_point_pb2.Station(mac="02:00:00:00:01:02", rx_bytes=2**64 - 5),
        ],
        survey=access_point_pb2.ChannelSurvey(active_us=5, busy_us=6),
    )
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert [station.mac for station in report.stations] == [MAC]
    assert report.survey is None
    assert [error.field for error in refusals] == [
        "stations[1].signal_dbm",
        "stations[2].mac",
        "stations[3].rx_bytes",
        "survey.busy_us",
    ]


def test_what_is_listed_twice_counts_as_it_was_listed_first() -> None:
    stations = [access_point_pb2.Station(mac=mac, rx_bytes=n) for n, mac in enumerate((MAC, BSSID, MAC))]
    cell, refusals = convert.access_point_report(
        access_point_pb2.AccessPointReport(bssid=BSSID, sequence=1, stations=stations)
    )
    assert cell is not None
    assert [(station.mac, station.rx_bytes) for station in cell.stations] == [(MAC, 0), (BSSID, 1)]
    assert [str(error) for error in refusals] == [f"stations[2].mac = '{MAC}': listed twice"]
    same = [terminal_pb2.Destination(address=text, srtt_us=2000) for text in ("10.0.4.1", "::ffff:10.0.4.1")]
    phone, refusals = convert.terminal_report(terminal_pb2.TerminalReport(mac=MAC, sequence=1, destinations=same))
    assert phone is not None
    assert [destination.address for destination in phone.destinations] == ["10.0.4.1"]
    assert [str(error) for error in refusals] == ["destinations[1].address = '10.0.4.1': listed twice"]


def test_a_report_of_nobody_is_refused() -> None:
    report, refusals = convert.access_point_report(access_point_pb2.AccessPointReport(sequence=1))
    assert report is None
    assert str(refusals[0]).startswith("bssid = ''")
    terminal, refusals = convert.terminal_report(terminal_pb2.TerminalReport(mac=MAC))
    assert terminal is None
    assert str(refusals[0]).startswith("sequence = 0")


def test_a_terminal_is_taken_at_its_word_on_its_back_end() -> None:
    message = terminal_pb2.TerminalReport(
        mac=MAC, sequence=1, back_end=terminal_pb2.BackEnd(name="ebpf", can_set_max=True, rules_max=3)
    )
    report, _ = convert.terminal_report(message)
    assert report is not None
    assert report.back_end == BackEnd(name="ebpf", can_set_min=False, can_select_destination=False, rules_max=3)
    message.ClearField("back_end")
    report, _ = convert.terminal_report(message)
    assert report is not None
    assert report.back_end == BackEnd(name="", can_set_max=False, can_set_min=False, can_select_destination=False)


@pytest.mark.parametrize("name", ["\x1b[2J", "a" * 33, "proc fs", "procfs\n"])
def test_a_back_end_of_no_name_is_refused(name: str) -> None:
    message = terminal_pb2.TerminalReport(mac=MAC, sequence=1, back_end=terminal_pb2.BackEnd(name=name))
    report, refusals = convert.terminal_report(message)
    assert report is None
    assert [error.field for error in refusals] == ["back_end.name"]


def test_an_endless_ssid_does_not_cost_the_report() -> None:
    message = access_point_pb2.AccessPointReport(bssid=BSSID, sequence=1, ssid=b"x" * 33)
    report, refusals = convert.access_point_report(message)
    assert report is not None
    assert report.ssid == b""
    assert [error.field for error in refusals] == ["ssid"]


def test_a_list_without_end_is_one_refusal() -> None:
    stations = [access_point_pb2.Station()] * 100_000
    report, refusals = convert.access_point_report(
        access_point_pb2.AccessPointReport(bssid=BSSID, sequence=1, stations=stations)
    )
    assert report is None
    assert [str(error) for error in refusals] == ["stations = 100000: more than 2048"]
    destinations = [terminal_pb2.Destination()] * 100_000
    terminal, refusals = convert.terminal_report(
        terminal_pb2.TerminalReport(mac=MAC, sequence=1, destinations=destinations)
    )
    assert terminal is None
    assert [str(error) for error in refusals] == ["destinations = 100000: more than 4096"]


def test_addresses_come_in_canonical() -> None:
    destinations = [terminal_pb2.Destination(address="::FFFF:10.0.4.1"), terminal_pb2.Destination(address="nowhere")]
    report, refusals = convert.terminal_report(
        terminal_pb2.TerminalReport(mac=MAC, sequence=1, destinations=destinations)
    )
    assert report is not None
    assert [destination.address for destination in report.destinations] == ["10.0.4.1"]
    assert [error.field for error in refusals] == ["destinations[1].address"]


def test_commands_go_out_as_the_contract_has_them() -> None:
    bounds = (Bound("10.0.4.1/32", 20, 35), Bound("", 2, 4))
    sent = convert.terminal_command(SetBounds(1, MAC, 9, bounds, 6000, "n 9 -> 10")).command.set_bounds
    assert (sent.generation, sent.lease_ms, sent.reason) == (9, 6000, "n 9 -> 10")
    assert [bound.WhichOneof("selector") for bound in sent.bounds] == ["destination_prefix", "all"]
    assert (sent.bounds[0].min_segs, sent.bounds[0].max_segs) == (20, 35)
    assert sent.bounds[1].all
    renewed = convert.terminal_command(RenewLease(1, MAC, 9, 6000)).command
    assert renewed.WhichOneof("command") == "renew_lease"
    assert (renewed.renew_lease.generation, renewed.renew_lease.lease_ms) == (9, 6000)


@given(st.binary(max_size=200), st.booleans())
def test_whatever_bytes_arrive_become_a_report_or_refusals(data: bytes, access_point: bool) -> None:  # noqa: FBT001
    message = access_point_pb2.AccessPointReport() if access_point else terminal_pb2.TerminalReport()
    try:
        message.ParseFromString(data)
    except Exception:  # noqa: BLE001  # not a message at all: gRPC refuses that before us
        return
    report: AccessPointReport | TerminalReport | None
    if isinstance(message, access_point_pb2.AccessPointReport):
        report, refusals = convert.access_point_report(message)
    else:
        report, refusals = convert.terminal_report(message)
    assert report is not None or refusals


U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(U32, U32, U32, U32), min_size=1, max_size=5), U64, U64)
def test_whatever_numbers_arrive_stay_within_limits_or_are_refused(
    entries: list[tuple[int, int, int, int]], sequence: int, generation: int
) -> None:
    message = terminal_pb2.TerminalReport(
        mac=MAC,
        sequence=sequence,
        bounds_generation=generation,
        destinations=[
            terminal_pb2.Destination(
                address=f"10.0.0.{index + 1}",
                srtt_us=srtt,
                min_rtt_us=minimum,
                mss_bytes=mss,
                connections_sending=count,
            )
            for index, (srtt, minimum, mss, count) in enumerate(entries)
        ],
    )
    report, refusals = convert.terminal_report(message)
    kept = len(report.destinations) if report else 0
    assert report is None or kept + len(refusals) == len(entries)
    assert (report is None) == (not 1 <= sequence < 2**63 or generation >= 2**63)


@pytest.mark.parametrize("missing", ["", "02:00:00:00:00:01:02"])
def test_a_mac_of_the_wrong_length(missing: str) -> None:
    report, refusals = convert.terminal_report(terminal_pb2.TerminalReport(mac=missing, sequence=1))
    assert report is None
    assert refusals[0].field == "mac"
