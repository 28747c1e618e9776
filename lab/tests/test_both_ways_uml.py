# SPDX-License-Identifier: Apache-2.0
"""Uploads beside downloads where frames are aggregated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml


def test_each_direction_has_its_part_of_the_air(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell(
        "airbound",
        scenario=built_in("both-ways"),
        terminals=7,
        phy="11n-20",
        ap="openwrt",
        kernel_line="6.12",
        wired_delays_ms=(16.0,),
        seconds=20,
        warmup_seconds=12,
    ).run
    assert run.air_jain is not None
    assert run.air_jain > 0.9
    assert run.total_goodput_mbps > 45
