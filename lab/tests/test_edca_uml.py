# SPDX-License-Identifier: Apache-2.0
"""The access point's EDCA parameters in a real cell: set while uploads dominate, and never left behind.

Whatever ends, agent, controller or hostapd: the kernel's own record says what is set on the access point's queues.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario, built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.records.edca_trace import QueueSetting
    from airbound_lab.settings.scenario import HostapdAction

pytestmark = pytest.mark.uml

OWN, SET = (2, 15, 1023, 0), (4, 15, 1023, 0)
"""AIFSN, CWmin, CWmax and TXOP limit of the access point's best effort queue, without WMM."""

OWN_WMM, SET_WMM = (3, 15, 63, 0), (5, 15, 1023, 0)
"""With WMM: hostapd's default; its stations have 3, 15, 1023."""

SET_BY_S = 4.0
"""From the beginning of the uploads."""

LEASE_S, MARGIN_S = 6.0, 2.0
"""The controller's default, and the guard's second of grace with another one."""

AT_ONCE_S = 0.5
RESTORED_BY_S = 8.0
"""From the end of the uploads: stations count as senders for some seconds, and then too few for three."""


def upload(*actions: Action) -> Scenario:
    """Every phone uploads from the beginning."""
    return Scenario("EDCA", (Action(0, "start-traffic"), *actions))


@pytest.fixture(scope="module")
def boot_edca(boot_cell: Callable[..., Cell]) -> Callable[..., Cell]:
    """Boots three phones with the controller as it is installed, and records the queues."""

    def boot(scenario: Scenario, seconds: int, *, edca_trace: bool = True, **changes: object) -> Cell:
        three = {"terminals": 3, "wired_delays_ms": (64.0,), "seconds": seconds}
        return boot_cell("airbound", scenario=scenario, edca_trace=edca_trace, **three, **changes)

    return boot


def best_effort(cell: Cell, from_s: float, to_s: float) -> list[QueueSetting]:
    """What is set on the best effort queue in a time, its end included."""
    return [s for s in cell.queue_settings() if s.category == "BE" and from_s < s.t_s <= to_s]


def in_force(cell: Cell, t_s: float) -> tuple[int, int, int, int] | None:
    """The best effort queue's parameters at a moment; None before the first setting of the record."""
    settings = best_effort(cell, -1e9, t_s)
    return settings[-1].parameters if settings else None


def generations(cell: Cell) -> list[int]:
    """Of the sets that the agent applied, in order."""
    log = (cell.logs / "log" / "ap.log").read_text(encoding="utf-8")
    return [int(number) for number in re.findall(r'"new EDCA parameters" interface=\S+ generation=(\d+) queues="', log)]


@pytest.fixture(scope="module")
def twice(boot_edca: Callable[..., Cell]) -> Callable[..., Cell]:
    """Uploads until 8 s, again from 17 s; the agent ends with SIGTERM at 21 s, under traffic."""
    actions = (Action(8, "stop-traffic"), Action(17, "start-traffic"), Action(21, "stop", component="ap"))
    return lambda **changes: boot_edca(upload(*actions), 23, **changes)


def test_the_best_effort_queue_waits_longer_while_there_are_uploads(twice: Callable[..., Cell]) -> None:
    cell = twice()
    assert in_force(cell, 0) is None
    for began_s in (0, 17):
        assert in_force(cell, began_s + SET_BY_S) == SET
    assert [s.parameters for s in best_effort(cell, 0, 8)] == [SET]
    assert [s.parameters for s in best_effort(cell, 8, 17)] == [OWN]
    assert in_force(cell, 8 + RESTORED_BY_S) == OWN


def test_no_other_queue_is_touched(twice: Callable[..., Cell]) -> None:
    assert {setting.category for setting in twice().queue_settings()} == {"BE"}


def test_an_agent_that_ends_restores_at_once(twice: Callable[..., Cell]) -> None:
    cell = twice()
    assert in_force(cell, 20.9) == SET
    assert in_force(cell, 21 + AT_ONCE_S) == OWN
    assert in_force(cell, 23) == OWN


def test_a_run_whose_queues_are_recorded_is_the_run_without_to_the_digit(twice: Callable[..., Cell]) -> None:
    recorded, plain = twice(), twice(edca_trace=False)
    assert recorded.run.comparable() == plain.run.comparable()
    assert not (plain.logs / "edca-trace.pages").exists()


def test_an_agent_that_is_killed_leaves_nothing_behind(boot_edca: Callable[..., Cell]) -> None:
    # The next agent starts later than the lease and the margin: it is not what restores.
    killed_s, started_s, seconds = 6.0, 15.0, 21
    actions = (Action(killed_s, "kill", component="ap"), Action(started_s, "start", component="ap"))
    cell = boot_edca(upload(*actions), seconds)
    assert in_force(cell, killed_s - 0.1) == SET
    assert in_force(cell, killed_s + LEASE_S + MARGIN_S) == OWN
    assert {s.parameters for s in best_effort(cell, killed_s, started_s)} == {OWN}
    assert in_force(cell, seconds) == SET, "the next agent is of no use"


def test_an_agent_that_hangs_has_its_lease_end_all_the_same(boot_edca: Callable[..., Cell]) -> None:
    paused_s, continued_s, seconds = 6.0, 16.0, 22
    actions = (Action(paused_s, "pause", component="ap"), Action(continued_s, "continue", component="ap"))
    cell = boot_edca(upload(*actions), seconds)
    assert in_force(cell, paused_s) == SET
    assert in_force(cell, paused_s + LEASE_S + MARGIN_S) == OWN
    assert {s.parameters for s in best_effort(cell, paused_s, continued_s)} == {OWN}
    assert in_force(cell, seconds) == SET, "the agent does not recover"


def test_without_a_controller_the_lease_ends(boot_edca: Callable[..., Cell]) -> None:
    # Shortly after a renewal: the agent ends the lease, the guard would a second later.
    killed_s, seconds = 5.4, 14
    cell = boot_edca(upload(Action(killed_s, "kill", component="controller")), seconds)
    assert in_force(cell, killed_s) == SET
    # Not before: the lease is what a restart of the controller has time for.
    assert in_force(cell, killed_s + LEASE_S / 2) == SET
    assert in_force(cell, killed_s + LEASE_S) == OWN
    assert in_force(cell, seconds) == OWN


def test_a_controller_that_starts_again_goes_on_without_a_gap(boot_edca: Callable[..., Cell]) -> None:
    killed_s, seconds = 7.0, 22
    actions = (Action(killed_s, "kill", component="controller"), Action(killed_s + 2, "start", component="controller"))
    cell = boot_edca(upload(*actions), seconds)
    assert json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["starts"]["controller"] == 2
    settings = best_effort(cell, 0, seconds)
    assert len(settings) >= 2
    assert {setting.parameters for setting in settings} == {SET}
    # A lease after the kill, what is in force is the new process's.
    numbers = generations(cell)
    assert len(numbers) >= 2
    assert all(later > earlier for earlier, later in itertools.pairwise(numbers))


@pytest.mark.parametrize("action", ["reload-hostapd", "restart-radio"])
def test_the_parameters_outlast_hostapd_and_end_as_usual(boot_edca: Callable[..., Cell], action: HostapdAction) -> None:
    at_s, stopped_s, seconds = 6.0, 16.0, 25
    actions = (Action(at_s, action), Action(stopped_s, "stop-traffic"))
    cell = boot_edca(upload(*actions), seconds)
    hostapd = (cell.logs / "log" / "hostapd.log").read_text(encoding="utf-8")
    assert hostapd.count("AP-STA-CONNECTED") == 6, "the stations did not leave and come back"
    assert all(phone.series.goodput_mbps[int(stopped_s) - 2] > 0 for phone in cell.run.phones)
    changed = {setting.category for setting in cell.queue_settings() if at_s <= setting.t_s <= at_s + AT_ONCE_S}
    assert changed == ({"VO", "VI", "BE", "BK"} if action == "restart-radio" else set())
    assert in_force(cell, at_s - 0.1) == SET
    for t_s in range(int(at_s) + 1, int(stopped_s)):
        assert in_force(cell, t_s) == SET
    assert in_force(cell, stopped_s + RESTORED_BY_S) == OWN


def test_with_wmm_the_largest_contention_window_is_the_stations(boot_edca: Callable[..., Cell]) -> None:
    cell = boot_edca(upload(Action(6, "stop-traffic")), 15, wmm=True)
    assert [s.parameters for s in cell.queue_settings()] == [SET_WMM, OWN_WMM]
    assert in_force(cell, SET_BY_S) == SET_WMM
    assert in_force(cell, 6 + RESTORED_BY_S) == OWN_WMM


def test_a_controller_that_observes_sets_nothing(boot_edca: Callable[..., Cell]) -> None:
    cell = boot_edca(upload(), 8, controller_config='mode = "observe"\n')
    assert cell.queue_settings() == []
    assert "active senders 0 -> " in (cell.logs / "log" / "controller.log").read_text(encoding="utf-8")


def test_downloads_set_nothing(boot_edca: Callable[..., Cell]) -> None:
    cell = boot_edca(built_in("downlink"), 8)
    assert cell.queue_settings() == []
    assert cell.run.total_goodput_mbps > 5
