# SPDX-License-Identifier: Apache-2.0
"""A gRPC server that the path of a call cannot end.

gRPC 1.84 and 1.85 decode the path of each call that is not one of the registered ones in the loop that takes all calls.
A path that is no UTF-8 ends that loop: the server takes no call any more, of anybody, and closes its port. So all calls
of proto/airbound/v1 are registered at every port, those that a port does not serve as well, and paths of others are
not decoded: gRPC's core ends such a call as CANCELLED (decision 0054).
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc
import grpc.aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # has no types

from airbound.v1 import (
    access_point_pb2,
    enrollment_pb2,
    events_pb2,
    live_pb2,
    operations_pb2,
    pki_pb2,
    replicas_pb2,
    switch_pb2,
    terminal_pb2,
)

_FILES = (
    access_point_pb2, enrollment_pb2, events_pb2, live_pb2, operations_pb2, pki_pb2, replicas_pb2, switch_pb2,
    terminal_pb2,
)  # fmt: skip


def _paths() -> Iterator[str]:
    for file in _FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            yield from (f"/{service.full_name}/{method.name}" for method in service.methods)


PATHS = tuple(_paths())


async def _refuse(_: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")  # gRPC's own text


NOT_SERVED: Any = grpc.stream_stream_rpc_method_handler(_refuse)  # it does not wait for a message
"""The handler of a call that another port serves."""


class _Server(cygrpc.AioServer):  # type: ignore[misc]  # the same
    """See above; `_make_request_call_future` is asked for the next call of a registered path, or of any other."""

    def __init__(self, *arguments: Any) -> None:
        self._paths = set[str]()
        super().__init__(*arguments)

    def add_registered_method_handlers(self, method_handlers: Mapping[str, Any]) -> None:
        self._paths.update(method_handlers)
        super().add_registered_method_handlers(method_handlers)

    async def start(self) -> None:
        self.add_registered_method_handlers({path: NOT_SERVED for path in PATHS if path not in self._paths})
        await super().start()

    def _make_request_call_future(self, path: bytes | None) -> Any:
        if path is not None:
            return super()._make_request_call_future(path)
        return asyncio.get_running_loop().create_task(self._end_others())

    async def _end_others(self) -> None:
        """A call that nobody refers to any more is ended."""
        while True:
            await self._request_call()


def make(
    options: Sequence[tuple[str, Any]],
    *,
    interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
    maximum_concurrent_rpcs: int | None = None,
) -> grpc.aio.Server:
    """One that listens nowhere yet."""
    original = cygrpc.AioServer
    if hasattr(original, "_make_request_call_future"):  # up to gRPC 1.83 there is neither this nor the defect
        cygrpc.AioServer = _Server
    try:
        return grpc.aio.server(
            options=options, interceptors=interceptors, maximum_concurrent_rpcs=maximum_concurrent_rpcs
        )
    finally:
        cygrpc.AioServer = original


def serve(server: grpc.aio.Server, service: str, handlers: dict[str, Any]) -> None:
    """Have a server serve the methods of a service, as generated code does."""
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_registered_method_handlers(service, handlers)
