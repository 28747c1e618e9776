# SPDX-License-Identifier: Apache-2.0
"""One thread for all: sockets that are ready, and timers."""

from __future__ import annotations

import heapq
import itertools
import selectors
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable


class Loop:
    """Calls back when a socket is ready or a moment has come."""

    def __init__(self) -> None:
        """Begin with nothing to wait for."""
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.running = True

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call once, after some seconds."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), call))

    def every(self, seconds: float, call: Callable[[], None]) -> None:
        """Call again and again, for the first time after so many seconds."""

        def again() -> None:
            call()
            self.after(seconds, again)

        self.after(seconds, again)

    def watch(self, sock: socket.socket, events: int, call: Callable[[], None]) -> None:
        """Call whenever a socket is ready; replaces what was to be called before."""
        if sock in self._selector.get_map():
            self._selector.modify(sock, events, call)
        else:
            self._selector.register(sock, events, call)

    def forget(self, sock: socket.socket) -> None:
        """Wait for a socket no longer."""
        if sock in self._selector.get_map():
            self._selector.unregister(sock)

    def close(self) -> None:
        """Wait for nothing any more."""
        self._selector.close()

    def run(self) -> None:
        """Wait and call until `running` is False."""
        while self.running:
            for key, _ in self._selector.select(self._left_s()):
                call: Any = key.data
                # A call before this one may have closed the socket.
                if key.fileobj in self._selector.get_map():
                    call()
            while self._timers and self._timers[0][0] <= time.monotonic():
                heapq.heappop(self._timers)[2]()

    def _left_s(self) -> float | None:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
