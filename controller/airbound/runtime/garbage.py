# SPDX-License-Identifier: Apache-2.0
"""When Python looks for garbage in cycles.

By default it does whenever 700 more objects were made than freed, and a look at all of them follows soon: the objects
of a report live until the next one, so each look finds thousands that live. That was a sixth of a full controller's
CPU time. But they replace each other, and no report leaves a cycle behind: their number stays the same. What leaves
cycles behind is grpc: some eight objects with each call or stream. They are kept until Python looks: after 1,200 calls
here, after 5,000 if they were long ones, and are some 5 MB at the most.
"""

import contextlib
import gc
from collections.abc import Iterator

# Objects; looks at the younger ones. A stream that lives for minutes is in the oldest generation when it ends: with the
# usual tens its cycles are kept for an hour. Python looks at all only if there are a quarter more than the last time.
YOUNG, MIDDLE, OLD = 10_000, 1, 1


def tune() -> None:
    """Look rarely, and never at what is there now: modules and classes, which live as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Look for none within this, in no thread: for work that makes very many objects and leaves none of them. A look at
    all of them takes tens of milliseconds, in which no thread does anything else.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
