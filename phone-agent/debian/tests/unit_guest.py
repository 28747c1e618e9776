#!/usr/bin/python3 -EB
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of test_unit_uml.py: the agent on a patched kernel, with the capabilities of its unit.

The kernel's command line names the program and its configuration: airbound_phone=, airbound_config=.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF
UNIT = "net_admin,+sys_admin,+net_raw"
TIMEOUT_S = 30.0


def agent(program: str, config: str, capabilities: str) -> dict[str, Any]:
    """What the agent's status is after its start, and what is left of it after its end."""
    only = f"-all{capabilities}"
    confined = ["setpriv", f"--inh-caps={only}", f"--bounding-set={only}", "--no-new-privs"]
    with Path("/run/agent.log").open("wb") as log:
        process = subprocess.Popen([*confined, program, "run", "--config", config], stdout=log, stderr=log)
    deadline = time.monotonic() + TIMEOUT_S
    status: dict[str, Any] = {}
    while time.monotonic() < deadline and not status.get("state"):
        done = subprocess.run([program, "status", "--json"], capture_output=True, text=True, check=False)
        status = json.loads(done.stdout) if done.stdout else {}
        time.sleep(0.2)
    text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    process.terminate()
    return {
        "status": status,
        "capabilities": re.findall(r"^CapBnd:\s*(\S+)$", text, re.MULTILINE),
        "exit": process.wait(TIMEOUT_S),
        "left": [path.name for path in Path("/sys/kernel/tracing/instances").iterdir()],
        "log": Path("/run/agent.log").read_text(encoding="utf-8"),
    }


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    places = {"proc": "/proc", "sysfs": "/sys", "devtmpfs": "/dev", "tmpfs": "/run", "tracefs": "/sys/kernel/tracing"}
    for kind, place in places.items():
        subprocess.run(["mount", "-t", kind, kind, place], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    given = Path("/proc/cmdline").read_text(encoding="utf-8")
    arguments = dict(re.findall(r"airbound_(phone|config)=(\S+)", given))
    found = {
        name: agent(arguments["phone"], arguments["config"], capabilities)
        for name, capabilities in (("unit's", f",+{UNIT}"), ("none", ""))
    }
    sys.stdout.write("RESULTS " + json.dumps(found) + "\n")


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001  the first process must not end before the kernel
        traceback.print_exc()
    sys.stdout.flush()
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)
