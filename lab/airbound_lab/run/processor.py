# SPDX-License-Identifier: Apache-2.0
"""Keeps a guest on one of this machine's processors.

User Mode Linux and the process that it traces take turns, tens of thousands of times in a guest's second: one runs
only while the other waits. On two processors each turn wakes a processor and leaves warm caches behind, on one it is a
change of tasks. So a guest stays on one processor. Two guests never do on the same one, since one of them would wait
while another processor is idle: a guest without a processor of its own runs on all of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from airbound_lab.run.cache import cache_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def own_processor(locks: Path | None = None) -> Iterator[frozenset[int]]:
    """Give processors for one guest, for as long as the context lasts: one that no other guest has, or all.

    The locks are files, so that guests of other programs on this machine count too. They are released with the program
    that has them, however it ends.
    """
    allowed = frozenset(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        # Without a place for the locks, as in a read-only home, guests share the processors.
        with contextlib.suppress(OSError):
            locks = locks or cache_directory() / "processors"
            locks.mkdir(parents=True, exist_ok=True)
            for number in sorted(allowed):
                # Not for writing, and so not to be emptied; closed in the programs that are started meanwhile.
                lock = os.open(locks / str(number), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    os.close(lock)
                    continue
                stack.callback(os.close, lock)
                allowed = frozenset({number})
                break
        yield allowed
