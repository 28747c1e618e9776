# SPDX-License-Identifier: Apache-2.0
"""One stream against a peer that reads when the test lets it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest

from airbound.core.effects import Bound, RenewLease, SetBounds, SetEdca, SetFlows, SetReporting, SetWindows
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.grpc import command_convert, session
from airbound.grpc.session import Session, status_of
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.agents import WAIT_S

STREAM = Stream(1, Principal("terminal", "192.0.2.7"), bytes([192, 0, 2, 7]))
STOPPING = Reason(Code.STOPPING)


class Aborted(grpc.aio.BaseError):
    """What gRPC raises in a handler that ended its stream."""


class FakeContext:
    """gRPC's side of a stream. A write is done once the peer reads; `release` lets it."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[Any] = asyncio.Queue()
        self.octets: list[bytes] = []
        self.reads = asyncio.Semaphore(0)
        self.ended: tuple[grpc.StatusCode, str] | None = None

    async def read(self) -> Any:
        return await self.incoming.get()

    async def write(self, data: bytes) -> None:
        await self.reads.acquire()
        if self.ended is not None:
            raise grpc.aio.UsageError("RPC already finished")
        self.octets.append(data)

    @property
    def written(self) -> list[terminal_pb2.TerminalCommand]:
        """What was written to a terminal."""
        return [terminal_pb2.TerminalServiceConnectResponse.FromString(data).command for data in self.octets]

    async def abort(self, code: grpc.StatusCode, details: str, trailing_metadata: object = ()) -> None:  # noqa: ARG002
        self.ended = code, details
        raise Aborted

    def break_off(self) -> None:
        """The stream is gone: whatever is being written fails."""
        self.ended = grpc.StatusCode.CANCELLED, ""
        self.release()

    def release(self, writes: int = 100) -> None:
        for _ in range(writes):
            self.reads.release()


class Handler:
    """A session in its handler's task."""

    def __init__(self, *, answers: bool = False) -> None:
        self.context = FakeContext()
        self._answers = answers
        self.taken: list[bytes] = []
        self.waited_s: list[float] = []
        self.session: Session
        self.task: asyncio.Task[None]

    async def start(self) -> "Handler":
        began = asyncio.Event()

        async def handle() -> None:
            self.session = Session(STREAM, self.context, self.waited_s.append, answers=lambda: self._answers)
            began.set()
            await self.session.read(lambda data: self.take(data))  # noqa: PLW0108  # tests replace it

        self.task = asyncio.get_running_loop().create_task(handle())
        waiting = asyncio.get_running_loop().create_task(began.wait())
        await asyncio.wait([waiting, self.task], return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            await self.task  # raises what ended it
        return self

    def take(self, data: bytes) -> None:
        self.taken.append(data)

    async def end(self) -> tuple[grpc.StatusCode, str] | None:
        """Wait for the handler's end; the status, none if it just returned."""
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait([self.task])
        error = None if self.task.cancelled() else self.task.exception()
        assert error is None or isinstance(error, Aborted)
        return self.context.ended


@pytest.fixture
async def handler() -> AsyncIterator[Handler]:
    started = await Handler().start()
    yield started
    started.task.cancel()
    started.context.break_off()
    await asyncio.wait([started.task])
    await turns()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def turns(count: int = 10) -> None:
    """Let whatever is ready run."""
    for _ in range(count):
        await asyncio.sleep(0)


def bounds(generation: int, segs: int = 10) -> SetBounds:
    reasons = (Reason(Code.ACTIVE_SENDERS, "", 1, 2),)
    return SetBounds(STREAM, generation, (Bound(b"", segs, segs),), 6000, reasons, 1, 2e7)


def edca(generation: int) -> SetEdca:
    return SetEdca(STREAM, generation, (), 6000, Reason(Code.DOWNLOADS, after=0.5, limit=0.6))


def windows(generation: int) -> SetWindows:
    return SetWindows(STREAM, generation, (), 6000, Reason(Code.NO_STATION_TO_LIMIT))


def renewal(generation: int) -> RenewLease:
    return RenewLease(STREAM, generation, 6000)


def shown(commands: list[terminal_pb2.TerminalCommand]) -> list[tuple[str, int]]:
    found = []
    for command in commands:
        kind = command.WhichOneof("command")
        found.append((kind, getattr(command, kind).generation if kind != "set_reporting" else 0))
    return found


async def test_a_slow_reader_gets_only_the_newest_set(handler: Handler) -> None:
    for generation in (1, 2, 3, 4):
        handler.session.send(bounds(generation))
        await turns()
    handler.context.release()
    await turns()
    # The first one was on its way when the others came.
    assert shown(handler.context.written) == [("set_bounds", 1), ("set_bounds", 4)]


async def test_a_slow_access_point_gets_only_the_newest_set(handler: Handler) -> None:
    for generation in (1, 2, 3, 4):
        handler.session.send(edca(generation))
        await turns()
    handler.context.release()
    await turns()
    response = access_point_pb2.AccessPointServiceConnectResponse
    generations = [response.FromString(data).command.set_edca.generation for data in handler.context.octets]
    assert generations == [1, 4]


async def test_a_slow_access_point_gets_the_newest_set_of_each_kind(handler: Handler) -> None:
    handler.session.send(edca(1))
    await turns()
    for generation in (2, 3):
        handler.session.send(windows(generation))
        handler.session.send(edca(generation))
    handler.session.send(windows(4))
    handler.context.release()
    await turns()
    response = access_point_pb2.AccessPointServiceConnectResponse
    commands = [response.FromString(data).command for data in handler.context.octets]
    shown_now = [
        (command.WhichOneof("command"), getattr(command, command.WhichOneof("command") or "").generation)
        for command in commands
    ]
    assert shown_now == [("set_edca", 1), ("set_edca", 3), ("set_windows", 4)]


async def test_a_renewal_does_not_replace_a_waiting_set(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.session.send(bounds(2))
    handler.session.send(renewal(2))
    handler.context.release()
    await turns()
    assert shown(handler.context.written) == [("set_bounds", 1), ("set_bounds", 2)]


async def test_a_set_replaces_a_waiting_renewal(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.session.send(renewal(1))
    handler.session.send(bounds(2))
    handler.context.release()
    await turns()
    assert shown(handler.context.written) == [("set_bounds", 1), ("set_bounds", 2)]


async def test_of_renewals_the_newest_waits(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.session.send(renewal(1))
    handler.session.send(renewal(2))
    handler.context.release()
    await turns()
    assert shown(handler.context.written) == [("set_bounds", 1), ("renew_lease", 2)]


async def test_how_to_report_takes_nobodys_place(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.session.send(bounds(2))
    handler.session.send(SetReporting(STREAM, 1000, 10_000, 0))
    handler.session.send(SetReporting(STREAM, 2000, 10_000, 0))
    handler.context.release()
    await turns()
    assert shown(handler.context.written) == [("set_bounds", 1), ("set_reporting", 0), ("set_bounds", 2)]
    assert handler.context.written[1].set_reporting.interval_ms == 2000


async def test_a_stream_with_nothing_to_write_has_no_task(handler: Handler) -> None:
    before = asyncio.all_tasks()
    handler.context.release()
    handler.session.send(bounds(1))
    assert len(asyncio.all_tasks()) == len(before) + 1
    await turns()
    assert asyncio.all_tasks() == before
    handler.session.send(renewal(1))
    await turns()
    assert asyncio.all_tasks() == before
    assert shown(handler.context.written) == [("set_bounds", 1), ("renew_lease", 1)]


async def test_what_waits_is_written_before_the_end(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.session.send(bounds(2))
    handler.session.close(STOPPING)
    handler.session.send(bounds(3))
    await turns()
    assert handler.context.ended is None
    handler.context.release()
    assert await handler.end() == (grpc.StatusCode.UNAVAILABLE, "the controller is stopping")
    assert shown(handler.context.written) == [("set_bounds", 1), ("set_bounds", 2)]


async def test_the_first_reason_to_close_counts(handler: Handler) -> None:
    handler.session.close(Reason(Code.REPLACED))
    handler.session.close(STOPPING)
    assert await handler.end() == (grpc.StatusCode.UNAVAILABLE, "a newer stream took its place")


async def test_a_stream_that_breaks_at_its_end(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.session.close(STOPPING)
    await turns()
    assert not handler.task.done()
    handler.context.break_off()
    await handler.end()
    assert handler.context.written == []


async def test_a_stream_that_is_to_end_hands_out_nothing_more(handler: Handler) -> None:
    handler.take = lambda data: (  # type: ignore[method-assign,assignment]
        handler.taken.append(data),
        handler.session.close(Reason(Code.MALFORMED, "message")),
    )
    handler.session.send(bounds(1))  # which the peer does not read
    for data in (b"bad", b"next", b"next"):
        handler.context.incoming.put_nowait(data)
    await turns()
    assert handler.taken == [b"bad"]
    handler.context.release()
    assert await handler.end() == (grpc.StatusCode.INVALID_ARGUMENT, "message: not what it must be")
    assert handler.taken == [b"bad"]


async def test_a_peer_that_is_done_ends_the_handler(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.context.incoming.put_nowait(b"report")
    handler.context.incoming.put_nowait(grpc.aio.EOF)
    await turns()
    assert not handler.task.done()  # a status while a message is on its way is an error
    handler.context.release()
    assert await handler.end() is None
    assert handler.taken == [b"report"]
    assert shown(handler.context.written) == [("set_bounds", 1)]


async def test_a_peer_that_went_away_ends_the_handler(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.task.cancel()
    handler.context.break_off()
    await handler.end()
    assert handler.task.cancelled()


async def test_a_stream_that_broke_while_writing_is_no_error_of_ours(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.context.break_off()
    await turns()
    assert not handler.task.done()  # its reader finds out by itself
    assert handler.context.written == []


async def test_an_error_in_taking_ends_the_handler_with_it() -> None:
    handler = await Handler().start()

    def fail(_: bytes) -> None:
        raise ZeroDivisionError

    handler.take = fail  # type: ignore[method-assign]
    handler.session.send(bounds(1))
    handler.context.incoming.put_nowait(b"report")
    handler.context.release()
    with pytest.raises(ZeroDivisionError):
        await handler.task
    await turns()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("close_first", [True, False])
async def test_both_sides_end_it_at_once(handler: Handler, close_first: bool) -> None:  # noqa: FBT001
    ends: list[Callable[[], object]] = [lambda: handler.session.close(STOPPING), handler.task.cancel]
    for end in ends if close_first else reversed(ends):
        end()
    await handler.end()
    assert handler.task.done()


STATUSES = {
    Code.MALFORMED: grpc.StatusCode.INVALID_ARGUMENT,
    Code.TOO_LARGE: grpc.StatusCode.INVALID_ARGUMENT,
    Code.TOO_MANY_STREAMS: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Code.STOPPING: grpc.StatusCode.UNAVAILABLE,
    Code.REPLACED: grpc.StatusCode.UNAVAILABLE,
    Code.OUT_OF_ORDER_STREAK: grpc.StatusCode.UNAVAILABLE,
    Code.OTHER_CELL: grpc.StatusCode.UNAVAILABLE,
}


@pytest.mark.parametrize("code", STATUSES)
def test_the_status_that_a_stream_ends_with(code: Code) -> None:
    assert status_of(Reason(code)) is STATUSES[code]


async def test_how_long_a_command_waited_is_measured_once_it_is_written(handler: Handler) -> None:
    handler.session.send(SetReporting(STREAM, 1000, 10_000, 0))
    handler.session.send(bounds(1))
    await turns()
    assert handler.waited_s == []
    handler.context.release()
    await turns()
    assert len(handler.context.octets) == 2
    assert len(handler.waited_s) == 1  # not that of how to report
    assert handler.waited_s[0] >= 0


async def test_what_is_sent_later_makes_no_earlier_command_younger(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(session, "time", SimpleNamespace(perf_counter=lambda: now_s[0]))
    handler.session.send(SetReporting(STREAM, 1000, 10_000, 0))  # is being written while the others come
    await turns()
    handler.session.send(bounds(1))
    now_s[0] = 103.0
    handler.session.send(SetFlows(STREAM, 1, (), 6000, STOPPING))
    now_s[0] = 104.0
    handler.context.release()
    await turns()
    assert handler.waited_s == [4.0, 1.0]


async def test_a_command_that_is_not_written_has_no_time(handler: Handler) -> None:
    handler.session.send(bounds(1))
    await turns()
    handler.context.break_off()
    await turns()
    assert handler.waited_s == []


@pytest.fixture
async def answering(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Handler]:
    monkeypatch.setitem(session.ANSWERED_AFTER_S, "terminal", 3_600.0)  # of a machine of any speed
    started = await Handler(answers=True).start()
    yield started
    started.task.cancel()
    started.context.break_off()
    await asyncio.wait([started.task])


async def test_the_first_report_is_answered_and_then_those_after_a_silence(
    answering: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = answering.context
    context.release()
    for _ in range(3):
        context.incoming.put_nowait(b"report")
        await turns()
    assert context.octets == [b""]
    monkeypatch.setattr(answering.session, "_answered_after_s", 0.0)
    context.incoming.put_nowait(b"report")
    await turns()
    assert context.octets == [b"", b""]


async def test_a_command_answers_as_well(answering: Handler) -> None:
    context = answering.context
    context.release()
    context.incoming.put_nowait(b"report")
    await turns()
    answering.session._answered_after_s = 0.5
    answering.session._wrote_at_s = 0.0  # long ago
    answering.session.send(bounds(1))
    await turns()
    context.incoming.put_nowait(b"report")
    await turns()
    assert [len(data) > 0 for data in context.octets] == [False, True]


async def test_answers_and_commands_have_the_fields_that_all_have(answering: Handler) -> None:
    context = answering.context
    context.release()
    answering.session.common = b"\x10\x02"  # field 2, which is 2
    context.incoming.put_nowait(b"report")
    await turns()
    answering.session.send(bounds(1))
    await turns()
    answer, command = context.octets
    assert answer == b"\x10\x02"
    assert command == command_convert.agent_command(bounds(1)) + b"\x10\x02"


async def test_who_does_not_ask_is_not_answered(handler: Handler) -> None:
    handler.context.release()
    handler.context.incoming.put_nowait(b"report")
    await turns()
    assert handler.context.octets == []
