# SPDX-License-Identifier: Apache-2.0
"""`airbound explain` of a station without an agent: its limits, and what its switch counts."""

import pytest

from airbound.operator import cli
from airbound.operator.client import Client
from airbound.testing.live import MACS
from airbound.v1 import operations_pb2

MAC = MACS[0]


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
