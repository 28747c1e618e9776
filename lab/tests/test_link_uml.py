# SPDX-License-Identifier: Apache-2.0
"""What a phone's agent sees of its own connection to the cell, through a real kernel's nl80211."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

BSSID = "02:00:00:00:00:00"
RESTARTED_S = 3.0


def test_the_agent_knows_its_access_point_and_notices_when_it_goes_and_returns(boot_cell: Callable[..., Cell]) -> None:
    scenario = Scenario("radio restarted", (Action(0, "start-traffic"), Action(RESTARTED_S, "restart-radio")))
    cell = boot_cell("airbound", scenario=scenario, terminals=2, seconds=10)
    for phone in (1, 2):
        log = (cell.logs / "log" / f"phone{phone}.log").read_text(encoding="utf-8")
        started = re.findall(r"msg=started .* interface=(\S+) mac=(\S+) bssid=(\S+) ", log)
        assert started == [(f"wlan{phone}", f"02:00:00:00:0{phone}:00", BSSID)]
        assert re.findall(r'msg="another access point" .* bssid=(\S+)$', log, re.MULTILINE) == ['""', BSSID]
        assert "no events of Wi-Fi connections" not in log
