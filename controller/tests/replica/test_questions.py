# SPDX-License-Identifier: Apache-2.0
"""Questions to other replicas, over a memory store."""

import gc

import grpc
import pytest

from airbound.replica.outbox import Outbox
from airbound.replica.questions import Questions, RefusedAnswerError
from airbound.store.memory.store import Memory, MemoryStore
from airbound.v1 import operations_pb2, replica_pb2


class _Refusing:
    async def ExplainCell(self, request: operations_pb2.ExplainCellRequest, _: object) -> None:  # noqa: N802
        raise RefusedAnswerError(grpc.StatusCode.NOT_FOUND, f"{request.bssid}: no such cell")


class _Replica:
    def __init__(self, memory: Memory, name: str, other: str) -> None:
        self.name = name
        self.store = MemoryStore(memory)
        self.outbox = Outbox(self.store, name, lambda _: None)
        requests = {"ExplainCell": operations_pb2.ExplainCellRequest}
        self.questions = Questions({"ExplainCell": _Refusing()}, requests, self.outbox, lambda: [other])

    async def start(self) -> None:
        await self.store.start(self.name, self._received, lambda: None)

    def _received(self, octets: bytes) -> None:
        batch = replica_pb2.ReplicaMessages.FromString(octets)
        for message in batch.messages:
            kind = message.WhichOneof("message")
            handle = self.questions.asked if kind == "asked" else self.questions.answered
            handle(batch.sender, getattr(message, kind or ""))


async def test_a_refusal_of_all_is_raised_and_leaves_no_cycle_behind() -> None:
    memory = Memory()
    replicas = [_Replica(memory, "a", "b"), _Replica(memory, "b", "a")]
    for replica in replicas:
        await replica.start()
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(RefusedAnswerError, match="02:00: no such cell"):
            async for _ in replicas[0].questions.ask("ExplainCell", operations_pb2.ExplainCellRequest(bssid="02:00")):
                pass
        await replicas[0].outbox.drain()
        await replicas[1].outbox.drain()
        kept = [
            kept_object
            for kept_object in gc.get_objects()
            if isinstance(kept_object, RefusedAnswerError | replica_pb2.Answered)
        ]
        assert kept == []
    finally:
        gc.enable()
