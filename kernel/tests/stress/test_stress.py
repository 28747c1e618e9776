# SPDX-License-Identifier: GPL-2.0
"""Random transactions one by one, and everything that uses the files at once.

    boot-test.sh LINUX test_stress          STRESS_ROUNDS=100 STRESS_SEED=1

In virtual time a run is the same each time; another seed is another run. What must hold:
- a transaction is refused with the error that the grammar gives, or carried out as a whole: what is read is at all
  times the result of one transaction, whatever the size and place of the read
- the kernel has nothing to complain of (boot-test.sh looks for that)
- nothing leaks: when namespaces and connections are gone and RCU has freed what waited for it, the kernel has allocated
  no more than before. In a kernel with debug/debug.config, kmemleak finds nothing instead: KASAN keeps what is freed
  for a while, so that amounts say nothing there.
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
# What a turn may leave in the allocator's pages. A turn puts more than that into tables, and more into counts.
LEFT_BEHIND_KB = 512
NAMESPACES = max(ROUNDS * 2, 200)  # counts of 4 kB each, tables of 8


def in_a_process_of_its_own(work: Callable[[], None]) -> None:
    """So that what Python remembers does not count as the kernel's; AssertionError when it fails."""
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
    """What the kernel has allocated when nothing is on its way: the end of a namespace waits for RCU."""
    sh("ip netns add settled; ip netns del settled")
    time.sleep(70)  # TIME_WAIT is over, orphans have given up
    sh("ip netns add settled; ip netns del settled")
    time.sleep(2)
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
    with open("/proc/meminfo") as file:
        [kb] = [int(line.split()[1]) for line in file if line.startswith("SUnreclaim:")]
    return kb


def unreferenced_objects() -> str:
    """What kmemleak finds; it wants to see an object lost twice, some seconds after it was made."""
    for _ in range(2):
        time.sleep(6)
        with open(KMEMLEAK, "w") as file:
            file.write("scan")
    with open(KMEMLEAK) as file:
        return file.read()


class Alone(unittest.TestCase):
    def test_each_transaction_has_the_result_that_the_grammar_gives(self) -> None:
        sh("ip netns add alone")
        self.addCleanup(sh, "ip netns del alone")
        generator = Generator(SEED)
        fd = open_at(BOUNDS, os.O_WRONLY, "alone")
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
            self.assertEqual(read_bounds(at="alone"), text_of(table), data)
            seen.add(found)
        self.assertEqual(seen, {"", "EINVAL", "ERANGE", "ENOSPC", "EFBIG"})


class NothingIsLeftBehind(unittest.TestCase):
    """Each turn repeated: the first fills the allocator's caches, the later ones must need no more memory."""

    def setUp(self) -> None:
        mount_kernel_file_systems()

    def repeat(self, turn: Callable[[int], None], *, times: int = 3) -> None:
        allocated = []
        for number in range(times):
            in_a_process_of_its_own(lambda number=number: turn(number))
            allocated.append(allocated_kb())
        print(f"allocated after each turn: {allocated} kB", flush=True)
        if os.path.exists(KMEMLEAK):
            self.assertEqual(unreferenced_objects(), "")
            return
        for before, after in itertools.pairwise(allocated):
            self.assertLess(after - before, LEFT_BEHIND_KB)

    def test_by_tables(self) -> None:
        """Full tables, of 6 kB each, replaced one by the next."""

        def turn(number: int) -> None:
            generator = Generator(SEED + number)
            full = [generator.full() for _ in range(20)]
            fd = os.open(BOUNDS, os.O_WRONLY)
            for table in itertools.islice(itertools.cycle(full), ROUNDS * 4):
                self.assertEqual(write(fd, table), "")
            self.assertEqual(write(fd, b"flush\n"), "")

        self.repeat(turn)

    def test_by_namespaces(self) -> None:
        """Namespaces that end with a full table and counts in them: 12 kB each, and what is theirs anyway."""

        def turn(number: int) -> None:
            generator = Generator(SEED + number)
            for name in range(NAMESPACES):
                sh(f"ip netns add full{name}")
                fd = open_at(BOUNDS, os.O_WRONLY, f"full{name}")
                self.assertEqual(write(fd, generator.full()), "")
                os.close(fd)
                sh(f"ip netns del full{name}")

        self.repeat(turn)

    def test_by_all_at_once(self) -> None:
        def turn(number: int) -> None:
            load = Load(SEED + 1000 * number)
            load.run(ROUNDS)
            print(f"{load.accepted} transactions accepted, {load.lines_read} lines read", flush=True)
            self.assertGreater(load.accepted, ROUNDS)
            self.assertGreater(load.lines_read, ROUNDS)

        self.repeat(turn)


if __name__ == "__main__":
    unittest.main()
