# SPDX-License-Identifier: GPL-2.0
"""Random transactions one by one, and concurrent use of all files.

    boot-test.sh LINUX test_stress          STRESS_ROUNDS=100 STRESS_SEED=1

In virtual time a run depends on the seed only. Requirements:
- a transaction is refused with the error that the grammar defines, or applied as a whole: a read always returns the
  result of one transaction, whatever the size and offset of the read
- the kernel logs no warning (checked by boot-test.sh)
- no memory leaks: after namespaces and connections were deleted and RCU has freed them, the kernel has no more memory
  allocated than before. With debug/debug.config, kmemleak must find nothing instead, because KASAN delays the freeing
  of memory, so that amounts mean nothing.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import traceback
import unittest
from collections.abc import Callable

from load import DEBUGFS, Load, mount_kernel_file_systems, open_at, write
from support import BOUNDS, read_bounds, sh
from transactions import Generator, RefusedError, Table, apply, text_of

ROUNDS = int(os.environ.get("STRESS_ROUNDS", "100"))
SEED = int(os.environ.get("STRESS_SEED", "1"))
KMEMLEAK = f"{DEBUGFS}/kmemleak"
# Memory that a turn may leave in the allocator's pages. The tables of a turn take more than that, and so do its counts.
REMAINING_KB_MAX = 512
NAMESPACES = max(ROUNDS * 2, 200)  # counts of 4 kB each, tables of 8


def in_child_process(work: Callable[[], None]) -> None:
    """Run in a child process, so that its memory is freed afterwards; AssertionError if it fails."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001  the child must not go on as its parent
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    if status:
        raise AssertionError("see above")


def allocated_kb() -> int:
    """Memory of the kernel after pending work is done: deletion of a namespace waits for RCU."""
    sh("ip netns add barrier; ip netns del barrier")
    time.sleep(70)  # TIME_WAIT has ended, orphaned sockets have timed out
    sh("ip netns add barrier; ip netns del barrier")
    time.sleep(2)
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
    with open("/proc/meminfo") as file:
        [kb] = [int(line.split()[1]) for line in file if line.startswith("SUnreclaim:")]
    return kb


def unreferenced_objects() -> str:
    """The report of kmemleak, which needs two scans, some seconds after an object was allocated."""
    for _ in range(2):
        time.sleep(6)
        with open(KMEMLEAK, "w") as file:
            file.write("scan")
    with open(KMEMLEAK) as file:
        return file.read()


class SingleWriter(unittest.TestCase):
    def test_each_transaction_has_the_result_that_the_grammar_defines(self) -> None:
        sh("ip netns add single")
        self.addCleanup(sh, "ip netns del single")
        generator = Generator(SEED)
        fd = open_at(BOUNDS, os.O_WRONLY, "single")
        self.addCleanup(os.close, fd)
        table: Table = {}
        seen = set()
        for _ in range(ROUNDS * 5):
            data = generator.any()
            expected = ""
            try:
                table = apply(table, data)
            except RefusedError as error:
                expected = str(error)
            found = write(fd, data)
            self.assertEqual(found, expected, data)
            self.assertEqual(read_bounds(at="single"), text_of(table), data)
            seen.add(found)
        self.assertEqual(seen, {"", "EINVAL", "ERANGE", "ENOSPC", "EFBIG"})


class NoLeaks(unittest.TestCase):
    """Each turn is repeated: the first fills the allocator's caches, later ones must not increase the memory."""

    def setUp(self) -> None:
        mount_kernel_file_systems()

    def repeat(self, turn: Callable[[int], None], *, times: int = 3) -> None:
        allocated = []
        for number in range(times):
            in_child_process(lambda number=number: turn(number))
            allocated.append(allocated_kb())
        print(f"allocated after each turn: {allocated} kB", flush=True)
        if os.path.exists(KMEMLEAK):
            self.assertEqual(unreferenced_objects(), "")
            return
        for before, after in itertools.pairwise(allocated):
            self.assertLess(after - before, REMAINING_KB_MAX)

    def test_tables(self) -> None:
        """Full tables of 7 kB each, each replaced by the next one."""

        def turn(number: int) -> None:
            generator = Generator(SEED + number)
            full = [generator.full() for _ in range(20)]
            fd = os.open(BOUNDS, os.O_WRONLY)
            for table in itertools.islice(itertools.cycle(full), ROUNDS * 4):
                self.assertEqual(write(fd, table), "")
            self.assertEqual(write(fd, b"flush\n"), "")

        self.repeat(turn)

    def test_namespaces(self) -> None:
        """Namespaces deleted with a full table and counts: 12 kB each, in addition to the namespace itself."""

        def turn(number: int) -> None:
            generator = Generator(SEED + number)
            for name in range(NAMESPACES):
                sh(f"ip netns add full{name}")
                fd = open_at(BOUNDS, os.O_WRONLY, f"full{name}")
                self.assertEqual(write(fd, generator.full()), "")
                os.close(fd)
                sh(f"ip netns del full{name}")

        self.repeat(turn)

    def test_concurrent_use(self) -> None:
        def turn(number: int) -> None:
            load = Load(SEED + 1000 * number)
            load.run(ROUNDS)
            print(f"{load.accepted} transactions accepted, {load.lines_read} lines read", flush=True)
            self.assertGreater(load.accepted, ROUNDS)
            self.assertGreater(load.lines_read, ROUNDS)

        self.repeat(turn)


if __name__ == "__main__":
    unittest.main()
