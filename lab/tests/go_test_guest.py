#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of go_test_in_guest.py: a link, and a Go test on it.

The kernel's command line names the test's program, the test, and the link's losses: airbound_test=PATH
airbound_name=NAME airbound_loss=1%.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF
COMMANDS = (
    "mount -t proc proc /proc",
    "mount -t sysfs sysfs /sys",
    "ip link set lo mtu 1500 up",
    "ip address add 10.0.4.1/24 dev lo",
    "ip address add 10.0.5.1/24 dev lo",
    "ip address add 10.0.9.1/24 dev lo",
)
LINK = "tc qdisc add dev lo root netem delay 10ms rate 20mbit loss {}"


def main() -> None:
    os.environ |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/"}
    for command in COMMANDS:
        subprocess.run(command.split(), check=True)
    words = dict(re.findall(r"airbound_(test|name|loss)=(\S+)", Path("/proc/cmdline").read_text()))
    subprocess.run(LINK.format(words["loss"]).split(), check=True)
    test = [words["test"], "-test.v", "-test.run", f"^{words['name']}$"]
    done = subprocess.run(test, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    sys.stdout.write(done.stdout + f"\nEXIT {done.returncode}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001  the first process must not end before the kernel
        traceback.print_exc()
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)
