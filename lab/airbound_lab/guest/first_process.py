# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH103, PTH105, PTH123
# pathlib would cost the guest start-up time.
"""What is the same in the first process of every guest: mounts, the plan, progress, errors, the end."""

from __future__ import annotations

import json
import os
import signal
import traceback
from typing import TYPE_CHECKING, Any

from airbound_lab.guest import system
from airbound_lab.guest.system import GuestError

if TYPE_CHECKING:
    from collections.abc import Callable

RESULT = "/run/result"
CPU = "/sys/devices/system/cpu/cpu0"
HOST_DIRECTORY = "/run/host"
MS_RDONLY = 1


def run(carry_out: Callable[[dict[str, Any]], None]) -> None:
    """Carry out the plan in /run/result/plan.json, or write why that failed to error.txt beside it; then power off:
    process 1 must not end before the machine. SIGINT is for the host.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        mount_all()
        with open(f"{RESULT}/plan.json", encoding="utf-8") as file:
            plan = json.load(file)
        carry_out(plan)
        progress("done")
    except GuestError as error:
        system.write(f"{RESULT}/error.txt", str(error))
    except BaseException:  # noqa: BLE001  (the host reports whatever it is)
        system.write(f"{RESULT}/error.txt", "the guest's own script failed:\n" + traceback.format_exc())
    system.power_off()


def mount_all() -> None:
    """The host's files are the root, read-only; what changes is under /run, in memory.

    /tmp stays the host's: a checkout may live there.
    """
    for kind, target in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")):
        system.mount(kind, target)
    for directory in ("/run/netns", "/run/lab", RESULT, "/run/cgroup"):
        os.mkdir(directory)
    # Of everything in the guest; the agents of phones as they are sold bound its connections.
    system.mount("cgroup2", "/run/cgroup")
    # The same path in every run; on the host it is the directory in which the guest was started.
    system.mount("hostfs", RESULT, options="/proc/self/cwd")
    os.makedirs(system.LOG_DIRECTORY, exist_ok=True)
    give_cycle_frequency()


def mount_host_directories(names: list[str]) -> None:
    """Mount the host's directories with programs, at paths that are the same in every run (guest_paths.py)."""
    os.mkdir(HOST_DIRECTORY)
    for name in names:
        os.mkdir(f"{HOST_DIRECTORY}/{name}")
        system.mount("hostfs", f"{HOST_DIRECTORY}/{name}", options=f"/proc/self/cwd/host/{name}", flags=MS_RDONLY)


def give_cycle_frequency() -> None:
    """Give a frequency of the cycle counter in sysfs, as some kernels do.

    gRPC's library (Abseil, base/internal/sysinfo.cc) needs one the first time that a thread waits for a lock. If the
    kernel names none, it sleeps for 1, 2, 4 ms ... until two measurements agree; they never do where time is virtual
    and the counter is not, and after 255 ms it gives up. Meanwhile the controller takes over nothing. The figure
    itself is of no consequence: it only serves statistics about locks.
    """
    system.mount("tmpfs", CPU)
    system.write(f"{CPU}/tsc_freq_khz", "1000000")


def progress(text: str) -> None:
    """Report the state to the host, which may read it at any moment: replaced as a whole."""
    system.write(f"{RESULT}/progress.new", text)
    os.replace(f"{RESULT}/progress.new", f"{RESULT}/progress")
