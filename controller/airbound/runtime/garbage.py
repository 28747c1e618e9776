# SPDX-License-Identifier: Apache-2.0
"""When Python looks for garbage in cycles.

By default it does whenever 700 more objects were made than freed, and a look at all of them follows soon: the objects
of a report live until the next one, so each look finds thousands that live. That was a sixth of a full controller's
CPU time. But they replace each other, and no report leaves a cycle behind: their number stays the same. What leaves
cycles behind is grpc: some eight objects with each call or stream. They are kept until Python looks, here after 1,200
calls at the latest, and take 1.5 MB by then.
"""

import contextlib
import gc
from collections.abc import Iterator

YOUNG, MIDDLE, OLD = 10_000, 10, 10  # objects; looks at the younger ones


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
