# SPDX-License-Identifier: Apache-2.0
"""One agent's stream: a task reads its reports, the generator hands out its commands."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from airbound.core.effects import RenewLease, SetBounds
from airbound.core.events import Kind
from airbound.core.reports import ReportRefusedError
from airbound.edges.hub import Hub

Request = TypeVar("Request", bound=Message)

REPORT_BYTES_MAX = 1 << 20  # an access point with 2007 stations reports some 250 kB


async def serve(
    hub: Hub, kind: Kind, requests: AsyncIterator[Request], context: Any, take: Callable[[int, Request], None]
) -> AsyncIterator[SetBounds | RenewLease]:
    """Feed `take` with what comes in; yield what is to go out; end when either side does.

    A message that cannot be read, or is too large, is counted for whom the stream speaks for, and ends it.
    """
    stream, outbox = hub.open_stream()

    def refuse(value: object, why: str) -> None:
        error = ReportRefusedError("message", value, f"{why} (from {context.peer()})")
        hub.refuse(kind, hub.engine.owner_of(stream), [error])
        outbox.close(why)

    async def read() -> None:
        try:
            async for request in requests:
                if (size_bytes := request.ByteSize()) > REPORT_BYTES_MAX:
                    refuse(f"{size_bytes} bytes", f"a report is at most {REPORT_BYTES_MAX} bytes")
                    return
                take(stream, request)
        except DecodeError as error:
            refuse(str(error), "not a message of the contract")
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
