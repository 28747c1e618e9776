# SPDX-License-Identifier: Apache-2.0
"""The stream of one switch to the controller: reports out, rules in. The newest report waits, older ones are dropped;
a stream that ends is opened again after a while that grows and is random.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from airbound.core.reasons import RefusedError
from airbound.core.switch_reports import StationRule, SwitchReport
from airbound.grpc import switch_convert
from airbound.v1 import switch_pb2, switch_pb2_grpc

if TYPE_CHECKING:
    from airbound.operator.tls_files import ClientIdentity

BACKOFF_MIN_S, BACKOFF_MAX_S = 0.1, 5.0
ANSWER_WITHIN_S = 8.0  # the controller answers each report; one that does not hangs
COMMAND_BYTES_MAX = 1 << 21
OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own for each stream
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.max_receive_message_length", COMMAND_BYTES_MAX),
    ("grpc.dscp", 48),  # CS6, as the controller's
)
METADATA = (("airbound-answers", "1"),)

OnRules = Callable[[int, tuple[StationRule, ...], int], None]
OnRefused = Callable[[RefusedError], None]
Identify = Callable[[], "ClientIdentity | None"]


class ControllerStream:
    """`identify` reads what to connect with, anew for each stream, since certificates are renewed; none in plain text.
    `changed` is called with a text when the stream opens or ends for another reason than before.
    """

    def __init__(
        self,
        endpoint: str,
        identify: Identify,
        on_rules: OnRules,
        on_refused: OnRefused,
        changed: Callable[[str], None],
    ) -> None:
        self._endpoint = endpoint
        self._identify = identify
        self._on_rules = on_rules
        self._on_refused = on_refused
        self._changed = changed
        self._waiting: SwitchReport | None = None
        self._news = asyncio.Event()
        self._state = ""
        self._answered_at_s = 0.0
        self._sequence = 0
        self._task = asyncio.get_running_loop().create_task(self._run())

    def submit(self, report: SwitchReport) -> None:
        """Have a report sent, in place of one that still waits."""
        self._waiting = report
        self._news.set()

    async def close(self) -> None:
        """End it."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        backoff_s = BACKOFF_MIN_S
        while True:
            began_s = time.monotonic()
            ended = await self._once()
            if time.monotonic() - began_s > BACKOFF_MAX_S:
                backoff_s = BACKOFF_MIN_S
            self._tell(ended)
            await asyncio.sleep(backoff_s * random.uniform(0.5, 1.5))  # noqa: S311  # no secret
            backoff_s = min(2 * backoff_s, BACKOFF_MAX_S)

    def _tell(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._changed(state)

    async def _once(self) -> str:
        """One stream; why it ended."""
        try:
            channel = self._channel()
        except (ValueError, OSError) as error:
            return str(error)
        async with channel:
            stub: Any = switch_pb2_grpc.SwitchServiceStub(channel)
            call = stub.Connect(metadata=METADATA)
            self._answered_at_s, self._sequence = time.monotonic(), 0
            writer = asyncio.get_running_loop().create_task(self._write(call))
            try:
                await self._read(call)
            except TimeoutError:
                return "the controller does not answer"
            except (grpc.aio.AioRpcError, grpc.aio.BaseError, grpc.aio.InternalError) as error:
                details = error.details() if isinstance(error, grpc.aio.AioRpcError) else ""
                return details or type(error).__name__
            else:
                return "the controller ended the stream"
            finally:
                writer.cancel()
                call.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await writer

    def _channel(self) -> grpc.aio.Channel:
        identity = self._identify()
        if identity is None:
            return grpc.aio.insecure_channel(self._endpoint, options=OPTIONS)
        options = (*OPTIONS, ("grpc.ssl_target_name_override", identity.server_name))
        credentials = grpc.ssl_channel_credentials(identity.authorities_pem, identity.key_pem, identity.certificate_pem)
        return grpc.aio.secure_channel(self._endpoint, credentials, options=options)

    async def _write(self, call: Any) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            report, self._waiting = self._waiting, None
            if report is not None:
                message = switch_convert.switch_report_message(report)
                self._sequence += 1
                message.sequence = self._sequence  # of this stream
                await call.write(switch_pb2.SwitchServiceConnectRequest(report=message))

    async def _read(self, call: Any) -> None:
        """Raises TimeoutError if nothing comes for too long."""
        while True:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                response = await call.read()
            if response is grpc.aio.EOF:
                return
            self._tell("connected")
            if response.command.WhichOneof("command") != "set_station_rules":
                continue
            try:
                self._on_rules(*switch_convert.station_rules(response.command.set_station_rules))
            except RefusedError as error:
                self._on_refused(error)
