# SPDX-License-Identifier: Apache-2.0
"""Handlers of gRPC's methods, as interceptors see them."""

from collections.abc import Callable
from typing import Any

import grpc


def parts(handler: Any) -> tuple[Callable[..., Any], Callable[[Any, Any], Any]]:
    """How to make such a handler, and what it calls."""
    if handler.request_streaming and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler, handler.stream_stream
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler, handler.stream_unary
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler, handler.unary_stream
    return grpc.unary_unary_rpc_method_handler, handler.unary_unary
