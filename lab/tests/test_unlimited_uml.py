# SPDX-License-Identifier: Apache-2.0
"""Phones with an agent beside one without, at an access point that limits no windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

MIXED: dict[str, Any] = {
    "phy": "11ac-80", "ap": "openwrt", "kernel_line": "6.12", "terminals": 3, "agents": 2, "wired_delays_ms": (4.0,),
    "seconds": 22, "warmup_seconds": 12,
}  # fmt: skip


def test_bounds_grow_until_phones_with_an_agent_have_what_the_other_has(boot_cell: Callable[..., Cell]) -> None:
    """Under `bdp` maxima stay as computed, and the phone without an agent gets several times as much as the others."""
    held, met = (boot_cell(mode, **MIXED) for mode in ("bdp", "airbound"))
    assert held.run.agentless_ratio is not None
    assert met.run.agentless_ratio is not None
    assert held.run.agentless_ratio > 2
    assert met.run.agentless_ratio < 1.25
    log = (met.logs / "log" / "controller.log").read_text(encoding="utf-8")
    assert "warning unlimited 02:00:00:00:00:00: 02:00:00:00:03:00 takes more than its part" in log


@pytest.mark.parametrize("mode", ["airbound", "airbound+stock"])
def test_windows_of_a_stock_kernel_wait_for_the_air_as_those_of_a_patched_one(
    boot_cell: Callable[..., Cell], mode: str
) -> None:
    """With TCP's own pacing ratios a stock kernel's accesses are shorter, and twelve phones carry less."""
    many = {**MIXED, "terminals": 12, "agents": None, "seconds": 12, "warmup_seconds": 5}
    assert boot_cell(mode, **many).run.total_goodput_mbps > 470
