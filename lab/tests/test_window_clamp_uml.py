# SPDX-License-Identifier: Apache-2.0
"""Phones without an agent beside phones with one: what the access point's limits of windows, and meters, change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

MIXED = {"terminals": 4, "agents": 2, "seconds": 20, "warmup_seconds": 12, "wired_delays_ms": (64.0,)}
TIGHT = {"terminals": 10, "seconds": 20, "warmup_seconds": 10, "wired_delays_ms": (4.0,)}
ALIKE = 0.05
"""Phones without an agent are to have at least nearly as much as phones with one, and hardly more."""


def test_bounds_alone_leave_the_air_to_phones_without_an_agent(boot_cell: Callable[..., Cell]) -> None:
    """Those of `bdp`: the default's grow there, see test_unlimited_uml.py."""
    ratio = boot_cell("bdp+edca", **MIXED).run.agentless_ratio
    assert ratio is not None
    assert ratio > 10


@pytest.mark.parametrize("switch", ["bridge", "ovs"])
def test_with_limited_windows_all_have_the_same(switch: str, boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell("airbound", window_clamp=True, switch=switch, **MIXED).run
    assert run.agentless_ratio == pytest.approx(1, abs=ALIKE)
    unlimited = boot_cell("airbound", **MIXED).run
    assert run.rtt_mean_ms is not None
    assert unlimited.rtt_mean_ms is not None
    assert run.rtt_mean_ms < unlimited.rtt_mean_ms / 3
    assert run.total_goodput_mbps > 0.93 * unlimited.total_goodput_mbps


@pytest.mark.parametrize(("agents", "window_scale"), [(3, 9), (5, 7)])
def test_windows_of_two_segments_are_as_good_as_congestion_windows_of_two(
    agents: int, window_scale: int, boot_cell: Callable[..., Cell]
) -> None:
    # Ten senders at 4 ms: no other bound is as small, and units of windows matter most. Phones that do not send in
    # pairs, which the units of 512 bytes let some do, have more.
    alike = {7: ALIKE, 9: 0.12}
    run = boot_cell("airbound", window_clamp=True, agents=agents, window_scale=window_scale, **TIGHT).run
    assert run.agentless_ratio == pytest.approx(1, abs=alike[window_scale])
    assert run.jain > 0.99
    assert run.rtt_mean_ms is not None
    assert run.rtt_mean_ms < 20


def test_limits_survive_a_switch_that_is_killed(boot_cell: Callable[..., Cell]) -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(8, "kill", component="switch"),
        Action(9, "start", component="switch"),
    )
    scenario = Scenario("switch killed", actions)
    run = boot_cell("airbound", scenario=scenario, window_clamp=True, switch="ovs", **MIXED).run
    assert run.agentless_ratio == pytest.approx(1, abs=ALIKE)
