# SPDX-License-Identifier: Apache-2.0
"""A client of the operations service, for the commands."""

from types import TracebackType
from typing import Any, Self

import grpc

from airbound.v1 import operations_pb2, operations_pb2_grpc

_MODES = {"observe": operations_pb2.MODE_OBSERVE, "control": operations_pb2.MODE_CONTROL}


class UnreachableError(OSError):
    """No controller answers there."""


class RefusedError(ValueError):
    """The controller answered, and the answer is no."""


class Client:
    """One connection to a controller; a context manager."""

    def __init__(self, endpoint: str, timeout_s: float) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        options = [
            # A proxy of the environment is for the web; the agents pass it by as well.
            ("grpc.enable_http_proxy", 0),
            # A few thousand terminals with their reasons are more than the 4 MiB that a client takes otherwise.
            ("grpc.max_receive_message_length", -1),
        ]
        self._channel = grpc.insecure_channel(endpoint, options=options)
        self._stub: Any = operations_pb2_grpc.OperationsServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._channel.close()

    def cells(self) -> operations_pb2.ListCellsResponse:
        """Every cell, the mode and the policy."""
        answer: operations_pb2.ListCellsResponse = self._call("ListCells", operations_pb2.ListCellsRequest())
        return answer

    def terminals(self, bssid: str = "") -> operations_pb2.ListTerminalsResponse:
        """Every terminal, or those of one cell."""
        answer: operations_pb2.ListTerminalsResponse = self._call(
            "ListTerminals", operations_pb2.ListTerminalsRequest(bssid=bssid)
        )
        return answer

    def explain(self, mac: str) -> operations_pb2.ExplainTerminalResponse:
        """A terminal's bounds and their why."""
        answer: operations_pb2.ExplainTerminalResponse = self._call(
            "ExplainTerminal", operations_pb2.ExplainTerminalRequest(mac=mac)
        )
        return answer

    def set_mode(self, mode: str) -> operations_pb2.SetModeResponse:
        """Set "observe" or "control"."""
        answer: operations_pb2.SetModeResponse = self._call("SetMode", operations_pb2.SetModeRequest(mode=_MODES[mode]))
        return answer

    def exempt(self, mac: str, *, exempt: bool) -> operations_pb2.ExemptTerminalResponse:
        """Take a terminal out of control, or back in."""
        answer: operations_pb2.ExemptTerminalResponse = self._call(
            "ExemptTerminal", operations_pb2.ExemptTerminalRequest(mac=mac, exempt=exempt)
        )
        return answer

    def _call(self, method: str, request: Any) -> Any:
        """Call.

        Raises:
            UnreachableError: nobody answers, or not in time.
            RefusedError: any other error.
        """
        try:
            return getattr(self._stub, method)(request, timeout=self._timeout_s)
        except grpc.RpcError as error:
            if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
                raise UnreachableError(f"no controller answers at {self._endpoint}: {error.details()}") from error
            raise RefusedError(f"{error.details()} ({error.code().name.lower()})") from error
