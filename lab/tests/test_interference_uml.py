# SPDX-License-Identifier: Apache-2.0
"""A source that is not 802.11 beside a cell, in the whole stack: what is left of the goodput, and the busy time."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.medium_theory import exchange, interference, ppdu
from airbound_lab.medium_theory.ppdu import Band, Rate
from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Scenario, built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Cell

pytestmark = pytest.mark.uml

GUEST = host.REPOSITORY / "lab" / "tests" / "medium_guest.py"
SAMPLE_MS = 100
SATURATED: dict[str, Any] = {
    "scenario": Scenario("saturation, watched", built_in("saturation").actions),  # no other test's run is taken
    "rate_control": "fixed",
    "terminals": 1,
    "seconds": 12,
    "warmup_seconds": 2,
}
RADIOS: dict[str, tuple[dict[str, Any], Rate, Band]] = {
    "11g": ({"phy": "11g"}, ppdu.legacy(54), Band.GHZ_2_4),
    "65 Mb/s": ({"phy": "11n-20", "guard_interval": "long"}, ppdu.ht(7), Band.GHZ_2_4),
    "867 Mb/s": (
        {"phy": "11ac-80", "kernel_line": "6.12", "ap": "openwrt"},
        ppdu.vht(9, 80, 2, short_guard_interval=True),
        Band.GHZ_5,
    ),
}


@pytest.fixture
def boot_watched(boot_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Boots a cell whose medium is followed; what was counted between end of warm-up and end of the run."""
    of_run = guest_plan.plan

    def plan(*arguments: Any, **more: Any) -> dict[str, Any]:
        watcher = {"name": "medium", "netns": "", "argv": [sys.executable, str(GUEST), str(SAMPLE_MS)]}
        found = of_run(*arguments, **more)
        return found | {"watchers": [*found["watchers"], watcher | {"environment": {}, "ends": False}]}

    def boot(**changes: Any) -> tuple[Cell, dict[str, float]]:
        monkeypatch.setattr(guest_plan, "plan", plan)
        cell = boot_cell("cubic", **SATURATED | changes)
        rows = [json.loads(line) for line in (cell.logs / "medium.jsonl").read_text(encoding="ascii").splitlines()]
        zero_us = json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["time_zero_monotonic_us"]
        warm_us = zero_us + SATURATED["warmup_seconds"] * 1_000_000
        (from_us, before, busy_before_ms), (to_us, after, busy_after_ms) = (
            next(row for row in rows if row[0] >= warm_us),
            rows[-1],
        )
        counted = {name: (after[name] - before[name]) / 1e9 for name in ("busy_ns", "interference_ns")}
        of_survey = {"survey_busy_ns": (busy_after_ms - busy_before_ms) / 1e3}
        return cell, counted | of_survey | {"seconds": (to_us - from_us) / 1e6}

    return boot


@pytest.mark.parametrize("bursts", [(10_000, 10_000), (20_000, 60_000)])
@pytest.mark.parametrize("name", RADIOS)
def test_a_single_sender_has_what_the_pauses_leave(
    boot_watched: Callable[..., Any], name: str, bursts: tuple[int, int]
) -> None:
    radio, rate, band = RADIOS[name]
    cell, medium = boot_watched(interference_us=bursts, **radio)
    sent = exchange.exchange(rate, band, qos=name != "11g")
    # bursts and pauses are drawn: of some hundred the sum is not quite the mean
    duty = medium["interference_ns"] / medium["seconds"]
    assert duty == pytest.approx(bursts[0] / sum(bursts), rel=0.1)
    mean_ns = sum(bursts) * 1000
    expected_mbps = interference.single_sender_mbps(
        sent, band, burst_ns=duty * mean_ns, pause_ns=(1 - duty) * mean_ns, aifsn=2 if name == "11g" else 3
    )
    assert cell.run.total_goodput_mbps == pytest.approx(expected_mbps, rel=0.02)


def test_the_survey_has_interference_as_busy_time(boot_watched: Callable[..., Any]) -> None:
    _, medium = boot_watched(interference_us=(10_000, 10_000), phy="11g")
    assert medium["survey_busy_ns"] == pytest.approx(medium["busy_ns"], abs=0.005)
    # Of a pause a cycle's exchange is busy: 298 of 393.5 us
    quiet_s = medium["seconds"] - medium["interference_ns"]
    assert medium["busy_ns"] - medium["interference_ns"] == pytest.approx(quiet_s * 298 / 393.5, rel=0.05)
