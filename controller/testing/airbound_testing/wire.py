# SPDX-License-Identifier: Apache-2.0
"""A wire between two processes that can be cut: what is sent then waits, as on a network that drops everything."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Self


class Wire:
    """Forwards TCP from a port of the loopback interface to another; a context manager."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._there, self._back = asyncio.Event(), asyncio.Event()
        self.mend()
        self._server: asyncio.Server | None = None
        self._tasks = set[asyncio.Task[None]]()

    @property
    def target(self) -> str:
        """Where it listens."""
        if self._server is None:
            raise RuntimeError("the wire is not there yet")
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self, *, to: bool = True, back: bool = True) -> None:
        """Nothing goes through from now on, to the port or back from it or both."""
        for one_way, is_cut in ((self._there, to), (self._back, back)):
            if is_cut:
                one_way.clear()

    def mend(self) -> None:
        """All that waited goes through."""
        self._there.set()
        self._back.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._keep(asyncio.current_task())
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.CancelledError):
            await self._there.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self._to_port)
            with contextlib.closing(back):
                pumps = [
                    asyncio.create_task(_pump(reader, back, self._there)),
                    asyncio.create_task(_pump(there, writer, self._back, self._returned)),
                ]
                for pump in pumps:
                    self._keep(pump)
                try:
                    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pump in pumps:
                        pump.cancel()

    async def _returned(self, data: bytes) -> bytes:
        """What of the octets that come back goes through."""
        return data

    def _keep(self, task: asyncio.Task[None] | None) -> None:
        """Have a task end with the wire."""
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    whole: asyncio.Event,
    passed: Callable[[bytes], Awaitable[bytes]] | None = None,
) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            await whole.wait()
            writer.write(data if passed is None else await passed(data))
            await writer.drain()
