# SPDX-License-Identifier: Apache-2.0
"""Notices that this process stood still: SIGSTOP, a virtual machine that was paused, a CPU that was busy elsewhere.

Other replicas may have taken its cells over meanwhile, before their leases ended. So it commands none of them until the
store has confirmed that they still are its own. The first that runs after a stop may be anything, a report or a timer:
`check` is called before each event that may lead to commands.
"""

import asyncio
from collections.abc import Callable

BEAT_S = 0.25
STALL_US = 1_000_000  # four beats missed. A cell is taken over after three times that at least


class Stall:
    """Calls `stalled` with the time when more than `STALL_US` went by between two checks."""

    def __init__(self, clock_us: Callable[[], int], stalled: Callable[[int], None]) -> None:
        self._clock_us = clock_us
        self._stalled = stalled
        self._at_us = clock_us()

    def start(self) -> None:
        """The time counts from now on."""
        self._at_us = self._clock_us()

    def check(self) -> None:
        """Compare the clock with the check before."""
        now_us = self._clock_us()
        before_us, self._at_us = self._at_us, now_us
        if now_us - before_us > STALL_US:
            self._stalled(now_us)

    async def run(self) -> None:
        """Check for ever."""
        while True:
            await asyncio.sleep(BEAT_S)
            self.check()
