# SPDX-License-Identifier: Apache-2.0
"""The controller's estimate of a cell's capacity against what the cell carries: `study capacity`, one load of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.capacity_study import design
from airbound_lab.capacity_study.design import Point
from airbound_lab.settings.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Run
    from airbound_lab.settings.radio import PhyName

    from .conftest import Cell

pytestmark = pytest.mark.uml


@pytest.mark.parametrize(
    ("phy", "terminals", "load_percent"),
    [("11g", 5, 5.0), ("11n-20", 2, 50.0), ("11n-40", 5, 5.0), ("11ac-80", 5, 20.0)],
)
def test_the_estimate_is_within_a_tenth_of_what_the_cell_carries(
    boot_cell: Callable[..., Cell], phy: PhyName, terminals: int, load_percent: float
) -> None:
    point = Point(
        Parameters(
            phy=phy, ap="openwrt", kernel_line="6.12", terminals=terminals, wired_delays_ms=(16.0,), seconds=12,
            warmup_seconds=6,
        ),
        "tcp",
    )  # fmt: skip

    def run(parameters: Parameters) -> Run:
        [mode] = parameters.modes
        changed = {
            name: getattr(parameters, name)
            for name in ("phy", "ap", "kernel_line", "terminals", "wired_delays_ms", "seconds", "warmup_seconds")
        }
        return boot_cell(
            mode, scenario=parameters.scenario, watch_senders_ms=parameters.watch_senders_ms, **changed
        ).run

    true_mbps = design.carried_mbps(point, run(design.saturated(point, design.UNBOUNDED)))
    found = design.estimate(point, load_percent, run(design.loaded(point, true_mbps, load_percent)))
    assert found.carried_mbps == pytest.approx(true_mbps * load_percent / 100, rel=0.1)
    assert found.median_mbps == pytest.approx(true_mbps, rel=0.1)
