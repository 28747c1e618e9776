# SPDX-License-Identifier: GPL-2.0
"""Each allocation of a transaction fails once: the transaction is applied as a whole, or returns ENOMEM unapplied.

Needs debug/debug.config. The debug options also allocate in the same system call and tolerate a failure: then the
transaction is accepted.
"""

from __future__ import annotations

import enum
import errno
import itertools
import os
import unittest
from collections.abc import Callable

from load import DEBUGFS, mount_kernel_file_systems, open_at, read_in_pieces
from support import BOUNDS, SERVER4, STATISTICS, Link, sh, write_bounds
from transactions import Generator, apply, text_of

FAILSLAB = f"{DEBUGFS}/failslab"
FAIL_NTH = "/proc/thread-self/fail-nth"


class Write(enum.Enum):
    REFUSED = enum.auto()  # ENOMEM
    ACCEPTED = enum.auto()
    NO_FAILURE = enum.auto()  # accepted; there was no nth allocation


def write_without(nth: int, data: bytes, fd: int) -> Write:
    """Write while the nth allocation of this thread fails."""
    control = os.open(FAIL_NTH, os.O_RDWR)
    try:
        os.write(control, str(nth).encode())
        try:
            os.write(fd, data)
            result = Write.ACCEPTED
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            result = Write.REFUSED
        left = int(os.pread(control, 20, 0))
        os.pwrite(control, b"0", 0)
    finally:
        os.close(control)
    return Write.NO_FAILURE if left else result


def state() -> tuple[bytes, bytes]:
    """The rules and their counts."""
    read = []
    for path in (BOUNDS, STATISTICS):
        fd = open_at(path, os.O_RDONLY, "phone")
        read.append(read_in_pieces(fd, lambda: 65536))
        os.close(fd)
    return read[0], read[1]


class FailingAllocations(unittest.TestCase):
    def setUp(self) -> None:
        mount_kernel_file_systems()
        # Also for allocations that may sleep; no call trace of each in the log.
        for name, value in (("ignore-gfp-wait", "N"), ("verbose", "0")):
            with open(f"{FAILSLAB}/{name}", "w") as file:
                file.write(value)

    def refusals(self, data: bytes, prepare: Callable[[], None]) -> int:
        """The number of allocations whose failure refuses the transaction."""
        refused = 0
        for nth in itertools.count(1):
            prepare()
            before = state()
            fd = open_at(BOUNDS, os.O_WRONLY, "phone")
            result = write_without(nth, data, fd)
            os.close(fd)
            if result is Write.REFUSED:
                refused += 1
                self.assertEqual(state(), before, f"allocation {nth}")
            else:
                self.assertEqual(state()[0], text_of(apply({}, data)).encode(), f"allocation {nth}")
            if result is Write.NO_FAILURE:
                break
        return refused

    def test_a_table_that_replaces_another(self) -> None:
        with Link() as link:
            listener = link.listen()

            def prepare() -> None:
                """Set a rule that the transaction removes, with counts that must remain if it is refused."""
                write_bounds(f"flush\ndst {SERVER4}/32 30 40\n", at="phone")
                link.dial(listener)
                self.assertRegex(state()[1].decode(), r"raised [1-9]")

            self.assertNotIn(f"dst {SERVER4}/32", text_of(apply({}, Generator(1).full())))
            # The draft and the table; a text of this size is allocated in pages.
            self.assertGreaterEqual(self.refusals(Generator(1).full(), prepare), 2)

    def test_the_first_table_of_a_namespace(self) -> None:
        def prepare() -> None:
            sh("ip netns del phone 2>/dev/null; ip netns add phone")

        self.addCleanup(sh, "ip netns del phone")
        # Text, draft, counts and table.
        self.assertGreaterEqual(self.refusals(b"flush\nall 1 2\n", prepare), 4)


if __name__ == "__main__":
    unittest.main()
