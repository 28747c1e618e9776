# SPDX-License-Identifier: Apache-2.0
"""Tables of surveys are read, or refused with the place, and drawn."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.cli import main
from airbound_lab.errors import UsageError
from airbound_lab.survey.ride import COLUMNS, Arrival, Packet, Ride, read

HEADER = ",".join(COLUMNS)
BEGIN_US, OFFSET_US = 1_795_000_000_000_000, 3_600_000_000


def row(series: str, after_us: int, delay_us: int | None = 20_000) -> str:
    """A row of a packet up, whose uncertainty is 5 ms."""
    phone_us = BEGIN_US + after_us
    if delay_us is None:
        return f"{series},1,{phone_us},,,,"
    return f"{series},1,{phone_us},{phone_us + delay_us + OFFSET_US},{delay_us},5000,"


TABLE = [
    HEADER,
    row("tcp_up", 0),
    row("tcp_up", 100_000, 4_000_000),
    row("udp_up", 0, 30_000),
    row("udp_up", 100_000, None),
    f"udp_down,1,{BEGIN_US + 50_000},{BEGIN_US + OFFSET_US + 25_000},25000,6000,",
    f'event,1,{BEGIN_US + 90_000},{BEGIN_US + OFFSET_US + 90_000},,5000,"association ""x"", by nl80211"',
]


def test_points_by_the_phones_time_and_by_the_servers() -> None:
    ride = read(TABLE, "ride.csv")
    assert ride.by_phone("tcp_up") == [(0.0, 0.02), (0.1, 4.0)]
    assert ride.by_phone("udp_up") == [(0.0, 0.03)]
    assert ride.lost("udp_up") == [0.1]
    assert ride.by_phone("udp_down") == [(0.05, 0.025)]
    assert ride.server_begin_us == BEGIN_US + OFFSET_US + 20_000
    assert ride.by_server("tcp_up") == [(0.0, 0.02), (4.08, 4.0)]
    assert ride.by_server("udp_down") == [(0.005, 0.025)]
    assert ride.arrivals == [Arrival(BEGIN_US + 90_000, BEGIN_US + OFFSET_US + 90_000, 'association "x", by nl80211')]
    assert ride.uncertainty_s == 0.006


def test_without_the_clocks_difference_there_are_no_points() -> None:
    ride = read([HEADER, f"tcp_up,1,{BEGIN_US},{BEGIN_US},,,"], "ride.csv")
    assert ride == Ride(
        {"tcp_up": [Packet(BEGIN_US, BEGIN_US, None)], "udp_up": [], "udp_down": []}, [], uncertainty_s=None
    )
    assert ride.by_phone("tcp_up") == []
    assert ride.by_server("tcp_up") == []


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "line 1 is not series,"),
        (["a,b"], "line 1 is not series,"),
        ([HEADER], "no packet in it"),
        ([HEADER, "tcp_up,1,2"], "line 2: 3 columns, not 7"),
        ([HEADER, TABLE[1], "tcp_up,1,x,,,,"], "line 3: invalid literal for int"),
        ([HEADER, "icmp,1,2,,,,"], "line 2: no series 'icmp'"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(lines: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=f"^ride.csv: {re.escape(complaint)}"):
        read(lines, "ride.csv")


@given(st.lists(st.one_of(st.sampled_from(TABLE), st.text(max_size=40)), max_size=6))
def test_any_text_is_read_or_refused(lines: list[str]) -> None:
    try:
        ride = read([HEADER, *lines], "ride.csv")
    except UsageError:
        return
    assert sum(len(packets) for packets in ride.packets.values()) > 0


def test_the_command_draws_three_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "ride.csv"
    table.write_text("\n".join(TABLE), encoding="utf-8")
    assert main(["survey", str(table), "--pictures", str(tmp_path), "--span", "0,1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}
    assert set(texts) == {"survey-up.svg", "survey-phone.svg", "survey-server.svg"}
    assert "clocks compared to within 0.006 s" in texts["survey-up.svg"]
    assert "UDP down" in texts["survey-phone.svg"]
    assert "UDP down" not in texts["survey-up.svg"]
    assert "server's time" in texts["survey-server.svg"]


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err
