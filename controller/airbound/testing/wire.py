# SPDX-License-Identifier: Apache-2.0
"""A wire between two processes that can be cut: what is sent then waits, as on a network that drops everything."""

import asyncio
import contextlib
from typing import Self


class Wire:
    """Forwards TCP from a port of the loopback interface to another; a context manager."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._whole = asyncio.Event()
        self._whole.set()
        self._server: asyncio.Server | None = None
        self._tasks = set[asyncio.Task[None]]()

    @property
    def target(self) -> str:
        """Where it listens."""
        if self._server is None:
            raise RuntimeError("the wire is not there yet")
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Nothing goes through from now on, either way."""
        self._whole.clear()

    def mend(self) -> None:
        """All that waited goes through."""
        self._whole.set()

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
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._whole.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self._to_port)
            pumps = [asyncio.create_task(self._pump(reader, back)), asyncio.create_task(self._pump(there, writer))]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
                back.close()
        writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._whole.wait()
            writer.write(data)
            await writer.drain()
