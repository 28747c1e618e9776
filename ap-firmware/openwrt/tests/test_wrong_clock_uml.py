# SPDX-License-Identifier: Apache-2.0
"""Devices whose clock is in 1970 at boot, or years ahead, with the real agents: they connect, or say what is wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from access_point import REPOSITORY

from airbound_lab.run import boot, host

pytestmark = pytest.mark.uml

GUEST = Path(__file__).with_name("wrong_clock_guest.py")
SOURCE = GUEST.with_name("other_time.c")
RADIOS = 2
WALL_LIMIT_S = 600
AGENTS = ("access point", "phone")
RETRY_LIMIT_S = 61
"""The longest wait between two attempts to enrol is a minute, between two to connect half of that."""
BOTH_OF_1970 = 2


@pytest.fixture(scope="module")
def found(ipk: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What wrong_clock_guest.py found."""
    host.check_tools()
    python = sys.executable
    command = boot.command_line(host.kernel(None), RADIOS, "fixed", "fixed", 1)
    library = tmp_path_factory.mktemp("library") / "other_time.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, SOURCE], check=True)
    given = {
        "ipk": ipk.resolve(),
        "phone": REPOSITORY / "build/airbound-phone",
        "library": library,
        "python": python,
        "controller": REPOSITORY / "controller",
    }
    command = [word for word in command if not word.startswith("init=")]
    command += [f"init={GUEST}", *(f"airbound_{name}={value}" for name, value in given.items())]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert results, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(results[0].removeprefix("RESULTS "))
    return result


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def times(log: str, message: str) -> list[datetime]:
    """When a message was logged, by the device's clock."""
    return [
        datetime.fromisoformat(time)
        for time, text in re.findall(r'^time=(\S+) level=\S+ msg="?([^"\n]*)', log, re.MULTILINE)
        if text.startswith(message)
    ]


def test_in_1970_they_enrol_and_connect_and_connect_again_after_a_reboot(found: dict[str, Any], agent: str) -> None:
    log = found["logs"][agent]
    assert times(log, "enrolled")[0].year == 1970
    connected = times(log, "connected to the controller")
    assert [moment.year for moment in connected[:BOTH_OF_1970]] == [1970] * BOTH_OF_1970


def test_the_controller_has_both_with_certificates_of_its_own_time(found: dict[str, Any]) -> None:
    for name in ("access-point/kitchen", "terminal/phone"):
        assert re.search(rf"^{name} .*20\d\d-", found["enrolled in 1970"], re.MULTILINE), found["enrolled in 1970"]


def test_setting_the_clock_ends_no_stream(found: dict[str, Any], agent: str) -> None:
    assert found["connections after the clock was set"] == [BOTH_OF_1970] * len(AGENTS)
    assert found["went on"]
    assert re.search(r"^controller .* connected", found["status after the clock was set"][agent], re.MULTILINE)


def test_years_ahead_they_say_that_the_clock_is_to_be_checked(found: dict[str, Any], agent: str) -> None:
    status = found["status ahead"][agent]
    assert re.search(r"^to do .*this device's clock", status, re.MULTILINE), status
    assert not re.search(r"^controller .*, connected", status, re.MULTILINE)


def test_once_the_clock_is_right_they_connect_by_themselves(found: dict[str, Any], agent: str) -> None:
    connected = times(found["logs"][agent], "connected to the controller")[-1]
    assert 0 <= connected.timestamp() - found["set right again"] <= RETRY_LIMIT_S
    assert "to do" not in found["status in the end"][agent]
