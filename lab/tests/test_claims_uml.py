# SPDX-License-Identifier: Apache-2.0
"""What Airbound claims to do for ten phones, measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.figures.results import Run

pytestmark = pytest.mark.uml

PHONE_AGENT_MEMORY_KIB = 20 * 1024


@pytest.fixture(scope="module")
def ten(boot_cell: Callable[..., Cell]) -> Callable[..., Run]:
    def boot(mode: str, delay_ms: float, rate_control: str = "minstrel", terminals: int = 10) -> Run:
        return boot_cell(
            mode,
            terminals=terminals,
            wired_delays_ms=(delay_ms,),
            seconds=30,
            warmup_seconds=10,
            rate_control=rate_control,
        ).run

    return boot


@pytest.mark.parametrize(("delay_ms", "times"), [(4.0, 20), (256.0, 5)])
def test_bdp_keeps_the_total_and_cuts_the_rtt(ten: Callable[..., Run], delay_ms: float, times: float) -> None:
    cubic, bdp = ten("cubic", delay_ms), ten("bdp", delay_ms)
    assert bdp.total_goodput_mbps >= 0.95 * cubic.total_goodput_mbps
    assert cubic.rtt_mean_ms is not None
    assert bdp.rtt_mean_ms is not None
    assert bdp.rtt_mean_ms * times <= cubic.rtt_mean_ms
    assert bdp.jain is not None
    assert bdp.jain >= 0.99


@pytest.mark.parametrize("mode", ["cubic", "bbr"])
def test_with_phones_of_2013_the_unbounded_total_collapses(ten: Callable[..., Run], mode: str) -> None:
    alone = ten(mode, 256.0, rate_control="aarf", terminals=1)
    assert ten(mode, 256.0, rate_control="aarf").total_goodput_mbps < alone.total_goodput_mbps / 3


def test_with_phones_of_2013_the_papers_table_holds(ten: Callable[..., Run]) -> None:
    assert ten("paper-jb", 256.0, rate_control="aarf").total_goodput_mbps == pytest.approx(15.7, abs=1)


def test_an_agent_is_small(ten: Callable[..., Run]) -> None:
    memory_kib = ten("bdp", 4.0).peak_memory_kib
    agents = {name: kib for name, kib in memory_kib.items() if name.startswith("phone")}
    assert len(agents) == 10
    assert max(agents.values()) < PHONE_AGENT_MEMORY_KIB
