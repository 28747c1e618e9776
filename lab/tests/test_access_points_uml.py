# SPDX-License-Identifier: Apache-2.0
"""Several access points, in a cell of User Mode Linux: the air that they share, and that a roam can be repeated."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest

from airbound_lab.medium_theory import bianchi
from airbound_lab.settings.scenario import Action, Scenario, built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

SATURATION = {
    "scenario": built_in("saturation"), "terminals": 2, "access_points": 2, "rate_control": "fixed",
    "seconds": 6, "warmup_seconds": 2,
}  # fmt: skip


def test_two_access_points_on_one_channel_share_the_air(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell("cubic", **SATURATION).run
    one_channel_mbps = bianchi.saturation(bianchi.Stations(2))[0].payload_mbps
    assert run.total_goodput_mbps == pytest.approx(one_channel_mbps, rel=0.05)
    assert run.jain is not None
    assert run.jain > 0.98


@pytest.mark.parametrize("silent", [True, False])
def test_a_phone_takes_its_connections_along_and_equal_runs_are_equal(
    boot_cell: Callable[..., Cell],
    silent: bool,  # noqa: FBT001
) -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(2, "roam", phone=1, access_point=2),
        Action(4, "roam", phone=1, access_point=1, deaf_ms=200, silent=silent),
    )
    cell = {"terminals": 2, "access_points": 2, "seconds": 8, "warmup_seconds": 1}
    first, again = (
        boot_cell("bdp", scenario=Scenario(name, actions), fresh=fresh, **cell).run
        for name, fresh in (("first", False), ("a name that is much longer than the first", True))
    )
    assert first.comparable() == again.comparable()
    for goodput_mbps in (first.phones[0].series.goodput_mbps[3], first.phones[0].series.goodput_mbps[-1]):
        assert goodput_mbps > 1


def test_beside_a_neighbour_without_airbound_nobody_starves(boot_cell: Callable[..., Cell]) -> None:
    """Bounds alone would leave phones a tenth of what they have without (controller/airbound/core/cell/neighbours.py).

    Measured after maxima have grown, which takes some twenty seconds.
    """
    cell = {
        "terminals": 6, "access_points": 2, "ap": "openwrt", "phy": "11n-20", "kernel_line": "6.12",
        "wired_delays_ms": (16.0,), "seconds": 60, "warmup_seconds": 30,
    }  # fmt: skip
    before, after = (boot_cell(mode, **cell).run.phones for mode in ("cubic", "airbound@ap-agents=1"))
    for begins_at in (0, 1):  # of three phones each: with an agent, then without
        before_mbps, after_mbps = (
            statistics.fmean(phone.goodput_mbps for phone in phones[begins_at::2]) for phones in (before, after)
        )
        assert after_mbps > 0.8 * before_mbps
