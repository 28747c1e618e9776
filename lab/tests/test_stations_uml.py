# SPDX-License-Identifier: Apache-2.0
"""An access point's agent that gets no station list from hostapd, in a cell of User Mode Linux."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cell

pytestmark = pytest.mark.uml


def test_without_hostapd_the_kernel_lists_the_stations(
    boot_cell: Callable[..., Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last of two equal flags counts: this agent looks for a hostapd that is not there.
    built = host.REPOSITORY / "build"
    for program in ("airbound-traffic", "airbound-phone"):
        (tmp_path / program).symlink_to(built / program)
    wrapper = tmp_path / "airbound-ap"
    wrapper.write_text(f'#!/bin/sh\nexec {built}/airbound-ap "$@" --hostapd-control /run/lab/no-hostapd\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(host.programs, "__defaults__", (tmp_path,))
    scenario = Scenario("no hostapd", (Action(0, "start-traffic"),))
    cell = boot_cell("airbound", scenario=scenario, terminals=3, wired_delays_ms=(64.0,), seconds=7)
    log = (cell.logs / "log" / "ap.log").read_text(encoding="utf-8")
    assert "/run/lab/no-hostapd" in log
    # The controller sets parameters only for three uploads: it knows the three stations by the flag AUTHORIZED.
    assert re.search(r'"new EDCA parameters" interface=wlan0 generation=\d+', log)
    # The group mlme could be joined.
    assert "no events of stations from the kernel" not in log
