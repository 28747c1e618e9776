# SPDX-License-Identifier: Apache-2.0
"""The wire that faults cut, itself."""

import asyncio
import gc
import warnings

from airbound_testing.wire import Wire


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while octets := await reader.read(100):
        writer.write(octets)
    writer.close()


async def test_both_sides_are_closed_however_little_time_passes_between_a_clients_end_and_the_wires() -> None:
    """What is left open is reported in whichever test Python collects it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with await asyncio.start_server(_answer, "127.0.0.1", 0) as server:
            for turns in range(12):  # of the event loop
                async with Wire(server.sockets[0].getsockname()[1]) as wire:
                    host, _, port = wire.target.rpartition(":")
                    reader, writer = await asyncio.open_connection(host, int(port))
                    writer.write(b"x")
                    assert await reader.read(1) == b"x"
                    writer.close()
                    for _ in range(turns):
                        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        gc.collect()
    assert [str(warning.message) for warning in caught if warning.category is ResourceWarning] == []
