# SPDX-License-Identifier: Apache-2.0
"""Downloads, downloads beside uploads, the late start, congestion controls and queues, in a real cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario, built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

SHORT = {"seconds": 8, "warmup_seconds": 3}


def test_downloads_fill_the_cell_and_are_counted_as_such(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell("cubic", scenario=built_in("downlink"), terminals=3, **SHORT).run
    assert run.uplink is not None
    assert run.downlink is not None
    assert run.uplink.total_goodput_mbps == 0
    assert run.downlink.total_goodput_mbps == run.total_goodput_mbps > 20
    assert run.downlink.jain == run.jain
    for phone in run.phones:
        assert phone.download is not None
        assert phone.download.goodput_mbps > 3
        # As the server's kernel measures it.
        assert min(rtt for rtt in phone.download.series.min_rtt_ms if rtt is not None) > 4


def test_a_phone_uploads_and_downloads_at_once(boot_cell: Callable[..., Cell]) -> None:
    actions = (
        Action(0, "start-traffic", phone=1),
        Action(0, "start-traffic", phone=1, direction="down", protocol="udp", rate_mbps=2.0),
    )
    run = boot_cell("bdp", scenario=Scenario("both", actions), terminals=1, **SHORT).run
    assert run.phones[0].download is not None
    assert run.phones[0].download.goodput_mbps == pytest.approx(2.0, rel=0.02)
    assert run.phones[0].goodput_mbps > 10


def test_bounds_that_come_late_are_in_force_after_the_start(boot_cell: Callable[..., Cell]) -> None:
    scenario = Scenario(
        "late",
        (
            Action(0, "start-traffic"),
            *(Action(4, "start", component=component) for component in ("controller", "ap", "phones")),
        ),
    )
    run = boot_cell("bdp", scenario=scenario, terminals=3, seconds=14, warmup_seconds=3).run
    for phone in run.phones:
        # One value a second, from the first: none until the agents start.
        assert phone.series.bound_max_segs[:4] == (None,) * 4
        assert phone.series.bound_max_segs[-1] is not None


@pytest.mark.parametrize("mode", ["reno", "vegas", "cdg", "westwood", "illinois", "nv", "dctcp", "bdp+bbr", "airbound"])
def test_every_congestion_control_is_in_the_kernel(boot_cell: Callable[..., Cell], mode: str) -> None:
    run = boot_cell(mode, terminals=2, seconds=5, warmup_seconds=2).run
    assert run.total_goodput_mbps > 18
    bounded = {phone.series.bound_max_segs[-1] is not None for phone in run.phones}
    assert bounded == {mode in ("bdp+bbr", "airbound")}


@pytest.mark.parametrize(
    ("qdisc", "words"), [("cake", "no-ack-filter|nowash split-gso"), ("cake-ack-filter", " ack-filter")]
)
def test_cake_runs_in_the_phones_and_in_the_access_point(
    boot_cell: Callable[..., Cell], qdisc: str, words: str
) -> None:
    cell = boot_cell("cubic", terminals=2, qdisc=qdisc, ap_qdisc=qdisc, seconds=5, warmup_seconds=2)
    for log, interfaces in (("qdiscs.log", 2), ("qdiscs-ap.log", 1)):
        shown = (cell.logs / "log" / log).read_text(encoding="utf-8")
        heads = re.findall(r"^qdisc cake .*$", shown, re.MULTILINE)
        assert len(heads) == interfaces
        assert all("bandwidth unlimited" in head and re.search(words, head) for head in heads)
    assert cell.run.total_goodput_mbps > 18
