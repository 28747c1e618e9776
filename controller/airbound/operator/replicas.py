# SPDX-License-Identifier: Apache-2.0
"""The command `airbound replicas`: who runs, and who owns what."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from airbound.operator import duration
from airbound.operator.display import as_json
from airbound.operator.printable import printable
from airbound.operator.values import table

if TYPE_CHECKING:
    import argparse

    from airbound.operator.client import Client
    from airbound.v1 import replicas_pb2


def answer(client: Client, arguments: argparse.Namespace) -> str:
    """What is to be printed."""
    response: Any = client.owned_cells() if arguments.cells else client.replicas()
    if arguments.json:
        return as_json(response)
    return cells(response) if arguments.cells else replicas(response, time.time())


def replicas(answer: replicas_pb2.ListReplicasResponse, now_s: float) -> str:
    """A table of replicas."""
    heads = ("REPLICA", "VERSION", "UP", "CELLS", "ACCESS POINTS", "TERMINALS", "IN OTHERS' CELLS", "STATE")
    rows = [
        (
            replica.name,
            replica.version,
            duration.text(now_s - replica.started_s_since_1970) if replica.started_s_since_1970 else "?",
            str(replica.cells),
            str(replica.access_points),
            str(replica.terminals),
            str(replica.terminals_of_others),
            "stopping" if replica.stopping else "answers" if replica.answers else "silent",
        )
        for replica in answer.replicas
    ]
    lines = [table(heads, rows), f"store: {answer.store}"]
    lines += [
        f"{printable(replica.name)} alone applies {printable(choice)}: the store did not take it yet, tried again"
        for replica in answer.replicas
        for choice in replica.choices_not_kept
    ]
    return "\n".join(lines)


def cells(answer: replicas_pb2.ListOwnedResponse) -> str:
    """A table of cells and their owners."""
    heads = ("CELL", "OWNER", "EPOCH", "LEASE", "TERMINALS", "AT OTHER REPLICAS")
    rows = [
        (
            cell.bssid,
            cell.replica,
            str(cell.epoch) if cell.epoch else "-",
            f"{cell.lease_left_ms / 1000:.1f} s" if cell.epoch else "-",
            str(cell.terminals),
            str(cell.remote_terminals),
        )
        for cell in sorted(answer.cells, key=lambda cell: cell.bssid)
    ]
    return table(heads, rows) if rows else "no cells"
