# SPDX-License-Identifier: Apache-2.0
"""`airbound explain` of a station without an agent: its limits, and what its switch counts."""

from typing import Any

import pytest

from airbound.operator import cli
from airbound.operator.client import Client, NotFoundError
from airbound.v1 import operations_pb2, reason_pb2
from airbound_testing.live import MACS

MAC = MACS[0]


LIMIT = operations_pb2.WindowLimitSent(station=MAC, destination="10.0.4.1", max_bytes=28_960)
CANNOT_BOUND = reason_pb2.Reason(code=reason_pb2.REASON_CODE_BACK_END_CANNOT_BOUND, subject="none")
DECIDED = operations_pb2.Decision(destination="10.0.4.1", min_segs=10, max_segs=20, policy="bdp", active_senders=2)


@pytest.mark.parametrize(
    ("view", "cell", "shown"),
    [
        ({"lack": CANNOT_BOUND, "limits": [LIMIT], "decisions": [DECIDED]}, {"generation_sent": 9}, True),
        ({"lack": CANNOT_BOUND, "decisions": [DECIDED]}, {}, True),
        ({}, {}, False),
        (None, {}, False),
        ({"lack": CANNOT_BOUND}, None, False),
    ],
)
def test_a_terminal_whose_agent_cannot_bound_has_its_access_points_limits(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    view: dict[str, Any] | None,
    cell: dict[str, Any] | None,
    *,
    shown: bool,
) -> None:
    windows = None if cell is None else operations_pb2.CellWindows(**cell)
    of_cell = operations_pb2.Cell(bssid="02:00:00:00:00:01", windows=windows)
    terminal = operations_pb2.Terminal(name="192.0.2.7", mac=MAC, no_bounds=CANNOT_BOUND)

    def explain_station(_: Client, mac: str) -> operations_pb2.ExplainStationResponse:
        assert windows is not None, "asked for nothing"
        assert mac == MAC
        if view is None:
            raise NotFoundError("it has left")
        return operations_pb2.ExplainStationResponse(
            station=operations_pb2.StationView(mac=MAC, terminal="192.0.2.7", **view), cell=of_cell
        )

    explained = operations_pb2.ExplainTerminalResponse(terminal=terminal, cell=of_cell)
    monkeypatch.setattr(Client, "explain", lambda _, __: explained)
    monkeypatch.setattr(Client, "explain_station", explain_station)
    monkeypatch.setattr(Client, "stations", lambda _, __: operations_pb2.ListStationsResponse())
    monkeypatch.setattr(Client, "station_traffic", lambda _, __: operations_pb2.GetStationTrafficResponse())
    assert cli.main(["explain", "192.0.2.7", "--controller", "127.0.0.1:1", "--plain-text"]) == 0
    out = capsys.readouterr().out
    assert "no bounds: " in out
    assert ("windows, limited by its access point instead: " in out) is shown
    if shown:
        what = "28960 bytes a connection" if view and "limits" in view else "computed, not sent"
        assert f"10.0.4.1 20 segments, policy bdp, n=2, {what}" in out
        assert f"generation sent {9 if view and 'limits' in view else 'none'}" in out


@pytest.mark.parametrize("known", [True, False])
def test_what_the_switch_counts_is_shown_below_the_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, known: bool
) -> None:
    station = operations_pb2.ExplainStationResponse(station=operations_pb2.StationView(mac=MAC))
    counted = operations_pb2.SwitchStation(mac=MAC, datapath_id="0000020000000001", uplink_bps=3_000_000)
    asked = list[str]()

    def traffic(_: Client, mac: str) -> operations_pb2.GetStationTrafficResponse:
        asked.append(mac)
        return operations_pb2.GetStationTrafficResponse(stations=[counted] if known else [])

    monkeypatch.setattr(Client, "explain", lambda _, __: station)
    monkeypatch.setattr(Client, "station_traffic", traffic)
    assert cli.main(["explain", MAC, "--controller", "127.0.0.1:1", "--plain-text"]) == 0
    assert asked == [MAC]
    out = capsys.readouterr().out
    assert MAC in out
    assert ("by the switch 0000020000000001" in out) is known
