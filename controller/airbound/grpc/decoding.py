# SPDX-License-Identifier: Apache-2.0
"""Decodes the messages of calls in gRPC's place, which would end a call whose octets are no message as an error of the
server: with a traceback in the log for each, and uncounted.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc.aio
from google.protobuf.message import DecodeError

from airbound.core.reasons import Code, Reason
from airbound.grpc.handlers import parts
from airbound.grpc.session import abort


class Decoding(grpc.aio.ServerInterceptor):
    """`refused` is called with whose message was none, and why. After a guard: who may not call is refused for that."""

    def __init__(self, refused: Callable[[str, Reason], None]) -> None:
        self._refused = refused

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """The handler of a method, which decodes; none if there is none. Agents' streams decode themselves."""
        handler = await continuation(details)
        if handler is None or handler.request_deserializer is None:
            return handler
        make, call = parts(handler)
        decode, path = handler.request_deserializer, details.method

        async def decoded(octets: bytes, context: Any) -> Any:
            try:
                return decode(octets)
            except DecodeError:
                reason = Reason(Code.MALFORMED, "message")
                self._refused(f"{path} of {context.peer()}", reason)
                await abort(context, reason)
                raise

        async def all_decoded(request: AsyncIterator[bytes], context: Any) -> AsyncIterator[Any]:
            async for octets in request:
                yield await decoded(octets, context)

        async def called(request: Any, context: Any) -> Any:
            if handler.request_streaming:
                answer = call(all_decoded(request, context), context)
            else:
                answer = call(await decoded(request, context), context)
            if not hasattr(answer, "__aiter__"):
                return await answer
            async with contextlib.aclosing(answer):
                async for message in answer:
                    await context.write(message)
            return None

        return make(called, None, handler.response_serializer)
