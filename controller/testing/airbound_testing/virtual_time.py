# SPDX-License-Identifier: Apache-2.0
"""An event loop whose time jumps to the next timer as soon as nothing is left to do: seconds cost no time, and every
run is the same. For what has neither sockets nor threads.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

BEGINS_S = 1_000.0


class _Clock(selectors.SelectSelector):
    """Instead of waiting, moves the time."""

    now_s = BEGINS_S

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; nothing is, without sockets.

        Raises:
            RuntimeError: no timer is set either: everybody would wait for ever.
        """
        if timeout is None:
            raise RuntimeError("nothing will happen any more")
        self.now_s += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop. A `RuntimeError` of `run` names what would wait for ever."""

    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        """Seconds."""
        return self._clock.now_s

    def now_us(self) -> int:
        """The same as the engine has its time."""
        return round(self.time() * 1e6)

    def stand_still(self, seconds: float) -> None:
        """Time passes and nothing runs, as when the process is stopped."""
        self._clock.now_s += seconds


def run(work: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run something in a loop of its own."""
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(work(loop))
