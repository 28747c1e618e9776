# SPDX-License-Identifier: Apache-2.0
"""What live views ask for, over real gRPC."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from airbound.v1 import live_pb2 as wire
from airbound.v1 import live_pb2_grpc
from airbound_testing.live import BSSID, MACS, LiveController, upload


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController() as controller:
        yield controller


@pytest.fixture
async def views(live: LiveController) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(live.operators) as channel:
        yield live_pb2_grpc.LiveServiceStub(channel)


async def ratios(views: Any) -> list[wire.CellRttRatio]:
    return [cell async for page in views.ListRttRatios(wire.ListRttRatiosRequest()) for cell in page.cells]


async def test_rtt_ratios_are_over_the_minimum_that_decisions_use(live: LiveController, views: Any) -> None:
    assert await ratios(views) == []
    first, second = await live.uploading(2)
    await first.report(upload(200_000, 100_000), monotonic_us=2)
    await second.report(upload(400_000, 100_000), upload(300_000, 100_000, bytes([10, 0, 4, 2])), monotonic_us=2)

    async def worst() -> list[tuple[str, str, float, float]]:
        return [
            (cell.bssid, cell.worst_terminal, round(cell.worst, 3), round(cell.mean, 3)) for cell in await ratios(views)
        ]

    async def reported() -> bool:
        return await worst() == [(BSSID, "127.0.0.1", 4.0, 3.0)]

    await live.until(reported)


async def test_cells_without_a_sample_are_left_out(live: LiveController, views: Any) -> None:
    await live.senders(1)
    phone = await live.phone(0)
    await phone.report(upload(0, 0), monotonic_us=1)
    await phone.report(monotonic_us=2)
    assert await ratios(views) == []


async def test_destinations_are_those_of_the_last_reports(live: LiveController, views: Any) -> None:
    await live.uploading(2)
    pages = views.ListDestinations(wire.ListDestinationsRequest(bssid=BSSID))
    found = {terminal.mac: terminal.destinations async for page in pages for terminal in page.terminals}
    assert sorted(found) == MACS[:2]
    assert [(destination.address, destination.srtt_us) for destination in found[MACS[0]]] == [("10.0.4.1", 300_000)]


@pytest.mark.parametrize(
    ("bssid", "code"),
    [("here", grpc.StatusCode.INVALID_ARGUMENT), ("02:00:00:00:00:09", grpc.StatusCode.NOT_FOUND)],
)
async def test_another_cell_is_refused(views: Any, bssid: str, code: grpc.StatusCode) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await views.ListDestinations(wire.ListDestinationsRequest(bssid=bssid)).read()
    assert caught.value.code() is code
