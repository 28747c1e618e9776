# SPDX-License-Identifier: Apache-2.0
"""The access point's Open vSwitch, `airbound openflow`, the controller and the access point's agent, each killed and
started again under traffic; and the controller killed for good.

Phones have no agents, so that meters are all that limits them. Phones 1 and 2 send a datagram each millisecond: the
longest time without one is how long nothing was forwarded.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

PHONES = 4
SENDERS = {"02:00:00:00:03:00", "02:00:00:00:04:00"}
GONE_S, BACK_S, RIGHT_S, SECONDS = 8, 9, 14, 18
GAP_MAX_MS = 200.0
LEASE_S = 6.0
"""The controller's default."""


@dataclass(frozen=True)
class Sample:
    """What the switch had: which meters, and which stations' frames are led through one of them."""

    t_s: float
    meters: frozenset[int]
    metered: frozenset[str]


def samples_of(cell: Cell) -> list[Sample]:
    """What the switch had, twice a second, while its daemon answered."""
    zero_s = json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["time_zero_monotonic_us"] / 1e6
    found = []
    for part in re.split(r"^at ", (cell.logs / "switch.log").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        if "OFPST_FLOW reply" not in part:
            continue
        flows = [line for line in part.splitlines() if "meter:" in line and "actions=" in line]
        metered = {mac for line in flows for mac in re.findall(r"dl_(?:src|dst)=([0-9a-f:]{17})", line)}
        meters = {int(number) for number in re.findall(r"^meter=(\d+)", part, re.MULTILINE)}
        found.append(Sample(float(part.split()[0]) - zero_s, frozenset(meters), frozenset(metered)))
    return found


def longest_gap_ms(cell: Cell, from_s: int, to_s: int) -> float:
    """The longest time without a datagram of a phone that ended in these seconds."""
    lines = map(json.loads, (cell.logs / "samples.jsonl").read_text(encoding="utf-8").splitlines())
    gaps_us = [
        line["gap_max_us"] for line in lines if "gap_max_us" in line and from_s * 1000 < line["t_ms"] <= to_s * 1000
    ]
    assert len(gaps_us) == 2 * (to_s - from_s)
    return float(max(gaps_us) / 1000)


def boot(
    boot_cell: Callable[..., Cell],
    component: str,
    *,
    starts_again: bool = True,
    back_s: float = BACK_S,
    seconds: int = SECONDS,
) -> Cell:
    actions = (
        *(Action(0, "start-traffic", phone=i, protocol="udp", rate_mbps=1.2, payload_bytes=150) for i in (1, 2)),
        *(Action(0, "start-traffic", phone=i) for i in (3, 4)),
        Action(GONE_S, "kill", component=component),
        *([Action(back_s, "start", component=component)] if starts_again else []),
    )
    return boot_cell(
        "airbound",
        scenario=Scenario(f"{component} {starts_again} {back_s:g}", actions),
        terminals=PHONES,
        agents=0,
        switch="meters",
        seconds=seconds,
        warmup_seconds=4,
        switch_samples=True,
    )


@pytest.mark.parametrize("component", ["controller", "openflow", "switch", "ap"])
def test_whatever_is_killed_frames_pass_and_the_meters_are_right_again(
    component: str, boot_cell: Callable[..., Cell]
) -> None:
    cell = boot(boot_cell, component)
    gaps_ms = [phone.gap_max_ms for phone in cell.run.phones[:2]]
    assert all(gap is not None and gap < GAP_MAX_MS for gap in gaps_ms), gaps_ms
    log = (cell.logs / "log" / "hostapd.log").read_text(encoding="utf-8")
    assert log.count("AP-STA-CONNECTED") == PHONES
    assert "AP-STA-DISCONNECTED" not in log
    samples = samples_of(cell)
    before = [sample for sample in samples if GONE_S - 3 < sample.t_s < GONE_S]
    after = [sample for sample in samples if sample.t_s > RIGHT_S]
    assert len(before) > 3
    assert len(after) > 3
    for sample in (*before, *after):
        assert sample.metered >= SENDERS, sample
        assert sample.meters


def test_after_a_long_outage_the_meters_are_right_again_within_five_seconds(boot_cell: Callable[..., Cell]) -> None:
    # With waits of 1, 2, 4 and 8 s the switch would try again 15 s after it lost the connection.
    back_s, seconds = GONE_S + 8, GONE_S + 16
    cell = boot(boot_cell, "openflow", back_s=back_s, seconds=seconds)
    samples = samples_of(cell)
    gone = [sample for sample in samples if GONE_S + LEASE_S + 1 < sample.t_s < back_s]
    right = [sample for sample in samples if back_s + 5 <= sample.t_s < GONE_S + 15]
    assert gone
    assert not any(sample.metered for sample in gone)
    assert len(right) > 2
    assert all(sample.metered >= SENDERS and sample.meters for sample in right)


def test_without_a_controller_nothing_is_limited_after_the_lease(boot_cell: Callable[..., Cell]) -> None:
    cell = boot(boot_cell, "controller", starts_again=False)
    samples = samples_of(cell)
    assert any(sample.metered for sample in samples if sample.t_s < GONE_S)
    left = [sample for sample in samples if sample.t_s > GONE_S + LEASE_S + 1]
    assert len(left) > 3
    assert not any(sample.metered for sample in left)
    # Up to the moment at which the limits end; then two phones saturate the cell, and the others' frames wait for that.
    ended_s = min(sample.t_s for sample in samples if sample.t_s > GONE_S and not sample.metered)
    assert longest_gap_ms(cell, GONE_S, int(ended_s)) < GAP_MAX_MS
