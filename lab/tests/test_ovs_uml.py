# SPDX-License-Identifier: Apache-2.0
"""The access point's bridge as a real Open vSwitch, with the kernel's datapath."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

SHORT = {"terminals": 3, "seconds": 8, "warmup_seconds": 2}
GAP_MAX_MS = 200.0
DATAGRAMS = {"protocol": "udp", "rate_mbps": 1.2, "payload_bytes": 150}
"""One in a millisecond."""


def test_as_much_passes_as_through_the_kernels_bridge_and_the_same_each_time(boot_cell: Callable[..., Cell]) -> None:
    bridge, ovs = (boot_cell("bdp", switch=switch, **SHORT).run for switch in ("bridge", "ovs"))
    assert ovs.total_goodput_mbps == pytest.approx(bridge.total_goodput_mbps, rel=0.02)
    assert ovs.rtt_mean_ms == pytest.approx(bridge.rtt_mean_ms, rel=0.1)
    assert boot_cell("bdp", switch="ovs", fresh=True, **SHORT).run.comparable() == ovs.comparable()


def test_the_queues_of_its_ports_stay_as_they_are(boot_cell: Callable[..., Cell]) -> None:
    cell = boot_cell("cubic", switch="ovs", ap_qdisc="fq_codel", wired_delays_ms=(64.0,), **SHORT)
    shown = (cell.logs / "log" / "qdiscs-ap.log").read_text(encoding="utf-8")
    assert re.findall(r"^qdisc (\S+) \S+ root", shown, re.MULTILINE) == ["fq_codel"]
    # The wire's delay is a queueing discipline of a port as well.
    assert min(rtt for phone in cell.run.phones for rtt in phone.series.min_rtt_ms if rtt is not None) > 64


def test_stations_associate_with_wpa2(boot_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    # The frames of the key exchange come in on a port of the switch, which passes nothing on to packet sockets.
    access_point, supplicant = guest_plan._hostapd, guest_plan._wpa_supplicant
    wpa2 = "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=correct horse battery staple\n"
    monkeypatch.setattr(guest_plan, "_hostapd", lambda *arguments: access_point(*arguments) + wpa2)
    network = 'key_mgmt=WPA-PSK\n\tpsk="correct horse battery staple"'
    monkeypatch.setattr(
        guest_plan, "_wpa_supplicant", lambda frequencies: supplicant(frequencies).replace("key_mgmt=NONE", network)
    )
    scenario = Scenario("wpa2", (Action(0, "start-traffic"),))
    cell = boot_cell("cubic", switch="ovs", scenario=scenario, **SHORT)
    log = (cell.logs / "log" / "hostapd.log").read_text(encoding="utf-8")
    assert log.count("EAPOL-4WAY-HS-COMPLETED") == SHORT["terminals"]
    assert cell.run.total_goodput_mbps > 20


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_traffic_passes_while_the_daemon_is_gone_and_after_it_came_back(
    how: str, boot_cell: Callable[..., Cell]
) -> None:
    actions = (
        Action(0, "start-traffic", **DATAGRAMS),
        Action(4, how, component="switch"),
        Action(6, "start", component="switch"),
    )
    cell = boot_cell("cubic", switch="ovs", scenario=Scenario(f"switch, {how}", actions), **SHORT | {"seconds": 10})
    gaps_ms = [phone.gap_max_ms for phone in cell.run.phones]
    assert all(gap is not None and gap < GAP_MAX_MS for gap in gaps_ms), gaps_ms
    log = (cell.logs / "log" / "hostapd.log").read_text(encoding="utf-8")
    assert log.count("AP-STA-CONNECTED") == SHORT["terminals"]
    assert "AP-STA-DISCONNECTED" not in log
    assert json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["switch_starts"] == 2
