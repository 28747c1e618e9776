# SPDX-License-Identifier: Apache-2.0
"""One agent's stream: a task reads its reports, the generator hands out its commands."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import grpc

from airbound.core.effects import RenewLease, SetBounds
from airbound.edges.hub import Hub

Request = TypeVar("Request")


async def serve(
    hub: Hub, requests: AsyncIterator[Request], context: Any, take: Callable[[int, Request], None]
) -> AsyncIterator[SetBounds | RenewLease]:
    """Feed `take` with what comes in; yield what is to go out; end when either side does."""
    stream, outbox = hub.open_stream()

    async def read() -> None:
        try:
            async for request in requests:
                take(stream, request)
        finally:
            outbox.close()

    reader = asyncio.create_task(read())
    try:
        while (command := await outbox.get()) is not None:
            yield command
        if reader.done():
            reader.result()  # an error of ours must not pass for a stream that ended well
        if outbox.close_reason:
            await context.abort(grpc.StatusCode.UNAVAILABLE, outbox.close_reason)
    finally:
        reader.cancel()
        hub.close_stream(stream)
