# SPDX-License-Identifier: Apache-2.0
"""A station on a VLAN interface of its own and a WDS peer, made by a real hostapd on a real kernel: what the access
point's agent makes of them, in a cell of User Mode Linux.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cell

pytestmark = pytest.mark.uml

GUEST, PEER, PHONE = "02:00:00:00:01:00", "02:00:00:00:02:00", "02:00:00:00:03:00"


def test_stations_on_a_vlan_and_a_wds_peer(
    boot_cell: Callable[..., Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = host.REPOSITORY / "build"
    for program in ("airbound-traffic", "airbound-phone"):
        (tmp_path / program).symlink_to(built / program)
    (tmp_path / "vlans").write_text("20 wlan0.20 br0\n")
    (tmp_path / "accepted").write_text(f"{GUEST} 20\n")
    more = f"""dynamic_vlan=1
vlan_file={tmp_path}/vlans
accept_mac_file={tmp_path}/accepted
wds_sta=1
wds_bridge=br0
"""
    plain = guest_plan._hostapd
    monkeypatch.setattr(guest_plan, "_hostapd", lambda *arguments: plain(*arguments) + more)
    wrapper = tmp_path / "airbound-ap"
    # The second station becomes a bridge's after it associated.
    wrapper.write_text(f"""#!/bin/sh
(
	sleep 3
	ip netns exec sta2 iw dev wlan2 set 4addr on
	sleep 4
	iw dev
	{built}/airbound-ap once --interface wlan0 --hostapd-control /run/hostapd --json >/run/result/once.json
) >/run/result/log/once.log 2>&1 &
exec {built}/airbound-ap "$@"
""")
    wrapper.chmod(0o755)
    monkeypatch.setattr(host.programs, "__defaults__", (tmp_path,))
    scenario = Scenario("vlan", (Action(0, "start-traffic", phone=3),))
    cell = boot_cell("airbound", scenario=scenario, terminals=3, wired_delays_ms=(16.0,), seconds=10)
    report = json.loads((cell.logs / "once.json").read_text(encoding="utf-8"))
    stations = {base64.b64decode(station["mac"]).hex(":"): station for station in report["stations"]}
    assert sorted(stations) == [GUEST, PEER, PHONE]
    found = {mac: (station["vlan_interface"], station["four_address"]) for mac, station in stations.items()}
    assert found == {GUEST: ("wlan0.20", False), PEER: ("wlan0.sta2", True), PHONE: ("", False)}
