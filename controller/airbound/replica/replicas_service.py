# SPDX-License-Identifier: Apache-2.0
"""The service that shows replicas and what each owns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from airbound import __version__
from airbound.core.addresses import mac_text
from airbound.replica.owners import RemotePort
from airbound.v1 import replicas_pb2, replicas_pb2_grpc

if TYPE_CHECKING:
    from airbound.replica.choices import KeptChoices
    from airbound.replica.node import Node
    from airbound.runtime.runner import Runner


class OwnedCells(replicas_pb2_grpc.ReplicasServiceServicer):
    """What one replica answers of itself."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def ListOwned(self, _request: replicas_pb2.ListOwnedRequest, _context: Any) -> replicas_pb2.ListOwnedResponse:
        """The cells of this replica."""
        node = self._node
        node.owners.ownership.stall.check()
        now_us = node.runner.now_us()
        response = replicas_pb2.ListOwnedResponse()
        for bssid, lease in sorted(node.owners.ownership.cells.items()):
            cell = node.runner.engine.cells.get(bssid)
            terminals = list(cell.terminals.values()) if cell is not None else []
            remote = sum(isinstance(node.runner.port(terminal.stream), RemotePort) for terminal in terminals)
            response.cells.add(
                bssid=mac_text(bssid),
                replica=node.name,
                epoch=lease.token.epoch,
                lease_left_ms=max(0, lease.commanded_until_us() - now_us) // 1000,
                terminals=len(terminals),
                remote_terminals=remote,
            )
        return response


class Single(replicas_pb2_grpc.ReplicasServiceServicer):
    """What a controller without replicas answers."""

    def __init__(self, runner: Runner, store: str, choices: KeptChoices | None = None) -> None:
        self._runner = runner
        self._choices = choices
        self._store = store
        self._started_s = int(time.time())

    async def ListReplicas(
        self, _request: replicas_pb2.ListReplicasRequest, _context: Any
    ) -> replicas_pb2.ListReplicasResponse:
        """This process."""
        engine = self._runner.engine
        terminals = len(engine.terminals())
        this = replicas_pb2.Replica(
            name="this one",
            answers=True,
            version=__version__,
            started_s_since_1970=self._started_s,
            access_points=max(0, self._runner.streams - terminals),
            terminals=terminals,
            cells=len(engine.cells),
            choices_not_kept=self._choices.unkept if self._choices is not None else (),
        )
        return replicas_pb2.ListReplicasResponse(store=self._store, replicas=[this])

    async def ListOwned(self, _request: replicas_pb2.ListOwnedRequest, _context: Any) -> replicas_pb2.ListOwnedResponse:
        """Every cell."""
        return replicas_pb2.ListOwnedResponse(
            cells=[
                replicas_pb2.OwnedCell(bssid=cell.name, replica="this one", terminals=len(cell.terminals))
                for cell in self._runner.engine.cells.values()
            ]
        )


class ReplicasService(replicas_pb2_grpc.ReplicasServiceServicer):
    """What operators are shown of all."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._own = OwnedCells(node)

    async def ListReplicas(
        self, _request: replicas_pb2.ListReplicasRequest, _context: Any
    ) -> replicas_pb2.ListReplicasResponse:
        """Every replica."""
        node = self._node
        records = {**node.members.by_name, node.name: node.record()}
        return replicas_pb2.ListReplicasResponse(
            store=node.store_kind,
            replicas=[
                replicas_pb2.Replica(
                    name=record.name,
                    answers=record.name == node.name,
                    version=record.version or __version__,
                    started_s_since_1970=record.started_s_since_1970,
                    access_points=record.access_points,
                    terminals=record.terminals,
                    terminals_of_others=record.terminals_of_others,
                    cells=record.cells,
                    stopping=record.stopping,
                    choices_not_kept=record.choices_not_kept,
                )
                for _, record in sorted(records.items())
            ],
        )

    async def ListOwned(self, request: replicas_pb2.ListOwnedRequest, context: Any) -> replicas_pb2.ListOwnedResponse:
        """The cells of every replica."""
        response = await self._own.ListOwned(request, context)
        if self._node.questions is not None and not request.only_this:
            async for octets in self._node.questions.ask("ListOwned", request):
                response.cells.extend(replicas_pb2.ListOwnedResponse.FromString(octets).cells)
        return response
