# SPDX-License-Identifier: Apache-2.0
"""The EDCA parameters that an access point announces to its stations, in a real cell: they take them over from the
beacon, without a reassociation, and have their former ones again when the lease ends, whatever ends it.

Each station's kernel has its own record of what is set on its queues.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab.plan.guest_plan import BEACON_INTERVAL_TU
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.records.edca_trace import QueueSetting

pytestmark = pytest.mark.uml

PHONES = 3
CONFIGURATION = "[edca]\nstations_aifsn = 4\nstations_cw_min = 31\nstations_cw_max = 511\n"
OWN, TOLD = (3, 15, 1023, 0), (4, 31, 511, 0)
"""AIFSN, CWmin, CWmax and TXOP limit of the stations' best effort queues: hostapd's defaults, and as configured."""

AP_OWN, AP_SET = (3, 15, 63, 0), (6, 15, 511, 0)
"""The access point's own: two slots more than its stations, and their CWmax."""

TWO_BEACONS_S = 2 * BEACON_INTERVAL_TU * 1024e-6
SET_BY_S, LEASE_S, MARGIN_S = 4.0, 6.0, 2.0


def upload(*actions: Action) -> Scenario:
    """Every phone uploads from the beginning."""
    return Scenario("EDCA of stations", (Action(0, "start-traffic"), *actions))


@pytest.fixture(scope="module")
def boot_told(boot_cell: Callable[..., Cell]) -> Callable[..., Cell]:
    """Boots phones with the controller as it is installed, configured to tell the stations."""

    def boot(scenario: Scenario, seconds: int, **changes: object) -> Cell:
        cell = {"terminals": PHONES, "wired_delays_ms": (64.0,), "seconds": seconds, "wmm": True}
        cell |= {"scenario": scenario, "edca_trace": True, "controller_config": CONFIGURATION}
        return boot_cell("airbound", **(cell | changes))

    return boot


def best_effort(settings: list[QueueSetting], from_s: float, to_s: float) -> list[QueueSetting]:
    """What is set on best effort queues in a time, its end included."""
    return [setting for setting in settings if setting.category == "BE" and from_s < setting.t_s <= to_s]


def in_force(cell: Cell, t_s: float) -> set[tuple[int, int, int, int]]:
    """The parameters of the stations' best effort queues at a moment; before the first setting those of association."""
    last = {f"wlan{phone}": OWN for phone in range(1, PHONES + 1)}
    last |= {setting.interface: setting.parameters for setting in best_effort(cell.station_settings(), -1e9, t_s)}
    assert len(last) == PHONES
    return set(last.values())


def check_change(cell: Cell, from_s: float, to_s: float, ap: tuple[int, ...], told: tuple[int, ...]) -> None:
    """Whenever the access point's queue is set in a time, the stations' follow within two beacon intervals."""
    changes = [setting.t_s for setting in best_effort(cell.queue_settings(), from_s, to_s) if setting.parameters == ap]
    assert changes
    for at_s in changes:
        assert in_force(cell, at_s + TWO_BEACONS_S) == {told}
        # No station had other parameters on the way, as of a beacon between two changes.
        on_the_way = best_effort(cell.station_settings(), at_s, at_s + TWO_BEACONS_S)
        assert {setting.parameters for setting in on_the_way} == {told}


def check_association(cell: Cell) -> None:
    """Nobody associated but at the beginning."""
    hostapd = (cell.logs / "log" / "hostapd.log").read_text(encoding="utf-8")
    assert hostapd.count("AP-STA-CONNECTED") == PHONES
    assert "AP-STA-DISCONNECTED" not in hostapd


@pytest.fixture(scope="module")
def stopped(boot_told: Callable[..., Cell]) -> Callable[..., Cell]:
    """Uploads until 6 s."""
    return lambda **changes: boot_told(upload(Action(6, "stop-traffic")), 16, **changes)


def test_stations_take_a_set_over_within_two_beacon_intervals_and_give_it_back(stopped: Callable[..., Cell]) -> None:
    cell = stopped()
    assert in_force(cell, 0) == {OWN}
    check_change(cell, 0, SET_BY_S, AP_SET, TOLD)
    assert in_force(cell, 6) == {TOLD}
    check_change(cell, 6, 14, AP_OWN, OWN)
    assert in_force(cell, 16) == {OWN}
    check_association(cell)


def test_no_other_queue_of_a_station_changes(stopped: Callable[..., Cell]) -> None:
    cell = stopped()
    settings = [setting for setting in cell.station_settings() if setting.category != "BE"]
    values = {category: {s.parameters for s in settings if s.category == category} for category in ("VO", "VI", "BK")}
    assert values == {"VO": {(2, 3, 7, 47)}, "VI": {(2, 7, 15, 94)}, "BK": {(7, 15, 1023, 0)}}


def test_what_an_operator_configures_is_what_stations_associate_with(boot_told: Callable[..., Cell]) -> None:
    # Back to what hostapd's configuration has, which is not its default.
    told = (4, 15, 511, 0)
    cell = boot_told(
        upload(Action(5, "stop-traffic")), 14, sta_aifsn=5, sta_cw_min=63,
        controller_config="[edca]\nstations_aifsn = 4\nstations_cw_min = 15\nstations_cw_max = 511\n",
    )  # fmt: skip
    check_change(cell, 0, SET_BY_S, AP_SET, told)
    check_change(cell, 5, 13, AP_OWN, (5, 63, 1023, 0))
    check_association(cell)


def test_when_the_controller_is_gone_stations_return_with_the_lease(boot_told: Callable[..., Cell]) -> None:
    killed_s, seconds = 5.4, 14
    cell = boot_told(upload(Action(killed_s, "kill", component="controller")), seconds)
    assert in_force(cell, killed_s) == {TOLD}
    assert in_force(cell, killed_s + LEASE_S / 2) == {TOLD}
    check_change(cell, killed_s, killed_s + LEASE_S, AP_OWN, OWN)
    assert in_force(cell, seconds) == {OWN}
    check_association(cell)


def test_an_agent_that_is_killed_leaves_no_station_behind(boot_told: Callable[..., Cell]) -> None:
    killed_s, started_s, seconds = 6.0, 15.0, 21
    actions = (Action(killed_s, "kill", component="ap"), Action(started_s, "start", component="ap"))
    cell = boot_told(upload(*actions), seconds)
    assert in_force(cell, killed_s - 0.1) == {TOLD}
    check_change(cell, killed_s, killed_s + LEASE_S + MARGIN_S, AP_OWN, OWN)
    assert {s.parameters for s in best_effort(cell.station_settings(), killed_s, started_s)} == {OWN}
    assert in_force(cell, seconds) == {TOLD}, "the next agent is of no use"
    check_association(cell)


def test_hostapd_that_reads_its_configuration_again_is_told_again(boot_told: Callable[..., Cell]) -> None:
    at_s, seconds = 6.0, 20
    cell = boot_told(upload(Action(at_s, "reload-hostapd")), seconds)
    assert in_force(cell, at_s) == {TOLD}
    assert in_force(cell, seconds) == {TOLD}
    reported = (cell.logs / "log" / "ap.log").read_text(encoding="utf-8")
    assert len(set(re.findall(r'"new EDCA parameters" interface=\S+ generation=(\d+)', reported))) == 1


def test_without_wmm_the_access_point_is_sent_its_own_queues_part(boot_told: Callable[..., Cell]) -> None:
    cell = boot_told(upload(), 8, wmm=False)
    assert best_effort(cell.station_settings(), 0, 8) == []
    assert [s.parameters for s in best_effort(cell.queue_settings(), 0, 8)] == [(4, 15, 1023, 0)]
    log = (cell.logs / "log" / "ap.log").read_text(encoding="utf-8")
    assert "refused a command" not in log
    assert json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["starts"]["ap"] == 1
