# SPDX-License-Identifier: Apache-2.0
"""Operators' questions that concern all replicas: each answers for what it owns, as it would answer an operator."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import grpc

from airbound.runtime import log
from airbound.v1 import replica_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from google.protobuf.message import Message

    from airbound.replica.outbox import Outbox

ANSWER_S = 2.0  # a replica that takes longer is left out, and named


class RefusedAnswerError(Exception):
    """The answer is a gRPC status."""

    def __init__(self, status: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.status = status


class Answering:
    """The context of a question that came from another replica: a refusal is an exception."""

    async def abort(self, status: grpc.StatusCode, text: str) -> None:
        """Refuse.

        Raises:
            RefusedAnswerError: always.
        """
        raise RefusedAnswerError(status, text)


_STATUSES = {status.value[0]: status for status in grpc.StatusCode}


class Questions:
    """Asks the others, and answers them by `services`, which have this replica's own part, by method."""

    def __init__(
        self,
        services: Mapping[str, object],
        requests: Mapping[str, type[Message]],
        outbox: Outbox,
        others: Callable[[], Iterable[str]],
    ) -> None:
        self._services = services
        self._requests = requests
        self._outbox = outbox
        self._others = others
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Queue[tuple[str, replica_pb2.Answered]]] = {}
        self._answering = set[asyncio.Task[None]]()

    async def ask(self, method: str, request: Message) -> AsyncIterator[bytes]:
        """The other replicas' responses, as they come.

        Raises:
            RefusedAnswerError: what the last of them said, if all refused.
        """
        number, waiting = next(self._numbers), set(self._others())
        if not waiting:
            return
        asked = len(waiting)
        queue = self._open[number] = asyncio.Queue()
        message = replica_pb2.Asked(question=number, method=method, request=request.SerializeToString())
        for replica in waiting:
            self._outbox.send(replica, replica_pb2.ReplicaMessage(asked=message))
        refusals = list[tuple[grpc.StatusCode, str]]()  # no exceptions: a raised one refers to this frame
        try:
            async with asyncio.timeout(ANSWER_S):
                while waiting:
                    sender, answer = await queue.get()
                    for response in answer.responses:
                        yield response
                    if answer.error:
                        status = _STATUSES.get(answer.status, grpc.StatusCode.UNKNOWN)
                        refusals.append((status, answer.error))
                    if answer.last:
                        waiting.discard(sender)
        except TimeoutError:
            log.event(
                "warning", "replica", method, f"no answer within {ANSWER_S:g} s from {', '.join(sorted(waiting))}"
            )
        finally:
            del self._open[number]
        if len(refusals) == asked:
            raise RefusedAnswerError(*refusals[-1])

    def asked(self, sender: str, message: replica_pb2.Asked) -> None:
        """Another replica's operator wants something."""
        task = asyncio.get_running_loop().create_task(self._answer(sender, message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, sender: str, message: replica_pb2.Asked) -> None:
        def send(responses: list[bytes], *, last: bool, error: str = "", status: int = 0) -> None:
            answered = replica_pb2.Answered(
                question=message.question, responses=responses, last=last, error=error, status=status
            )
            self._outbox.send(sender, replica_pb2.ReplicaMessage(answered=answered))

        try:
            kind = self._requests.get(message.method)
            if kind is None:
                raise RefusedAnswerError(grpc.StatusCode.UNIMPLEMENTED, f"{message.method}: no such question")  # noqa: TRY301
            answer: Any = getattr(self._services[message.method], message.method)(
                kind.FromString(message.request), Answering()
            )
            if hasattr(answer, "__aiter__"):
                async for response in answer:
                    send([response.SerializeToString()], last=False)
                send([], last=True)
            else:
                send([(await answer).SerializeToString()], last=True)
        except RefusedAnswerError as refusal:
            send([], last=True, error=str(refusal), status=refusal.status.value[0])

    def answered(self, sender: str, message: replica_pb2.Answered) -> None:
        """A part of an answer."""
        queue = self._open.get(message.question)
        if queue is not None:
            queue.put_nowait((sender, message))
