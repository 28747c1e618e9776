# SPDX-License-Identifier: Apache-2.0
"""Has every call on the operators' port come from an operator, and ends it with the operator's certificate."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import grpc.aio

from airbound.core.reasons import Reason, RefusedError
from airbound.grpc.handlers import parts
from airbound.grpc.peers import Peer, Peers
from airbound.grpc.session import abort
from airbound.grpc_server import NOT_SERVED

caller: ContextVar[str] = ContextVar("caller", default="")
"""Who calls, within a call: ROLE/NAME."""


class OperatorGuard(grpc.aio.ServerInterceptor):
    """`refused` is called with who was turned away and why, `served` before a call is."""

    def __init__(
        self, peers: Peers, refused: Callable[[str, Reason], None], served: Callable[[Peer], Awaitable[None]]
    ) -> None:
        self._peers = peers
        self._refused = refused
        self._served = served

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """The handler of a method, within the guard; none if there is none."""
        handler = await continuation(details)
        if handler is None or handler is NOT_SERVED:
            return handler
        make, call = parts(handler)

        async def guarded(request: Any, context: Any) -> Any:
            try:
                peer = self._peers.identify("operator", context)
            except RefusedError as error:
                self._refused(f"operator at {self._peers.name_of(context)}", error.reason)
                await abort(context, error.reason)
                raise
            caller.set(f"{peer.principal.role}/{peer.principal.name}")
            await self._served(peer)
            return await self._run(peer, call, request, context)

        return make(guarded, handler.request_deserializer, handler.response_serializer)

    async def _run(self, peer: Peer, call: Callable[[Any, Any], Any], request: Any, context: Any) -> Any:
        """The call, in this task; a call that may no longer be served is cancelled and ends with the reason."""
        task, ended = asyncio.current_task(), list[Reason]()

        def close(reason: Reason) -> None:
            ended.append(reason)
            if task is not None:
                task.cancel()

        try:
            with self._peers.during(peer, close):
                answer = call(request, context)
                if not hasattr(answer, "__aiter__"):
                    return await answer
                async with contextlib.aclosing(answer):
                    async for message in answer:
                        await context.write(message)
                return None
        except asyncio.CancelledError:
            if not ended or task is None:
                raise
            task.uncancel()
            await abort(context, ended[0])
            raise
