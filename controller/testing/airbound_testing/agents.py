# SPDX-License-Identifier: Apache-2.0
"""An access point and a phone that connect to a real server over real gRPC.

The phone interprets what it is sent: it applies a set under its lease as the contract demands, refuses what it
forbids, and reports the generation in force. It has no clock of its own; `expire` is the lease's end.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple, Self

import grpc
import grpc.aio

from airbound.core.addresses import address_text, mac_from_text, mac_text
from airbound.v1 import access_point_pb2, access_point_pb2_grpc, reason_pb2, terminal_pb2, terminal_pb2_grpc

WAIT_S = 120.0  # only a failure takes that long


class Secured(NamedTuple):
    """What a client with a certificate connects with."""

    credentials: grpc.ChannelCredentials
    server_name: str


def channel(target: str, secured: Secured | None = None) -> grpc.aio.Channel:
    """A connection of its own, as each agent has one; channels of one process share theirs otherwise."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    if secured is None:
        return grpc.aio.insecure_channel(target, options=options)
    name = ("grpc.ssl_target_name_override", secured.server_name)
    return grpc.aio.secure_channel(target, secured.credentials, options=[*options, name])


class Agent:
    """A stream that reports are written to and a task that takes what comes back."""

    metadata: tuple[tuple[str, str], ...] = ()
    """Of its streams."""

    def __init__(self, target: str, secured: Secured | None = None) -> None:
        self.secured = secured
        self.channel = channel(target, secured)
        self.sequence = 0
        self.answers = 0  # responses without a command
        self.error: grpc.aio.AioRpcError | None = None
        self.ended = asyncio.Event()
        self._changed = asyncio.Condition()
        self._call: Any = None
        self._reader: asyncio.Task[None] | None = None

    def _connect(self) -> Any:
        raise NotImplementedError

    def received(self, response: Any) -> None:
        """A response came. Answers come only to those who ask for them, by metadata."""
        if self.metadata and not response.HasField("command"):
            self.answers += 1
        else:
            self.take(response)

    def take(self, response: Any) -> None:
        """Do what the controller commands."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._call = self._connect()
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._disconnect()

    async def connect_again(self, target: str) -> None:
        """Leave the stream and open another one, maybe to another controller, as an agent does after an error."""
        await self._disconnect()
        self.channel = channel(target, self.secured)
        self.error, self.ended = None, asyncio.Event()
        await self.__aenter__()

    async def leave(self) -> None:
        """Leave the stream; another may be opened."""
        await self._disconnect()

    async def _disconnect(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.wait([reader])
        await self.channel.close()
        if reader is not None and not reader.cancelled():
            reader.result()  # raises if a command was against the contract

    async def done_writing(self) -> None:
        """End our half of the stream."""
        await self._call.done_writing()

    async def write(self, message: Any) -> None:
        """Send one request."""
        await self._call.write(message)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on what was received is met.

        Raises:
            TimeoutError: it is not met in time.
            AssertionError: the stream ended and it is not met.
        """
        async with asyncio.timeout(WAIT_S), self._changed:
            await self._changed.wait_for(lambda: condition() or self.ended.is_set())
        if not condition():
            raise AssertionError(f"the stream ended: {self.error}")

    async def _read(self) -> None:
        responses: AsyncIterator[Any] = self._call
        try:
            async for response in responses:
                self.received(response)
                async with self._changed:
                    self._changed.notify_all()
        except grpc.aio.AioRpcError as error:
            self.error = error
        finally:
            self.ended.set()
            async with self._changed:
                self._changed.notify_all()


class FakeAccessPoint(Agent):
    """Reports one cell; counters are the test's to set. Applies EDCA parameters and limits of windows as an access
    point's agent does: `queues` are in force, its own if there are none, `announced` what its stations are told, and
    `limits`, by station and destination.
    """

    def __init__(self, target: str, secured: Secured | None = None) -> None:
        super().__init__(target, secured)
        self.queues: list[access_point_pb2.Edca] = []
        self.announced: list[access_point_pb2.Edca] = []
        self.mode = access_point_pb2.CELL_MODE_UNSPECIFIED  # by the last response
        self.check = access_point_pb2.CellCheck()  # the same
        self.generation = 0
        self.reason = reason_pb2.Reason()
        self.sets = 0
        self.renewals = 0
        self.limits: dict[tuple[str, str], int] = {}  # bytes
        self.windows_generation = 0
        self.windows_reason = reason_pb2.Reason()
        self.window_sets = 0
        self.window_releases = 0  # of them, empty ones
        self.window_renewals = 0
        self._stream_generation = self._windows_stream_generation = 0

    def _connect(self) -> Any:
        self._stream_generation = self._windows_stream_generation = 0
        stub: Any = access_point_pb2_grpc.AccessPointServiceStub(self.channel)
        return stub.Connect(metadata=self.metadata)

    def received(self, response: Any) -> None:
        """A response came; each has the mode."""
        self.mode, self.check = response.mode, response.check
        super().received(response)

    def take(self, response: Any) -> None:
        """Apply, release or renew; anything against the contract is an error in the test."""
        match response.command.WhichOneof("command"):
            case "set_edca":
                self._set_edca(response.command.set_edca)
            case "set_windows":
                self._set_windows(response.command.set_windows)
            case _:
                raise AssertionError(f"{response} is no command")

    def _set_windows(self, new: access_point_pb2.SetWindows) -> None:
        limits = {
            (mac_text(limit.mac), address_text(limit.address) if limit.address else ""): limit.max_bytes
            for limit in new.limits
        }
        if len(limits) < len(new.limits) or not all(limits.values()):
            raise AssertionError(f"{new} has a limit twice, or one of nothing")
        if new.generation == self._windows_stream_generation == self.windows_generation:
            if limits != self.limits:
                raise AssertionError(f"another set under generation {new.generation}")
            self.window_renewals += 1
            return
        if new.generation <= max(self._windows_stream_generation, self.windows_generation):
            raise AssertionError(f"generation {new.generation} does not follow {self._windows_stream_generation}")
        self._windows_stream_generation = new.generation
        self.window_sets += 1
        self.window_releases += not limits
        self.windows_reason, self.limits = new.reason, limits
        self.windows_generation = new.generation if limits else 0

    def expire_windows(self) -> None:
        """The lease of the limits ended."""
        self.limits, self.windows_generation = {}, 0

    def _set_edca(self, new: access_point_pb2.SetEdca) -> None:
        if new.generation == self._stream_generation == self.generation:
            if (list(new.queues), list(new.stations)) != (self.queues, self.announced):
                raise AssertionError(f"another set under generation {new.generation}")
            self.renewals += 1
            return
        if new.generation <= max(self._stream_generation, self.generation):
            raise AssertionError(f"generation {new.generation} does not follow {self._stream_generation}")
        self._stream_generation = new.generation
        self.sets += 1
        self.reason, self.queues, self.announced = new.reason, list(new.queues), list(new.stations)
        self.generation = new.generation if new.queues or new.stations else 0

    async def report(self, message: access_point_pb2.AccessPointReport) -> None:
        """Send a report under the next sequence number."""
        self.sequence += 1
        message.sequence = self.sequence
        await self.write(access_point_pb2.AccessPointServiceConnectRequest(report=message))


class FakePhone(Agent):
    """Applies bounds as a phone agent does. `bounds` are the ranges in force by destination, "" for all."""

    def __init__(self, target: str, mac: str, secured: Secured | None = None) -> None:
        super().__init__(target, secured)
        self.mac = mac_from_text(mac)
        self.bounds: dict[str, tuple[int, int]] = {}
        self.generation = 0
        self.reason = reason_pb2.Reason()
        self.sets = 0
        self.releases = 0  # of them, empty ones
        self.renewals = 0
        self.reporting = terminal_pb2.SetReporting()
        self.arrivals: list[str] = []  # the cells, as the controller said
        self.takes_flows = False
        self.flows: list[terminal_pb2.Flow] = []  # in force
        self.flows_generation = 0
        self._stream_generation = 0
        self._described = False

    def _connect(self) -> Any:
        self._stream_generation, self._described = 0, False
        stub: Any = terminal_pb2_grpc.TerminalServiceStub(self.channel)
        return stub.Connect(metadata=self.metadata)

    def take(self, response: Any) -> None:
        """Apply, release or renew; anything against the contract is an error in the test."""
        command = response.command
        match command.WhichOneof("command"):
            case "renew_lease":
                if command.renew_lease.generation == self.generation:
                    self.renewals += 1
            case "set_reporting":
                self.reporting = command.set_reporting
            case "arrived":
                self.arrivals.append(mac_text(command.arrived.bssid))
            case "set_bounds":
                self._apply(command.set_bounds)
            case "set_flows" if self.takes_flows:
                self.flows = list(command.set_flows.flows)
                self.flows_generation = command.set_flows.generation if self.flows else 0
            case other:
                raise AssertionError(f"{other} is no command")

    def _apply(self, new: terminal_pb2.SetBounds) -> None:
        if new.generation <= max(self._stream_generation, self.generation):
            raise AssertionError(f"generation {new.generation} does not follow {self._stream_generation}")
        for bound in new.bounds:
            if not 1 <= bound.min_segs <= bound.max_segs:
                raise AssertionError(f"{bound.min_segs}..{bound.max_segs} is no range")
        self._stream_generation = new.generation
        self.sets += 1
        self.releases += not new.bounds
        self.reason = new.reason
        self.bounds = {_selector(bound): (bound.min_segs, bound.max_segs) for bound in new.bounds}
        self.generation = new.generation if new.bounds else 0

    def expire(self) -> None:
        """The lease ended."""
        self.bounds, self.generation = {}, 0

    async def report(
        self, *destinations: terminal_pb2.Destination, monotonic_us: int, arrivals: terminal_pb2.Arrivals | None = None
    ) -> None:
        """Send a report under the next sequence number."""
        self.sequence += 1
        report = terminal_pb2.TerminalReport(
            mac=self.mac,
            sequence=self.sequence,
            monotonic_us=monotonic_us,
            destinations=destinations,
            bounds_generation=self.generation,
            arrivals=arrivals,
            flows=terminal_pb2.FlowState(generation=self.flows_generation) if self.takes_flows else None,
        )
        if not self._described:
            self._described = True
            back_end = terminal_pb2.BackEnd(
                name="procfs", can_set_max=True, can_set_min=True, can_select_destination=True, rules_max=256
            )
            agent = terminal_pb2.Agent(version="test", back_end=back_end, takes_arrivals=True)
            if self.takes_flows:
                agent.can_mark, agent.flows_max = True, 64
            report.agent.CopyFrom(agent)
        await self.write(terminal_pb2.TerminalServiceConnectRequest(report=report))


def _selector(bound: terminal_pb2.Bound) -> str:
    if bound.WhichOneof("selector") == "all":
        return ""
    return f"{address_text(bound.destination.address)}/{bound.destination.length_bits}"
