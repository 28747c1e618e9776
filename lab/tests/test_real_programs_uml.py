# SPDX-License-Identifier: Apache-2.0
"""Debian's iperf3 and irtt have the figures of our own generator in the same cell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from airbound_lab.plan.real_programs import IPERF3, IRTT
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

BESIDE = Action(0, "start-traffic", phone=2, protocol="udp", rate_mbps=0.1)
"""In the cell with iperf3 our generator has something to do as well."""
OURS = Scenario("one upload", (Action(0, "start-traffic", phone=1), BESIDE))
THEIRS = Scenario("a little UDP", (BESIDE,))


@pytest.mark.parametrize("window_segs", [100, 160])
def test_real_programs_have_the_same_figures(boot_cell: Callable[..., Cell], window_segs: int) -> None:
    """At 24 Mb/s and 64 ms the one window leaves the air idle at times, and the other fills it."""
    cell = {"terminals": 2, "wired_delays_ms": (64.0,), "seconds": 10, "warmup_seconds": 2}
    cell |= {"cwnd_clamp_segs": window_segs}
    ours = boot_cell("cubic", scenario=OURS, **cell).run
    logs = boot_cell("cubic", scenario=THEIRS, debian_programs=True, **cell).logs
    iperf3, irtt = (json.loads((logs / name).read_text(encoding="utf-8")) for name in (IPERF3, IRTT))
    received_mbps = iperf3["end"]["sum_received"]["bits_per_second"] / 1e6
    assert received_mbps == pytest.approx(ours.phones[0].goodput_mbps, rel=0.03)
    assert irtt["stats"]["rtt"]["n"] > 150
    assert irtt["stats"]["rtt"]["mean"] / 1e6 == pytest.approx(ours.rtt_mean_ms, rel=0.03)
