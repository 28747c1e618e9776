# SPDX-License-Identifier: Apache-2.0
"""A station whose radio is gone although the access point does not know: nothing that is sent to it was received."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Cell

pytestmark = pytest.mark.uml

GUEST = host.REPOSITORY / "lab" / "tests" / "absent_guest.py"
GONE_AFTER_S = 4
LINES: dict[str, dict[str, Any]] = {"6.1": {}, "6.12": {"kernel_line": "6.12", "ap": "openwrt"}}
DOWN = Scenario("absent", (Action(0, "start-traffic", direction="down", protocol="udp", rate_mbps=20.0),))


@pytest.fixture
def boot_absent(boot_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, int]]]:
    """Boots a cell whose one station goes while datagrams are sent to it; what the access point has of it then."""
    of_run = guest_plan.plan

    def plan(*arguments: Any, **more: Any) -> dict[str, Any]:
        argv = [sys.executable, str(GUEST), str(GONE_AFTER_S)]
        watcher = {"name": "absent", "netns": "", "argv": argv, "environment": {}, "ends": False}
        found = of_run(*arguments, **more)
        return found | {"watchers": [*found["watchers"], watcher]}

    def boot(**changes: Any) -> list[dict[str, int]]:
        monkeypatch.setattr(guest_plan, "plan", plan)
        cell = boot_cell("cubic", scenario=DOWN, terminals=1, seconds=7, warmup_seconds=1, **changes)
        found: list[dict[str, int]] = json.loads((cell.logs / "absent.json").read_text(encoding="ascii"))
        return found

    return boot


@pytest.mark.parametrize("line", LINES)
def test_rate_control_and_counters_know_that_nobody_received_it(boot_absent: Callable[..., Any], line: str) -> None:
    first, later = boot_absent(phy="11n-20", **LINES[line])
    assert later["sent"] - first["sent"] > 100
    assert later["acked"] == first["acked"]
    assert later["delivered"] - first["delivered"] < 20  # beacons
