#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of test_virtual_clock_uml.py: reads clocks by the vDSO and by system calls."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF
MOMENTS = 200
CLOCKS = {
    "realtime": time.CLOCK_REALTIME,
    "monotonic": time.CLOCK_MONOTONIC,
    "boottime": time.CLOCK_BOOTTIME,
    "monotonic raw": time.CLOCK_MONOTONIC_RAW,
    "process": time.CLOCK_PROCESS_CPUTIME_ID,
    "realtime coarse": 5,
    "none": 77,
    "negative": -1_000,
}
SYS_CLOCK_GETTIME, SYS_GETTIMEOFDAY, SYS_TIME = 228, 96, 201
PAGE = 0x7FC0002000
"""VIRTUAL_TIME_ADDRESS of the kernel."""
FORGED_S = 123

# C's library finds the vDSO; Python's own functions read the clock with it as well.
libc = ctypes.CDLL(None, use_errno=True)
pair = (ctypes.c_long * 2)()


def by_library(name: str) -> list[int]:
    status = libc.clock_gettime(CLOCKS[name], pair)
    return [status, *pair]


def by_call(name: str) -> list[int]:
    status = libc.syscall(SYS_CLOCK_GETTIME, CLOCKS[name], pair)
    return [status, *pair]


def both(name: str) -> list[list[int]]:
    return [by_library(name), by_call(name)]


def clocks() -> dict[str, list[list[list[int]]]]:
    """Each clock by the vDSO and by a system call, at many moments."""
    found: dict[str, list[list[list[int]]]] = {name: [] for name in (*CLOCKS, "gettimeofday", "time")}
    for moment in range(MOMENTS):
        time.sleep(0.001_234_567 * (1 + moment % 17))
        for name in CLOCKS:
            found[name].append(both(name))
        found["gettimeofday"].append(
            [[libc.gettimeofday(pair, None), *pair], [libc.syscall(SYS_GETTIMEOFDAY, pair, None), *pair]]
        )
        found["time"].append([[libc.time(None)], [libc.syscall(SYS_TIME, None)]])
    return found


def date_set() -> list[list[int]]:
    """The date right after it was set, without any time between."""
    time.sleep(0.01)
    time.clock_settime_ns(time.CLOCK_REALTIME, 1_800_000_000_123_456_789)
    return both("realtime")


def spin(*readers: Callable[[str], list[int]]) -> list[int]:
    """How many readings in turn it takes until time passes, and how many ns pass."""
    time.sleep(0.01)
    began = by_call("monotonic")
    readings = 0
    while (now := readers[readings % len(readers)]("monotonic")) == began:
        readings += 1
    return [readings, (now[1] - began[1]) * 10**9 + now[2] - began[2]]


def forged() -> int:
    """The second that the vDSO returns after it was forged in its page: it makes no system call."""
    second = ctypes.c_long.from_address(PAGE + 16)
    for _ in range(10):
        # The kernel writes the page again whenever it returns, as from a page fault; hence more than one try.
        second.value = FORGED_S
        if (read := time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 10**9) == FORGED_S:
            break
    return read


def children() -> list[bool]:
    """Whether clocks agree in a child, and after one more program was started."""
    agree = []
    child = os.fork()
    if child == 0:
        os._exit(by_library("monotonic") != by_call("monotonic"))
    agree.append(os.waitpid(child, 0)[1] == 0)
    child = os.posix_spawn(__file__, [__file__, "agree"], os.environ)
    agree.append(os.waitpid(child, 0)[1] == 0)
    return agree


def memory() -> dict[str, Any]:
    """New memory is empty; what is written stays, in a child apart from its parent's; page by page and at the edges."""
    found: dict[str, Any] = {}
    area = mmap.mmap(-1, 64 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # The first, the last and one in between: each has neighbours on one side or on both.
    places = [page * mmap.PAGESIZE for page in (0, 63, 20)]
    for place in places:
        area[place] = 7
    found["written"] = [area[place] for place in places]
    found["rest is empty"] = sum(area[:]) == 7 * len(places)
    child = os.fork()
    if child == 0:
        seen = [area[place] for place in places]
        area[21 * mmap.PAGESIZE] = 9
        os._exit(seen != [7, 7, 7] or sum(area[:]) != 7 * len(places) + 9)
    found["child"] = os.waitpid(child, 0)[1]
    found["parent is apart"] = sum(area[:]) == 7 * len(places)
    half = mmap.mmap(-1, 32 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # What is made read-only and given back must not stay writable or full by what was populated beside it.
    half[5 * mmap.PAGESIZE] = 5
    half.madvise(mmap.MADV_DONTNEED)
    found["given back"] = sum(half[:]) == 0
    return found


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    results = {
        "forged": forged(),
        "clocks": clocks(),
        "spins": [spin(by_library), spin(by_call), spin(by_library, by_call), spin(by_library, by_library, by_call)],
        "date set": date_set(),
        "children": children(),
        "memory": memory(),
        "end": [by_call("realtime"), by_call("monotonic")],
    }
    sys.stdout.write("RESULTS " + json.dumps(results) + "\n")
    sys.stdout.flush()


if sys.argv[1:] == ["agree"]:
    sys.exit(by_library("monotonic") != by_call("monotonic"))
try:
    main()
except BaseException:  # noqa: BLE001  the first process must not end before the kernel
    traceback.print_exc()
libc.reboot(POWER_OFF)
