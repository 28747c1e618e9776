# SPDX-License-Identifier: Apache-2.0
"""A new owner, end to end: package installed, agent enrolled with a token, cell at the controller, package removed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from access_point import REPOSITORY

from airbound_lab.run import boot, host

pytestmark = pytest.mark.uml

GUEST = Path(__file__).with_name("new_owner_guest.py")
RADIOS = 2
BSSID, STATION = "02:00:00:00:00:00", "02:00:00:00:01:00"
"""Of the first and the second radio."""
WALL_LIMIT_S = 600


@pytest.fixture(scope="module")
def found(ipk: Path) -> dict[str, Any]:
    """What new_owner_guest.py found."""
    host.check_tools()
    python = sys.executable
    command = boot.command_line(host.kernel(None), RADIOS, "fixed", "fixed", 1)
    given = {"ipk": ipk.resolve(), "python": python, "controller": REPOSITORY / "controller"}
    command = [word for word in command if not word.startswith("init=")]
    command += [f"init={GUEST}", *(f"airbound_{name}={value}" for name, value in given.items())]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert results, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(results[0].removeprefix("RESULTS "))
    return result


def test_nothing_starts_before_the_owner_has_configured_it(found: dict[str, Any]) -> None:
    assert found["starts after installation"] == 0


def test_the_controller_lists_the_cell_and_its_station(found: dict[str, Any]) -> None:
    [cell] = found["cells"]["cells"]
    assert cell["bssid"] == BSSID
    head, row = found["table"].splitlines()
    assert re.match(rf"{BSSID} +kitchen +new owner ", row)
    assert row[head.index("STATIONS") :].split()[0] == "1"
    [station] = found["stations"]["stations"]
    assert station["mac"] == STATION
    assert re.search(r"^access-point/kitchen .* token +valid$", found["enrolled"], re.MULTILINE)


def test_its_status_says_that_it_is_connected_and_may_set_edca(found: dict[str, Any]) -> None:
    assert re.search(r"^controller +127\.0\.0\.1:50051, connected$", found["status"], re.MULTILINE)
    assert re.search(r"^can set +yes:", found["status"], re.MULTILINE)
    assert re.search(r"^enrolled +spiffe://airbound\.internal/access-point/kitchen$", found["status"], re.MULTILINE)


def test_the_agent_has_hostapds_user_and_three_capabilities(found: dict[str, Any]) -> None:
    cap_net_admin, cap_perfmon, cap_bpf = 1 << 12, 1 << 38, 1 << 39
    assert found["process"]["Uid"] == ["101"] * 4
    assert int(found["process"]["CapEff"][0], 16) == cap_net_admin | cap_perfmon | cap_bpf
    assert int(found["process"]["CapPrm"][0], 16) == cap_net_admin | cap_perfmon | cap_bpf


def test_removed_without_a_trace(found: dict[str, Any]) -> None:
    assert found["processes"] == []
    assert found["sockets"] == []
    assert found["left by opkg"] == [
        "etc/airbound",
        *(f"etc/airbound/{name}" for name in ("authorities.pem", "certificate.pem", "key.pem", "lock")),
        "etc/config/airbound",
    ]
    assert found["left"] == []
