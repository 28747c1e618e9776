# SPDX-License-Identifier: Apache-2.0
"""A cell on Linux 6.12: the medium as a driver below mac80211's own transmit queues, with AQL and without."""

from __future__ import annotations

import json
import statistics
import sys
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario, built_in
from airbound_lab.settings.values import KERNEL_LINES

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

GUEST = host.REPOSITORY / "lab" / "tests" / "queues_guest.py"
SAMPLE_MS = 20
AQL_LIMIT_US = 12_000
"""mac80211's larger limit of a station's pending air time (IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H)."""
LARGEST_FRAME_US = 1_000
"""More than mac80211 expects of a full frame at 24 Mb/s."""
DEEP = {"ap_driver_queue_frames": 1000}
"""The access point's driver takes whatever mac80211 lets go."""

DOWNLOADS = {"scenario": built_in("downlink"), "terminals": 5, "seconds": 8, "warmup_seconds": 4}


@pytest.fixture
def boot_watched(
    boot_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Cell, list[list[list[int]]]]]:
    """Boots a cell on 6.12 and follows the access point's queues, from the end of the warm-up.

    Each sample has, for each station, its pending air time in microseconds and how many packets wait for it.
    """
    of_run = guest_plan.plan

    def plan(*arguments: Any, **more: Any) -> dict[str, Any]:
        watcher = {"name": "queues", "netns": "", "argv": [sys.executable, str(GUEST), str(SAMPLE_MS)]}
        found = of_run(*arguments, **more)
        return found | {"watchers": [*found["watchers"], watcher | {"environment": {}, "ends": False}]}

    def boot(name: str, **changes: Any) -> tuple[Cell, list[list[list[int]]]]:
        monkeypatch.setattr(guest_plan, "plan", plan)
        scenario = Scenario(name, changes.pop("scenario").actions)  # so that no other test's run is taken
        cell = boot_cell("cubic", kernel_line="6.12", scenario=scenario, **changes)
        lines = (cell.logs / "queues.jsonl").read_text(encoding="ascii").splitlines()
        return cell, [json.loads(line) for line in lines[changes["warmup_seconds"] * 1000 // SAMPLE_MS :]]

    return boot


def download_rtt_ms(cell: Cell) -> float:
    assert cell.run.downlink is not None
    assert cell.run.downlink.rtt_mean_ms is not None
    return cell.run.downlink.rtt_mean_ms


def test_downloads_wait_far_less_than_on_6_1(boot_cell: Callable[..., Cell]) -> None:
    rtt_ms = {line: download_rtt_ms(boot_cell("cubic", kernel_line=line, **DOWNLOADS)) for line in KERNEL_LINES}
    assert rtt_ms["6.12"] < rtt_ms["6.1"] / 5


def test_the_pending_air_time_is_not_that_of_one_station(boot_watched: Callable[..., Any]) -> None:
    _, samples = boot_watched("shares", **DOWNLOADS)
    shares = [
        max(pending) / sum(pending) for pending in ([us for us, _ in sample] for sample in samples) if any(pending)
    ]
    assert len(shares) > 100
    assert statistics.fmean(shares) < 0.5


def test_aql_limits_the_pending_air_time_of_each_station(boot_watched: Callable[..., Any]) -> None:
    cell, samples = boot_watched("limit", **DOWNLOADS, **DEEP)
    largest_us = max(us for sample in samples for us, _ in sample)
    assert 0 < largest_us < AQL_LIMIT_US + LARGEST_FRAME_US
    assert any(packets for sample in samples for _, packets in sample), "nothing waited: AQL stopped no station"
    without, samples = boot_watched("without", **DOWNLOADS, **DEEP, aql=False)
    assert all(us is None for sample in samples for us, _ in sample)
    assert download_rtt_ms(cell) < download_rtt_ms(without) / 2


def test_a_station_that_aql_stopped_goes_on_without_a_further_packet(boot_watched: Callable[..., Any]) -> None:
    """More than the air has is sent for two seconds, then nothing: what waits in mac80211 then is sent all the same."""
    stop_s, seconds = 2, 8
    actions = (
        Action(0, "start-traffic", phone=1, direction="down", protocol="udp", rate_mbps=40.0),
        Action(stop_s, "stop-traffic", phone=1, direction="down"),
    )
    udp = {"scenario": Scenario("udp", actions), "terminals": 1, "rate_control": "fixed"}
    cell, samples = boot_watched("goes on", **udp, **DEEP, seconds=seconds, warmup_seconds=stop_s)
    assert samples[5][0][1] > 100, "nothing waited when the sender stopped"
    assert samples[-1] == [[0, 0]]
    goodput_mbps = cell.run.phones[0].download.series.goodput_mbps
    assert goodput_mbps[stop_s] > 10
