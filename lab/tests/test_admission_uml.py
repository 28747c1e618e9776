# SPDX-License-Identifier: Apache-2.0
"""Video by admission, and packets to a phone sent as video, with a real hostapd, wpa_supplicant and mac80211 in a cell
of User Mode Linux with WPA2: what a phone marks as video goes as best effort while it is not admitted, what the access
point sends as video does not, and a phone that comes back is let in.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import ProgramsBeside

pytestmark = pytest.mark.uml

GUEST = host.REPOSITORY / "lab" / "tests" / "admission_guest.py"
KEY = "0123456789abcdef" * 4
SENT, FEW = 180, 5
"""Of the 200 packets of a phase: at least, and at most of what is not there but for packets on the way."""
KEY_EXCHANGE = 2
"""Messages of a station (two of four), which have the traffic identifier 7, as some of IPv6 do."""


@pytest.fixture(scope="module")
def measured(
    boot_cell: Callable[..., Any], programs_beside: type[ProgramsBeside], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What admission_guest.py measured in a cell with WPA2."""
    hostapd, supplicant = guest_plan._hostapd, guest_plan._wpa_supplicant
    protected = f"wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_psk={KEY}\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guest_plan, "_hostapd", lambda *arguments: hostapd(*arguments) + protected)
        patch.setattr(
            guest_plan,
            "_wpa_supplicant",
            lambda *arguments: supplicant(*arguments).replace("key_mgmt=NONE", f"key_mgmt=WPA-PSK\n\tpsk={KEY}"),
        )
        beside = programs_beside(tmp_path_factory.mktemp("admission"), patch)
        start = f"{beside.add(GUEST)} {beside.AGENT} >/run/result/log/admission.log 2>&1 &"
        beside.start(start, "--no-edca --no-station-flows")
        scenario = Scenario("admission", (Action(0, "start-traffic", protocol="udp", rate_mbps=0.1),))
        cell = boot_cell(
            "airbound", scenario=scenario, terminals=1, wired_delays_ms=(16.0,), seconds=22, wmm=True,
            kernel_line="6.12",
        )  # fmt: skip
    found: dict[str, Any] = json.loads((cell.logs / "admission.json").read_text(encoding="utf-8"))
    return found


def test_video_by_admission_and_flows_to_a_phone(measured: dict[str, Any]) -> None:
    phases = measured["phases"]
    generations = {name: phase["generations"] for name, phase in phases.items()}
    assert generations == {
        "before": [0, 0],
        "by admission": [1, 0],
        "by admission, flows to the phone": [1, 1],
        "associated again": [1, 1],
        "without advantage": [2, 1],
        "the leases ended": [0, 0],
    }
    for phase in phases.values():
        assert phase["refused"] == [0, 0]
        assert phase["takes"] == [True, True]
        assert phase["counts"]
        assert phase["sent"] >= SENT
    as_video = {name: phase["sent_as_video"] for name, phase in phases.items()}
    for name in ("before", "without advantage", "the leases ended"):
        assert as_video[name] >= SENT, name
    for name in ("by admission", "by admission, flows to the phone", "associated again"):
        assert as_video[name] <= FEW, name
    to_phone = {name: phase["received_as_video"] for name, phase in phases.items()}
    for name in ("before", "by admission", "the leases ended"):
        assert to_phone[name] <= FEW, name
    # The access point's own frames need no admission.
    for name in ("by admission, flows to the phone", "associated again", "without advantage"):
        assert to_phone[name] >= SENT, name
    assert phases["by admission"]["marked_total"] == 0
    assert phases["the leases ended"]["marked_total"] >= 3 * SENT


def test_key_exchanges_go_as_best_effort_while_voice_is_by_admission(measured: dict[str, Any]) -> None:
    assert measured["phases"]["before"]["voice_total"] >= KEY_EXCHANGE
    assert measured["phases"]["associated again"]["voice_total"] == 0
    assert measured["reassociated_s"] < 10
