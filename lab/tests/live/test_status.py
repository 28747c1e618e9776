# SPDX-License-Identifier: Apache-2.0
"""The status of a live cell, as JSON and as text."""

from __future__ import annotations

import json
from typing import Any

from airbound_lab.live import status as statuses
from airbound_lab.live.timetravel import Lateness

NOW_S = 1_700_000_000.0


def phone(name: str, kind: str, doing: str, goodput_mbps: float = 0.0, srtt_ms: float | None = None) -> dict[str, Any]:
    return {"name": name, "kind": kind, "doing": doing, "goodput_mbps": goodput_mbps, "srtt_ms": srtt_ms}


def status(*phones: dict[str, Any], lost_s: float = 0.0, starts: int = 1) -> dict[str, Any]:
    guest = {"phones": list(phones), "agent_starts": {"live-ap": starts}}
    running = statuses.Running(guest, Lateness(12.0, 3.25, lost_s), 4.0)
    return statuses.document(NOW_S, "running", 1, running)


def test_a_line_has_time_lateness_and_what_each_phone_does() -> None:
    line = statuses.line(status(phone("a", "file", "uploads", 5.25), phone("b", "away", "away", 0.0), lost_s=1.5))
    assert line == "running 12 s, behind 3 ms, lost 1.5 s; 5.2 Mb/s; a file 5.2, b away"


def test_a_line_has_the_longest_rtt_of_those_that_send() -> None:
    phones = (phone("a", "file", "", 5.0, 31.6), phone("b", "file", "", 2.0, 12.0), phone("c", "idle", ""))
    assert "; 7.0 Mb/s, RTT up to 32 ms; " in statuses.line(status(*phones))


def test_before_the_guest_has_written_anything() -> None:
    found = statuses.document(NOW_S, "booting", 2)
    assert statuses.line(found) == "booting"
    assert statuses.Changes().lines(found) == []
    assert json.loads(json.dumps(found)) == found


def test_only_a_fresh_status_of_a_running_cell_is_good() -> None:
    found = status()
    assert statuses.is_running(found, NOW_S + statuses.FRESH_S)
    assert not statuses.is_running(found, NOW_S + statuses.FRESH_S + 1)
    assert not statuses.is_running(found | {"state": "booting"}, NOW_S)
    assert not statuses.is_running({}, NOW_S)


def test_changes_are_reported_once() -> None:
    changes = statuses.Changes()
    assert changes.lines(status(phone("a", "idle", "idle for 3 s"))) == ["a idle for 3 s"]
    assert changes.lines(status(phone("a", "idle", "idle for 3 s"))) == []
    assert changes.lines(status(phone("a", "file", "uploads a file"))) == ["a uploads a file"]


def test_an_agent_that_is_started_again_is_reported() -> None:
    changes = statuses.Changes()
    assert changes.lines(status(starts=1)) == []
    [line] = changes.lines(status(starts=2))
    assert line.startswith("the agent of live-ap ended")
    assert changes.lines(status(starts=2)) == []


def test_lost_time_is_reported_at_first_and_seldom_after() -> None:
    changes = statuses.Changes()
    assert changes.lines(status(lost_s=0.4)) == []
    assert len(changes.lines(status(lost_s=0.6))) == 1
    lines = [line for tenths in range(6, 36_000) for line in changes.lines(status(lost_s=tenths / 10))]
    assert 5 <= len(lines) <= 25
    # Another guest begins at zero.
    assert changes.lines(status(lost_s=0.0)) == []
    assert len(changes.lines(status(lost_s=0.6))) == 1
