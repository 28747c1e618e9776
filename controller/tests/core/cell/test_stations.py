# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell import Cell
from airbound.core.parameters import CapacityParameters, SenderParameters
from airbound.core.reports import AccessPointReport, ReportRefusedError, Station, Survey
from airbound.testing.scenario import BSSID, SECOND_US, mac


def new_cell() -> Cell:
    return Cell(BSSID, SenderParameters(), CapacityParameters())


def station(packets: int, *, number: int = 0, size: int = 1534, connected_s: int = 100) -> Station:
    return Station(mac=mac(number), rx_packets=packets, rx_bytes=packets * size, connected_time_ms=connected_s * 1000)


def look(cell: Cell, second: float, *stations: Station, stream: int = 1, survey: Survey | None = None) -> None:
    report = AccessPointReport(
        bssid=BSSID,
        sequence=cell.sequence + 1,
        monotonic_us=round(1_000_000 * (100 + second)),
        stations=stations,
        survey=survey,
    )
    cell.accept(stream, report, round(second * SECOND_US))


def test_the_first_look_tells_no_rate() -> None:
    cell = new_cell()
    look(cell, 1, station(1_000_000))
    assert (cell.active_senders, cell.uplink_bps) == (0, 0)


def test_headers_are_not_payload() -> None:
    cell = new_cell()
    look(cell, 1, station(1_000))
    look(cell, 2, station(2_000))
    assert cell.uplink_bps == pytest.approx(1_000 * 1_500 * 8)


@pytest.mark.parametrize(
    ("bytes_per_s", "sending"), [([9_999], False), ([10_000], True), ([10_000, 2_000], True), ([10_000, 1_999], False)]
)
def test_two_levels_so_that_a_sender_does_not_flap(bytes_per_s: list[int], sending: bool) -> None:  # noqa: FBT001
    cell, count = new_cell(), 0
    look(cell, 0, Station(mac=mac(0)))
    for second, rate in enumerate(bytes_per_s, 1):
        count += rate
        look(cell, second, Station(mac=mac(0), rx_bytes=count))
    assert (cell.active_senders == 1) is sending


def test_null_frames_are_no_sending() -> None:
    cell = new_cell()
    look(cell, 0, station(0, size=26))
    look(cell, 1, station(1_000, size=26))
    assert cell.active_senders == 0


def test_one_packet_in_a_moment_is_no_sender() -> None:
    cell = new_cell()
    look(cell, 0, station(0))
    look(cell, 0.001, station(1), station(0, number=1))
    assert cell.active_senders == 0
    look(cell, 1, station(1), station(0, number=1))
    assert cell.active_senders == 0


def test_reports_sent_at_once_do_not_break_the_rate() -> None:
    cell = new_cell()
    look(cell, 0, station(0))
    look(cell, 0.9, station(900))
    look(cell, 1.0, station(1_000))
    look(cell, 1.1, station(1_100))
    look(cell, 2.0, station(2_000))
    assert cell.uplink_bps == pytest.approx(1_000 * 1_500 * 8)


def test_a_station_that_just_joined_counts_from_zero() -> None:
    cell = new_cell()
    look(cell, 0)
    look(cell, 1, station(500, connected_s=0))
    assert cell.active_senders == 1
    assert cell.uplink_bps == pytest.approx(500 * 1_500 * 8)


def test_a_station_that_was_there_all_along_does_not() -> None:
    cell = new_cell()
    look(cell, 0)
    look(cell, 1, station(5_000_000, connected_s=4_000))
    assert cell.active_senders == 0
    assert cell.uplink_bps == 0


@pytest.mark.parametrize("fallen", ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets", "tx_retries"])
def test_counters_that_fall_mean_a_new_association_and_no_negative_rate(fallen: str) -> None:
    cell = new_cell()
    full = Station(mac=mac(0), rx_bytes=10**9, rx_packets=10**6, tx_bytes=10**9, tx_packets=10**6, tx_retries=10**4)
    look(cell, 0, full)
    look(cell, 1, full)
    again: Any = {fallen: 5}
    look(cell, 2, replace(full, **again, connected_time_ms=90_000))
    assert cell.reassociations_total == 1
    assert cell.uplink_bps == 0
    look(cell, 3, replace(full, **again, connected_time_ms=91_000))
    assert cell.uplink_bps == 0


def test_a_sender_that_leaves_is_gone_at_once() -> None:
    cell = new_cell()
    look(cell, 0, station(0), station(0, number=1))
    look(cell, 1, station(1_000), station(1_000, number=1))
    look(cell, 1.05, station(1_050))
    assert cell.active_senders == 1


def surveyed(second: int, busy: float = 0.9) -> Survey:
    return Survey(active_us=(100 + second) * SECOND_US, busy_us=round((100 + second) * SECOND_US * busy))


def test_capacity_comes_from_full_intervals_only() -> None:
    cell = new_cell()
    look(cell, 0, station(0), survey=surveyed(0))
    look(cell, 1, station(1_000), survey=surveyed(1))
    before = cell.capacity.bps(0)
    assert cell.capacity.measured
    look(cell, 2, station(1_100), station(900, number=1, connected_s=1), survey=surveyed(2))
    assert cell.active_senders == 2
    assert cell.capacity.bps(0) == before
    look(cell, 3, station(1_200), survey=surveyed(3))
    assert cell.capacity.bps(0) == before
    look(cell, 4, station(1_300), survey=surveyed(4))
    assert cell.capacity.bps(0) < before


def test_a_survey_that_started_anew_gives_no_ratio() -> None:
    cell = new_cell()
    look(cell, 0, station(0), survey=surveyed(50))
    look(cell, 1, station(1_000), survey=surveyed(0))
    assert cell.busy_ratio is None
    look(cell, 2, station(2_000), survey=surveyed(1))
    assert cell.busy_ratio == pytest.approx(0.9)


def test_stale_reports_are_refused_and_change_nothing() -> None:
    cell = new_cell()
    look(cell, 5, station(0))
    look(cell, 6, station(1_000))
    with pytest.raises(ReportRefusedError, match="monotonic_us = 101000000: stale: 106000000 came before"):
        look(cell, 1, station(9_000))
    stale = AccessPointReport(bssid=BSSID, sequence=2, monotonic_us=10**12)
    with pytest.raises(ReportRefusedError, match="sequence = 2: stale"):
        cell.accept(1, stale, 0)
    assert cell.active_senders == 1


def test_an_access_point_that_booted_is_compared_with_nothing() -> None:
    cell = new_cell()
    look(cell, 50, station(1_000))
    look(cell, 51, station(2_000))
    look(cell, 1, station(5_000), stream=2)
    assert cell.active_senders == 0
    look(cell, 2, station(5_500), stream=2)
    assert cell.uplink_bps == pytest.approx(500 * 1_500 * 8)


def test_an_agent_that_reconnects_goes_on() -> None:
    cell = new_cell()
    look(cell, 0, station(0))
    look(cell, 1, station(1_000))
    look(cell, 3, station(3_000), stream=2)
    assert cell.uplink_bps == pytest.approx(1_000 * 1_500 * 8)


def test_a_counter_that_jumped_is_counted_and_spoils_nothing() -> None:
    cell = new_cell()
    look(cell, 0, station(0), station(0, number=1))
    look(cell, 1, station(1_000), station(0, number=1))
    before, capacity_bps = cell.active_senders, cell.capacity.bps(0)
    look(cell, 2, station(2_000), station(2**40, number=1))
    assert cell.uplink_bps == pytest.approx(1_000 * 1_500 * 8)
    assert cell.active_senders == before
    assert cell.capacity.bps(0) == capacity_bps
    look(cell, 3, station(3_000), station(2**40 + 500, number=1))
    assert cell.uplink_bps == pytest.approx(1_500 * 1_500 * 8)
    assert cell.active_senders == 2


@pytest.mark.parametrize("field", ["rx_bytes", "rx_packets", "tx_packets", "tx_retries"])
def test_every_counter_that_jumps_is_named(field: str) -> None:
    cell = new_cell()
    look(cell, 0, station(0))
    look(cell, 1, station(1_000))
    jumped = replace(station(2_000), **{field: 2**40})
    report = AccessPointReport(bssid=cell.bssid, sequence=3, monotonic_us=102 * SECOND_US, stations=(jumped,))
    [jump] = cell.accept(1, report, 2 * SECOND_US)
    assert str(jump).startswith(f"stations[{jumped.mac}].{field} = {2**40}: ")


COUNTS = st.integers(0, 2**63 - 1)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5 * SECOND_US),
            st.lists(
                st.builds(
                    Station,
                    mac=st.sampled_from([mac(number) for number in range(3)]),
                    rx_bytes=COUNTS,
                    rx_packets=COUNTS,
                    tx_packets=COUNTS,
                    tx_retries=COUNTS,
                    connected_time_ms=st.integers(0, 10_000),
                ),
                max_size=3,
                unique_by=lambda entry: entry.mac,
            ),
        ),
        max_size=20,
    )
)
def test_no_counters_make_a_negative_rate(looks: list[tuple[int, list[Station]]]) -> None:
    cell, at_us = new_cell(), 0
    for pause_us, stations in looks:
        at_us += pause_us
        look(cell, at_us / 1e6, *stations)
        assert cell.uplink_bps >= 0
        assert cell.capacity.bps(at_us) > 0
        assert all(state.payload_bytes_per_s >= 0 for state in cell.stations.values())
