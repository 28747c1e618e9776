# SPDX-License-Identifier: Apache-2.0
"""Conditions beside the air, in a cell of User Mode Linux: the controller's wire, how often agents report, GRO, and the
rates that the access point's driver has.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

DELAY_MS = 500.0


@pytest.fixture(scope="module")
def poor(boot_cell: Callable[..., Cell]) -> Cell:
    """A cell whose controller is far away, behind a wire that loses packets."""
    wire = {"controller_delay_ms": DELAY_MS, "controller_loss_percent": 10.0}
    times = {"seconds": 8, "warmup_seconds": 1, "bounds_interval_ms": 20}
    return boot_cell("bdp", terminals=2, report_interval_ms=2000, **wire, **times)


def test_bounds_come_after_a_report_and_a_command_that_were_late(poor: Cell) -> None:
    for phone in poor.run.phones:
        changes = [change for change in phone.rules if change.rules]
        assert changes, "no bounds came at all"
        assert changes[0].t_s >= 2 * DELAY_MS / 1000


def test_packets_to_the_controller_are_lost(poor: Cell) -> None:
    counters = (poor.logs / "log" / "qdiscs-controller.log").read_text(encoding="utf-8")
    found = re.search(r"^qdisc netem .* delay 500ms loss 10%\n Sent \d+ bytes (\d+) pkt \(dropped (\d+)", counters)
    assert found is not None, counters
    sent, dropped = map(int, found.groups())
    assert 0.02 < dropped / (sent + dropped) < 0.3


def test_the_agents_report_as_often_as_the_run_says(poor: Cell) -> None:
    log = (poor.logs / "log" / "phone1.log").read_text(encoding="utf-8")
    assert 'msg="the controller set the reporting" interval=2s ' in log
    plan = json.loads((poor.logs / "plan.json").read_text(encoding="utf-8"))
    [words] = [component["argv"] for component in plan["components"] if component["name"] == "ap"]
    assert words[-2:] == ["--interval", "2000ms"]


def test_servers_that_merge_segments_send_fewer_acks(boot_cell: Callable[..., Cell]) -> None:
    cell = {"phy": "11n-20", "terminals": 1, "seconds": 4, "warmup_seconds": 1}
    plain, merging = (boot_cell("cubic", gro=gro, **cell) for gro in (False, True))
    mpdus = [_mpdus(each) for each in (plain, merging)]
    # Without GRO an ACK for every other segment, with it one for up to 45.
    assert mpdus[1] < 0.85 * mpdus[0]
    assert merging.run.total_goodput_mbps > 0.97 * plain.run.total_goodput_mbps


def _mpdus(cell: Cell) -> int:
    """All that were sent, of data and of ACKs."""
    medium = json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["medium"]
    return int(dict(line.split() for line in medium.splitlines())["mpdus"])


@pytest.mark.parametrize(("station_rates", "unknown", "legacy"), [("none", 2, 0), ("frame", 0, 1), ("one", 0, 0)])
def test_the_access_points_driver_has_other_rates(
    boot_cell: Callable[..., Cell], station_rates: str, unknown: int, legacy: int
) -> None:
    cell = {"phy": "11n-20", "terminals": 1, "seconds": 3, "warmup_seconds": 1}
    dump = (boot_cell("cubic", station_rates=station_rates, **cell).logs / "log" / "airtime.log").read_text("utf-8")
    rates = re.findall(r"^\s+[rt]x bitrate:\s*(.*)$", dump, re.MULTILINE)
    assert len(rates) == 2
    # Of two frames that followed each other, data and its block ack, one has a rate of 802.11g.
    assert sum("unknown" in rate for rate in rates) == unknown
    assert sum("MCS" not in rate and "unknown" not in rate for rate in rates) == legacy
