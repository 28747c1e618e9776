# SPDX-License-Identifier: Apache-2.0
"""What is yet to be written to one stream. A slow reader gets the newest command, not the history: a set of bounds
replaces whatever waits, and a renewal waits only if nothing does.
"""

import asyncio

from airbound.core.effects import RenewLease, SetBounds


class Outbox:
    """One stream's outgoing side; for one event loop."""

    def __init__(self) -> None:
        self._waiting: SetBounds | RenewLease | None = None
        self._closed = False
        self._close_reason = ""
        self._news = asyncio.Event()

    def put(self, command: SetBounds | RenewLease) -> None:
        """Have a command written as soon as the stream takes it."""
        if self._closed:
            return
        if isinstance(command, RenewLease) and isinstance(self._waiting, SetBounds):
            return  # the waiting set brings its own lease
        self._waiting = command
        self._news.set()

    def close(self, reason: str = "") -> None:
        """Take no more; what waits is still written."""
        if not self._closed:
            self._closed, self._close_reason = True, reason
        self._news.set()

    @property
    def close_reason(self) -> str:
        """Why the stream is to end."""
        return self._close_reason

    async def get(self) -> SetBounds | RenewLease | None:
        """The next command, or nothing once the outbox is closed and empty."""
        while self._waiting is None:
            if self._closed:
                return None
            self._news.clear()
            await self._news.wait()
        command, self._waiting = self._waiting, None
        return command
