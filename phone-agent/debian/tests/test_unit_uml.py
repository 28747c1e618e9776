# SPDX-License-Identifier: Apache-2.0
"""The packaged agent on a patched kernel with the unit's capabilities, and without any: all are needed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from airbound_lab.run import boot, host

pytestmark = pytest.mark.uml

REPOSITORY = Path(__file__).parents[3]
GUEST = Path(__file__).with_name("unit_guest.py")
UNIT = REPOSITORY / "phone-agent/debian/files/airbound-phone.service"
WALL_LIMIT_S = 300
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}
"""Their numbers: linux/capability.h."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What unit_guest.py found."""
    packages = os.environ.get("AIRBOUND_PACKAGES")
    if packages is None:
        subprocess.run([REPOSITORY / "scripts/packages.sh", "deb-amd64"], check=True)
        packages = str(REPOSITORY / "build/packages")
    [deb] = Path(packages).glob("airbound-phone_*_amd64.deb")
    directory = tmp_path_factory.mktemp("unit")
    subprocess.run(["dpkg-deb", "--extract", deb, directory], check=True)
    config = directory / "etc/airbound/phone.conf"
    with config.open("a", encoding="utf-8") as file:
        file.write("controller = 127.0.0.1:9\nmac = 02:00:00:00:01:0a\nplain-text = true\n")
    given = {"phone": directory / "usr/sbin/airbound-phone", "config": config}
    command = boot.command_line(host.kernel(None), 0, "fixed", "fixed", 1)
    command = [word for word in command if not word.startswith("init=")]
    command += [f"init={GUEST}", *(f"airbound_{name}={value}" for name, value in given.items())]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert results, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(results[0].removeprefix("RESULTS "))
    return result


def test_the_guest_gives_the_capabilities_of_the_unit(found: dict[str, Any]) -> None:
    [line] = [line for line in UNIT.read_text(encoding="utf-8").splitlines() if "CapabilityBoundingSet" in line]
    bits = sum(1 << CAPABILITIES[name] for name in line.partition("=")[2].split())
    assert [int(value, 16) for value in found["unit's"]["capabilities"]] == [bits]
    assert [int(value, 16) for value in found["none"]["capabilities"]] == [0]


def test_with_the_units_capabilities_bounds_can_be_set_and_trace_events_wake_it(found: dict[str, Any]) -> None:
    assert found["unit's"]["exit"] == 0
    state = found["unit's"]["status"]["state"]
    assert state["back_end"]["can_set_min"]
    assert state["starts"]["by"] == "trace events"
    assert found["unit's"]["left"] == []


def test_without_them_the_kernel_refuses_bounds(found: dict[str, Any]) -> None:
    assert found["none"]["exit"] == 1
    assert "write /proc/net/tcp_cwnd_bounds: operation not permitted" in found["none"]["log"]
    assert "operation not permitted" not in found["unit's"]["log"]
