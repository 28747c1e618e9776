# SPDX-License-Identifier: Apache-2.0
"""A live view shows the same at every replica, whichever of them owns the cell."""

from contextlib import AsyncExitStack
from typing import Any

import grpc
import grpc.aio
import pytest

from airbound.store.memory.store import Memory, MemoryStore
from airbound.v1 import live_pb2, live_pb2_grpc
from airbound_testing.live import BSSID, MACS, PATIENT, LiveController, upload


async def shown(views: Any) -> tuple[list[str], list[str]]:
    """Cells with RTT ratios, and the terminals of one cell."""
    ratios = [cell.bssid async for page in views.ListRttRatios(live_pb2.ListRttRatiosRequest()) for cell in page.cells]
    pages = views.ListDestinations(live_pb2.ListDestinationsRequest(bssid=BSSID))
    return ratios, [terminal.mac async for page in pages for terminal in page.terminals]


async def test_ratios_and_destinations_of_a_cell_of_another_replica() -> None:
    memory = Memory()
    async with AsyncExitStack() as stack:

        async def start(name: str) -> tuple[LiveController, Any]:
            controller = LiveController(PATIENT, replica=name, store=MemoryStore(memory))
            await stack.enter_async_context(controller)
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(controller.operators))
            return controller, live_pb2_grpc.LiveServiceStub(channel)

        (a, views_of_a), (_, views_of_b) = await start("a"), await start("b")
        await a.senders(1)
        phone = await a.phone(0)
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.bounds != {})
        assert await shown(views_of_a) == ([BSSID], [MACS[0]])

        async def the_same() -> bool:
            try:
                return await shown(views_of_b) == ([BSSID], [MACS[0]])
            except grpc.aio.AioRpcError:  # b has not found a yet
                return False

        await a.until(the_same)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await views_of_b.ListDestinations(live_pb2.ListDestinationsRequest(bssid="02:00:00:00:00:09")).read()
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
