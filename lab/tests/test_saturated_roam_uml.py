# SPDX-License-Identifier: Apache-2.0
"""A phone that sends all the UDP that its socket takes may lose its access point, and time goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

AWAY = Scenario(
    "saturated roam",
    (
        Action(0, "start-traffic", protocol="udp"),
        Action(2, "roam", phone=1, access_point=2, deaf_ms=500, silent=False),
    ),
)


def test_time_goes_on_while_all_that_a_phone_sends_is_gone_at_once(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell(
        "cubic", scenario=AWAY, terminals=2, access_points=2, seconds=5, warmup_seconds=0, wired_delays_ms=(4.0,)
    ).run
    away, stays = (phone.series.goodput_mbps for phone in run.phones)
    assert min(stays[1:]) > 5
    # Away for half of the third second; at its new access point it sends as before.
    assert away[2] < 0.7 * away[1]
    assert away[4] > 5
