# SPDX-License-Identifier: Apache-2.0
"""An OpenWrt access point of 802.11ac whose TXOP limit nobody can set to 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

TEN: dict[str, Any] = {
    "phy": "11ac-80", "ap": "openwrt", "kernel_line": "6.12", "terminals": 10, "wired_delays_ms": (4.0,),
    "seconds": 12, "warmup_seconds": 5,
}  # fmt: skip
LEAST = 0.95


def test_phones_carry_what_they_carry_without_bounds_and_the_log_has_the_reason(
    boot_cell: Callable[..., Cell],
) -> None:
    """With bounds it is 0.9 of that."""
    without, kept = boot_cell("cubic", **TEN), boot_cell("airbound", ap_edca=False, **TEN)
    assert kept.run.total_goodput_mbps >= LEAST * without.run.total_goodput_mbps
    log = (kept.logs / "log" / "controller.log").read_text(encoding="utf-8")
    assert "the access point keeps its TXOP limit of 2.0 ms, beside which bounds cost throughput" in log
