# SPDX-License-Identifier: Apache-2.0
"""Who sends, by the controller, in the scripted scenario of starts and stops: by nl80211 or by OpenFlow, each with the
phones' own reports and without.

The limits are a little below what seeds 1 to 3 have (docs/studies/2026-11-23-phones-without-an-agent.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.plan.open_vswitch import REVALIDATOR_MS
from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

SCENARIO = {
    "scenario": built_in("starts-and-stops"), "terminals": 6, "warmup_seconds": 0, "seconds": 30,
    "watch_senders_ms": 100,
}  # fmt: skip
INTERVAL_MS = 1_000
"""Between two reports of an access point."""
LATE_MS = 100


def check(cell: Cell, *, precision: float, recall: float, counters_ms: int = 0) -> None:
    """`counters_ms`: by how much what the access point counts lags behind what was on the air."""
    delay_ms = INTERVAL_MS + counters_ms + LATE_MS
    found = cell.run.senders
    assert found is not None
    assert found.precision is not None
    assert found.precision > precision  # those who download are no senders
    on_air = found.air
    assert on_air is not None
    assert on_air.precision is not None
    assert on_air.recall is not None
    assert on_air.precision > precision
    assert on_air.recall > recall
    # Where a connection comes up at the very end of an upload, that is over before the access point's next report.
    assert on_air.missed_longest_ms is None or on_air.missed_longest_ms < INTERVAL_MS
    assert on_air.stops_missed == 0
    assert on_air.start_delay_max_ms is not None
    assert on_air.stop_delay_max_ms is not None
    assert round(on_air.start_delay_max_ms) <= delay_ms
    assert round(on_air.stop_delay_max_ms) <= delay_ms  # asked every 100 ms, and the answer takes a moment


def test_by_nl80211_alone(boot_cell: Callable[..., Cell]) -> None:
    check(boot_cell("airbound", agents=0, **SCENARIO), precision=0.9, recall=0.9)


def test_by_nl80211_and_the_phones_own_reports(boot_cell: Callable[..., Cell]) -> None:
    """What phones' agents send makes no stop known later, and what they report keeps pauses from counting as stops."""
    check(boot_cell("airbound", **SCENARIO), precision=0.92, recall=0.96)


def test_by_openflow_alone_of_a_cell_that_the_operator_bound(boot_cell: Callable[..., Cell]) -> None:
    cell = boot_cell("airbound", agents=0, ap_agent=False, switch="openflow", **SCENARIO)
    check(cell, precision=0.9, recall=0.87, counters_ms=REVALIDATOR_MS)
    log = (cell.logs / "log" / "controller.log").read_text(encoding="utf-8")
    assert "rules 000002ab00000001 02:00:00:00:00:00" in log


def test_by_openflow_and_the_phones_own_reports(boot_cell: Callable[..., Cell]) -> None:
    """Phones' agents join the cell that their access point's switch alone reports, and are not counted twice."""
    cell = boot_cell("airbound", ap_agent=False, switch="openflow", **SCENARIO)
    check(cell, precision=0.93, recall=0.95, counters_ms=REVALIDATOR_MS)
    log = (cell.logs / "log" / "controller.log").read_text(encoding="utf-8")
    assert "the terminal began to send" in log
    counts = [int(line.rpartition("-> ")[2]) for line in log.splitlines() if " info senders " in line]
    assert max(counts) <= 5  # of six phones one only downloads
