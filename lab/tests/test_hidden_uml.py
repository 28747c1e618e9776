# SPDX-License-Identifier: Apache-2.0
"""Phones that do not hear each other, in the whole stack: what it costs, and what RTS brings back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.medium_theory import exchange, ppdu
from airbound_lab.medium_theory.hidden import hidden_pair
from airbound_lab.medium_theory.ppdu import Band
from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Cell

pytestmark = pytest.mark.uml

LINES: dict[str, dict[str, Any]] = {"6.1": {}, "6.12": {"kernel_line": "6.12", "ap": "openwrt"}}
SATURATED: dict[str, Any] = {
    "scenario": built_in("saturation"),
    "rate_control": "fixed",
    "terminals": 2,
    "hidden": ((1, 2),),
    "seconds": 8,
    "warmup_seconds": 2,
}
ATTEMPTS = 100_000


@pytest.mark.parametrize("rts", [False, True])
def test_a_pair_of_802_11g_has_what_a_simulation_has(boot_cell: Callable[..., Cell], *, rts: bool) -> None:
    run = boot_cell("cubic", **SATURATED, **({"rts_bytes": 0} if rts else {})).run
    sent = exchange.exchange(ppdu.legacy(54), Band.GHZ_2_4, qos=False, rts=rts)
    expected = hidden_pair(sent, Band.GHZ_2_4, accesses=ATTEMPTS, aifsn=2)
    assert run.total_goodput_mbps == pytest.approx(expected.payload_mbps, rel=0.05)


@pytest.mark.parametrize("line", LINES)
def test_a_pair_that_aggregates_needs_rts(boot_cell: Callable[..., Cell], line: str) -> None:
    radio = {"phy": "11n-20", "guard_interval": "long", **LINES[line]}
    without, with_rts = (
        boot_cell("cubic", **SATURATED, **radio, **protection).run.total_goodput_mbps
        for protection in ({}, {"rts_bytes": 0})
    )
    sent = exchange.exchange(ppdu.ht(7), Band.GHZ_2_4, rts=True)
    expected = hidden_pair(sent, Band.GHZ_2_4, accesses=ATTEMPTS)
    assert with_rts == pytest.approx(expected.payload_mbps, rel=0.05)
    assert without < with_rts / 5
